"""Files that appear whole or not at all, and folders that only their owner may read."""

import os
import re
import secrets
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from io import FileIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from selfpaced.exceptions import fs
from selfpaced.storage.remote import AnyPath, Place, RemoteFile, content_of, explaining, located, patiently, upload


@contextmanager
def whole_file(path: AnyPath, error_type: type[Exception] | None = None, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` when the block ends.

    After an error or Ctrl-C the temporary file is removed, and an earlier file at `path` is not changed. If the block
    removes the temporary file itself, nothing is renamed. A symbolic link is followed, not replaced. For a URL, the
    temporary file is in a folder of this machine, and is uploaded when the block ends. Errors of the operating system
    become `error_type`, if it is given. With a `mode`, the temporary file is created with these permissions, less the
    umask, before the block starts.

    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     [(found.name, found.read_text()) for found in Path(folder).iterdir()]
    [('a.txt', 'all of it')]
    """
    place = located(path)
    if isinstance(place, RemoteFile):
        with _uploaded(place, error_type) as temporary:
            yield temporary
        return
    target = place.resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")  # as `remove_stale` expects
    try:
        if not target.parent.is_dir():
            raise FileNotFoundError(f"the folder {target.parent} does not exist. Create it first.")
        if target.is_dir():
            raise IsADirectoryError(f"{path} is a folder. Name a file in it.")
        if mode is not None:
            temporary.touch(mode, exist_ok=False)
        yield temporary
        if temporary.exists():
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())  # or else after a power cut its new name may exist without its content
            os.replace(temporary, target)
    except OSError as error:
        if error_type is None:
            raise
        raise error_type(f"{path} cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def _uploaded(target: RemoteFile, error_type: type[Exception] | None) -> Iterator[Path]:
    with TemporaryDirectory(prefix="selfpaced-") as folder:
        temporary = Path(folder) / target.name
        yield temporary
        try:
            if temporary.exists():
                upload(temporary, target)
        except (OSError, NotImplementedError) as error:
            raise (error_type or OSError)(f"{target} cannot be written: {error}") from error


def write_whole(path: AnyPath, content: bytes | str, error_type: type[Exception] | None = None) -> Place:
    """Write bytes, or text as UTF-8, to a file, completely or not at all. Return its place."""
    place = located(path)
    with whole_file(place, error_type) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def remove_stale(folder: Path, ending: str) -> None:
    """Remove the temporary files for names with some ending that killed processes left, a day ago or earlier."""
    for path in folder.glob(f".*{ending}.{'[0-9a-f]' * 8}.part"):
        with suppress(OSError):  # another process may be removing it, or it belongs to another user
            if path.stat().st_mtime < time.time() - 86_400:
                path.unlink()


def lock_file(file: FileIO) -> None:
    """Lock an open file until this process closes it or ends. Raises OSError if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


OBJECT_STORES = ("s3", "gcs", "abfs")  # folders come with their files there
STALE = timedelta(days=1)


class PrivateFolder:
    """Files by their names, in a folder of this machine with mode 0700, whose files have mode 0600.

    As text, a folder is what messages call it.
    """

    def __init__(self, place: Any) -> None:
        self._place = place

    def __str__(self) -> str:
        return str(self._place)

    def prepare(self, endings: Sequence[str]) -> None:
        """Make the folder if it is not there, and remove what killed processes left of files with some endings.

        Raises NotADirectoryError if there is a file of this name.
        """
        if self._place.exists() and not self._place.is_dir():
            raise NotADirectoryError(f"{self} is a file.")
        self._place.mkdir(0o700, parents=True, exist_ok=True)
        for ending in endings:
            remove_stale(self._place, ending)

    def names(self, pattern: str) -> list[str]:
        """The names of files that match a pattern such as `*.json`, sorted."""
        return sorted(path.name for path in self._place.glob(pattern))

    def has(self, name: str) -> bool:
        return name in self.names(name)

    def read(self, name: str) -> bytes:
        return bytes((self._place / name).read_bytes())

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which appears whole or not at all."""
        with whole_file(self._place / name, mode=0o600) as temporary:
            temporary.write_bytes(content)

    def child(self, name: str) -> Self:
        return type(self)(self._place / name)


def private_folder(place: AnyPath) -> PrivateFolder:
    """The folder that a path or a URL leads to. Nothing is made or read yet."""
    found = located(place)
    return RemoteFolder(found) if isinstance(found, RemoteFile) else PrivateFolder(found)


class RemoteFolder(PrivateFolder):
    """A folder of an object store or another file system. Who may read it is decided there."""

    def prepare(self, endings: Sequence[str]) -> None:
        filesystem, path = self._place.filesystem, self._place.path
        with explaining(self._place, "opened"):
            if patiently(lambda: filesystem.get_file_info(path)).type == fs.FileType.File:
                raise NotADirectoryError(f"{self} is a file.")
            if filesystem.type_name not in OBJECT_STORES:
                filesystem.create_dir(path, recursive=True)
            for info in self._files():
                is_old = info.mtime is not None and info.mtime < datetime.now(UTC) - STALE
                if is_old and any(fnmatch(info.base_name, f"*{ending}.*.part") for ending in endings):
                    filesystem.delete_file(info.path)

    def names(self, pattern: str) -> list[str]:
        with explaining(self._place, "read"):
            return sorted(info.base_name for info in self._files() if fnmatch(info.base_name, pattern))

    def read(self, name: str) -> bytes:
        with explaining(self._place / name, "read"):
            return content_of(self._place / name)

    def write(self, name: str, content: bytes) -> None:
        with explaining(self._place / name, "written"):
            patiently(lambda: write_whole(self._place / name, content))

    def _files(self) -> list[Any]:
        selector = fs.FileSelector(self._place.path, allow_not_found=True)
        found = patiently(lambda: self._place.filesystem.get_file_info(selector))
        return [info for info in found if info.type == fs.FileType.File]


_NAME = re.compile(r"selfpaced-table-(\d+)-.*")


class TemporaryFolder:
    """A folder that only its owner can read. It is removed together with this object, at the latest at exit.

    The folders of killed processes are removed when the next folder is made in the same place.
    """

    def __init__(self, inside: str | PathLike[str] | None = None) -> None:
        place = Path(tempfile.gettempdir() if inside is None else inside)
        place.mkdir(parents=True, exist_ok=True)
        for path in place.glob("selfpaced-table-*"):
            match = _NAME.fullmatch(path.name)
            if match and not _is_running(int(match[1])):
                shutil.rmtree(path, ignore_errors=True)
        self.path = Path(tempfile.mkdtemp(prefix=f"selfpaced-table-{os.getpid()}-", dir=place))
        # A fork must not remove the folder of its parent.
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # there this signal is Ctrl-C, not a question
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # or else it belongs to another user
    return True
