"""Ensembles as `pyspark.ml` estimators."""

import os
from collections.abc import Sequence
from inspect import Parameter
from io import BytesIO
from typing import Any, Self

import numpy as np
from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.param import TypeConverters
from pyspark.ml.param.shared import HasSeed, HasValidationIndicatorCol, HasWeightCol
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType

from selfpaced import ensembles
from selfpaced.clusters.partitions import LABEL, PartitionedTable
from selfpaced.clusters.spark import model as models
from selfpaced.clusters.spark import table
from selfpaced.clusters.spark.model import param, spark_name
from selfpaced.ensembles import parameters_of
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.exceptions import TableError
from selfpaced.model import check_contents
from selfpaced.storage import dumped, loaded
from selfpaced.tables import Roles
from selfpaced.tables.sources import open_table


def split_by_indicator(dataset: Any, indicator: str) -> tuple[Any, Any]:
    """The rows to train on, and those to score: where a column of booleans is true."""
    if indicator not in dataset.columns:
        raise TableError(f"There is no column {indicator!r}; the columns are {dataset.columns}.")
    kind = dataset.schema[indicator].dataType
    if not isinstance(kind, BooleanType):
        raise TableError(
            f"validationIndicatorCol must be a column of booleans; {indicator!r} is {kind.simpleString()}."
        )
    held_out = sf.coalesce(table.column(indicator), sf.lit(False))  # a row without a value is trained on
    return dataset.filter(~held_out).drop(indicator), dataset.filter(held_out).drop(indicator)


# Spark's seed takes the place of random_state. Rows are scored by tasks, each of which has one thread.
NOT_ON_SPARK = {"random_state", "n_jobs"}
# By the type of the default.
CONVERTERS = {int: TypeConverters.toInt, float: TypeConverters.toFloat}


def _as_text(place: str | os.PathLike[str] | None) -> str | None:
    return None if place is None else os.fspath(place)


def _as_list(names: str | Sequence[str]) -> list[str]:
    """A list, because Spark's `explainParams` takes a tuple for several values."""
    return [names] if isinstance(names, str) else list(names)


class SparkEnsembleEstimator(
    Estimator,  # type: ignore[misc]
    models.OutputColumns,
    HasWeightCol,  # type: ignore[misc]
    HasValidationIndicatorCol,  # type: ignore[misc]
    HasSeed,  # type: ignore[misc]
    models.Saved,
):
    """What the ensembles on Spark share. The parameters below are not shared with their models."""

    idCol = param("idCol", "a column of unique integers by which rows are drawn.")  # noqa: N815
    groupCol = param("groupCol", "a column of groups of rows, such as cards.")  # noqa: N815
    checkpoint = param("checkpoint", "a folder of the driver, or a URL, that keeps finished rounds.", _as_text)
    allow = param("allow", "types that the files of the checkpoint may hold besides the usual ones.", _as_list)

    kind: type[Any]
    model: type[models.SparkEnsembleModel] = models.SparkUnderSamplingModel
    own_params: Sequence[str]

    def __init_subclass__(cls, of: type[Any]) -> None:
        """Spark's Params and the constructor are made from the parameters of a scikit-learn class."""
        super().__init_subclass__()
        own = {name: each for name, each in parameters_of(of).items() if name not in NOT_ON_SPARK}
        cls.kind, cls.own_params = of, tuple(own)
        summaries = ensembles.summaries_of(of)
        for name, each in own.items():
            text = summaries.get(name, "")
            lower = text[:1].lower() + text[1:]  # as Spark's own texts begin
            setattr(cls, name, param(name, lower, CONVERTERS.get(type(each.default))))
        others = parameters_of(SparkEnsembleEstimator)
        models.give_accessors(cls, map(spark_name, [*own, *others]))
        own_named = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own.values()]
        ensembles.give_constructor(cls, [*own_named, *others.values()])

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        features_col: str | Sequence[str] = "features",
        label_col: str = "label",
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        raw_prediction_col: str = "rawPrediction",
        weight_col: str | None = None,
        validation_indicator_col: str | None = None,
        id_col: str | None = None,
        group_col: str | None = None,
        seed: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        allow: str | Sequence[str] = (),
        **params: Any,
    ) -> None:
        super().__init__()
        self._setDefault(**{spark_name(name): each.default for name, each in parameters_of(type(self)).items()})
        self.setParams(**self._input_kwargs)

    def setParams(self, **given: Any) -> Self:  # noqa: N802  as everywhere in Spark
        """Set parameters by the names that the constructor has for them."""
        self._set(**{spark_name(name): value for name, value in given.items()})
        return self

    def as_bytes(self, given: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        own = {name: given.pop(name) for name in self.own_params if name in given}
        own.pop("callbacks", None)  # as in model files: they belong to a fit
        return dumped(own, f"The {type(self).__name__}", models.ALLOWING), given

    @classmethod
    def from_bytes(cls, content: BytesIO, path: str) -> Self:
        own = loaded(content, path, models.ALLOWING)
        check_contents(own)
        estimator: Self = cls(**own)
        return estimator

    def _fit(self, dataset: Any) -> models.SparkEnsembleModel:
        params = {name: self.getOrDefault(name) for name in self.own_params}
        others = {name: self.getOrDefault(name) for name in ("checkpoint", "allow")}
        local = self.kind(**params, random_state=self.getOrDefault("seed"))
        indicator = self.getOrDefault("validationIndicatorCol")
        if indicator is not None:
            dataset, held_out = split_by_indicator(dataset, indicator)
            others["eval_set"] = self._eval_set(held_out)
        local.fit_table(self._open(dataset), **others)
        fitted = self.model(local.set_params(callbacks=None))  # they belong to the fit
        return self._copyValues(fitted._resetUid(self.uid))  # type: ignore[no-any-return]

    def _eval_set(self, rows: Any) -> tuple[Any, Any]:
        """The features and labels of a few rows, which are sent to the driver."""
        features, label = self.getOrDefault("featuresCol"), table.column(self.getOrDefault("labelCol"))
        found = rows.select(*table.feature_columns(rows, features), label.alias(LABEL)).toArrow()
        y = found.column(LABEL).to_numpy()
        if isinstance(features, str):
            return np.stack(found.column(table.VECTOR).to_pandas().to_numpy()), y
        return found.drop_columns([LABEL]), y

    def _open(self, dataset: Any) -> PartitionedTable:
        names = {"target": "labelCol", "weight_column": "weightCol", "id_column": "idCol", "group_column": "groupCol"}
        roles = {role: self.getOrDefault(name) for role, name in names.items()}
        features = self.getOrDefault("featuresCol")
        if isinstance(features, str):
            return table.open_spark_vectors(dataset, features, Roles(**roles))
        opened = open_table(dataset, columns=features, **roles)
        assert isinstance(opened, PartitionedTable)
        return opened


class SparkSelfPacedEnsembleClassifier(SparkEnsembleEstimator, of=ensembles.SelfPacedEnsembleClassifier):
    """`SelfPacedEnsembleClassifier` as a `pyspark.ml` estimator.

    Parameters
    ----------
    estimator, n_estimators, n_bins, hardness, pacing, ratio, callbacks, calibration
        As for `SelfPacedEnsembleClassifier`.
    features_col : list of str, or str, default="features"
        The names of the features, or the name of a column of vectors (or of arrays of numbers).
    label_col : str, default="label"
        Labels of any kind. The rarest class is the minority.
    prediction_col, probability_col, raw_prediction_col : str
        The columns that the model adds: the most probable label, a string if the labels are strings and otherwise a
        number; a vector of the probabilities of `model.classes`; and a vector of their scores before the calibration,
        by which Spark's evaluators rank rows. A column with the name "" is not added.
    weight_col : str, optional
        Sample weights.
    validation_indicator_col : str, optional
        A column of booleans. Rows where it is true are held out: they are sent to the driver, and after each round the
        ensemble so far is scored on them, by AUCPRC, as for an `eval_set` in memory.
    id_col : str, optional
        A column of unique integers. Rows are drawn by them, because Spark has no order of rows. Not needed for Parquet
        files, in which rows have positions.
    group_col : str, optional
        A column of groups, such as cards. It is not a feature. The calibration judges every row by models that have not
        seen its group.
    seed : int, optional
        The same number gives the same members, those of `random_state=seed` in memory, for any partitions.
    checkpoint : path or URL, optional
        A folder that keeps every finished round, as `SelfPacedEnsembleClassifier.fit_table` has it. The driver writes
        it, so that a path is one of the driver's machine.
    allow : str or list of str, default=()
        Types that the files of the checkpoint may hold besides those that `load_model` accepts.

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


class SparkBalanceCascadeClassifier(SparkEnsembleEstimator, of=ensembles.BalanceCascadeClassifier):
    """`BalanceCascadeClassifier`, with the columns of `SparkSelfPacedEnsembleClassifier`."""


class SparkUnderBaggingClassifier(SparkEnsembleEstimator, of=ensembles.UnderBaggingClassifier):
    """`UnderBaggingClassifier`, with the columns of `SparkSelfPacedEnsembleClassifier`."""


class SparkAutoSelfPacedClassifier(SparkEnsembleEstimator, of=AutoSelfPacedClassifier):
    """`AutoSelfPacedClassifier`, with the columns of `SparkSelfPacedEnsembleClassifier`.

    The rows by which recipes are compared are sent to the driver. Their number does not grow with the table.
    `model.recipes` has the result of each recipe.
    """

    model = models.SparkAutoSelfPacedModel

    def _eval_set(self, rows: Any) -> tuple[Any, Any]:
        raise ValueError(
            "validationIndicatorCol is for one ensemble. SparkAutoSelfPacedClassifier holds out rows itself to compare "
            "its recipes. Omit the column."
        )
