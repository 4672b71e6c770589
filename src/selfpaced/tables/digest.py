"""Digests of rows: whether two sources hold the same values, whatever their order and their kind of file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import pa, pc
from selfpaced.tables.schema import are_numbers, plain, unified_fields
from selfpaced.tables.times import are_dates

if TYPE_CHECKING:
    from selfpaced.tables.files.file import Reader

Hashes = NDArray[np.uint64]
MISSING = 0x9AE16A3B2F90404F
LANES = (0x0, 0xC3A5C85C97CB3127)  # two sums of 64 bits each, of differently mixed hashes


@dataclass(frozen=True)
class RowsDigest:
    """Digests of the rows of a source. They do not depend on the order of rows, columns and files.

    Numbers and booleans are taken as 64-bit floats, dates as microseconds since 1970, strings as their characters. So
    rows in a CSV file have the digests of the same rows in a Parquet file if their columns are read as these types.
    """

    n_rows: int
    rows: str  # of whole rows: it changes if values move to another row
    columns: Mapping[str, str]  # of each column: they show which ones differ


def digest_of(reader: Reader, columns: Sequence[str]) -> RowsDigest:
    """The digests of some columns, in one pass."""
    others = {name for file in reader.files for name in file.schema.names} - set(columns)
    fields = unified_fields(reader.files, sorted(others))
    names = sorted(columns)
    sums = {name: [0] * len(LANES) for name in ("", *names)}
    n_rows = 0
    for _, batch in reader.read(names):
        n_rows += batch.num_rows
        whole = np.zeros(batch.num_rows, dtype=np.uint64)
        for name in names:
            hashes = _hashes(plain(batch.column(name)).cast(_plain_type(fields[name]), safe=False))
            _add(sums[name], hashes)
            whole = _mixed(whole ^ _mixed(hashes ^ np.uint64(_text_hash(name))))
        _add(sums[""], whole)
    texts = {name: "".join(f"{one:016x}" for one in some) for name, some in sums.items()}
    return RowsDigest(n_rows, texts.pop(""), texts)


def _plain_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _add(sums: list[int], hashes: Hashes) -> None:
    for place, lane in enumerate(LANES):
        total = int(_mixed(hashes ^ np.uint64(lane)).sum(dtype=np.uint64))
        sums[place] = (sums[place] + total) % 2**64


def _mixed(values: Hashes) -> Hashes:
    """Whole numbers mixed so that their sums do not cancel out (the steps of splitmix64)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: Hashes = values ^ (values >> np.uint64(31))
    return mixed


def _hashes(column: Any) -> Hashes:
    """A whole number for each value of an Arrow array: the same for equal values, and one for missing values."""
    missing = np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), dtype=bool)
    if are_numbers(column.type):
        numbers = column.cast(pa.float64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
        hashes = (numbers + 0.0).view(np.uint64).copy()  # -0.0 is 0.0
    elif are_dates(column.type):
        moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0)
        hashes = moments.to_numpy(zero_copy_only=False).view(np.uint64) ^ np.uint64(_text_hash("date"))
    else:
        encoded = pc.dictionary_encode(column) if _is_flat(column.type) else _as_texts(column).dictionary_encode()
        known = np.array([_text_hash(str(one)) for one in encoded.dictionary.to_pylist()] or [0], dtype=np.uint64)
        hashes = known[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    hashes = np.asarray(hashes, dtype=np.uint64)
    hashes[missing] = MISSING
    return hashes


def _is_flat(kind: Any) -> bool:
    return not pa.types.is_nested(kind) and not pa.types.is_null(kind)


def _as_texts(column: Any) -> Any:
    return pa.array([None if one is None else str(one) for one in column.to_pylist()], pa.string())


def _text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
