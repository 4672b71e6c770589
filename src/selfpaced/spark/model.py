"""What the estimators on Spark fit: a `pyspark.ml` model around a plain ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasProbabilityCol
from pyspark.sql import functions as sf

from selfpaced.ensembles.averaged import keeping_to_one_thread
from selfpaced.ensembles.choosing import RecipeResult
from selfpaced.ensembles.doubting import DoubtingEnsemble
from selfpaced.persistence.loading import read_model
from selfpaced.persistence.saving import model_bytes
from selfpaced.pools.spark import packed, unpacked
from selfpaced.rounds import Round
from selfpaced.spark.saving import ALLOWING, Saved
from selfpaced.tables.spark import as_array, feature
from selfpaced.tables.spark_batches import VECTOR

SCORES = "__selfpaced_scores__"


class Columns(HasLabelCol, HasPredictionCol, HasProbabilityCol):  # type: ignore[misc]
    """The columns that an estimator shares with its model."""

    featuresCol = Param(  # noqa: N815  as everywhere in Spark
        Params._dummy(), "featuresCol", "the features: names of columns, or the name of a column of vectors."
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features")


class SparkEnsembleModel(Model, Columns, Saved):  # type: ignore[misc]
    """What the estimators on Spark fit: a `pyspark.ml` model around a plain ensemble."""

    def __init__(self, local: DoubtingEnsemble) -> None:
        super().__init__()
        self._local = local

    def as_bytes(self, given: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        return model_bytes(self._local, call=ALLOWING), given

    @classmethod
    def from_bytes(cls, content: BytesIO, path: str) -> Self:
        return cls(read_model(content, path))

    def to_local(self) -> DoubtingEnsemble:
        """The same model without Spark: it predicts in memory, scores files, and can be read anywhere."""
        return self._local

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in the order of the probabilities."""
        classes: NDArray[Any] = self._local.classes_
        return classes

    def _transform(self, dataset: Any) -> Any:
        """Lazily add the probabilities, a vector, and the prediction: a number, or a word if the labels are words."""
        scored = dataset.withColumn(SCORES, _scores(self._local)(self._features(dataset)))
        most_probable = sf.array_position(sf.col(SCORES), sf.array_max(SCORES)).cast("int")
        labels = sf.array(*(sf.lit(_spark_label(label)) for label in self.classes.tolist()))
        added = {
            self.getProbabilityCol(): array_to_vector(sf.col(SCORES)),
            self.getPredictionCol(): sf.element_at(labels, most_probable),
        }
        return scored.withColumns(added).drop(SCORES)

    def _features(self, dataset: Any) -> Any:
        features = self.getOrDefault(self.featuresCol)
        if isinstance(features, str):
            return sf.struct(as_array(dataset, features).alias(VECTOR))
        return sf.struct(*(feature(dataset, name) for name in features))


class SparkUnderSamplingModel(SparkEnsembleModel):
    """A fitted ensemble on under-sampled pools."""

    @property
    def rounds(self) -> list[Round]:
        """What happened in each round of the fit."""
        return self._local.rounds_


class SparkAutoSelfPacedModel(SparkEnsembleModel):
    """A fitted blend of recipes."""

    @property
    def recipes(self) -> list[RecipeResult]:
        """What came of each recipe."""
        results: list[RecipeResult] = self._local.recipes_
        return results


def _spark_label(label: Any) -> float | str:
    """Spark's predictions are numbers; words remain words."""
    return label if isinstance(label, str) else float(label)


def _scores(model: DoubtingEnsemble) -> Any:
    """A function of columns. Each task keeps to one thread: others work beside it."""
    sent, has_names = packed(model), model.trained_on_.schema is not None

    def as_trained(features: pd.DataFrame) -> Any:
        return features if has_names else np.stack(features[VECTOR].to_numpy())

    def scores(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        here = keeping_to_one_thread(unpacked(sent))
        for features in batches:
            # Members refuse to be asked about no rows.
            yield pd.Series(list(here.predict_proba(as_trained(features))) if len(features) else [], dtype=object)

    return sf.pandas_udf(scores, "array<double>")
