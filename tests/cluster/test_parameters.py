"""The parameters of the ensembles on clusters, which are those of the scikit-learn classes. No cluster is needed."""

import inspect
import pickle
from pathlib import Path

import pytest
from pyspark.ml.tuning import ParamGridBuilder
from sklearn.base import clone

from selfpaced.clusters.dask.estimators import (
    DaskAutoSelfPacedClassifier,
    DaskBalanceCascadeClassifier,
    DaskSelfPacedEnsembleClassifier,
    DaskUnderBaggingClassifier,
)
from selfpaced.clusters.spark.estimators import (
    SparkAutoSelfPacedClassifier,
    SparkBalanceCascadeClassifier,
    SparkSelfPacedEnsembleClassifier,
    SparkUnderBaggingClassifier,
)
from selfpaced.ensembles import (
    BalanceCascadeClassifier,
    SelfPacedEnsembleClassifier,
    UnderBaggingClassifier,
    parameters_of,
    summaries_of,
)
from selfpaced.ensembles.auto import AutoSelfPacedClassifier

IN_MEMORY = [SelfPacedEnsembleClassifier, BalanceCascadeClassifier, UnderBaggingClassifier]
ON_DASK = [DaskSelfPacedEnsembleClassifier, DaskBalanceCascadeClassifier, DaskUnderBaggingClassifier]
ON_SPARK = [SparkSelfPacedEnsembleClassifier, SparkBalanceCascadeClassifier, SparkUnderBaggingClassifier]
CLUSTER = {"client": None, "fit_on": "driver"}
OF_A_FIT = {"seed": None, "checkpoint": None, "allow": ()}
COLUMNS = {
    "features_col": "features",
    "label_col": "label",
    "prediction_col": "prediction",
    "probability_col": "probability",
    "raw_prediction_col": "rawPrediction",
    "weight_col": None,
    "validation_indicator_col": None,
    "id_col": None,
    "group_col": None,
}


def defaults(kind):
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


@pytest.mark.parametrize(
    ("on_dask", "in_memory"),
    [*zip(ON_DASK, IN_MEMORY, strict=True), (DaskAutoSelfPacedClassifier, AutoSelfPacedClassifier)],
)
def test_ensembles_on_dask_take_the_parameters_in_memory_and_a_client(on_dask, in_memory):
    assert defaults(on_dask) == {**defaults(in_memory), **CLUSTER}
    kinds = {name: each.kind for name, each in inspect.signature(on_dask).parameters.items() if name not in CLUSTER}
    assert kinds == {name: each.kind for name, each in inspect.signature(in_memory).parameters.items()}
    assert on_dask().get_params() == {**in_memory().get_params(), **CLUSTER}


@pytest.mark.parametrize(
    ("on_spark", "in_memory"),
    [*zip(ON_SPARK, IN_MEMORY, strict=True), (SparkAutoSelfPacedClassifier, AutoSelfPacedClassifier)],
)
def test_ensembles_on_spark_take_the_parameters_in_memory_with_a_seed_and_columns(on_spark, in_memory):
    own = {name: value for name, value in defaults(in_memory).items() if name not in ("n_jobs", "random_state")}
    assert defaults(on_spark) == {**own, **COLUMNS, **OF_A_FIT}
    estimator = on_spark()
    assert {name: estimator.getOrDefault(name) for name in own} == own
    assert not any(estimator.isSet(param) for param in estimator.params)


@pytest.mark.parametrize("in_memory", [*IN_MEMORY, AutoSelfPacedClassifier])
def test_every_parameter_has_a_text_for_spark(in_memory):
    assert set(summaries_of(in_memory)) == set(parameters_of(in_memory))


@pytest.mark.parametrize("on_dask", ON_DASK)
def test_parameters_on_dask_are_set_cloned_pickled_and_shown_as_in_scikit_learn(on_dask):
    model = on_dask("base", 7, ratio=2.0).set_params(random_state=5)
    for copied in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copied.get_params() == model.get_params()
    assert repr(on_dask(ratio=2.0)) == f"{on_dask.__name__}(ratio=2.0)"


@pytest.mark.parametrize("kind", [*ON_DASK, *ON_SPARK, DaskAutoSelfPacedClassifier, SparkAutoSelfPacedClassifier])
def test_an_unknown_parameter_is_refused(kind):
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_trees'"):
        kind(n_trees=3)


@pytest.mark.parametrize("kind", ON_SPARK)
def test_parameters_on_spark_are_given_by_name(kind):
    with pytest.raises(TypeError, match="positional"):
        kind("base")


def test_parameters_on_spark_are_converted_copied_and_put_into_grids():
    estimator = SparkSelfPacedEnsembleClassifier(n_bins=8.0, ratio=2, hardness="squared")
    assert (estimator.getOrDefault("n_bins"), estimator.getOrDefault(estimator.ratio)) == (8, 2.0)
    with pytest.raises(TypeError, match="n_bins"):
        SparkSelfPacedEnsembleClassifier(n_bins="many")
    grid = ParamGridBuilder().addGrid(estimator.n_bins, [5, 10]).build()
    assert [estimator.copy(each).getOrDefault("n_bins") for each in grid] == [5, 10]
    assert pickle.loads(pickle.dumps(estimator)).getOrDefault("hardness") == "squared"


@pytest.mark.parametrize("kind", [*ON_SPARK, SparkAutoSelfPacedClassifier])
def test_every_parameter_on_spark_has_a_setter_and_a_getter(kind):
    estimator = kind()
    for param in estimator.params:
        name = "".join(part[:1].upper() + part[1:] for part in param.name.split("_"))
        value = getattr(estimator, f"get{name}")()
        assert getattr(estimator, f"set{name}")(value) is estimator
        assert estimator.isSet(param)


def test_setters_convert_as_the_constructor_does():
    estimator = SparkSelfPacedEnsembleClassifier().setNEstimators(7.0).setLabelCol("is_fraud").setSeed(3)
    assert (estimator.getNEstimators(), estimator.getLabelCol(), estimator.getSeed()) == (7, "is_fraud", 3)
    assert estimator.setCheckpoint(Path("fits") / "june").getCheckpoint() == "fits/june"
    with pytest.raises(TypeError, match="n_estimators"):
        estimator.setNEstimators("many")
