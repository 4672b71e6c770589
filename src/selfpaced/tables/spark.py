"""Spark DataFrames as tables in partitions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, Unpack
from urllib.parse import unquote

from selfpaced.exceptions import TableError
from selfpaced.pools.rows import GROUP
from selfpaced.pools.spark_blobs import BlobEngine, BlobRows
from selfpaced.pools.spark_elsewhere import OnSparkExecutors
from selfpaced.pools.spark_files import NoScratchError
from selfpaced.pools.spark_rows import ID
from selfpaced.pools.spark_scratch import KEPT_IN_MEMORY, ScratchEngine, ScratchRows
from selfpaced.tables.options import ClusterOptions
from selfpaced.tables.partitions import (
    PartitionedTable,
    PartitionFacts,
    fits_elsewhere,
    frame_roles,
    in_order_of_ids,
)
from selfpaced.tables.roles import WEIGHT, Roles
from selfpaced.tables.spark_batches import LABEL, VECTOR, ColumnBatches, FrozenBatches, VectorBatches

FILE, POSITION, START = (f"__selfpaced_{name}__" for name in ("file", "position", "start"))


def is_spark_frame(thing: Any) -> bool:
    """Also of a Connect session, whose frames are of another type."""
    return type(thing).__module__.startswith("pyspark.sql.") and hasattr(thing, "mapInArrow")


def open_spark_frame(frame: Any, **options: Unpack[ClusterOptions]) -> PartitionedTable:
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
    groups = [] if roles.group is None else [feature(frame, roles.group).alias(GROUP)]
    others = [column(roles.target).alias(LABEL), *_weights(frame, roles.weight), *groups, column(ID)]
    source = _with_ids(frame, roles.id).select(*features, *others)
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
