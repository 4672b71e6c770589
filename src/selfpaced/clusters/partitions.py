"""Tables in partitions on a cluster: what every partition tells of its rows, and the table that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from selfpaced import tables
from selfpaced.exceptions import TableError, pa
from selfpaced.pools import GROUP, Block, Engine, PartitionedPool, Partitions, Question, Rows, Tags, row_keys
from selfpaced.tables import ClassCounts, InMemoryTable, Roles, Schema

LABEL = "__selfpaced_label__"  # the column of labels, beside those of ids, weights and groups
ROWS_AT_ONCE = 2**16
ON_A_CLUSTER = "The files must be where every machine of the cluster finds them by the same path or URL."


@dataclass(frozen=True)
class PartitionedTable:
    """A table on a cluster."""

    begin: Callable[[], Engine]  # gives an engine whose tags are those of rows that no model has seen
    class_counts: ClassCounts
    schema: Schema | None  # the features; None if they have no names
    roles: Roles
    has_own_ids: bool  # whether the ids are a user's, which may occur more than once
    elsewhere: tables.Elsewhere | None = None  # the workers that train members; None for the driver
    snapshot: None = None
    bytes_in_memory: None = None

    def labels(self) -> ClassCounts:
        return self.class_counts

    def split(self, plan: tables.SplitPlan) -> tables.ClassSplit:
        labels = self.class_counts
        larger = {number: n for number, n in enumerate(labels.counts.tolist()) if number != labels.rarest}
        partitions = Partitions(self.begin(), larger, plan.seed)
        foreseen = {}
        if plan.minority is None:
            looked_at = tables.keys_looked_at(int(labels.counts.sum())) if self.has_own_ids else 0
            minority, ids, shortlists = partitions.begin(labels.rarest, looked_at, plan.n_draw, plan.first_round)
            foreseen = {number: (plan.first_round, shortlist) for number, shortlist in shortlists.items()}
            tables.refuse_repeated(np.sort(ids))
            tables.refuse_weightless(minority, labels.names[labels.rarest])
        else:
            minority = plan.minority
        pools = {number: PartitionedPool(partitions, number, n, foreseen.get(number)) for number, n in larger.items()}
        counts = labels.counts.tolist()
        return tables.ClassSplit(labels.names, counts, labels.rarest, minority, pools, elsewhere=self.elsewhere)

    def identity(self) -> dict[str, Any]:
        """The content of all rows, which the partitions hash. That is one more pass over them."""
        roles = {name: repr(value) for name, value in vars(self.roles).items()}
        content = self.begin().ask(ContentSum())
        labels = self.class_counts
        return {
            "content": f"{content:016x}",
            "classes": dict(zip(map(repr, labels.names), labels.counts.tolist(), strict=True)),
            "features": None if self.schema is None else repr(self.schema.columns),
            **roles,
        }


def frame_roles(frame: Any, options: tables.TableOptions) -> tuple[Roles, list[str]]:
    """The roles of a cluster frame's columns, and its features."""
    given: dict[str, Any] = {
        name: options.get(name) for name in ("target", "weight_column", "id_column", "group_column")
    }
    roles = Roles(**given)
    if roles.target is None:
        raise ValueError("The column of labels is not known. Name it: open_table(frame, target='...').")
    for name in given.values():
        if name is not None and name not in frame.columns:
            raise TableError(f"There is no column {name!r}; the columns are {list(frame.columns)}.")
    return roles, tables.feature_names(frame.columns, options.get("columns"), options.get("exclude", ()), roles)


@dataclass(frozen=True)
class PartitionFacts:
    """The facts of some rows, which are collected before any of them is used."""

    path: str  # the name of the rows in errors
    n_rows: int
    schema: Any  # the Arrow schema of the features; None for an array
    n_features: int
    with_missing: frozenset[str]  # the features with missing values
    categories: Mapping[str, tuple[str, ...]]  # the strings of each feature that holds strings
    classes: NDArray[Any]
    counts: NDArray[np.int64]  # the number of rows of each class

    @staticmethod
    def merge(parts: Sequence[PartitionFacts]) -> PartitionFacts:
        """Merge the facts of all parts. Empty parts are ignored: their types are guesses."""
        full = [part for part in parts if part.n_rows] or list(parts[:1])
        first = full[0]
        other = next((part for part in full if part.n_features != first.n_features), None)
        if other is not None:
            raise TableError(
                f"{first.path} has {first.n_features} features and {other.path} has {other.n_features}. All "
                "partitions need the same features."
            )
        return PartitionFacts(
            first.path,
            sum(part.n_rows for part in full),
            None if first.schema is None else pa.schema(tables.unified_fields(full).items()),
            first.n_features,
            frozenset().union(*(part.with_missing for part in full)),
            _merge_categories([part.categories for part in full]),
            *_merge_counts(full),
        )

    def frozen_schema(self, zone: str | None) -> Schema | None:
        """Types and categories that every partition is converted to, weekdays and hours of a time zone."""
        if self.schema is None:
            return None
        fields = {field.name: field.type for field in self.schema}
        return tables.frozen(fields, list(fields), set(fields) - self.with_missing, self.categories).in_zone(zone)

    def class_counts(self, roles: Roles) -> ClassCounts:
        tables.refuse_many_labels(self.classes.size, roles)
        return ClassCounts(self.classes, self.counts)


def _merge_counts(parts: Sequence[PartitionFacts]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    labels = np.concatenate([part.classes for part in parts])
    try:
        classes, number = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise TableError(f"The labels have types that cannot be sorted together: {kinds}.") from error
    counts = np.bincount(number, np.concatenate([part.counts for part in parts]), minlength=classes.size)
    return classes, counts.astype(np.int64)


def _merge_categories(parts: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Categories that all parts agree on keep their order; others are sorted."""
    merged = {}
    for name in sorted({name for part in parts for name in part}):
        found = {part.get(name, ()) for part in parts}
        merged[name] = found.pop() if len(found) == 1 else tuple(sorted(set().union(*found)))
        tables.refuse_many_categories(name, len(merged[name]), "Remove it from the features.")
    return merged


@dataclass(frozen=True)
class PartitionRows:
    """The rows of a partition as they were read, on the machine that read them."""

    path: str  # the name of the partition in errors
    features: Callable[[], Any]  # gives a record batch, or an array without names
    labels: NDArray[Any]
    ids: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    groups: Any = None  # a column of Arrow or an array

    def facts(self) -> PartitionFacts:
        """The facts of the rows. Missing labels, missing ids and infinity are refused."""
        if pd.isna(self.labels).any():
            raise TableError(f"{self.path} has rows without a label. Drop these rows, or label them.")
        if self.ids is not None:
            self._checked_ids(self.ids)
        found = pd.Series(self.labels).value_counts(sort=False)
        features = self.features()
        described = _describe_array if isinstance(features, np.ndarray) else _describe_batch
        return PartitionFacts(
            self.path, self.labels.size, *described(features, self.path), found.index.to_numpy(), found.to_numpy()
        )

    def table(self, schema: Schema | None) -> InMemoryTable:
        """The features in the types of the schema, with weights and groups."""
        features = self.features()
        if schema is not None:
            features = schema.converted(features, self.path).to_pandas()
        return InMemoryTable(features, self.metadata())

    def metadata(self) -> dict[str, Any]:
        """Weights and hashes of groups, as far as the table has them. Weights are checked."""
        found: dict[str, Any] = {}
        if self.weights is not None:
            if self.weights.dtype.kind not in "fiub":
                raise TableError(f"The weight column of {self.path} is {self.weights.dtype}. Weights must be numbers.")
            tables.refuse_bad(self.weights, f"The weight column of {self.path}")
            found["sample_weight"] = self.weights.astype(np.float64)
        if self.groups is not None:
            hashes = tables.group_hashes if isinstance(self.groups, np.ndarray) else tables.column_groups
            found[GROUP] = hashes(self.groups, f"The group column of {self.path}")
        return found

    def tags(self, first_id: int, classes: NDArray[Any]) -> Tags:
        """The tags of the rows before the first model. Without ids, they are counted from `first_id`."""
        numbers = pd.Index(classes).get_indexer(pd.Index(self.labels))
        if (numbers < 0).any():
            unknown = self.labels[numbers < 0][:1].tolist()[0]
            raise TableError(
                f"The label {unknown!r} of {self.path} was not there when the table was opened. A part of the table "
                "was recomputed with different rows. Write the table to files first."
            )
        n_rows = self.labels.size
        ids = np.arange(first_id, first_id + n_rows) if self.ids is None else self._checked_ids(self.ids)
        return Tags(ids.astype(np.uint64), numbers.astype(np.uint8), np.zeros(n_rows, dtype=np.float32))

    def _checked_ids(self, ids: NDArray[Any]) -> NDArray[Any]:
        if pd.isna(ids).any():
            raise TableError(f"{self.path} has rows without an id. Every row needs its own id.")
        if ids.dtype.kind not in "iu":
            raise TableError(
                f"The ids of {self.path} must be integers, one for each row; they are {ids.dtype}. Hash strings to "
                "64-bit integers first."
            )
        return ids


def _describe_batch(batch: Any, path: str) -> tuple[Any, int, frozenset[str], dict[str, tuple[str, ...]]]:
    """The schema, the number of features, those with missing values, and the strings of those that hold strings."""
    categories = {}
    for name, kind, column in zip(batch.schema.names, batch.schema.types, batch.columns, strict=True):
        if pa.types.is_floating(kind):
            tables.refuse_infinity(column, f"Column {name!r} of {path}")
        elif tables.are_strings(kind):
            categories[name] = tuple(sorted(column.unique().drop_null().to_pylist()))
        elif pa.types.is_dictionary(kind):
            if not tables.are_strings(kind.value_type):
                raise TableError(
                    f"Column {name!r} of {path} is a category of {kind.value_type}. Convert its values to strings, or "
                    "to plain numbers if their size has a meaning."
                )
            categories[name] = tuple(column.dictionary.to_pylist())
    with_missing = {name for name, column in zip(batch.schema.names, batch.columns, strict=True) if column.null_count}
    return batch.schema, batch.num_columns, frozenset(with_missing), categories


def _describe_array(array: NDArray[Any], path: str) -> tuple[Any, int, frozenset[str], dict[str, tuple[str, ...]]]:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise TableError(
            f"{path} must be an array of numbers with two dimensions; it is {array.dtype} of shape {array.shape}."
        )
    if array.dtype.kind == "f":
        tables.refuse_infinity(array, f"X of {path}")
    return None, array.shape[1], frozenset(), {}


def in_order_of_ids(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, sorted by id. Repeated ids are refused."""
    rows = tables.stack(parts)
    order = np.argsort(rows.ids, kind="stable")
    tables.refuse_repeated(rows.ids[order])
    return InMemoryTable(rows.features, rows.metadata).rows(order).with_ids(rows.ids[order])


@dataclass(frozen=True)
class ContentSum(Question[int]):
    """The sum of 64-bit hashes of rows: of all values that a fit may use, and of id and class."""

    features = True

    def __call__(self, block: Block) -> int:
        starts = range(0, block.tags.ids.size, ROWS_AT_ONCE)
        parts = [np.arange(start, min(start + ROWS_AT_ONCE, block.tags.ids.size)) for start in starts]
        return self.merge([_sum_hashes(block.take(some), block.tags.classes[some]) for some in parts])

    @staticmethod
    def merge(parts: Sequence[int]) -> int:
        return sum(parts) % 2**64


def _sum_hashes(rows: Rows, classes: NDArray[np.uint8]) -> int:
    others = pd.DataFrame({"id": rows.ids, "class": classes, **dict(sorted(rows.metadata.items()))})
    features = rows.features if tables.is_frame(rows.features) else pd.DataFrame(rows.features)
    of_others, of_features = (pd.util.hash_pandas_object(one, index=False).to_numpy() for one in (others, features))
    return int((row_keys(of_others, 0, 0) ^ of_features).sum(dtype=np.uint64))
