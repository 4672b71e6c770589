"""Tables of Spark data frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Unpack
from urllib.parse import unquote

from numpy.typing import NDArray
from pyspark.errors import AnalysisException
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as sf
from pyspark.sql import types

from selfpaced.clusters.partitions import LABEL, PartitionedTable, PartitionFacts, PartitionRows, frame_roles
from selfpaced.clusters.spark.engine import SparkEngine, StoredRows
from selfpaced.clusters.spark.storage import CLASS, ID
from selfpaced.exceptions import TableError, pa, pc
from selfpaced.pools import GROUP
from selfpaced.tables import WEIGHT, InMemoryTable, Roles, Schema, TableOptions

VECTOR = "__selfpaced_vector__"
# The columns of what rows have besides features: the arguments of a base model's fit, and the hashes of groups.
METADATA = {"sample_weight": WEIGHT, GROUP: GROUP}
FILE, POSITION, START = (f"__selfpaced_{name}__" for name in ("file", "position", "start"))


def safe_names(n_columns: int) -> list[str]:
    """Names of feature columns on Spark, whose mapInArrow would read "a.b" as a part of a column "a"."""
    return [f"__selfpaced_{number}__" for number in range(n_columns)]


@dataclass(frozen=True)
class BatchReader:
    """Reads record batches of a Spark table: features by their names, or a column of vectors if these are None."""

    features: Sequence[str] | None

    def read(self, batch: Any, path: str) -> PartitionRows:
        weights = batch.column(WEIGHT).to_numpy(zero_copy_only=False) if WEIGHT in batch.schema.names else None
        groups = batch.column(GROUP) if GROUP in batch.schema.names else None
        labels, ids = (batch.column(name).to_numpy(zero_copy_only=False) for name in (LABEL, ID))
        return PartitionRows(path, partial(self._features, batch, path), labels, ids, weights, groups)

    def facts(self, batch: Any, path: str) -> PartitionFacts:
        return self.read(batch, path).facts()

    def _features(self, batch: Any, path: str) -> Any:
        if self.features is None:
            return _matrix(batch, path)
        return batch.select(safe_names(len(self.features))).rename_columns(self.features)


def _matrix(batch: Any, path: str) -> NDArray[Any]:
    vectors = batch.column(VECTOR)
    lengths = pc.unique(pc.list_value_length(vectors)).to_pylist()
    if len(lengths) != 1 or None in lengths:
        raise TableError(f"{path} has vectors of the lengths {lengths}; every row needs one, all of the same length.")
    numbers: NDArray[Any] = vectors.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(batch.num_rows, lengths[0])


@dataclass(frozen=True)
class PreparedBatches:
    """How record batches are read once the features and the classes of the whole table are known."""

    reader: BatchReader
    schema: Schema | None
    classes: NDArray[Any]

    def prepared(self, batch: Any, path: str) -> Any:
        """The rows in the types of the model, with ids, class numbers, weights and groups."""

        rows = self.reader.read(batch, path)
        tags, features = rows.tags(0, self.classes), rows.features()
        columns = {METADATA[name]: pa.array(values) for name, values in rows.metadata().items()}
        columns |= {ID: pa.array(tags.ids), CLASS: pa.array(tags.classes)}
        if self.schema is None:
            columns[VECTOR] = pa.FixedSizeListArray.from_arrays(pa.array(features.ravel()), features.shape[1])
        else:
            converted = self.schema.converted(features, path).columns
            columns |= zip(safe_names(len(converted)), converted, strict=True)
        return pa.record_batch(columns)

    def rows(self, batch: Any) -> InMemoryTable:
        held = set(batch.schema.names)
        metadata = {name: batch.column(column).to_numpy() for name, column in METADATA.items() if column in held}
        if self.schema is None:
            vectors = batch.column(VECTOR)
            return InMemoryTable(vectors.flatten().to_numpy().reshape(len(vectors), vectors.type.list_size), metadata)
        names = self.schema.names
        features = batch.select(safe_names(len(names))).rename_columns(names).to_pandas(split_blocks=True)
        return InMemoryTable(features, metadata)


def open_spark_frame(frame: Any, **options: Unpack[TableOptions]) -> PartitionedTable:
    """The columns of a DataFrame as features."""
    roles, features = frame_roles(frame, options)
    names = safe_names(len(features))
    columns = [one.alias(name) for one, name in zip(feature_columns(frame, features), names, strict=True)]
    return _open(frame, BatchReader(features), columns, roles, options.get("timezone"))


def open_spark_vectors(frame: Any, vector: str, roles: Roles) -> PartitionedTable:
    """A column of vectors, or of arrays of numbers, as features without names."""
    return _open(frame, BatchReader(None), feature_columns(frame, vector), roles)


def column(name: str) -> Any:
    """A column by its name, whatever letters that has."""
    return sf.col("`{}`".format(name.replace("`", "``")))


def feature(frame: Any, name: str) -> Any:
    """A column as models read it: moments are those of UTC, whatever the time zone of the session."""
    if not isinstance(_type_of(frame, name), types.TimestampType):
        return column(name)
    return sf.convert_timezone(None, sf.lit("UTC"), column(name)).alias(name)


def feature_columns(frame: Any, features: str | Sequence[str]) -> list[Any]:
    """Columns with names, or the column `VECTOR` of arrays for the name of a column of vectors."""
    if isinstance(features, str):
        return [_as_array(frame, features).alias(VECTOR)]
    return [feature(frame, name) for name in features]


def _as_array(frame: Any, vector: str) -> Any:
    kind = _type_of(frame, vector)
    if isinstance(kind, VectorUDT):
        return vector_to_array(column(vector))
    if isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.NumericType):
        is_float = isinstance(kind.elementType, types.FloatType)
        return column(vector) if is_float else column(vector).cast("array<double>")
    raise TableError(
        f"Column {vector!r} is {kind.simpleString()}, neither vectors nor arrays of numbers. To use several columns as "
        "features, give a list of their names."
    )


def _type_of(frame: Any, name: str) -> Any:
    if name not in frame.columns:
        raise TableError(f"There is no column {name!r}; the columns are {frame.columns}.")
    return frame.schema[name].dataType


def _open(
    frame: Any, reader: BatchReader, features: Sequence[Any], roles: Roles, zone: str | None = None
) -> PartitionedTable:
    """Store the rows of a DataFrame, so that their facts stay true and the source is read once."""
    assert roles.target is not None
    groups = [] if roles.group_column is None else [feature(frame, roles.group_column).alias(GROUP)]
    others = [column(roles.target).alias(LABEL), *_weights(frame, roles.weight_column), *groups, column(ID)]
    rows = StoredRows(_with_ids(frame, roles.id_column).select(*features, *others), reader.facts)
    if not rows.facts:
        raise TableError("The DataFrame has no rows.")
    facts = PartitionFacts.merge(rows.facts)
    schema, labels = facts.frozen_schema(zone), facts.class_counts(roles)
    begin = partial(SparkEngine, rows, PreparedBatches(reader, schema, labels.classes))
    return PartitionedTable(begin, labels, schema, roles, has_own_ids=True)  # a union of files repeats positions


def _weights(frame: Any, weight: str | None) -> list[Any]:
    if weight is None:
        return []
    kind = _type_of(frame, weight)
    if not isinstance(kind, types.NumericType):
        raise TableError(f"The weights in column {weight!r} must be numbers; they are {kind.simpleString()}.")
    return [column(weight).cast("double").alias(WEIGHT)]


def _with_ids(frame: Any, id: str | None) -> Any:
    if id is None:
        return _with_positions(frame)
    kind = _type_of(frame, id)
    if not isinstance(kind, types.IntegralType):
        raise TableError(
            f"The ids in column {id!r} must be integers; they are {kind.simpleString()}. Hash them first, "
            f"df.withColumn('row_id', F.xxhash64({id!r})), and use 'row_id' as the id."
        )
    return frame.withColumn(ID, column(id).cast("long"))


def _with_positions(frame: Any) -> Any:
    """The positions of rows in Parquet files, one after the other by their paths, as the ids."""
    try:
        located = frame.withColumns({FILE: sf.col("_metadata.file_path"), POSITION: sf.col("_metadata.row_index")})
        located.schema  # noqa: B018  a Connect session looks at a frame when something is asked of it
    except AnalysisException as error:
        raise TableError(
            "Spark has no order of rows, and these rows have no positions in Parquet files. Name a column of unique "
            "integers as the id. df.withColumn('row_id', F.xxhash64(...)) makes one from columns that identify a row. "
            "Do not use monotonically_increasing_id: it depends on the partitions."
        ) from error
    ends = located.groupBy(FILE).agg(sf.max(POSITION).alias(POSITION)).collect()
    ends.sort(key=lambda row: unquote(row[FILE]))
    starts = accumulate((row[POSITION] + 1 for row in ends), initial=0)
    found = [(row[FILE], start) for row, start in zip(ends, starts, strict=False)]
    offsets = frame.sparkSession.createDataFrame(found, f"{FILE} string, {START} long")
    return located.join(sf.broadcast(offsets), FILE).withColumn(ID, sf.col(START) + sf.col(POSITION))
