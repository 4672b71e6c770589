"""Tables in partitions on a cluster: their content, and rows that are held out where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, import_arrow
from selfpaced.pools import (
    GROUP,
    LARGEST_KEY,
    NO_CLASS,
    Block,
    Engine,
    Keys,
    PartitionedPool,
    Partitions,
    Rows,
    Tags,
    flattened,
    mix,
    row_keys,
)
from selfpaced.tables import (
    MOST_CATEGORIES,
    MOST_LABELS,
    ClassCounts,
    ClassSplit,
    Elsewhere,
    InMemoryTable,
    Roles,
    Schema,
    SplitPlan,
    TableOptions,
    are_strings,
    feature_names,
    frozen,
    is_frame,
    keys_looked_at,
    refuse_bad,
    refuse_infinity,
    refuse_repeated,
    refuse_weightless,
    stack,
    unified_fields,
)

ROWS_AT_ONCE = 2**16
MISSING = np.uint64(0x7FF8000000000000)  # one of the bit patterns of NaN, for all of them


@dataclass(frozen=True)
class ContentSum:
    """The sum of 64-bit hashes of rows: of all values that a fit may use, with their types, and of id and class."""

    def __call__(self, block: Block) -> int:
        sums = []
        for start in range(0, block.tags.ids.size, ROWS_AT_ONCE):
            some = np.arange(start, min(start + ROWS_AT_ONCE, block.tags.ids.size))
            sums.append(int(_hashes(block.take(some), block.tags.classes[some]).sum(dtype=np.uint64)))
        return self.merge(sums)

    @staticmethod
    def merge(sums: Sequence[int]) -> int:
        return sum(sums) & LARGEST_KEY


def _hashes(rows: Rows, classes: NDArray[np.uint8]) -> Keys:
    hashes = row_keys(np.asarray(rows.ids), 0, 0)
    for number, values in enumerate(_columns(rows, classes)):
        salt = mix(*values.dtype.str.encode())
        hashes = row_keys(hashes ^ _bits(values), number, salt)
    return hashes


def _columns(rows: Rows, classes: NDArray[np.uint8]) -> Iterator[NDArray[Any]]:
    yield classes
    for name in sorted(rows.metadata):
        yield np.asarray(rows.metadata[name])
    features = rows.features
    for position in range(features.shape[1]):
        yield _values(features.iloc[:, position]) if is_frame(features) else features[:, position]


def _values(column: Any) -> NDArray[Any]:
    """Of a categorical column the numbers of the categories, which are in the schema."""
    return np.asarray(column.cat.codes if column.dtype == "category" else column)


def _bits(values: NDArray[Any]) -> Keys:
    if values.dtype.kind == "f":
        exact = values.astype(np.float64)
        return np.where(np.isnan(exact), MISSING, exact.view(np.uint64))
    if values.dtype.kind not in "iub":
        raise TypeError(f"Values of type {values.dtype} cannot be compared with those of another table.")
    return values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)


# Rows are held out by other keys than those they are drawn by.
HOLDING_OUT, LOOKING_AT = mix(0, 1), mix(0, 2)


@dataclass(frozen=True)
class HeldOut:
    """Which rows are held out: about a share of all, by the hash of the id, or of the group of a row."""

    share: float
    seed: int
    by_group: bool

    def __call__(self, block: Block) -> NDArray[np.bool_]:
        hashed = self._groups(block) if self.by_group else block.tags.ids
        keys = row_keys(hashed, mix(self.seed, HOLDING_OUT), 0)
        return keys < np.uint64(min(int(self.share * 2**64), LARGEST_KEY))

    @staticmethod
    def _groups(block: Block) -> NDArray[np.uint64]:
        groups = block.take(np.arange(block.tags.ids.size)).groups
        assert groups is not None
        return groups


@dataclass(frozen=True)
class Side:
    """A step that lets go of the rows on the other side."""

    held_out: HeldOut
    is_held_out: bool

    def __call__(self, block: Block) -> Tags:
        is_here = self.held_out(block) == self.is_held_out
        return replace(block.tags, classes=np.where(is_here, block.tags.classes, np.uint8(NO_CLASS)))


@dataclass(frozen=True)
class CountClasses:
    """How many rows each class has."""

    n_classes: int

    def __call__(self, block: Block) -> NDArray[np.int64]:
        return np.bincount(block.tags.classes, minlength=NO_CLASS + 1)[: self.n_classes]

    @staticmethod
    def merge(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        total: NDArray[np.int64] = np.sum(parts, axis=0, dtype=np.int64)
        return total


@dataclass(frozen=True)
class SomeRows:
    """The rows of a side whose keys are not above a limit: a sample."""

    limit: int
    seed: int

    def __call__(self, block: Block) -> list[Rows]:
        keys = row_keys(block.tags.ids, mix(self.seed, LOOKING_AT), 0)
        return [block.take(np.flatnonzero((keys <= np.uint64(self.limit)) & (block.tags.classes != NO_CLASS)))]


def divided(table: PartitionedTable, share: float, seed: int) -> tuple[PartitionedTable, PartitionedTable]:
    """The rows to train on, and those held out: whole groups, if the table has groups."""
    held_out = HeldOut(share, seed, table.roles.group_column is not None)
    train, test = (_side(table, Side(held_out, is_held_out)) for is_held_out in (False, True))
    return train, test


def _side(table: PartitionedTable, side: Side) -> PartitionedTable:
    begin = partial(_begun, table.begin, side)
    labels = table.class_counts
    counts = begin().ask(CountClasses(labels.classes.size), CountClasses.merge, features=False)
    if not counts.all():
        name, which = labels.names[int(np.argmin(counts))], "held out" if side.is_held_out else "left to train on"
        raise TableError(
            f"No row of the class {name!r} is {which}, of {labels.counts[np.argmin(counts)]:,}. Hold out another share."
        )
    return replace(table, begin=begin, class_counts=ClassCounts(labels.classes, counts))


def _begun(begin: Callable[[], Engine], side: Side) -> Engine:
    engine = begin()
    engine.advance(side)
    return engine


def some_rows(table: PartitionedTable, n_rows: int, seed: int) -> Rows:
    """About so many rows of a table, of all classes, sorted by id."""
    share = min(n_rows / int(table.class_counts.counts.sum()), 1.0)
    engine = table.begin()
    question = SomeRows(min(int(share * 2**64), LARGEST_KEY), seed)
    return engine.stacked(engine.ask(question, flattened, features=True))


@dataclass(frozen=True)
class PartitionedTable:
    """A table on a cluster.

    Attributes
    ----------
    begin : Callable[[], Engine]
        Gives an engine that asks the partitions, whose tags are those of rows that no model has seen.
    schema : Schema | None
        The features; None if they have no names.
    has_own_ids : bool
        Whether the ids are a user's, which may occur more than once.
    elsewhere : Elsewhere | None, default=None
        The machines that train members; None for the driver.
    """

    begin: Callable[[], Engine]
    class_counts: ClassCounts
    schema: Schema | None
    roles: Roles
    has_own_ids: bool
    elsewhere: Elsewhere | None = None
    snapshot: None = None
    bytes_in_memory: None = None

    def labels(self) -> ClassCounts:
        return self.class_counts

    def split(self, plan: SplitPlan) -> ClassSplit:
        labels = self.class_counts
        larger = {number: n for number, n in enumerate(labels.counts.tolist()) if number != labels.rarest}
        partitions = Partitions(self.begin(), larger, plan.seed)
        looked_at = keys_looked_at(int(labels.counts.sum())) if self.has_own_ids else 0
        minority, ids, foreseen = partitions.begin(labels.rarest, looked_at, plan.n_draw, plan.first_round)
        refuse_repeated(np.sort(ids))
        refuse_weightless(minority, labels.names[labels.rarest])
        pools = {
            number: PartitionedPool(partitions, number, n, (plan.first_round, foreseen[number]))
            for number, n in larger.items()
        }
        counts = labels.counts.tolist()
        return ClassSplit(labels.names, counts, labels.rarest, minority, pools, elsewhere=self.elsewhere)

    def identity(self) -> dict[str, Any]:
        """The content of all rows, which the partitions hash. That is one more pass over them."""
        roles = {name: repr(value) for name, value in vars(self.roles).items()}
        content = self.begin().ask(ContentSum(), ContentSum.merge, features=True)
        labels = self.class_counts
        return {
            "content": f"{content:016x}",
            "classes": dict(zip(map(repr, labels.names), labels.counts.tolist(), strict=True)),
            "features": None if self.schema is None else repr(self.schema.columns),
            **roles,
        }


def fits_elsewhere(fit_on: str) -> bool:
    """Whether members are trained on the cluster, and not by the driver."""
    if fit_on not in ("driver", "executor"):
        raise ValueError(f'fit_on must be "driver" or "executor"; got {fit_on!r}.')
    return fit_on == "executor"


def frame_roles(frame: Any, options: TableOptions) -> tuple[Roles, list[str]]:
    """The roles of a cluster frame's columns, and its features."""
    given: dict[str, Any] = {
        name: options.get(name) for name in ("target", "weight_column", "id_column", "group_column")
    }
    roles = Roles(**given)
    if roles.target is None:
        raise ValueError("The column of labels is not known. Name it: open_table(frame, target='...').")
    for name in (roles.target, roles.weight_column, roles.id_column, roles.group_column):
        if name is not None and name not in frame.columns:
            raise TableError(f"There is no column {name!r}; the columns are {list(frame.columns)}.")
    return roles, feature_names(frame.columns, options.get("columns"), options.get("exclude", ()), roles)


@dataclass(frozen=True)
class PartitionFacts:
    """The facts of some rows, which are collected before any of them is used.

    Attributes
    ----------
    path : str
        The name of the rows in errors.
    schema : Any
        The Arrow schema of the features; None for an array.
    n_features : int
        The number of features.
    with_missing : frozenset[str]
        The features with missing values.
    categories : Mapping[str, tuple[str, ...]]
        The strings of each feature that holds strings.
    classes, counts
        The labels, and the number of rows of each.
    """

    path: str
    n_rows: int
    schema: Any
    n_features: int
    with_missing: frozenset[str]
    categories: Mapping[str, tuple[str, ...]]
    classes: NDArray[Any]
    counts: NDArray[np.int64]

    @staticmethod
    def merge(parts: Sequence[PartitionFacts]) -> PartitionFacts:
        """The facts of all parts as one's. Empty parts have nothing to tell: their types are guesses."""
        full = [part for part in parts if part.n_rows] or list(parts[:1])
        schema = None if full[0].schema is None else import_arrow().schema(unified_fields(full).items())
        classes, counts = _merged_counts(full)
        return PartitionFacts(
            full[0].path,
            sum(part.n_rows for part in full),
            schema,
            _one_width(full),
            frozenset().union(*(part.with_missing for part in full)),
            _merged_categories([part.categories for part in full]),
            classes,
            counts,
        )

    def frozen_schema(self, zone: str | None) -> Schema | None:
        """Types and categories that every partition is brought to, weekdays and hours of a time zone."""
        if self.schema is None:
            return None
        fields = {field.name: field.type for field in self.schema}
        return frozen(fields, list(fields), set(fields) - self.with_missing, self.categories).in_zone(zone)

    def class_counts(self, roles: Roles) -> ClassCounts:
        if self.classes.size > MOST_LABELS:
            raise TableError(
                f"{roles.labels_are_in} has more than {MOST_LABELS} different values. It looks like a number to "
                "predict (regression), not like classes. Name a column of classes."
            )
        return ClassCounts(self.classes, self.counts)


def _merged_counts(parts: Sequence[PartitionFacts]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    labels = np.concatenate([part.classes for part in parts])
    try:
        classes, number = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise TableError(f"The labels have types that cannot be sorted together: {kinds}.") from error
    counts = np.bincount(number, np.concatenate([part.counts for part in parts]), minlength=classes.size)
    return classes, counts.astype(np.int64)


def _one_width(parts: Sequence[PartitionFacts]) -> int:
    other = next((part for part in parts if part.n_features != parts[0].n_features), None)
    if other is not None:
        raise TableError(
            f"{parts[0].path} has {parts[0].n_features} features and {other.path} has {other.n_features}; all need "
            "the same."
        )
    return parts[0].n_features


def _merged_categories(parts: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Categories that all parts agree on keep their order; others are sorted."""
    names = sorted({name for part in parts for name in part})
    merged = {}
    for name in names:
        found = {part.get(name, ()) for part in parts}
        merged[name] = found.pop() if len(found) == 1 else tuple(sorted(set().union(*found)))
        if len(merged[name]) > MOST_CATEGORIES:
            raise TableError(
                f"Column {name!r} has more than {MOST_CATEGORIES} different strings, like a name or free text. Remove "
                "it from the features."
            )
    return merged


def frame_facts(batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
    """The facts of a record batch of features. Infinity is refused, as in memory."""
    pa = import_arrow()
    with_missing, categories = set(), {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_floating(field.type):
            refuse_infinity(column, f"Column {field.name!r} of {path}")
        if column.null_count:
            with_missing.add(field.name)
        found = _strings(field, column, path)
        if found is not None:
            categories[field.name] = found
    classes, counts = _counted(labels, path)
    return PartitionFacts(
        path, batch.num_rows, batch.schema, batch.num_columns, frozenset(with_missing), categories, classes, counts
    )


def _strings(field: Any, column: Any, path: str) -> tuple[str, ...] | None:
    """The strings of a column in the order of their categories, or sorted; None if it holds something else."""
    pa = import_arrow()
    if not pa.types.is_dictionary(field.type):
        return tuple(sorted(column.unique().drop_null().to_pylist())) if are_strings(field.type) else None
    if not are_strings(field.type.value_type):
        raise TableError(
            f"Column {field.name!r} of {path} is a category of {field.type.value_type}. Convert its values to strings, "
            "or to plain numbers if their size has a meaning."
        )
    return tuple(column.dictionary.to_pylist())


def array_facts(array: NDArray[Any], labels: NDArray[Any], path: str) -> PartitionFacts:
    """The same for an array without names."""
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise TableError(
            f"{path} must be an array of numbers with two dimensions; it is {array.dtype} of shape {array.shape}."
        )
    if array.dtype.kind == "f":
        refuse_infinity(array, f"X of {path}")
    classes, counts = _counted(labels, path)
    return PartitionFacts(path, array.shape[0], None, array.shape[1], frozenset(), {}, classes, counts)


def _counted(labels: NDArray[Any], path: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    import pandas as pd

    if pd.isna(labels).any():
        raise TableError(f"{path} has rows without a label. Drop these rows, or label them.")
    found = pd.Series(labels).value_counts(sort=False)
    return found.index.to_numpy(), found.to_numpy()


@dataclass(frozen=True)
class Along:
    """What goes along with the rows of a partition, as it was read: weights, and hashes of groups."""

    weights: NDArray[Any] | None = None
    groups: NDArray[np.uint64] | None = None

    def metadata(self, path: str) -> dict[str, Any]:
        """The same, checked, as rows have it."""
        groups = {} if self.groups is None else {GROUP: self.groups}
        if self.weights is None:
            return groups
        if self.weights.dtype.kind not in "fiub" or not np.isfinite(self.weights).all():
            raise TableError(f"{path} has weights that are not finite numbers. Every row needs a finite weight.")
        refuse_bad(self.weights, f"The weight column of {path}")
        return {"sample_weight": self.weights.astype(np.float64), **groups}


def frame_rows(batch: Any, schema: Schema, along: Along, path: str) -> InMemoryTable:
    """The features of a record batch as the frozen schema has them, with what goes along with the rows."""
    return InMemoryTable(schema.converted(batch, path).to_pandas(), along.metadata(path))


def array_rows(array: NDArray[Any], along: Along, path: str) -> InMemoryTable:
    return InMemoryTable(array, along.metadata(path))


def first_tags(ids: NDArray[Any], labels: NDArray[Any], classes: NDArray[Any], path: str) -> Tags:
    """The tags of some rows before the first model."""
    if ids.dtype.kind not in "iu":
        raise TableError(
            f"The ids of {path} must be integers, one for each row; they are {ids.dtype}. Hash strings to 64-bit "
            "integers first."
        )
    numbers = np.searchsorted(classes, labels).astype(np.uint8)
    return Tags(ids.astype(np.uint64), numbers, np.zeros(ids.size, dtype=np.float32))


def in_order_of_ids(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, sorted by id. An id that comes twice is refused."""
    rows = stack(parts)
    order = np.argsort(rows.ids, kind="stable")
    refuse_repeated(rows.ids[order])
    return InMemoryTable(rows.features, rows.metadata).rows(order).with_ids(rows.ids[order])
