"""Rows of a Spark DataFrame that are held out, brought to the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType

from selfpaced.exceptions import TableError
from selfpaced.tables.spark import as_array, column, feature
from selfpaced.tables.spark_batches import LABEL, VECTOR


def divided(dataset: Any, indicator: str) -> tuple[Any, Any]:
    """The rows to train on, and those to score on: where a column of booleans is true."""
    if indicator not in dataset.columns:
        raise TableError(f"There is no column {indicator!r}; the columns are {dataset.columns}.")
    kind = dataset.schema[indicator].dataType
    if not isinstance(kind, BooleanType):
        raise TableError(
            f"validationIndicatorCol must be a column of booleans; {indicator!r} is {kind.simpleString()}."
        )
    held_out = sf.coalesce(column(indicator), sf.lit(False))  # a row without a value is trained on
    return dataset.filter(~held_out).drop(indicator), dataset.filter(held_out).drop(indicator)


def rows_in_memory(rows: Any, features: str | Sequence[str], label: str) -> tuple[Any, Any]:
    """Features as models read them, and labels."""
    if isinstance(features, str):
        columns = [as_array(rows, features).alias(VECTOR)]
    else:
        columns = [feature(rows, name) for name in features]
    found = rows.select(*columns, column(label).alias(LABEL)).toArrow()
    y = found.column(LABEL).to_numpy()
    if isinstance(features, str):
        return np.stack(found.column(VECTOR).to_pandas().to_numpy()), y
    return found.drop_columns([LABEL]), y
