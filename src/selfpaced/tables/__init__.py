"""Tables: every source of rows that a user can name, split into minority rows and majority pools."""

from selfpaced.tables.arrays import LabelledTable, split_classes
from selfpaced.tables.as_trained import as_trained
from selfpaced.tables.databases import DatabaseTable
from selfpaced.tables.frame_schema import schema_of_frame
from selfpaced.tables.labels import ClassCounts, Labels, encode_labels, read_labels, refuse_missing_labels
from selfpaced.tables.memory import InMemoryTable, float_array, float_columns, is_frame, polars_as_arrow, stack
from selfpaced.tables.opening import open_table
from selfpaced.tables.opening_rows import open_like, open_like_frame
from selfpaced.tables.options import ReadingOptions
from selfpaced.tables.partitions import PartitionedTable
from selfpaced.tables.roles import Roles
from selfpaced.tables.streamed import StreamedTable
from selfpaced.tables.table import ClassSplit, SplitPlan, Table

__all__ = [
    "ClassCounts",
    "ClassSplit",
    "DatabaseTable",
    "InMemoryTable",
    "LabelledTable",
    "Labels",
    "PartitionedTable",
    "ReadingOptions",
    "Roles",
    "SplitPlan",
    "StreamedTable",
    "Table",
    "as_trained",
    "encode_labels",
    "float_array",
    "float_columns",
    "is_frame",
    "open_like",
    "open_like_frame",
    "open_table",
    "polars_as_arrow",
    "read_labels",
    "refuse_missing_labels",
    "schema_of_frame",
    "split_classes",
    "stack",
]
