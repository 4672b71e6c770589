"""What the user points at, made into minority rows and pools."""

from selfpaced.tables.as_trained import as_trained
from selfpaced.tables.classes import ClassSplit, split_classes, split_stream
from selfpaced.tables.labels import ClassCounts, Labels, encode_labels
from selfpaced.tables.memory import InMemoryTable, float_array, float_columns, is_frame, polars_as_arrow, stack
from selfpaced.tables.opening import open_like, open_table, schema_of
from selfpaced.tables.partitions import PartitionedTable, split_partitions
from selfpaced.tables.streamed import ArrayTable, StreamedTable

__all__ = [
    "ArrayTable",
    "ClassCounts",
    "ClassSplit",
    "InMemoryTable",
    "Labels",
    "PartitionedTable",
    "StreamedTable",
    "as_trained",
    "encode_labels",
    "float_array",
    "float_columns",
    "is_frame",
    "open_like",
    "open_table",
    "polars_as_arrow",
    "schema_of",
    "split_classes",
    "split_partitions",
    "split_stream",
    "stack",
]
