"""Objects to and from skops archives."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

from selfpaced.exceptions import ModelFileError
from selfpaced.safe_files.trusted import refuse_unknown, trusted_with
from selfpaced.versions import differences

# A changed byte can also make an archive look encrypted or compressed by an unknown method, which is a RuntimeError.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError)
# A small file must not fill the memory when it is decompressed. Models with many categories, the worst that were
# measured, are decompressed to 34 times the size of their file.
ALWAYS_ACCEPTED_BYTES = 2**26
LARGEST_RATIO = 200
BYTES_AT_ONCE = 2**16
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others decompress megabytes from a few bytes at once


def import_skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Model files and checkpoints need skops, which is not installed: pip install 'selfpaced[models]'"
        ) from error
    return skops.io


def dumped(thing: Any, what: str, call: str, allow: str | Sequence[str] = (), otherwise: str = "") -> bytes:
    """An object as an archive. An object that could not be loaded again is refused.

    Parameters
    ----------
    what : str
        The name of the object in error messages.
    call : str
        The beginning of the call that can allow more types, such as "save_model(...".
    allow : str | Sequence[str], default=()
        The names of types that the caller trusts besides those on the list.
    otherwise : str, default=""
        What to do if skops cannot save the object.
    """
    skops = import_skops()
    try:
        content: bytes = skops.dumps(thing, compression=zipfile.ZIP_DEFLATED)
    except TypeError as error:  # also skops' UnsupportedTypeException
        raise ModelFileError(f"{what} cannot be saved with skops ({error}). {otherwise}".rstrip()) from error
    refuse_unknown(skops.get_untrusted_types(data=content), allow, what, call)
    if _n_decompressed(content) > _most_decompressed(len(content)):
        content = skops.dumps(thing, compression=zipfile.ZIP_STORED)  # compressed it would exceed the largest ratio
    return content


def loaded(
    source: Path | BytesIO, name: str, call: str, allow: str | Sequence[str] = (), versions: Mapping[str, str] = {}
) -> Any:
    """The object in an archive, of trusted types only. `check_contents` checks whether its parts fit together.

    Parameters
    ----------
    name : str
        The name of the archive in error messages.
    call, allow
        As for `dumped`.
    versions : Mapping[str, str]
        The versions of the packages that the object was saved with, if they are known, for an error message.
    """
    skops = import_skops()
    with opened(source, name) as archive:
        content = _decompressed(archive)
    try:
        types = skops.get_untrusted_types(data=content)
    except Exception as error:  # a damaged description may raise anything
        raise ModelFileError(f"{name} is damaged: its content cannot be described ({error!r}).") from error
    refuse_unknown(types, allow, name, call)
    with warnings.catch_warnings():
        # scikit-learn would warn about a different version for every part.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return skops.loads(content, trusted=trusted_with(allow))
        except Exception as error:  # parts that do not fit together, or not here, may raise anything
            changed = differences(versions)
            saved_with = f" It was saved with {', '.join(changed)}." if changed else ""
            raise ModelFileError(f"The content of {name} cannot be put together: {error!r}.{saved_with}") from error


@contextmanager
def opened(source: Path | BytesIO, name: str) -> Iterator[zipfile.ZipFile]:
    """The archive. For another file, an error says what it is."""
    try:
        n_bytes = source.stat().st_size if isinstance(source, Path) else len(source.getbuffer())
        with zipfile.ZipFile(source) as archive:
            _check_size(archive, n_bytes, name)
            yield archive
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no file {name}.") from error
    except IsADirectoryError as error:
        raise ModelFileError(f"{name} is a folder. Name the model file in it.") from error
    except DAMAGE as error:
        raise ModelFileError(f"{name} {_what_it_is(source)}") from error
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error}") from error


def _what_it_is(source: Path | BytesIO) -> str:
    with source.open("rb") if isinstance(source, Path) else BytesIO(source.getvalue()) as file:
        first = file.read(4)
    if not first:
        return "is empty."
    if first.startswith(b"PK"):
        return "is damaged or incomplete. Copy or save it again."
    if first.startswith(b"\x80"):
        return "is a pickle that save_model did not write. If you trust it, load it with joblib and save it again."
    return (
        "is not a selfpaced model file: it does not start with a ZIP header. Save models with save_model or "
        "selfpaced train."
    )


def _check_size(archive: zipfile.ZipFile, n_bytes: int, name: str) -> None:
    """Refuse an archive that would fill the memory."""
    if any(part.compress_type not in METHODS for part in archive.infolist()):
        raise zipfile.BadZipFile("compressed by a method that save_model does not use")
    n_decompressed = sum(part.file_size for part in archive.infolist())
    if n_decompressed > _most_decompressed(n_bytes):
        raise ModelFileError(
            f"{name} has {n_bytes:,} bytes and would have {n_decompressed:,} after decompression. At most "
            f"{LARGEST_RATIO} times as many are accepted: the file is damaged or forged."
        )


def _decompressed(archive: zipfile.ZipFile) -> bytes:
    """The same archive, with checked checksums and without compression, so that nothing in it can grow."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as copy:
        for name in dict.fromkeys(archive.namelist()):
            copy.writestr(name, part_of(archive, name))
    return content.getvalue()


def part_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of an archive: as many bytes as it declares, and no more in memory at any time."""
    with archive.open(name) as file:
        return b"".join(iter(lambda: file.read(BYTES_AT_ONCE), b""))


def _most_decompressed(n_bytes: int) -> int:
    return max(ALWAYS_ACCEPTED_BYTES, LARGEST_RATIO * n_bytes)


def _n_decompressed(content: bytes) -> int:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return sum(part.file_size for part in archive.infolist())
