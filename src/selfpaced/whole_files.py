"""Files that are written completely or not at all, on this machine or behind a URL."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from selfpaced.remote_files import AnyPath, Place, RemoteFile, located, upload


@contextmanager
def whole_file(path: AnyPath, error_type: type[Exception] | None = None, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` when the block ends.

    After an error or Ctrl-C the temporary file is removed, and an earlier file at `path` is not changed. If the block
    removes the temporary file itself, nothing is renamed. A symbolic link is followed, not replaced. For a URL, the
    temporary file is in a folder of this machine, and is uploaded when the block ends.

    Parameters
    ----------
    path : path or URL
        The file to write.
    error_type : exception class, optional
        The type of the error that is raised when the file cannot be written; by default the operating system's.
    mode : int, optional
        The file permissions, less the umask. The temporary file is created with them before the block starts; by
        default the block creates it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
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
            _flush_to_disk(temporary)
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


def _flush_to_disk(path: Path) -> None:
    """Flush a file to the disk, so that after a power cut its new name does not exist without its content."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
