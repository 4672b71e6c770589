"""Spark DataFrames as tables in partitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Unpack
from urllib.parse import unquote

from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.rows import GROUP
from selfpaced.pools.spark import CLASS, DOUBT, FAILURE, ID, Kept, SparkEngine, gathered
from selfpaced.tables.groups import column_groups
from selfpaced.tables.labels import ClassCounts
from selfpaced.tables.memory import InMemoryTable
from selfpaced.tables.options import FrameOptions
from selfpaced.tables.partitions import (
    Along,
    PartitionedTable,
    PartitionFacts,
    array_facts,
    array_rows,
    frame_facts,
    frame_roles,
    frame_rows,
    in_order_of_ids,
)
from selfpaced.tables.roles import WEIGHT, Roles
from selfpaced.tables.schema import Schema

LABEL, VECTOR, FILE, POSITION, START = (
    f"__selfpaced_{name}__" for name in ("label", "vector", "file", "position", "start")
)


def is_spark_frame(thing: Any) -> bool:
    """Also of a Connect session, whose frames are of another type."""
    return type(thing).__module__.startswith("pyspark.sql.") and hasattr(thing, "mapInArrow")


def open_spark_frame(frame: Any, **options: Unpack[FrameOptions]) -> PartitionedTable:
    """The columns of a DataFrame as features."""
    roles, features = frame_roles(frame, options)
    parts = _ColumnParts(features, options.get("timezone"))
    columns = [feature(frame, name).alias(safe) for name, safe in zip(features, parts.safe_names, strict=True)]
    return _open(frame, parts, columns, roles)


def open_spark_vectors(frame: Any, vector: str, roles: Roles) -> PartitionedTable:
    """A column of vectors, or of arrays of numbers, as features without names."""
    return _open(frame, _VectorParts(), [as_array(frame, vector).alias(VECTOR)], roles)


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
        f"Column {vector!r} is {kind.simpleString()}, neither vectors nor arrays of numbers. Features that are columns "
        "are given as a list of their names."
    )


def _type_of(frame: Any, name: str) -> Any:
    if name not in frame.columns:
        raise TableError(f"There is no column {name!r}; the columns are {frame.columns}.")
    return frame.schema[name].dataType


class _Parts:
    """How record batches of rows are read."""

    zone: str | None = None

    def told(self, batch: Any) -> PartitionFacts:
        from pyspark import TaskContext

        path = f"partition {TaskContext.get().partitionId()}"
        if batch.column(ID).null_count:
            raise TableError(f"{path} has rows without an id; every row needs one of its own.")
        return self.facts(batch, batch.column(LABEL).to_numpy(zero_copy_only=False), path)

    def facts(self, batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
        raise NotImplementedError

    @staticmethod
    def along(batch: Any) -> Along:
        names = batch.schema.names
        weights = batch.column(WEIGHT).to_numpy(zero_copy_only=False) if WEIGHT in names else None
        groups = column_groups(batch.column(GROUP), "The group column of a partition") if GROUP in names else None
        return Along(weights, groups)


class _ColumnParts(_Parts):
    def __init__(self, features: list[str], zone: str | None) -> None:
        self._features = features
        self.zone = zone
        # Spark's mapInArrow would read "a.b" as a part of a column "a".
        self.safe_names = [f"__selfpaced_{number}__" for number in range(len(features))]

    def facts(self, batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
        return frame_facts(self._named(batch), labels, path)

    def rows(self, schema: Schema, batch: Any) -> InMemoryTable:
        return frame_rows(self._named(batch), schema, self.along(batch), "a partition")

    def _named(self, batch: Any) -> Any:
        return batch.select(self.safe_names).rename_columns(self._features)


class _VectorParts(_Parts):
    def facts(self, batch: Any, labels: NDArray[Any], path: str) -> PartitionFacts:
        return array_facts(_matrix(batch, path), labels, path)

    def rows(self, schema: None, batch: Any) -> InMemoryTable:
        return array_rows(_matrix(batch, "a partition"), self.along(batch), "a partition")


def _matrix(batch: Any, path: str) -> NDArray[Any]:
    import pyarrow.compute as pc

    vectors = batch.column(VECTOR)
    lengths = pc.unique(pc.list_value_length(vectors)).to_pylist()
    if len(lengths) != 1 or None in lengths:
        raise TableError(f"{path} has vectors of the lengths {lengths}; every row needs one, all of the same length.")
    numbers: NDArray[Any] = vectors.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(batch.num_rows, lengths[0])


def _open(frame: Any, parts: Any, features: Sequence[Any], roles: Roles) -> PartitionedTable:
    """Rows are kept from now on: what is told of them stays true, and the source is read once."""
    assert roles.target is not None
    groups = [] if roles.group is None else [feature(frame, roles.group).alias(GROUP)]
    others = [column(roles.target).alias(LABEL), *_weights(frame, roles.weight), *groups, column(ID)]
    source = Kept(_with_ids(frame, roles.id).select(*features, *others))
    told = gathered(source.frame, parts.told, PartitionFacts.merge)
    if not told:
        raise TableError("The DataFrame has no rows.")
    facts = PartitionFacts.merge(told)
    schema, labels = facts.frozen_schema(parts.zone), facts.class_counts(roles)
    begin = partial(SparkEngine, source, _tagged(source.frame, labels), partial(parts.rows, schema), in_order_of_ids)
    return PartitionedTable(begin, labels, schema, roles, has_own_ids=True)  # a union of files repeats positions


def _weights(frame: Any, weight: str | None) -> list[Any]:
    from pyspark.sql.types import NumericType

    if weight is None:
        return []
    kind = _type_of(frame, weight)
    if not isinstance(kind, NumericType):
        raise TableError(f"The weights in column {weight!r} must be numbers; they are {kind.simpleString()}.")
    return [column(weight).cast("double").alias(WEIGHT)]


def _tagged(frame: Any, labels: ClassCounts) -> Any:
    """The rows with the tags of rows that no model has seen."""
    from pyspark.sql import functions as sf

    numbers = sf.lit(None)
    for number, label in enumerate(labels.names):
        numbers = sf.when(sf.col(LABEL) == sf.lit(label), number).otherwise(numbers)
    tags = {CLASS: numbers.cast("short"), DOUBT: sf.lit(0.0).cast("float"), FAILURE: sf.lit(None).cast("binary")}
    return frame.withColumns(tags).drop(LABEL)


def _with_ids(frame: Any, id: str | None) -> Any:
    from pyspark.sql.types import IntegralType

    if id is None:
        return _with_positions(frame)
    kind = _type_of(frame, id)
    if not isinstance(kind, IntegralType):
        raise TableError(
            f"The ids in column {id!r} must be whole numbers; they are {kind.simpleString()}. Hash them first, "
            f"df.withColumn('row_id', F.xxhash64({id!r})), and take 'row_id' as the id."
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
            "Spark keeps no order of rows, and these have no positions in Parquet files either: name a column of whole "
            "numbers, each once, as the id. df.withColumn('row_id', F.xxhash64(...)) makes one of columns that tell "
            "rows apart; monotonically_increasing_id does not, it changes with the partitions."
        ) from error
    return located
