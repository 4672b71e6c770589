"""What the user points at, made into minority rows and pools."""

from selfpaced.tables.classes import ClassSplit, split_classes
from selfpaced.tables.labels import Labels, encode_labels
from selfpaced.tables.memory import InMemoryTable, float_array, float_columns, is_frame, polars_as_arrow, stack

__all__ = [
    "ClassSplit",
    "InMemoryTable",
    "Labels",
    "encode_labels",
    "float_array",
    "float_columns",
    "is_frame",
    "polars_as_arrow",
    "split_classes",
    "stack",
]
