"""Scratch files of Spark's executors, without a cluster."""

import os
import stat

import pyarrow as pa
import pytest

from selfpaced.clusters.spark import storage
from selfpaced.clusters.spark.storage import FOLDER, make_folder, read_scratch, remove_table, write_scratch
from selfpaced.exceptions import TableError

CONTENT = b"some rows " * 1000


@pytest.fixture
def local(tmp_path):
    folder = tmp_path / "spark-1" / "executor-1" / "blockmgr-1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def path(local):
    path = make_folder(local, "table") / "rows"
    write_scratch(path, lambda sink: sink.write(CONTENT))
    return path


def test_a_file_is_read_as_it_was_written(path):
    assert read_scratch(path).to_pybytes() == CONTENT


def test_content_comes_in_pieces_of_any_size(local):
    path = make_folder(local, "table") / "rows"
    write_scratch(path, lambda sink: [sink.write(CONTENT[:7]), sink.write(b""), sink.write(memoryview(CONTENT)[7:])])
    assert read_scratch(path).to_pybytes() == CONTENT


def test_an_empty_file_is_not_missing(local):
    path = make_folder(local, "table") / "rows"
    write_scratch(path, lambda sink: None)
    assert read_scratch(path).size == 0


def removed(path):
    path.unlink()


def cut_off(path):
    os.truncate(path, path.stat().st_size - 1)


def emptied(path):
    os.truncate(path, 0)


def changed(path):
    """One bit, in place: the size stays."""
    with path.open("r+b") as file:
        file.seek(1234)
        bit = file.read(1)[0] ^ 1
        file.seek(1234)
        file.write(bytes([bit]))


def written_on(path):
    with path.open("ab") as file:
        file.write(b"more")


def replaced_by_another(path):
    path.unlink()
    path.write_bytes(CONTENT)


@pytest.mark.parametrize("damage", [removed, cut_off, emptied, changed, written_on, replaced_by_another])
@pytest.mark.parametrize("is_known", [True, False], ids=["after it was read", "before it was read"])
def test_a_damaged_file_counts_as_missing(path, damage, is_known):
    if is_known:
        assert read_scratch(path) is not None
    damage(path)
    assert read_scratch(path) is None


def test_a_file_that_could_not_be_finished_leaves_nothing(local):
    folder = make_folder(local, "table")

    def fill(sink):
        sink.write(CONTENT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_scratch(folder / "rows", fill)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_only_the_owner_can_read_the_folders_whatever_the_umask(local, umask):
    before = os.umask(umask)
    try:
        folder = make_folder(local, "table")
    finally:
        os.umask(before)
    write_scratch(folder / "rows", lambda sink: sink.write(CONTENT))
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder.parent, folder)] == [0o700, 0o700]
    assert stat.S_IMODE((folder / "rows").stat().st_mode) == 0o600


def test_the_folder_of_a_table_is_removed_and_others_stay(local, path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(local))
    other = make_folder(local, "other")
    remove_table("table")
    assert list((local / FOLDER).iterdir()) == [other]
    remove_table("other")
    assert list(local.iterdir()) == []


def write_a_row():
    batch = pa.record_batch({storage.ID: pa.array([1], pa.int64())})
    return storage.write_partition([batch], lambda block, path: None, "table", 0, 0)


def test_an_executor_that_cannot_write_to_its_local_directory_is_refused(local, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(local))
    (local / FOLDER).touch()
    with pytest.raises(TableError, match=r"cannot write to its local directory: .*set spark\.local\.dir"):
        write_a_row()


def test_an_executor_without_a_local_directory_is_refused(monkeypatch):
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    with pytest.raises(TableError, match=r"names no local directory to an executor\. .*set spark\.local\.dir"):
        write_a_row()


def test_local_directories_are_those_that_spark_names(monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/a/b,/c")
    assert list(map(str, storage.local_directories())) == ["/a/b", "/c"]
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert storage.local_directories() == []
