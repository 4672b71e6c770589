"""Record batches of Spark: what they tell of themselves, and their rows as models read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.rows import GROUP
from selfpaced.pools.spark_rows import CLASS, ID
from selfpaced.tables.groups import column_groups
from selfpaced.tables.memory import InMemoryTable
from selfpaced.tables.partitions import Along, PartitionFacts, array_facts, frame_facts
from selfpaced.tables.roles import WEIGHT
from selfpaced.tables.schema import Schema

LABEL, VECTOR = "__selfpaced_label__", "__selfpaced_vector__"
# The arguments of a base model's fit that a record batch may hold, and the hashes of groups.
ALONG = {"sample_weight": WEIGHT, GROUP: GROUP}


class Batches(Protocol):
    """How the features of record batches are read."""

    zone: str | None

    def facts(self, batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
        """What a record batch tells of itself."""

    def converted(self, schema: Schema | None, batch: Any) -> dict[str, Any]:
        """The features as models read them, as columns with names of Spark's letters."""

    def features(self, schema: Schema | None, converted: Any) -> Any:
        """The same as a table in memory, without a copy where that can be."""


def labels_of(batch: Any) -> NDArray[Any]:
    labels: NDArray[Any] = batch.column(LABEL).to_numpy(zero_copy_only=False)
    return labels


class _Batches:
    def told(self: Any, batch: Any) -> PartitionFacts:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        path = f"partition {context.partitionId()}"
        if batch.column(ID).null_count:
            raise TableError(f"{path} has rows without an id; every row needs one of its own.")
        facts: PartitionFacts = self.facts(batch, labels_of(batch), path)
        return facts


class ColumnBatches(_Batches):
    """Features that are columns with names."""

    def __init__(self, features: list[str], zone: str | None) -> None:
        self._features = features
        self.zone = zone
        # Spark's mapInArrow would read "a.b" as a part of a column "a".
        self.safe_names = _safe_names(len(features))

    def facts(self, batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
        return frame_facts(self._named(batch), labels, path)

    def converted(self, schema: Schema, batch: Any) -> dict[str, Any]:
        columns = schema.converted(self._named(batch), "a partition").columns
        return dict(zip(_safe_names(len(columns)), columns, strict=True))

    def features(self, schema: Schema, converted: Any) -> Any:
        names = schema.names
        return converted.select(_safe_names(len(names))).rename_columns(names).to_pandas(split_blocks=True)

    def _named(self, batch: Any) -> Any:
        return batch.select(self.safe_names).rename_columns(self._features)


def _safe_names(n_columns: int) -> list[str]:
    return [f"__selfpaced_{number}__" for number in range(n_columns)]


class VectorBatches(_Batches):
    """Features that are a column of vectors."""

    zone = None

    def facts(self, batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
        return array_facts(_matrix(batch, path), labels, path)

    def converted(self, schema: None, batch: Any) -> dict[str, Any]:
        import pyarrow as pa

        matrix = _matrix(batch, "a partition")
        return {VECTOR: pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])}

    def features(self, schema: None, converted: Any) -> Any:
        vectors = converted.column(VECTOR)
        return vectors.flatten().to_numpy().reshape(len(vectors), vectors.type.list_size)


def _matrix(batch: Any, path: str) -> NDArray[Any]:
    import pyarrow.compute as pc

    vectors = batch.column(VECTOR)
    lengths = pc.unique(pc.list_value_length(vectors)).to_pylist()
    if len(lengths) != 1 or None in lengths:
        raise TableError(f"{path} has vectors of the lengths {lengths}; every row needs one, all of the same length.")
    numbers: NDArray[Any] = vectors.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(batch.num_rows, lengths[0])


@dataclass(frozen=True)
class FrozenBatches:
    """How record batches are read once the features and the classes of the whole table are known."""

    batches: Batches
    schema: Schema | None
    classes: NDArray[Any]

    def prepared(self, batch: Any) -> Any:
        """The rows as models read them, with ids, class numbers, and what else goes along with each row."""
        import pyarrow as pa

        along = _along(batch).metadata("a partition")
        columns = self.batches.converted(self.schema, batch)
        columns |= {ALONG[name]: pa.array(values) for name, values in along.items()}
        columns[ID] = pa.array(batch.column(ID).to_numpy().view(np.uint64))  # Spark's numbers are signed: the same bits
        columns[CLASS] = pa.array(self._class_numbers(labels_of(batch)))
        return pa.record_batch(columns)

    def rows(self, batch: Any) -> InMemoryTable:
        held = set(batch.schema.names)
        along = {name: batch.column(column).to_numpy() for name, column in ALONG.items() if column in held}
        return InMemoryTable(self.batches.features(self.schema, batch), along)

    def _class_numbers(self, labels: NDArray[Any]) -> NDArray[np.uint8]:
        import pandas as pd

        numbers: NDArray[Any] = pd.Index(self.classes).get_indexer(pd.Index(labels))
        if (numbers < 0).any():
            unknown = np.asarray(labels[numbers < 0][:1]).tolist()[0]
            raise TableError(
                f"The label {unknown!r} was not there when the DataFrame was opened. Spark has computed "
                "a part of it again, and it came out otherwise: write the DataFrame to files first."
            )
        return numbers.astype(np.uint8)


def _along(batch: Any) -> Along:
    names = batch.schema.names
    weights = batch.column(WEIGHT).to_numpy(zero_copy_only=False) if WEIGHT in names else None
    groups = column_groups(batch.column(GROUP), "The group column of a partition") if GROUP in names else None
    return Along(weights, groups)
