"""What users of pyspark.ml expect of an estimator and its model."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.functions import vector_to_array
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as sf
from sklearn.tree import DecisionTreeClassifier

from selfpaced.callbacks import EarlyStopping
from selfpaced.clusters.spark.estimators import (
    SparkAutoSelfPacedClassifier,
    SparkSelfPacedEnsembleClassifier,
    SparkUnderBaggingClassifier,
    split_by_indicator,
)
from selfpaced.clusters.spark.model import SparkUnderSamplingModel
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NAMES = list("abcd")
TREE = DecisionTreeClassifier(max_depth=4)


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=2000, n_frauds=60, n_features=4, random_state=0)
    numbers = np.arange(len(y))
    cards = [f"{card}" for card in np.random.default_rng(0).integers(600, size=len(y))]
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y, number=numbers, later=numbers % 4 == 0, card=cards)


@pytest.fixture(scope="module")
def frame(spark, rows):
    return spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


def spe(kind=SparkSelfPacedEnsembleClassifier, **options):
    given = {} if kind is SparkAutoSelfPacedClassifier else {"estimator": TREE, "n_estimators": 2}
    columns = {"features_col": NAMES, "label_col": "is_fraud", "id_col": "number", "seed": 0}
    return kind(**given | columns | options)


@pytest.fixture(scope="module")
def calibrated(frame):
    return spe(calibration="sigmoid", group_col="card").fit(frame)


def columns_of(scored, *names):
    found = scored.orderBy("number").select(*(vector_to_array(name).alias(name) for name in names)).collect()
    return [np.array([row[name] for row in found]) for name in names]


def test_groups_make_the_calibration_of_the_fit_in_memory(calibrated, rows):
    local = SelfPacedEnsembleClassifier(TREE, 2, random_state=0, calibration="sigmoid")
    local.fit(rows[NAMES], rows["is_fraud"], groups=rows["card"])
    assert calibrated.to_local().calibrator_ == local.calibrator_


def test_raw_predictions_are_the_scores_before_the_calibration(calibrated, frame, rows):
    raw, probabilities = columns_of(calibrated.transform(frame), "rawPrediction", "probability")
    local = calibrated.to_local()
    np.testing.assert_allclose(probabilities, local.predict_proba(rows[NAMES]))
    np.testing.assert_allclose(local.calibrator_(raw), probabilities)
    plain = SelfPacedEnsembleClassifier(TREE, 2, random_state=0).fit(rows[NAMES], rows["is_fraud"])
    np.testing.assert_array_equal(raw, plain.predict_proba(rows[NAMES]))


def test_a_column_without_a_name_is_not_added(calibrated, frame):
    scored = calibrated.copy().setRawPredictionCol("").setPredictionCol("").transform(frame)
    assert scored.columns == [*frame.columns, "probability"]


def test_a_saved_model_keeps_the_names_of_its_columns(calibrated, tmp_path):
    calibrated.copy().setRawPredictionCol("raw").write().save(f"file://{tmp_path}/model")
    assert SparkUnderSamplingModel.load(f"file://{tmp_path}/model").getRawPredictionCol() == "raw"


def test_a_model_has_importances_and_counts(calibrated):
    local = calibrated.to_local()
    np.testing.assert_array_equal(calibrated.featureImportances.toArray(), local.feature_importances_)
    assert (calibrated.numFeatures, calibrated.numClasses) == (4, 2)


# Spark leaves the threads open in which it fits the models of a grid.
@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_cross_validation_chooses_among_a_grid_by_raw_predictions(frame):
    estimator = spe(SparkUnderBaggingClassifier, n_estimators=1)
    bases = [DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=6)]
    grid = ParamGridBuilder().addGrid(estimator.estimator, bases).build()
    evaluator = BinaryClassificationEvaluator(labelCol="is_fraud", metricName="areaUnderPR")
    validator = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=0)
    chosen = validator.fit(frame)
    assert len(set(chosen.avgMetrics)) == 2
    assert chosen.bestModel.to_local().estimator.max_depth == bases[int(np.argmax(chosen.avgMetrics))].max_depth


def test_validation_rows_are_scored_and_not_trained_on(frame, rows):
    stopping = EarlyStopping(patience=1, min_delta=0.5)
    model = spe(validation_indicator_col="later", n_estimators=3, callbacks=stopping).fit(frame).to_local()
    train, test = rows[~rows["later"]], rows[rows["later"]]
    local = SelfPacedEnsembleClassifier(TREE, 3, random_state=0, callbacks=EarlyStopping(patience=1, min_delta=0.5))
    local.fit(train[NAMES], train["is_fraud"], eval_set=(test[NAMES], test["is_fraud"]))
    assert model.trained_on_.counts == local.trained_on_.counts
    assert len(model.estimators_) == 1
    drawn = np.concatenate([note.ids for note in model.rounds_])
    assert not rows.loc[drawn, "later"].any()
    own = SelfPacedEnsembleClassifier.predict_proba(model, test[NAMES])[:, 1]
    assert model.rounds_[1].score == pytest.approx(_aucprc(test["is_fraud"], own))


def _aucprc(y, scores):
    from selfpaced.metrics import aucprc

    return aucprc(np.asarray(y) == 1, scores)


def test_an_indicator_that_is_not_boolean_is_refused(frame):
    with pytest.raises(TableError, match="validationIndicatorCol must be a column of booleans; 'a' is double"):
        spe(validation_indicator_col="a").fit(frame)


def test_a_blend_takes_no_validation_rows(frame):
    with pytest.raises(ValueError, match="validationIndicatorCol is for one ensemble"):
        spe(SparkAutoSelfPacedClassifier, validation_indicator_col="later").fit(frame.limit(1))


def test_a_row_without_an_indicator_is_trained_on(frame):
    some = frame.filter(sf.col("number") < 10).withColumn("later", sf.when(sf.col("later"), sf.lit(True)))
    train, test = split_by_indicator(some, "later")
    assert train.count() + test.count() == 10
