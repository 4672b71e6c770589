"""Folders of small files that only their owner is to read, on this machine or behind a URL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Protocol

from selfpaced.remote_files import AnyPath, RemoteFile, content_of, explaining, located, patiently
from selfpaced.whole_files import remove_stale, whole_file, write_whole

OBJECT_STORES = ("s3", "gcs", "abfs")  # folders come with their files there
STALE = timedelta(days=1)


class PrivateFolder(Protocol):
    """Files by their names. As text, a folder is what messages call it."""

    def prepare(self, endings: Sequence[str]) -> None:
        """Make the folder if it is not there, and remove what killed processes left of files with some endings.

        Raises NotADirectoryError if there is a file of this name.
        """

    def names(self, pattern: str) -> list[str]:
        """The names of files that match a pattern such as `*.json`, sorted."""

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""

    def read(self, name: str) -> bytes:
        """All bytes of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which appears whole or not at all."""

    def child(self, name: str) -> PrivateFolder:
        """A folder in this one."""


def private_folder(place: AnyPath) -> PrivateFolder:
    """The folder that a path or a URL leads to. Nothing is made or read yet."""
    found = located(place)
    return RemoteFolder(found) if isinstance(found, RemoteFile) else LocalFolder(found)


class LocalFolder:
    """A folder of this machine with mode 0700, whose files have mode 0600."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def prepare(self, endings: Sequence[str]) -> None:
        if self._path.exists() and not self._path.is_dir():
            raise NotADirectoryError(f"{self} is a file.")
        self._path.mkdir(0o700, parents=True, exist_ok=True)
        for ending in endings:
            remove_stale(self._path, ending)

    def names(self, pattern: str) -> list[str]:
        return sorted(path.name for path in self._path.glob(pattern))

    def has(self, name: str) -> bool:
        return (self._path / name).exists()

    def read(self, name: str) -> bytes:
        return (self._path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        with whole_file(self._path / name, mode=0o600) as temporary:
            temporary.write_bytes(content)

    def child(self, name: str) -> LocalFolder:
        return LocalFolder(self._path / name)


class RemoteFolder:
    """A folder of an object store or another file system. Who may read it is decided there."""

    def __init__(self, place: RemoteFile) -> None:
        self._place = place

    def __str__(self) -> str:
        return str(self._place)

    def prepare(self, endings: Sequence[str]) -> None:
        from pyarrow import fs

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

    def has(self, name: str) -> bool:
        return name in self.names(name)

    def read(self, name: str) -> bytes:
        with explaining(self._file(name), "read"):
            return content_of(self._file(name))

    def write(self, name: str, content: bytes) -> None:
        with explaining(self._file(name), "written"):
            patiently(lambda: write_whole(self._file(name), content))

    def child(self, name: str) -> RemoteFolder:
        return RemoteFolder(self._file(name))

    def _file(self, name: str) -> RemoteFile:
        return self._place.child(f"{self._place.path}/{name}")

    def _files(self) -> list[Any]:
        from pyarrow import fs

        selector = fs.FileSelector(self._place.path, allow_not_found=True)
        found = patiently(lambda: self._place.filesystem.get_file_info(selector))
        return [info for info in found if info.type == fs.FileType.File]
