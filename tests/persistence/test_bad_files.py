"""Files that are not model files, and places that cannot hold one, are refused with a clear error."""

import os
import zipfile

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import ModelFileError
from selfpaced.persistence import read_card, save_model
from selfpaced.persistence.files import load_model
from selfpaced.storage import archive

READERS = pytest.mark.parametrize("read", [load_model, read_card])


@READERS
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not a selfpaced model file"),
        (b"PAR1....PAR1", "is not a selfpaced model file"),
        (b"PK\x03\x04 and then nothing", "is damaged or incomplete"),
        (b"\x80\x04\x95", "a pickle that save_model did not write"),
    ],
    ids=["empty", "CSV", "Parquet", "cut", "pickle"],
)
def test_a_file_that_is_something_else(read, content, said, tmp_path):
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match=said):
        read(tmp_path / "model.skops")


@READERS
def test_an_archive_of_something_else(read, tmp_path):
    with zipfile.ZipFile(tmp_path / "model.skops", "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    with pytest.raises(ModelFileError, match="save_model did not write"):
        read(tmp_path / "model.skops")


@READERS
def test_a_missing_path_and_a_folder(read, tmp_path):
    with pytest.raises(ModelFileError, match=r"There is no file .*none\.skops"):
        read(tmp_path / "none.skops")
    with pytest.raises(ModelFileError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelFileError, match="incomplete"):
        load_model(saved)


def test_one_changed_byte_anywhere_is_an_error_or_of_no_consequence(saved, model, frauds):
    """Bytes between the parts, such as dates, may change unnoticed; the model may not."""
    content = saved.read_bytes()
    expected = model.predict_proba(frauds[0][:50]).tolist()
    n_errors = 0
    directory = content.index(b"PK\x01\x02")  # where the archive lists its parts
    for position in [*range(0, directory, directory // 40), *range(directory, directory + 50), len(content) - 1]:
        saved.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            assert load_model(saved).predict_proba(frauds[0][:50]).tolist() == expected
        except ModelFileError:
            n_errors += 1
    assert n_errors > 30


@READERS
def test_a_small_file_that_would_fill_the_memory_is_refused(read, rewrite, monkeypatch):
    monkeypatch.setattr(archive, "ALWAYS_ACCEPTED_BYTES", 2**20)
    path = rewrite("schema.json", lambda _: bytes(2**24))
    with pytest.raises(ModelFileError, match=r"16,.* after decompression"):
        read(path)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"nothing", b'{"__class__": "list"}'], ids=repr)
def test_a_model_that_is_no_tree_of_nodes(rewrite, content):
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(rewrite("schema.json", lambda _: content))


def test_parts_that_do_not_fit_together(rewrite, saved):
    with zipfile.ZipFile(saved) as archive:
        array = next(name for name in archive.namelist() if name.endswith(".npy"))
    with pytest.raises(ModelFileError, match="cannot be put together"):
        load_model(rewrite(array, lambda _: b"no array"))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(saved, model, monkeypatch):
    old = saved.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"cannot be written: .*No space left on device"):
        save_model(model, saved)
    assert saved.read_bytes() == old
    assert list(saved.parent.iterdir()) == [saved]


def test_ctrl_c_leaves_the_old_file_and_nothing_else(saved, model, monkeypatch):
    old = saved.read_bytes()

    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_model(model, saved)
    assert saved.read_bytes() == old
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_that_is_missing_or_stands_in_the_way(model, tmp_path):
    with pytest.raises(ModelFileError, match=r"folder .*none does not exist. Create it first"):
        save_model(model, tmp_path / "none" / "model.skops")
    (tmp_path / "model.skops").mkdir()
    with pytest.raises(ModelFileError, match="is a folder"):
        save_model(model, tmp_path / "model.skops")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(model, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ModelFileError, match="cannot be written"):
        save_model(model, tmp_path / "model.skops")


@pytest.mark.parametrize("name", ["model", "model.bin", "model.skops.gz"])
def test_an_ending_that_says_nothing(model, tmp_path, name):
    with pytest.raises(ModelFileError, match=r"does not end in \.skops"):
        save_model(model, tmp_path / name)


def test_an_unknown_format(model, tmp_path):
    with pytest.raises(ValueError, match="format must be 'skops' or 'joblib'; got 'xml'"):
        save_model(model, tmp_path / "model.xml", format="xml")


def test_what_is_no_fitted_ensemble(frauds, tmp_path):
    with pytest.raises(ModelFileError, match="got a LogisticRegression without one"):
        save_model(LogisticRegression().fit(*frauds), tmp_path / "model.skops")
    with pytest.raises(NotFittedError):
        save_model(SelfPacedEnsembleClassifier(), tmp_path / "model.skops")
