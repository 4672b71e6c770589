"""Groups of rows, such as the transactions of a card, as hashes.

A hash depends only on the value of a group: 7, 7.0 and "7" are one group, in memory, in files and on clusters. So the
side of a split that a row belongs to is known without a list of all groups.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, pa
from selfpaced.pools import row_keys

Hashes = NDArray[np.uint64]

WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,19})")
LARGEST_EXACT_FLOAT = 2.0**53


def group_hashes(groups: Any, where: str = "groups") -> Hashes:
    """The hash of each row's group. `where` is the name of the groups in error messages.

    >>> one, other, third = group_hashes(np.array([7, "7", "card 7"], dtype=object))
    >>> one == other, one == third, one == group_hashes(np.array([7.0]))[0]
    (np.True_, np.False_, np.True_)
    """
    values = np.asarray(groups)
    if values.dtype.kind in "iub":
        return _mixed(values.astype(np.uint64))
    if values.dtype.kind in "mM":
        _refuse(int(np.isnat(values).sum()), values.size, where)
        return _mixed(values.astype(f"{values.dtype.kind}8[us]").view(np.uint64))
    if values.dtype.kind == "f":
        _refuse(int(np.isnan(values).sum()), values.size, where)
        if ((values == np.rint(values)) & (np.abs(values) <= LARGEST_EXACT_FLOAT)).all():
            return _mixed(values.astype(np.int64).view(np.uint64))
    return _hashed_one_by_one(values, where)


def column_groups(column: Any, where: str) -> Hashes:
    """The same for a column of Arrow. Strings are hashed once for all rows that share them."""
    refuse_missing_groups(column, where)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_nested(kind):
        raise TableError(f"{where} is {kind}. Groups are strings, numbers or dates.")
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return group_hashes(column.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False), where)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return group_hashes(column.to_numpy(zero_copy_only=False), where)
    encoded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
    values = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)[:-1]
    used = np.unique(encoded.indices.to_numpy(zero_copy_only=False))
    hashes = np.zeros(values.size, dtype=np.uint64)
    hashes[used] = group_hashes(values[used], where)  # a dictionary may have values that no row has
    of_rows: Hashes = hashes[encoded.indices.to_numpy(zero_copy_only=False)]
    return of_rows


def refuse_missing_groups(column: Any, where: str) -> None:
    """Refuse a column of Arrow in which rows have no group."""
    _refuse(column.null_count, len(column), where)


def _hashed_one_by_one(values: NDArray[Any], where: str) -> Hashes:
    known: dict[Any, int] = {}
    hashes = np.empty(values.size, dtype=np.uint64)
    n_missing = 0
    for place, value in enumerate(values.tolist()):
        if _is_missing(value):
            n_missing += 1
            continue
        if value not in known:
            known[value] = _hash_of(value)
        hashes[place] = known[value]
    _refuse(n_missing, values.size, where)
    return hashes


def _hash_of(value: Any) -> int:
    """Whole numbers and moments by their value, however they are written, and everything else by its text."""
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return _hash_of(int(np.datetime64(utc, "us").astype(np.int64)))
    if isinstance(value, float | Decimal) and isfinite(value) and value == int(value):
        value = int(value)
    text = value.decode() if isinstance(value, bytes) else str(int(value) if isinstance(value, bool) else value)
    if WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**64:
        return int(_mixed(np.array([int(text) % 2**64], dtype=np.uint64))[0])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(numbers: NDArray[np.uint64]) -> Hashes:
    return row_keys(numbers, 0, 0)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA raises it
        return True


def _refuse(n_missing: int, n_rows: int, where: str) -> None:
    if n_missing:
        raise TableError(
            f"{where} has no value in {n_missing:,} of {n_rows:,} rows. Every row needs a group: drop these rows, or "
            "give each of them a group of its own."
        )
