"""Labels, weights, ids and groups of rows: read, counted and checked.

The hash of a group, such as a card, depends only on its value: 7, 7.0 and "7" are one group, in memory, in files and on
clusters. So the side of a split that a row belongs to is known without a list of all groups.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from selfpaced.exceptions import TableError, pa, pc
from selfpaced.pools import LARGEST_KEY, Ids, Rows, row_key, row_keys
from selfpaced.tables.schema import Described, plain
from selfpaced.tables.table import Roles
from selfpaced.tables.times import are_dates, is_missing

ROWS_AT_ONCE = 2**18
FEW_CLASSES = 20
MOST_LABELS = 250  # on files and clusters a class number is a byte, and some bytes have other uses


@dataclass(frozen=True)
class ClassCounts:
    """The classes in sorted order, and how many rows each has."""

    classes: NDArray[Any]
    counts: NDArray[np.int64]

    @property
    def names(self) -> list[Any]:
        """The classes as plain Python values, as a person would write them."""
        names: list[Any] = self.classes.tolist()
        return names

    @property
    def rarest(self) -> int:
        """The number of the smallest class. If several are equally small, the last: with 0 and 1 that is 1."""
        return self.counts.size - 1 - int(self.counts[::-1].argmin())

    def score_label(self, pos_label: Any) -> Any:
        """The label whose probability is the score: the one to separate from all others, or else the rarest."""
        return self.names[self.rarest] if pos_label is None else pos_label


@dataclass(frozen=True)
class Labels(ClassCounts):
    """The same with the number of each row's class."""

    codes: NDArray[np.unsignedinteger]

    def ids(self, class_number: int) -> Ids:
        """The positions of the rows of a class, with four bytes for each row if that is enough."""
        return np.flatnonzero(self.codes == class_number).astype(np.min_scalar_type(self.codes.size))

    def part(self, chosen: NDArray[np.bool_]) -> Self:
        """The labels of some of the rows. Classes that have no row among them are left out."""
        codes = self.codes[chosen]
        counts = np.bincount(codes, minlength=self.classes.size)
        present = counts > 0
        numbers = (np.cumsum(present) - 1).astype(self.codes.dtype)
        return type(self)(self.classes[present], counts[present].astype(np.int64), numbers[codes])

    def separated(self, pos_label: Any, target: str | None) -> Self:
        """The positive label against all others, if there are more than two labels."""
        is_positive = self.classes == pos_label
        if not np.any(is_positive):
            raise TableError(f"No row of column {target!r} has the label {pos_label!r}. Its labels are {self.names}.")
        if self.classes.size <= 2:
            return self
        n_positive = int(self.counts[is_positive].sum())
        counts = np.array([int(self.counts.sum()) - n_positive, n_positive])
        return type(self)(np.array([False, True]), counts, is_positive.astype(np.uint8)[self.codes])


def encode_labels(y: NDArray[Any], classes: NDArray[Any] | None = None, rows_at_once: int = ROWS_AT_ONCE) -> Labels:
    """Number the classes of `y` in sorted order. Chunks keep the memory at a byte or two per row.

    >>> labels = encode_labels(np.array(["ok", "fraud", "ok"]))
    >>> labels.classes.tolist(), labels.counts.tolist(), labels.codes.tolist()
    (['fraud', 'ok'], [1, 2], [1, 0, 1])
    """
    if classes is None:
        classes = np.unique(y)
    codes = np.empty(y.size, dtype=np.min_scalar_type(classes.size))
    counts = np.zeros(classes.size, dtype=np.int64)
    for start in range(0, y.size, rows_at_once):
        some = slice(start, start + rows_at_once)
        numbers = np.searchsorted(classes, y[some])
        codes[some] = numbers
        counts += np.bincount(numbers, minlength=classes.size)[: classes.size]
    return Labels(classes, counts, codes)


def read_labels(y: Any, X: Any) -> Labels:
    """The labels that a user gave for the rows of X, as class numbers. Missing and unsortable ones are refused."""
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    refuse_missing_labels(y)
    try:
        labels = encode_labels(y)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        raise ValueError(f"The labels in y have types that cannot be sorted together: {kinds}.") from error
    # It is enough to check the few classes. scikit-learn would sort all rows once more.
    check_classification_targets(labels.classes if labels.classes.size <= FEW_CLASSES else y)
    return labels


def refuse_missing_labels(y: NDArray[Any]) -> None:
    if y.dtype.kind in "fO":
        assert_all_finite(y, input_name="y")
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("Input y contains None: every row needs a label. Drop the rows without one, or label them.")


class LabelLook:
    """Labels as far as they have been read: one byte a row."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._known: Any = None
        self._numbers = bytearray()  # which grows in place: a list of arrays would stay beside the joined one

    def add(self, column: Any, file: Described) -> None:
        column = plain(column)
        if column.null_count or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
            raise TableError(
                f"{file.path} has rows without a label. Drop these rows (--drop-unlabelled on the command line), or "
                "label them."
            )
        new = column.unique()
        if self._known is None:
            self._known = new
        elif self._known.type != new.type:
            column, new = self._alike(column, file), self._alike(new, file)
        fresh = new.filter(pc.invert(pc.is_in(new, value_set=self._known)))
        if len(fresh):
            self._known = pa.concat_arrays([self._known, fresh])
        refuse_many_labels(len(self._known), self._roles)
        numbers = pc.index_in(column, value_set=self._known)
        self._numbers += numbers.to_numpy(zero_copy_only=False).astype(np.uint8).data

    def labels(self) -> Labels:
        """The labels of all rows; one against all others if the roles say so."""
        if self._known is None:
            raise TableError("The table has no rows. At least two classes with two rows each are needed.")
        classes, number_of = np.unique(self._known.to_numpy(zero_copy_only=False), return_inverse=True)
        translation = number_of.astype(np.uint8).tobytes().ljust(256)
        codes = np.frombuffer(self._numbers.translate(translation), dtype=np.uint8)
        counts = np.zeros(classes.size, dtype=np.int64)
        for start in range(0, codes.size, ROWS_AT_ONCE):  # np.bincount takes eight bytes for every row
            counts += np.bincount(codes[start : start + ROWS_AT_ONCE], minlength=classes.size)
        labels = Labels(classes, counts, codes)
        return labels if self._roles.pos_label is None else labels.separated(self._roles.pos_label, self._roles.target)

    def roles(self) -> Roles:
        """The roles with the positive label as the data have it, 0 is False among booleans, and with the others."""
        known = self._known.to_pylist()
        found = [label for label in known if label == self._roles.pos_label]
        others = tuple(label for label in known if label not in found)
        return replace(self._roles, pos_label=found[0], other_labels=others) if found else self._roles

    def _alike(self, column: Any, file: Described) -> Any:
        try:
            return column.cast(self._known.type)
        except pa.ArrowException as error:
            raise TableError(
                f"The labels of {file.path} are {column.type}, those of the files before it {self._known.type}: {error}"
            ) from error


def refuse_many_labels(n_labels: int, roles: Roles) -> None:
    if n_labels > MOST_LABELS:
        raise TableError(
            f"{roles.labels_are_in} has more than {MOST_LABELS} different values. It looks like a number to predict "
            "(regression), not like classes. Name a column of classes."
        )


def refuse_weightless(rows: Rows, name: Any) -> None:
    """Refuse a class whose rows all have a weight of 0."""
    weights = rows.metadata.get("sample_weight")
    if weights is not None and len(weights) and not np.any(weights):
        raise TableError(f"All rows of the class {name!r} have a weight of 0. Give some of them a positive weight.")


def refuse_bad(weights: NDArray[Any], what: str) -> None:
    """Refuse weights that are missing, infinite or negative."""
    n_bad = int(np.count_nonzero(~np.isfinite(weights)))
    if n_bad:
        raise TableError(f"{what} has {n_bad:,} weight(s) that are NaN or infinite. Every row needs a finite weight.")
    n_negative = int(np.count_nonzero(weights < 0))
    if n_negative:
        raise TableError(f"{what} has {n_negative:,} negative weight(s). Weights must be at least 0.")


IDS_LOOKED_AT = 2**17


def keys_looked_at(n_rows: int) -> int:
    """The largest key that is checked: all keys of a small table, about 100,000 of a large one.

    The key of an id decides whether it is checked, so either all copies of an id are checked or none.
    """
    return LARGEST_KEY if n_rows <= IDS_LOOKED_AT else int(IDS_LOOKED_AT / n_rows * LARGEST_KEY)


def refuse_repeated(sorted_ids: NDArray[Any], where: str = "") -> None:
    twice = np.flatnonzero(sorted_ids[1:] == sorted_ids[:-1])
    if twice.size:
        raise TableError(f"The id {sorted_ids[twice[0]]}{where} occurs more than once. Every row needs its own id.")


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
        return row_keys(values, 0, 0)
    if values.dtype.kind in "mM":
        refuse_missing_groups(int(np.isnat(values).sum()), values.size, where)
        return row_keys(values.astype(f"{values.dtype.kind}8[us]").view(np.uint64), 0, 0)
    if values.dtype.kind == "f":
        refuse_missing_groups(int(np.isnan(values).sum()), values.size, where)
        if ((values == np.rint(values)) & (np.abs(values) <= LARGEST_EXACT_FLOAT)).all():
            return row_keys(values.astype(np.int64).view(np.uint64), 0, 0)
    refuse_missing_groups(sum(map(is_missing, values.tolist())), values.size, where)
    return np.fromiter(map(cache(group_hash), values.tolist()), np.uint64, values.size)


def column_groups(column: Any, where: str) -> Hashes:
    """The same for a column of Arrow. Strings are hashed once for all rows that share them."""
    refuse_missing_groups(column.null_count, len(column), where)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_nested(kind):
        raise TableError(f"{where} is {kind}. Groups are strings, numbers or dates.")
    if are_dates(kind):
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


def group_hash(value: Any) -> int:
    """The hash of one group: whole numbers and moments by their value, however they are written, the rest by its text.

    >>> group_hash(7) == group_hash("7") == group_hash(7.0) == int(group_hashes([7])[0])
    True
    """
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return group_hash(int(np.datetime64(utc, "us").astype(np.int64)))
    if isinstance(value, float | Decimal) and isfinite(value) and value == int(value):
        value = int(value)
    text = value.decode() if isinstance(value, bytes) else str(int(value) if isinstance(value, bool) else value)
    if WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**64:
        return row_key(int(text), 0, 0)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def refuse_missing_groups(n_missing: int, n_rows: int, where: str) -> None:
    if n_missing:
        raise TableError(
            f"{where} has no value in {n_missing:,} of {n_rows:,} rows. Every row needs a group: drop these rows, or "
            "give each of them a group of its own."
        )
