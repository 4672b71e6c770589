"""Scratch files, without a cluster."""

import os
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from selfpaced.clusters.spark import storage as scratch
from selfpaced.clusters.spark.storage import FOLDER, OWNER, make_folder, remove_folder, sweep
from selfpaced.clusters.spark.storage import read_scratch as read
from selfpaced.clusters.spark.storage import touch_scratch as touch
from selfpaced.clusters.spark.storage import write_scratch as write

CONTENT = b"some rows " * 1000


@pytest.fixture
def local(tmp_path):
    folder = tmp_path / "spark-1" / "executor-1" / "blockmgr-1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def path(local):
    path = make_folder(local, "table") / "rows"
    write(path, lambda sink: sink.write(CONTENT))
    return path


def test_a_file_is_read_as_it_was_written(path):
    assert read(path).to_pybytes() == CONTENT


def test_content_comes_in_pieces_of_any_size(local):
    path = make_folder(local, "table") / "rows"
    write(path, lambda sink: [sink.write(CONTENT[:7]), sink.write(b""), sink.write(memoryview(CONTENT)[7:])])
    assert read(path).to_pybytes() == CONTENT


def test_a_file_without_content_is_no_missing_file(local):
    path = make_folder(local, "table") / "rows"
    write(path, lambda sink: None)
    assert read(path).size == 0


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
def test_a_file_that_is_not_as_it_was_written_is_missing(path, damage, is_known):
    if is_known:
        assert read(path) is not None
    damage(path)
    assert read(path) is None


def test_a_file_that_could_not_be_finished_leaves_nothing(local):
    folder = make_folder(local, "table")

    def fill(sink):
        sink.write(CONTENT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(folder / "rows", fill)
    assert [one.name for one in folder.iterdir()] == [OWNER]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_folders_are_for_their_owner_alone_whatever_the_umask(local, umask):
    before = os.umask(umask)
    try:
        folder = make_folder(local, "table")
    finally:
        os.umask(before)
    write(folder / "rows", lambda sink: sink.write(CONTENT))
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder.parent, folder)] == [0o700, 0o700]
    assert stat.S_IMODE((folder / "rows").stat().st_mode) == 0o600


def test_a_folder_is_removed_and_others_stay(local, path):
    other = make_folder(local, "other")
    remove_folder(local, "table")
    assert list((local / FOLDER).iterdir()) == [other]
    remove_folder(local, "other")
    assert list(local.iterdir()) == []


def test_a_local_directory_that_cannot_be_written_to_is_refused(local):
    (local / FOLDER).touch()
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        make_folder(local, "table")


@contextmanager
def executor_with_folder(local, name):
    """An executor, and a folder that one of its Python workers has made. It is killed in the end."""
    code = """
        import os, sys
        from pathlib import Path
        from selfpaced.pools.scratch import make_folder
        if os.fork() == 0:      # the daemon of the executor
            if os.fork() == 0:  # its worker
                make_folder(Path(sys.argv[1]), sys.argv[2])
                print("made", flush=True)
                os._exit(0)
            os.wait()
            os._exit(0)
        os.wait()
        sys.stdin.read()
    """
    code = "\n".join(line[8:] for line in code.splitlines())
    command = [sys.executable, "-W", "ignore", "-c", code, str(local), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as executor:
        assert executor.stdout.readline() == "made\n"
        yield
        executor.kill()


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")


@linux
@pytest.mark.parametrize("place", ["here", "another executor", "another application"])
def test_folders_of_an_executor_that_was_killed_are_swept(local, tmp_path, place):
    places = {
        "here": local,
        "another executor": local.parent.parent / "executor-2" / "blockmgr-2",
        "another application": tmp_path / "spark-2" / "executor-3" / "blockmgr-3",
    }
    places[place].mkdir(parents=True, exist_ok=True)
    with executor_with_folder(places[place], "old"):
        pass
    assert (places[place] / FOLDER / "old" / OWNER).is_file()
    make_folder(local, "new")
    assert not (places[place] / FOLDER / "old").exists()


@linux
def test_folders_of_an_executor_that_lives_are_not_swept(local):
    with executor_with_folder(local, "living"):
        sweep(local)
        assert (local / FOLDER / "living").is_dir()
    sweep(local)
    assert not (local / FOLDER / "living").exists()


def test_a_folder_of_an_unknown_process_is_swept_when_it_has_not_been_used_for_a_day(local):
    folder = make_folder(local, "table")
    (folder / OWNER).write_text("another machine 17:4")
    sweep(local)
    assert folder.is_dir()
    long_ago = folder.stat().st_mtime - scratch.SECONDS_UNTIL_STALE - 60
    os.utime(folder, (long_ago, long_ago))
    touch(folder)
    sweep(local)
    assert folder.is_dir()
    os.utime(folder, (long_ago, long_ago))
    sweep(local)
    assert not folder.exists()


def test_a_sweep_follows_no_links(local, tmp_path):
    elsewhere = tmp_path / "precious"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    (local / FOLDER).mkdir()
    (local / FOLDER / "link").symlink_to(elsewhere)
    os.utime(elsewhere, (0, 0))
    sweep(local)
    assert (elsewhere / "file").exists()


def test_local_directories_are_those_that_spark_names(monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/a/b,/c")
    assert list(map(str, scratch.local_directories())) == ["/a/b", "/c"]
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert scratch.local_directories() == []
