"""Ensembles that are trained where a Spark cluster keeps the rows: `pyspark.ml` estimators. Needs `selfpaced[spark]`.

The partitions score their own rows and count their own bins. To the driver come the rows of the rarest class and those
that are drawn; there the members are trained. They are the members that `fit` would train in memory.
"""

from __future__ import annotations

try:
    import pandas  # noqa: F401
    import pyspark.ml.functions  # noqa: F401
except ImportError as error:
    raise ImportError(f"Spark is not installed ({error}): pip install 'selfpaced[spark]'") from error

from selfpaced.spark.estimators import (
    SparkAutoSelfPacedClassifier,
    SparkBalanceCascadeClassifier,
    SparkSelfPacedEnsembleClassifier,
    SparkUnderBaggingClassifier,
)
from selfpaced.spark.model import SparkAutoSelfPacedModel, SparkUnderSamplingModel

__all__ = [
    "SparkAutoSelfPacedClassifier",
    "SparkAutoSelfPacedModel",
    "SparkBalanceCascadeClassifier",
    "SparkSelfPacedEnsembleClassifier",
    "SparkUnderBaggingClassifier",
    "SparkUnderSamplingModel",
]
