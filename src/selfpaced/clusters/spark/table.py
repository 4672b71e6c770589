"""Tables of Spark data frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, Protocol, Unpack
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from selfpaced.clusters.partitions import (
    Along,
    PartitionedTable,
    PartitionFacts,
    array_facts,
    fits_elsewhere,
    frame_facts,
    frame_roles,
    in_order_of_ids,
)
from selfpaced.clusters.spark.blobs import BlobEngine, BlobRows
from selfpaced.clusters.spark.engine import KEPT_IN_MEMORY, OnSparkExecutors, ScratchEngine, ScratchRows
from selfpaced.clusters.spark.storage import CLASS, ID, NoScratchError
from selfpaced.exceptions import TableError
from selfpaced.pools import GROUP
from selfpaced.tables import WEIGHT, InMemoryTable, Roles, Schema, TableOptions, column_groups

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


FILE, POSITION, START = (f"__selfpaced_{name}__" for name in ("file", "position", "start"))


def open_spark_frame(frame: Any, **options: Unpack[TableOptions]) -> PartitionedTable:
    """The columns of a DataFrame as features."""
    roles, features = frame_roles(frame, options)
    parts = ColumnBatches(features, options.get("timezone"))
    columns = [feature(frame, name).alias(safe) for name, safe in zip(features, parts.safe_names, strict=True)]
    return fitting_on(_open(frame, parts, columns, roles), options.get("fit_on", "driver"), frame)


def fitting_on(table: PartitionedTable, fit_on: str, frame: Any) -> PartitionedTable:
    """The table with members that are trained by the driver ("driver") or on executors ("executor")."""
    return replace(table, elsewhere=OnSparkExecutors(frame.sparkSession)) if fits_elsewhere(fit_on) else table


def open_spark_vectors(frame: Any, vector: str, roles: Roles) -> PartitionedTable:
    """A column of vectors, or of arrays of numbers, as features without names."""
    return _open(frame, VectorBatches(), [as_array(frame, vector).alias(VECTOR)], roles)


def column(name: str) -> Any:
    """A column by its name, whatever letters that has."""
    from pyspark.sql import functions as sf

    return sf.col("`{}`".format(name.replace("`", "``")))


def feature(frame: Any, name: str) -> Any:
    """A column as models read it: moments are those of UTC, whatever the time zone of the session."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import TimestampType

    if not isinstance(_type_of(frame, name), TimestampType):
        return column(name)
    return sf.convert_timezone(None, sf.lit("UTC"), column(name)).alias(name)


def as_array(frame: Any, vector: str) -> Any:
    """A column of vectors as one of arrays."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import ArrayType, FloatType, NumericType

    kind = _type_of(frame, vector)
    if isinstance(kind, VectorUDT):
        return vector_to_array(column(vector))
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        is_float = isinstance(kind.elementType, FloatType)
        return column(vector) if is_float else column(vector).cast("array<double>")
    raise TableError(
        f"Column {vector!r} is {kind.simpleString()}, neither vectors nor arrays of numbers. To use several columns as "
        "features, give a list of their names."
    )


def _type_of(frame: Any, name: str) -> Any:
    if name not in frame.columns:
        raise TableError(f"There is no column {name!r}; the columns are {frame.columns}.")
    return frame.schema[name].dataType


def _open(frame: Any, parts: Any, features: Sequence[Any], roles: Roles) -> PartitionedTable:
    """Keep the rows of a DataFrame, so that their facts stay true and the source is read once."""
    assert roles.target is not None
    groups = [] if roles.group_column is None else [feature(frame, roles.group_column).alias(GROUP)]
    others = [column(roles.target).alias(LABEL), *_weights(frame, roles.weight_column), *groups, column(ID)]
    source = _with_ids(frame, roles.id_column).select(*features, *others)
    rows, engine = _kept(source, parts.told)
    if not rows.told:
        raise TableError("The DataFrame has no rows.")
    facts = PartitionFacts.merge(rows.told)
    schema, labels = facts.frozen_schema(parts.zone), facts.class_counts(roles)
    begin = partial(engine, rows, FrozenBatches(parts, schema, labels.classes), in_order_of_ids)
    return PartitionedTable(begin, labels, schema, roles, has_own_ids=True)  # a union of files repeats positions


def _kept(source: Any, tell: Callable[[Any], PartitionFacts]) -> tuple[Any, Any]:
    """The rows in files beside the executors, and the engine that asks them. Without a disk Spark keeps them itself."""
    try:
        return ScratchRows(source, tell), ScratchEngine
    except NoScratchError as error:
        warnings.warn(f"{error} {KEPT_IN_MEMORY}", RuntimeWarning, stacklevel=5)  # told to whoever opens the table
        return BlobRows(source, tell), BlobEngine


def _weights(frame: Any, weight: str | None) -> list[Any]:
    from pyspark.sql.types import NumericType

    if weight is None:
        return []
    kind = _type_of(frame, weight)
    if not isinstance(kind, NumericType):
        raise TableError(f"The weights in column {weight!r} must be numbers; they are {kind.simpleString()}.")
    return [column(weight).cast("double").alias(WEIGHT)]


def _with_ids(frame: Any, id: str | None) -> Any:
    from pyspark.sql.types import IntegralType

    if id is None:
        return _with_positions(frame)
    kind = _type_of(frame, id)
    if not isinstance(kind, IntegralType):
        raise TableError(
            f"The ids in column {id!r} must be integers; they are {kind.simpleString()}. Hash them first, "
            f"df.withColumn('row_id', F.xxhash64({id!r})), and use 'row_id' as the id."
        )
    return frame.withColumn(ID, column(id).cast("long"))


def _with_positions(frame: Any) -> Any:
    """The positions of rows in Parquet files, one after the other by their paths, as the ids."""
    from pyspark.sql import functions as sf

    located = _located(frame)
    ends = located.groupBy(FILE).agg(sf.max(POSITION).alias(POSITION)).collect()
    ends.sort(key=lambda row: unquote(row[FILE]))
    starts = accumulate((row[POSITION] + 1 for row in ends), initial=0)
    found = [(row[FILE], start) for row, start in zip(ends, starts, strict=False)]
    offsets = frame.sparkSession.createDataFrame(found, f"{FILE} string, {START} long")
    return located.join(sf.broadcast(offsets), FILE).withColumn(ID, sf.col(START) + sf.col(POSITION))


def _located(frame: Any) -> Any:
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sf

    where = {FILE: sf.col("_metadata.file_path"), POSITION: sf.col("_metadata.row_index")}
    try:
        located = frame.withColumns(where)
        located.schema  # noqa: B018  a Connect session looks at a frame when something is asked of it
    except AnalysisException as error:
        raise TableError(
            "Spark has no order of rows, and these rows have no positions in Parquet files. Name a column of unique "
            "integers as the id. df.withColumn('row_id', F.xxhash64(...)) makes one from columns that identify a row. "
            "Do not use monotonically_increasing_id: it depends on the partitions."
        ) from error
    return located
