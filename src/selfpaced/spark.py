"""Ensembles that are trained where a Spark cluster keeps the rows: `pyspark.ml` estimators. Needs `selfpaced[spark]`.

The partitions score their own rows and count their own bins. To the driver come the rows of the rarest class and those
that are drawn; there the members are trained. They are the members that `fit` would train in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter
from io import BytesIO
from typing import Any, Self, TypeVar

try:
    import pandas as pd
    from pyspark import keyword_only
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasProbabilityCol, HasSeed, HasWeightCol
    from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter
    from pyspark.sql import functions as sf
except ImportError as error:
    raise ImportError(f"Spark is not installed ({error}): pip install 'selfpaced[spark]'") from error

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles.parameters import give_constructor, parameters_of, summaries_of
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble
from selfpaced.persistence.loading import read_model
from selfpaced.persistence.saving import model_bytes
from selfpaced.pools.spark import packed, unpacked
from selfpaced.rounds import Round
from selfpaced.safe_files.archive import dumped, loaded
from selfpaced.safe_files.contents import check_contents
from selfpaced.scoring.threads import in_one_thread
from selfpaced.tables.opening import open_table
from selfpaced.tables.partitions import PartitionedTable
from selfpaced.tables.roles import Roles
from selfpaced.tables.spark import VECTOR, as_array, feature, open_spark_vectors

SCORES = "__selfpaced_scores__"
# What the constructors call Spark's own parameters.
SPARK_NAMES = {
    "features_col": "featuresCol",
    "label_col": "labelCol",
    "prediction_col": "predictionCol",
    "probability_col": "probabilityCol",
    "weight_col": "weightCol",
    "id_col": "idCol",
}
# What an error suggests for types that are not on the list of trusted ones.
ALLOWING = "save_model(model.to_local(), ..."
# Spark's seed takes the place of random_state. Rows are scored by tasks, each of which has one thread.
NOT_ON_SPARK = {"random_state", "n_jobs"}
# By the type of the default.
CONVERTERS = {int: TypeConverters.toInt, float: TypeConverters.toFloat}


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


class Reader(MLReader):  # type: ignore[misc]
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
    """What is saved and loaded as Spark does it, in files that run nothing when they are loaded.

    `as_bytes` gives a skops archive of trusted types, and those of the given parameters that are plain JSON and not in
    it. `from_bytes` makes an instance from the archive.
    """

    def write(self) -> Writer:
        return Writer(self)

    @classmethod
    def read(cls) -> Reader:
        return Reader(cls)


class Columns(HasLabelCol, HasPredictionCol, HasProbabilityCol):  # type: ignore[misc]
    """The columns that an estimator shares with its model."""

    featuresCol = Param(  # noqa: N815  as everywhere in Spark
        Params._dummy(), "featuresCol", "the features: names of columns, or the name of a column of vectors."
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features")


class SparkUnderSamplingModel(Model, Columns, Saved):  # type: ignore[misc]
    """What the estimators of this module fit: a `pyspark.ml` model around a plain ensemble."""

    def __init__(self, local: UnderSamplingEnsemble) -> None:
        super().__init__()
        self._local = local

    def as_bytes(self, given: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        return model_bytes(self._local, call=ALLOWING), given

    @classmethod
    def from_bytes(cls, content: BytesIO, path: str) -> Self:
        return cls(read_model(content, path))

    def to_local(self) -> UnderSamplingEnsemble:
        """The same model without Spark: it predicts in memory, scores files, and can be read anywhere."""
        return self._local

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in the order of the probabilities."""
        classes: NDArray[Any] = self._local.classes_
        return classes

    @property
    def rounds(self) -> list[Round]:
        """What happened in each round of the fit."""
        return self._local.rounds_

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


def _spark_label(label: Any) -> float | str:
    """Spark's predictions are numbers; words remain words."""
    return label if isinstance(label, str) else float(label)


def _scores(model: UnderSamplingEnsemble) -> Any:
    """A function of columns. Each task keeps to one thread: others work beside it."""
    sent, has_names = packed(model), model.trained_on_.schema is not None

    def as_trained(features: pd.DataFrame) -> Any:
        return features if has_names else np.stack(features[VECTOR].to_numpy())

    def scores(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        here = unpacked(sent).set_params(n_jobs=1)
        here.estimators_ = [in_one_thread(member) for member in here.estimators_]
        for features in batches:
            # Members refuse to be asked about no rows.
            yield pd.Series(list(here.predict_proba(as_trained(features))) if len(features) else [], dtype=object)

    return sf.pandas_udf(scores, "array<double>")


class SparkUnderSamplingEstimator(Estimator, Columns, HasWeightCol, HasSeed, Saved):  # type: ignore[misc]
    """What the ensembles on Spark share."""

    kind: type[UnderSamplingEnsemble]
    own_params: Sequence[str]
    idCol = Param(Params._dummy(), "idCol", "a column of whole numbers, each once, by which rows are drawn.")  # noqa: N815

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        features_col: str | Sequence[str] = "features",
        label_col: str = "label",
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        weight_col: str | None = None,
        id_col: str | None = None,
        seed: int | None = None,
        **params: Any,
    ) -> None:
        super().__init__()
        known = parameters_of(self.kind)
        self._setDefault(
            weightCol=None, idCol=None, seed=None, **{name: known[name].default for name in self.own_params}
        )
        self.setParams(**self._input_kwargs)

    def setParams(self, **given: Any) -> Self:  # noqa: N802  as everywhere in Spark
        """Set parameters by the names that the constructor has for them."""
        self._set(**{SPARK_NAMES.get(name, name): value for name, value in given.items()})
        return self

    def as_bytes(self, given: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        own = {name: given.pop(name) for name in self.own_params if name in given}
        own.pop("callbacks", None)  # as in model files: they belong to a fit
        return dumped(own, f"The {type(self).__name__}", ALLOWING), given

    @classmethod
    def from_bytes(cls, content: BytesIO, path: str) -> Self:
        own = loaded(content, path, ALLOWING)
        check_contents(own)
        estimator: Self = cls(**own)
        return estimator

    def _fit(self, dataset: Any) -> SparkUnderSamplingModel:
        params = {name: self.getOrDefault(name) for name in self.own_params}
        local = self.kind(**params, random_state=self.getOrDefault("seed")).fit_table(self._open(dataset))
        model = SparkUnderSamplingModel(local.set_params(callbacks=None))  # they have seen what they came for
        return self._copyValues(model._resetUid(self.uid))  # type: ignore[no-any-return]

    def _open(self, dataset: Any) -> PartitionedTable:
        features, target, weight, id = (
            self.getOrDefault(name) for name in ("featuresCol", "labelCol", "weightCol", "idCol")
        )
        if isinstance(features, str):
            return open_spark_vectors(dataset, features, Roles(target, weight=weight, id=id))
        table = open_table(dataset, target=target, columns=features, weight=weight, id=id)
        assert isinstance(table, PartitionedTable)
        return table


SparkEstimator = TypeVar("SparkEstimator", bound=SparkUnderSamplingEstimator)


def with_params_of(ensemble: type[UnderSamplingEnsemble]) -> Callable[[type[SparkEstimator]], type[SparkEstimator]]:
    """A class decorator: Spark's Params and the constructor are made from the parameters of a scikit-learn class."""
    own = {name: each for name, each in parameters_of(ensemble).items() if name not in NOT_ON_SPARK}
    summaries = summaries_of(ensemble)

    def decorated(kind: type[SparkEstimator]) -> type[SparkEstimator]:
        kind.kind, kind.own_params = ensemble, tuple(own)
        for name, each in own.items():
            text = summaries.get(name, "")
            small = text[:1].lower() + text[1:]  # as Spark's own texts begin
            setattr(kind, name, Param(Params._dummy(), name, small, CONVERTERS.get(type(each.default))))
        columns = parameters_of(SparkUnderSamplingEstimator).values()
        give_constructor(kind, [*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in own.values()), *columns])
        return kind

    return decorated


@with_params_of(SelfPacedEnsembleClassifier)
class SparkSelfPacedEnsembleClassifier(SparkUnderSamplingEstimator):
    """`SelfPacedEnsembleClassifier` as a `pyspark.ml` estimator.

    Parameters
    ----------
    estimator, n_estimators, n_bins, hardness, pacing, ratio, callbacks, calibration
        As `SelfPacedEnsembleClassifier` has them.
    features_col : list of str, or str, default="features"
        The names of the features, or the name of a column of vectors (or of arrays of numbers).
    label_col : str, default="label"
        Labels of any kind. The rarest class is the minority.
    prediction_col, probability_col : str
        The columns that the model adds: the most probable label, a number unless the labels are words; and a vector of
        the probabilities of `model.classes`.
    weight_col : str, optional
        Sample weights.
    id_col : str, optional
        Whole numbers, each once. Rows are drawn by them, because Spark keeps no order of rows. Not needed for Parquet
        files, in which rows have positions.
    seed : int, optional
        The same number gives the same members, those of `random_state=seed` in memory, for any partitions.

    Examples
    --------
    A sketch; `docs/guide/clusters.md` has one that runs::

        model = SparkSelfPacedEnsembleClassifier(
            estimator=LGBMClassifier(), features_col=["amount", "country"], label_col="is_fraud", id_col="tx_id", seed=0
        ).fit(df)
        scored = model.transform(df)
        model.write().overwrite().save("models/fraud")
        local = model.to_local()
    """


@with_params_of(BalanceCascadeClassifier)
class SparkBalanceCascadeClassifier(SparkUnderSamplingEstimator):
    """`BalanceCascadeClassifier`, with the columns of `SparkSelfPacedEnsembleClassifier`."""


@with_params_of(UnderBaggingClassifier)
class SparkUnderBaggingClassifier(SparkUnderSamplingEstimator):
    """`UnderBaggingClassifier`, with the columns of `SparkSelfPacedEnsembleClassifier`."""


__all__ = [
    "SparkBalanceCascadeClassifier",
    "SparkSelfPacedEnsembleClassifier",
    "SparkUnderBaggingClassifier",
    "SparkUnderSamplingModel",
]
