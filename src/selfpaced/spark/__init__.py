"""Ensembles on a Spark cluster, as `pyspark.ml` estimators. Needs `selfpaced[spark]`.

Each partition scores its own rows and counts its own bins. Only the rows of the rarest class and the drawn rows are
sent to the driver, which trains the members. The members are the same as those of `fit` in memory.
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
