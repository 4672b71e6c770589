"""Files behind URLs: which file system has them, whether they change, and what to do when the network fails."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import urlsplit

from selfpaced.exceptions import TableError, fs, need, pa

Result = TypeVar("Result")

# Seconds between attempts. Before these, the file systems make their own attempts.
PAUSES = (0.5, 1.0, 2.0, 4.0)
PIECE_BYTES = 2**23
SAMPLE_BYTES = 2**16  # of the beginning, the middle and the end of a file
BY_PYARROW = ("s3", "gs", "gcs", "abfs", "abfss")
OTHER_NAMES = {"s3a": "s3", "s3n": "s3"}  # Hadoop's
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # two letters at least: C:// is a drive
_SECRET = re.compile(r"(//[^/@:\s]*):[^/@\s]*@")  # abfs://container@account has none
_OPTIONS = re.compile(r"\?\w+=\S*")  # which may be keys and signatures
# Errors that a second attempt would not change.
_FINAL = re.compile(
    r"ACCESS_DENIED|NO_SUCH_(BUCKET|KEY|UPLOAD)|RESOURCE_NOT_FOUND|INVALID_ACCESS_KEY|SIGNATURE|Forbidden"
)
_MARKS = ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "Last-Modified", "created")


@dataclass(frozen=True)
class RemoteFile:
    """A file in a file system of pyarrow."""

    filesystem: Any = field(hash=False)
    path: str
    shown: str  # the name in messages: its URL without a password
    # The `state` when the file was opened first. A file with another state is refused.
    expected: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.shown

    @property
    def name(self) -> str:
        # The path of a web page is its URL, which may have a signature at its end.
        return PurePosixPath(_OPTIONS.sub("", self.path) if is_url(self.path) else self.path).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    def __truediv__(self, below: str | PurePath) -> RemoteFile:
        """A file or folder in this folder, as of `Path`."""
        path = f"{self.path}/{below}" if self.path else str(below)
        return RemoteFile(self.filesystem, path, f"{self.shown.rstrip('/')}/{below}")

    def open(self) -> Any:
        """The file, for reading at any place. One that has changed is refused."""
        opened = self.filesystem.open_input_file(self.path)
        if self.expected is not None and self._state_of(opened) != self.expected:
            raise TableError(
                f"{self} has changed since the table was opened. Open the table again when no other program writes to "
                "it."
            )
        return opened

    def state(self) -> tuple[str, ...]:
        """What differs after a change: the size, and the ETag or the time."""
        with self.filesystem.open_input_file(self.path) as opened:
            return self._state_of(opened)

    def _state_of(self, opened: Any) -> tuple[str, ...]:
        held = {name: value for name, value in (opened.metadata() or {}).items() if name in _MARKS}
        texts = {name: value.decode(errors="replace") for name, value in held.items() if isinstance(value, bytes)}
        marks = held | texts or self._marks()
        return (str(opened.size()), *(f"{name}={value}" for name, value in sorted(marks.items())))

    def _marks(self) -> dict[str, str]:
        """The state of the closed file, for file systems that have no state of open files."""
        other = getattr(getattr(self.filesystem, "handler", None), "fs", None)  # of fsspec
        if other is not None:
            other.invalidate_cache()
            found = other.info(self.path)
            return {name: str(found[name]) for name in _MARKS if found.get(name) is not None}
        changed_at = self.filesystem.get_file_info(self.path).mtime_ns
        return {} if changed_at is None else {"mtime": str(changed_at)}


Place = Path | RemoteFile
AnyPath = str | os.PathLike[str] | RemoteFile


def is_url(source: Any) -> bool:
    """
    >>> [is_url(source) for source in ("s3://bucket/a.parquet", "C://a.parquet", "a.parquet", Path("a.parquet"))]
    [True, False, False, False]
    """
    return isinstance(source, str) and _URL.match(source) is not None


def state_of(place: Place) -> tuple[str, ...]:
    """What differs after a change of a file: its size first, and the time or the ETag."""
    if isinstance(place, RemoteFile):
        return patiently(place.state)
    status = place.stat()
    return str(status.st_size), str(status.st_mtime_ns)


def located(source: AnyPath, filesystem: Any = None) -> Place:
    """The place of a path or a URL: a local path, or a file of another file system."""
    if isinstance(source, RemoteFile):
        return source
    text = os.fspath(source)
    if filesystem is not None:
        found = _within(as_pyarrow(filesystem), text)
    elif not is_url(text):
        return Path(text)
    else:
        found = _behind(text)
    return Path(found.path) if is_local(found.filesystem) else found


def shown(source: Any) -> str:
    """A source as messages show it: a URL without its password and options.

    >>> shown("s3://key:secret@bucket/a.parquet?secret_key=secret")
    's3://key@bucket/a.parquet'
    """
    return _OPTIONS.sub("", _without_password(source)) if is_url(source) else str(source)


def _without_password(text: str) -> str:
    return _SECRET.sub(r"\1@", text)


def is_local(filesystem: Any) -> bool:
    return getattr(filesystem, "type_name", None) == "local"


def as_pyarrow(filesystem: Any) -> Any:
    """A file system of pyarrow, or of fsspec, as one of pyarrow."""
    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    if hasattr(filesystem, "protocol") and hasattr(filesystem, "info"):
        return fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    raise TypeError(f"filesystem must be a file system of pyarrow or fsspec; got {type(filesystem).__name__}.")


def patiently(work: Callable[[], Result]) -> Result:
    """The result of some work on a remote file. It is tried again a few times if the network fails."""
    for n_failures in count():
        try:
            return work()
        except OSError as error:
            pause_after(error, n_failures)
    raise AssertionError


def pause_after(error: OSError, n_failures: int) -> None:
    """Wait before another attempt. The error is raised if that would not help, or after too many failures."""
    if n_failures == len(PAUSES) or not is_transient(error):
        raise error
    time.sleep(PAUSES[n_failures])


def is_transient(error: OSError) -> bool:
    """Whether another attempt may help.

    >>> is_transient(OSError("AWS Error NETWORK_CONNECTION")), is_transient(OSError("AWS Error ACCESS_DENIED"))
    (True, False)
    """
    final = FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError
    return not isinstance(error, final) and not _FINAL.search(str(error))


@contextmanager
def explaining(source: Any, doing: str) -> Iterator[None]:
    """Convert errors of a file system to errors that name the file. If access is denied, they mention credentials."""
    try:
        yield
    except OSError as error:
        denied = isinstance(error, PermissionError) or re.search("ACCESS_DENIED|Forbidden|SIGNATURE", str(error))
        hint = " Credentials come from the usual environment variables, or from filesystem=." if denied else ""
        raise TableError(f"{shown(source)} cannot be {doing}: {_without_password(str(error))}{hint}") from error


def downloaded(source: RemoteFile, target: Path) -> Path:
    """Copy a remote file to this machine, piece by piece: a piece that the network interrupts is fetched again."""
    pinned = replace(source, expected=source.expected or state_of(source))  # a change meanwhile is refused

    def piece(start: int) -> bytes:
        with pinned.open() as opened:
            return bytes(opened.read_at(PIECE_BYTES, start))

    with explaining(source, "read"), target.open("wb") as copy:
        while block := patiently(partial(piece, copy.tell())):
            copy.write(block)
    return target


def content_of(source: RemoteFile) -> bytes:
    def read() -> bytes:
        with source.open() as opened:
            return bytes(opened.read())

    return patiently(read)


def upload(local: Path, target: RemoteFile) -> None:
    """Copy a local file to another file system. It appears whole, because it is renamed there when it is complete."""
    temporary = f"{target.path}.{os.urandom(4).hex()}.part"
    filesystem = target.filesystem
    try:
        with local.open("rb") as source, filesystem.open_output_stream(temporary) as copy:
            while block := source.read(PIECE_BYTES):
                copy.write(block)
        # On object stores a copy is one request, and the new object appears at once or not at all.
        filesystem.copy_file(temporary, target.path)
    finally:
        with suppress(OSError, NotImplementedError):  # it never existed, or it cannot be removed
            filesystem.delete_file(temporary)


def _within(filesystem: Any, text: str) -> RemoteFile:
    path = _URL.sub("", text) if is_url(text) else text
    kind = str(filesystem.type_name).removeprefix("py::").removeprefix("fsspec+")
    return RemoteFile(filesystem, path.rstrip("/") or path, text if is_url(text) else f"{kind}://{text}")


def _behind(url: str) -> RemoteFile:
    match = _URL.match(url)
    assert match is not None
    scheme = OTHER_NAMES.get(match[1].lower(), match[1].lower())
    url = f"{scheme}://{url[match.end() :]}"
    if scheme == "file":
        from urllib.request import url2pathname  # slow to import; on Windows it makes C:\\rows.csv of /C:/rows.csv

        return RemoteFile(fs.LocalFileSystem(), url2pathname(urlsplit(url).path), url)
    filesystem, path = _pyarrow_system(url) if scheme in BY_PYARROW else _fsspec_system(url)
    return RemoteFile(filesystem, path.rstrip("/"), shown(url))


def _pyarrow_system(url: str) -> tuple[Any, str]:
    with explaining(url, "reached"):
        try:
            filesystem, path = patiently(lambda: fs.FileSystem.from_uri(url))
            return filesystem, path
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(f"{shown(url)} is not a URL that pyarrow reads: {error}") from error


def _fsspec_system(url: str) -> tuple[Any, str]:
    fsspec = need("fsspec", "remote", f"Reading {shown(url)}")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, TypeError, OSError) as error:  # unknown, not installed, incomplete or not there
        raise TableError(
            f"{shown(url)} cannot be opened: {_without_password(str(error)).rstrip('.')}. Supported are s3://, gs://, "
            "abfs://, file:// and the protocols of fsspec, such as https:// and hf://."
        ) from error
    return as_pyarrow(filesystem), path


def fingerprint(path: Place) -> dict[str, Any]:
    """What distinguishes a file from one that replaced it, even with the same size and time of change."""
    if isinstance(path, RemoteFile):
        state = path.expected or state_of(path)
        return {"size": int(state[0]), "digest": blake2b(repr(state).encode(), digest_size=16).hexdigest()}
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        digest = blake2b(repr((status.st_mtime_ns, status.st_ctime_ns, status.st_ino)).encode(), digest_size=16)
        for start in (0, (status.st_size - SAMPLE_BYTES) // 2, status.st_size - SAMPLE_BYTES):
            file.seek(max(start, 0))
            digest.update(file.read(SAMPLE_BYTES))
    return {"size": status.st_size, "digest": digest.hexdigest()}


def refuse_unreachable(place: RemoteFile) -> None:
    """Raise an error if a file seems to be missing only because its server cannot be reached.

    File systems of fsspec report a refused connection as a missing file. Its cause tells them apart.
    """
    other = getattr(getattr(place.filesystem, "handler", None), "fs", None)
    try:
        if other is not None:
            other.info(place.path)
    except FileNotFoundError as error:
        cause = error.__cause__
        is_missing = isinstance(cause, FileNotFoundError | None) or getattr(cause, "status", None) in (404, 410)
        if not is_missing:
            raise TableError(f"{place} cannot be reached: {_without_password(str(cause))}") from error
