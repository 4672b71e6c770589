"""Digests of rows: whether two sources hold the same values, whatever their order and their kind of file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import pa, pc
from selfpaced.pools import row_keys
from selfpaced.tables.schema import are_numbers, plain, unified_fields
from selfpaced.tables.times import are_dates

if TYPE_CHECKING:
    from selfpaced.tables.files.file import Reader

Hashes = NDArray[np.uint64]
MISSING = 0x9AE16A3B2F90404F
SAMPLED = 500  # rows of a source that are known one by one
LANES = 2  # sums of 64 bits each, of keys that are made of the hashes in two ways


@dataclass(frozen=True)
class RowsDigest:
    """Digests of the rows of a source. They do not depend on the order of rows, columns and files.

    Numbers and booleans are taken as 64-bit floats, dates as microseconds since 1970, strings as their characters. So
    rows in a CSV file have the digests of the same rows in a Parquet file if their columns are read as these types.
    32-bit floats that were written as text have the same digest of rows, but not the same digests of columns.
    """

    n_rows: int
    rows: str  # of whole rows, with numbers as 32-bit floats: it changes if values move to another row
    columns: Mapping[str, str]  # of each column, with all digits: they show which ones differ
    sample: Mapping[int, str]  # the hashes of about `SAMPLED` rows, those with the smallest ones, by their numbers


def digest_of(reader: Reader, columns: Sequence[str]) -> RowsDigest:
    """The digests of some columns, in one pass."""
    sums, sample = [[0] * LANES for _ in range(1 + len(columns))], dict[int, str]()
    n_rows, limit = 0, _limit(reader.n_rows or 0)
    for by_column, whole in _hashed(reader, columns):
        for total, hashes in zip(sums, (whole, *by_column), strict=True):
            _add(total, hashes)
        small = np.flatnonzero(whole <= limit)
        sample |= dict(zip((n_rows + small).tolist(), map(_text, whole[small].tolist()), strict=True))
        n_rows += whole.size
    of_rows, *of_columns = ("".join(map(_text, total)) for total in sums)
    return RowsDigest(n_rows, of_rows, dict(zip(sorted(columns), of_columns, strict=True)), sample)


def share_known(reader: Reader, columns: Sequence[str], n_rows: int, known: Collection[str]) -> tuple[float, int]:
    """The share of some rows that are equal to known ones, by a sample of so many rows, and how many rows it has."""
    limit, found = _limit(n_rows), set[str]()
    for _, whole in _hashed(reader, columns):
        found |= {*map(_text, np.unique(whole[whole <= limit]).tolist())}
    return len(found.intersection(known)) / max(len(found), 1), len(found)


def _text(hash: int) -> str:
    return f"{hash:016x}"


def _limit(n_rows: int) -> np.uint64:
    """The largest hash of a row in the sample of so many rows."""
    return np.uint64(min(SAMPLED * 2**64 // max(n_rows, 1), 2**64 - 1))


def _hashed(reader: Reader, columns: Sequence[str]) -> Iterator[tuple[list[Hashes], Hashes]]:
    """The hashes of each batch of rows: of its columns in the order of their names, and of whole rows."""
    others = {name for file in reader.files for name in file.schema.names} - set(columns)
    kinds = unified_fields(reader.files, sorted(others))
    kinds = {name: one.value_type if pa.types.is_dictionary(one) else one for name, one in kinds.items()}
    for _, batch in reader.read(sorted(columns)):
        by_column, whole = [], np.zeros(batch.num_rows, dtype=np.uint64)
        for name in sorted(columns):
            exact, rounded = _hashes(plain(batch.column(name)).cast(kinds[name], safe=False))
            by_column.append(exact)
            whole = row_keys(whole ^ row_keys(rounded ^ np.uint64(_text_hash(name)), 0, 0), 0, 0)
        yield by_column, whole


def _add(sums: list[int], hashes: Hashes) -> None:
    for lane in range(LANES):
        sums[lane] = (sums[lane] + int(row_keys(hashes, lane, 0).sum(dtype=np.uint64))) % 2**64


def _hashes(column: Any) -> tuple[Hashes, Hashes]:
    """A whole number for each value of an Arrow array: the same for equal values, and one for missing values.

    The second one is the same for numbers that are equal as 32-bit floats.
    """
    missing = np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), dtype=bool)
    if are_numbers(column.type):
        numbers = column.cast(pa.float64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            both = numbers + 0.0, numbers.astype(np.float32).astype(np.float64) + 0.0  # -0.0 is 0.0
        exact, rounded = (np.where(missing, np.uint64(MISSING), one.view(np.uint64)) for one in both)
        return exact, rounded
    if are_dates(column.type):
        moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0)
        hashes = moments.to_numpy(zero_copy_only=False).view(np.uint64) ^ np.uint64(_text_hash("date"))
    else:
        encoded = pc.dictionary_encode(column) if _is_flat(column.type) else _as_texts(column).dictionary_encode()
        known = np.array([_text_hash(str(one)) for one in encoded.dictionary.to_pylist()] or [0], dtype=np.uint64)
        hashes = known[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    hashes = np.asarray(hashes, dtype=np.uint64)
    hashes[missing] = MISSING
    return hashes, hashes


def _is_flat(kind: Any) -> bool:
    return not pa.types.is_nested(kind) and not pa.types.is_null(kind)


def _as_texts(column: Any) -> Any:
    return pa.array([None if one is None else str(one) for one in column.to_pylist()], pa.string())


def _text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
