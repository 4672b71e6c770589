"""Fitted ensembles as `pyspark.ml` models, scored, saved and loaded."""

import json
import pickle
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
from selfpaced.clusters.scoring import scores_of_rows, worker_model
from selfpaced.clusters.spark.engine import pack
from selfpaced.clusters.spark.table import VECTOR, feature_columns
from selfpaced.ensembles import DoubtingEnsemble
from selfpaced.model import RecipeResult
from selfpaced.persistence import model_bytes, read_model


def param(name: str, text: str, convert: Callable[[Any], Any] | None = None) -> Any:
    """A parameter of a class, as Spark declares it."""
    return Param(Params._dummy(), name, text, convert)


def spark_name(name: str) -> str:
    """What Spark calls a parameter of the constructor.

    >>> spark_name("raw_prediction_col"), spark_name("n_estimators")
    ('rawPredictionCol', 'n_estimators')
    """
    camel = in_camel_case(name)
    return camel[:1].lower() + camel[1:] if name.endswith("_col") else name


def in_camel_case(name: str) -> str:
    """
    >>> in_camel_case("n_estimators"), in_camel_case("labelCol")
    ('NEstimators', 'LabelCol')
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def give_accessors(kind: type[Any], names: Iterable[str]) -> None:
    """Give a class `setX` and `getX` of some parameters, unless it has them."""
    for name in names:
        for accessor in _accessors(name):
            if not hasattr(kind, accessor.__name__):
                accessor.__qualname__ = f"{kind.__qualname__}.{accessor.__name__}"
                setattr(kind, accessor.__name__, accessor)


def _accessors(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def set_value(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    def get_value(self: Any) -> Any:
        return self.getOrDefault(name)

    set_value.__name__, get_value.__name__ = f"set{in_camel_case(name)}", f"get{in_camel_case(name)}"
    set_value.__doc__ = f"Set `{name}`, and return the estimator."
    get_value.__doc__ = f"The value of `{name}`, or its default."
    return set_value, get_value


# What an error suggests for types that are not on the list of trusted ones.
ALLOWING = "save_model(model.to_local(), ..."


class SparkWriter(MLWriter):  # type: ignore[misc]
    """Writes an estimator or a model through Spark, to any place that Spark can write to."""

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
    """Reads what a `SparkWriter` wrote."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        metadata = json.loads(self.sparkSession.read.text(f"{path}/metadata").first()[0])
        if metadata["class"] != _name(self._kind):
            raise TypeError(f"{path} holds a {metadata['class'].rpartition('.')[2]}, not a {self._kind.__name__}.")
        content = BytesIO(self.sparkSession.read.parquet(f"{path}/content").first()[0])
        instance = self._kind.from_bytes(content, path)._resetUid(metadata["uid"])
        return instance._set(**metadata["paramMap"])


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


class Saved(MLReadable, MLWritable):  # type: ignore[misc]
    """Objects that are saved and loaded as Spark does it, in files that run no code when they are loaded.

    `as_bytes` gives a skops archive of trusted types, and those of the given parameters that are plain JSON and not in
    it. `from_bytes` makes an instance from the archive.
    """

    def write(self) -> SparkWriter:
        return SparkWriter(self)

    @classmethod
    def read(cls) -> SparkReader:
        return SparkReader(cls)


SCORES = "__selfpaced_scores__"


class OutputColumns(HasLabelCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol):  # type: ignore[misc]
    """The columns that an estimator shares with its model."""

    featuresCol = param(  # noqa: N815  as everywhere in Spark
        "featuresCol", "the features: names of columns, or the name of a column of vectors."
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features")


give_accessors(OutputColumns, ["featuresCol", "labelCol", "predictionCol", "probabilityCol", "rawPredictionCol"])


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
        features = feature_columns(dataset, self.getOrDefault(self.featuresCol))
        scored = dataset.withColumn(SCORES, _scores(self._local)(sf.struct(*features)))
        raw, probabilities = (sf.slice(SCORES, start, self.numClasses) for start in (1, self.numClasses + 1))
        most_probable = sf.array_position(probabilities, sf.array_max(probabilities)).cast("int")
        # Spark's predictions are numbers. Strings remain strings.
        labels = [label if isinstance(label, str) else float(label) for label in self.classes.tolist()]
        added = {
            self.getRawPredictionCol(): array_to_vector(raw),
            self.getProbabilityCol(): array_to_vector(probabilities),
            self.getPredictionCol(): sf.element_at(sf.array(*map(sf.lit, labels)), most_probable),
        }
        return scored.withColumns({name: value for name, value in added.items() if name}).drop(SCORES)


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


def _scores(model: DoubtingEnsemble) -> Any:
    """A function of columns: the scores of all classes, and then the probabilities."""
    sent, has_names = pack(worker_model(model)), model.trained_on_.schema is not None

    def scores(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        here = pickle.loads(sent)
        for features in batches:
            if not len(features):  # members refuse to score no rows
                yield pd.Series([], dtype=object)
                continue
            rows = features if has_names else np.stack(features[VECTOR].to_numpy())
            yield pd.Series(list(np.hstack(scores_of_rows(here, rows))), dtype=object)

    return sf.pandas_udf(scores, "array<double>")
