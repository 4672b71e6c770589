"""A small file that unpacks to a huge one is refused before it takes memory."""

import struct
import tracemalloc
import zipfile
from functools import cache
from pathlib import Path
from shutil import copy

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import ModelFileError
from selfpaced.persistence import read_card, save_model
from selfpaced.persistence.files import CARD, load_model
from selfpaced.storage import archive

HUGE = 2**28


@pytest.fixture(scope="module")
def archive_with_more(model, tmp_path_factory):
    """Adds bytes to a part of a saved model, or a part of them, in a compressed archive: once for each part."""
    folder = tmp_path_factory.mktemp("archives")

    @cache
    def archive_with_more(part, n_bytes, method):
        with zipfile.ZipFile(save_model(model, folder / "model.skops")) as old:
            parts = {name: old.read(name) for name in old.namelist()}
        path = folder / f"{part}-{n_bytes}-{method}.skops"
        with zipfile.ZipFile(path, "w", method) as new:
            for name, content in (parts | {part: parts.get(part, b"")}).items():
                with new.open(name, "w") as file:
                    file.write(content)
                    for _ in range(n_bytes // 2**20 if name == part else 0):
                        file.write(b" " * 2**20)
        return path

    return archive_with_more


@pytest.fixture
def padded(archive_with_more, tmp_path):
    """A copy of such an archive, which a test may change."""

    def padded(part, n_bytes, method=zipfile.ZIP_DEFLATED):
        return Path(copy(archive_with_more(part, n_bytes, method), tmp_path))

    return padded


def claim_size(path, part, size):
    """Make the archive say that a part has another size, in both places where it says so."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        info = file.getinfo(part)
    content[info.header_offset + 22 : info.header_offset + 26] = struct.pack("<I", size)
    entry = content.index(b"PK\x01\x02")
    while content[entry + 46 : entry + 46 + len(part)] != part.encode():
        entry = content.index(b"PK\x01\x02", entry + 1)
    content[entry + 24 : entry + 28] = struct.pack("<I", size)
    path.write_bytes(content)


def memory_to_refuse(read, path, message):
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            read(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [load_model, read_card])
def test_a_huge_card_is_refused_by_the_size_it_declares(read, padded):
    path = padded(CARD, HUGE)
    assert path.stat().st_size < HUGE / 500
    assert memory_to_refuse(read, path, "would have 268,") < 2**22


@pytest.mark.parametrize("read", [load_model, read_card])
def test_a_huge_card_that_declares_another_size_takes_no_memory(read, padded):
    path = padded(CARD, HUGE)
    claim_size(path, CARD, 1000)
    assert memory_to_refuse(read, path, "damaged") < 2**22


@pytest.mark.parametrize("part", ["schema.json", "more.npy"])
def test_a_huge_part_of_the_model_is_refused_by_the_size_it_declares(padded, part):
    path = padded(part, HUGE)
    assert memory_to_refuse(load_model, path, "would have 268,") < 2**22


def test_a_huge_part_that_declares_another_size_takes_no_memory(padded):
    path = padded("more.npy", HUGE)
    claim_size(path, "more.npy", 1000)
    assert memory_to_refuse(load_model, path, "damaged") < 2**22


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("read", [load_model, read_card])
def test_methods_that_unpack_much_from_a_few_bytes_are_refused(read, padded, method):
    path = padded(CARD, 2**20, method)
    assert memory_to_refuse(read, path, "damaged") < 2**22


def test_a_model_that_compresses_well_can_be_loaded_again(monkeypatch, tmp_path):
    monkeypatch.setattr(archive, "ALWAYS_ACCEPTED_BYTES", 2**10)
    X, y = np.zeros((2000, 500)), np.arange(2000) < 500
    model = SelfPacedEnsembleClassifier(KNeighborsClassifier(), 1, random_state=0).fit(X, y)
    path = save_model(model, tmp_path / "model.skops")
    assert (load_model(path).predict_proba(X[:5]) == model.predict_proba(X[:5])).all()


def test_a_card_that_could_not_be_read_is_not_written(model, tmp_path):
    with pytest.raises(ModelFileError, match="card of the model has"):
        save_model(model, tmp_path / "model.skops", notes="x" * 2**24)
    assert list(tmp_path.iterdir()) == []
