"""Ensembles on a Spark cluster, as `pyspark.ml` estimators. Needs `selfpaced[spark]`.

Each partition scores its own rows and counts its own bins. Only the rows of the rarest class and the drawn rows are
sent to the driver, which trains the members. The members are the same as those of `fit` in memory.
"""

from selfpaced.clusters.spark.estimators import (
    SparkAutoSelfPacedClassifier,
    SparkBalanceCascadeClassifier,
    SparkSelfPacedEnsembleClassifier,
    SparkUnderBaggingClassifier,
)
from selfpaced.clusters.spark.history import describe_spark_frame
from selfpaced.clusters.spark.model import SparkAutoSelfPacedModel, SparkEnsembleModel, SparkUnderSamplingModel
from selfpaced.clusters.spark.table import column, open_spark_frame

__all__ = [
    "SparkAutoSelfPacedClassifier",
    "SparkAutoSelfPacedModel",
    "SparkBalanceCascadeClassifier",
    "SparkSelfPacedEnsembleClassifier",
    "SparkUnderBaggingClassifier",
    "SparkUnderSamplingModel",
]
