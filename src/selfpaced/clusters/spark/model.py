"""Fitted ensembles as `pyspark.ml` models, scored, saved and loaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol
from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import functions as sf

from selfpaced.callbacks import Round
from selfpaced.clusters.spark.messages import packed, unpacked
from selfpaced.clusters.spark.table import VECTOR, as_array, feature
from selfpaced.ensembles import DoubtingEnsemble, predicting_in_one_thread
from selfpaced.model import RecipeResult
from selfpaced.persistence import model_bytes, read_model


def give_accessors(kind: type[Any], names: Iterable[str]) -> None:
    """Give a class `setX` and `getX` of some parameters, unless it has them."""
    for name in names:
        for accessor in (_setter(name), _getter(name)):
            if not hasattr(kind, accessor.__name__):
                accessor.__qualname__ = f"{kind.__qualname__}.{accessor.__name__}"
                setattr(kind, accessor.__name__, accessor)


def _setter(name: str) -> Callable[..., Any]:
    def set_value(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    set_value.__name__ = f"set{in_camel_case(name)}"
    set_value.__doc__ = f"Set `{name}`, and return the estimator."
    return set_value


def _getter(name: str) -> Callable[..., Any]:
    def get_value(self: Any) -> Any:
        return self.getOrDefault(name)

    get_value.__name__ = f"get{in_camel_case(name)}"
    get_value.__doc__ = f"The value of `{name}`, or its default."
    return get_value


def in_camel_case(name: str) -> str:
    """
    >>> in_camel_case("n_estimators"), in_camel_case("labelCol")
    ('NEstimators', 'LabelCol')
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


# What an error suggests for types that are not on the list of trusted ones.
ALLOWING = "save_model(model.to_local(), ..."


class Writer(MLWriter):  # type: ignore[misc]
    """Writes an estimator or a model through Spark, so that it may go wherever Spark writes."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self._instance = instance

    def save(self, path: str) -> None:
        instance = self._instance
        given = {param.name: instance.getOrDefault(param) for param in instance.params if instance.isSet(param)}
        content, columns = instance.as_bytes(given)
        # What a saved Pipeline looks for in each of its stages.
        metadata = {"class": _name(type(instance)), "uid": instance.uid, "paramMap": columns}
        self._table([(content,)], "content binary").parquet(f"{path}/content")
        self._table([(json.dumps(metadata),)], "value string").text(f"{path}/metadata")

    def _table(self, rows: list[tuple[Any]], schema: str) -> Any:
        mode = "overwrite" if self.shouldOverwrite else "error"
        return self.sparkSession.createDataFrame(rows, schema).coalesce(1).write.mode(mode)


class SparkReader(MLReader):  # type: ignore[misc]
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        metadata = json.loads(self.sparkSession.read.text(f"{path}/metadata").first()[0])
        if metadata["class"] != _name(self._kind):
            raise TypeError(f"{path} holds a {metadata['class'].rpartition('.')[2]}, not a {self._kind.__name__}.")
        content = BytesIO(self.sparkSession.read.parquet(f"{path}/content").first()[0])
        instance = self._kind.from_bytes(content, path)._resetUid(metadata["uid"])
        for name, value in metadata["paramMap"].items():
            instance.set(instance.getParam(name), value)
        return instance


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


class Saved(MLReadable, MLWritable):  # type: ignore[misc]
    """Objects that are saved and loaded as Spark does it, in files that run no code when they are loaded.

    `as_bytes` gives a skops archive of trusted types, and those of the given parameters that are plain JSON and not in
    it. `from_bytes` makes an instance from the archive.
    """

    def write(self) -> Writer:
        return Writer(self)

    @classmethod
    def read(cls) -> SparkReader:
        return SparkReader(cls)


SCORES = "__selfpaced_scores__"
# The columns that an estimator shares with its model, and what its constructor calls them.
SHARED_COLUMNS = {
    "features_col": "featuresCol",
    "label_col": "labelCol",
    "prediction_col": "predictionCol",
    "probability_col": "probabilityCol",
    "raw_prediction_col": "rawPredictionCol",
}


class OutputColumns(HasLabelCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol):  # type: ignore[misc]
    """The columns that an estimator shares with its model."""

    featuresCol = Param(  # noqa: N815  as everywhere in Spark
        Params._dummy(), "featuresCol", "the features: names of columns, or the name of a column of vectors."
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features")


give_accessors(OutputColumns, SHARED_COLUMNS.values())


class SparkEnsembleModel(Model, OutputColumns, Saved):  # type: ignore[misc]
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

    @property
    def numClasses(self) -> int:  # noqa: N802  as everywhere in Spark
        """How many labels there are."""
        return len(self.classes)

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """How many features the members see. A column of dates is several of them."""
        return int(self._local.n_features_in_)

    @property
    def featureImportances(self) -> DenseVector:  # noqa: N802
        """The mean of the members' importances, each scaled to add up to 1. Only where members have them."""
        return DenseVector(self._local.feature_importances_)

    def _transform(self, dataset: Any) -> Any:
        """Lazily add three columns. A column with the name "" is not added.

        The raw prediction is a vector of scores before the calibration, the probability a vector of calibrated ones,
        and the prediction a number, or a string if the labels are strings.
        """
        scored = dataset.withColumn(SCORES, _scores(self._local)(self._features(dataset)))
        raw, probabilities = (sf.slice(SCORES, start, self.numClasses) for start in (1, self.numClasses + 1))
        most_probable = sf.array_position(probabilities, sf.array_max(probabilities)).cast("int")
        labels = sf.array(*(sf.lit(_spark_label(label)) for label in self.classes.tolist()))
        added = {
            self.getRawPredictionCol(): array_to_vector(raw),
            self.getProbabilityCol(): array_to_vector(probabilities),
            self.getPredictionCol(): sf.element_at(labels, most_probable),
        }
        return scored.withColumns({name: value for name, value in added.items() if name}).drop(SCORES)

    def _features(self, dataset: Any) -> Any:
        features = self.getOrDefault(self.featuresCol)
        if isinstance(features, str):
            return sf.struct(as_array(dataset, features).alias(VECTOR))
        return sf.struct(*(feature(dataset, name) for name in features))


class SparkUnderSamplingModel(SparkEnsembleModel):
    """A fitted ensemble on under-sampled pools."""

    @property
    def rounds(self) -> list[Round]:
        """The notes of each round of the fit."""
        return self._local.rounds_


class SparkAutoSelfPacedModel(SparkEnsembleModel):
    """A fitted blend of recipes."""

    @property
    def recipes(self) -> list[RecipeResult]:
        """The results of the recipes."""
        results: list[RecipeResult] = self._local.recipes_
        return results


def _spark_label(label: Any) -> float | str:
    """Spark's predictions are numbers. Strings remain strings."""
    return label if isinstance(label, str) else float(label)


def _scores(model: DoubtingEnsemble) -> Any:
    """A function of columns: the scores of all classes, and then the probabilities.

    Each task keeps to one thread: others work beside it.
    """
    sent, has_names = packed(model), model.trained_on_.schema is not None

    def as_trained(features: pd.DataFrame) -> Any:
        return features if has_names else np.stack(features[VECTOR].to_numpy())

    def scores(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        here = predicting_in_one_thread(unpacked(sent))
        for features in batches:
            # Members refuse to be asked about no rows.
            yield pd.Series(
                list(_raw_and_calibrated(here, as_trained(features))) if len(features) else [], dtype=object
            )

    return sf.pandas_udf(scores, "array<double>")


def _raw_and_calibrated(model: DoubtingEnsemble, features: Any) -> NDArray[np.float64]:
    raw = model.model_.means(features, model.n_jobs)
    return np.hstack([raw, raw if model.calibrator_ is None else model.calibrator_(raw)])
