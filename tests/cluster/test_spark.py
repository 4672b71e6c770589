"""Ensembles on a real Spark cluster: a master and two workers, each a JVM of its own.

A job costs Spark a quarter of a second, however few its rows, so that tests share fits and saved models.
"""

import re
import sys
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from pyspark import cloudpickle
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions as sf
from sklearn.base import BaseEstimator, ClassifierMixin

from selfpaced.callbacks import ProgressBar
from selfpaced.clusters.spark.engine import SparkEngine
from selfpaced.clusters.spark.estimators import (
    SparkBalanceCascadeClassifier,
    SparkSelfPacedEnsembleClassifier,
    SparkUnderBaggingClassifier,
)
from selfpaced.clusters.spark.model import SparkUnderSamplingModel
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.exceptions import ModelFileError, TableError
from selfpaced.pools import PartitionedPool, Partitions
from selfpaced.tables.sources import open_table
from tests.cluster.spark_models import assert_same, expected, in_memory, numbered, probabilities, run, spe
from tests.cluster.transactions import BOOSTER, NAMES, TREE, transactions
from tests.contracts import test_majority_pools as exam
from tests.contracts.table_exam import COLUMNS, ROWS, Opened, TableExam
from tests.exam.forms import parquet
from tests.exam.tables import tables
from tests.exam.test_same_rows_same_scores import EXAMPLES, scores_of, small_booster, trained
from tests.exam.test_same_rows_same_scores import exam as exam_settings

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture
def rows():
    return transactions().copy()


@pytest.fixture(scope="module")
def frame_of(spark):
    return lambda rows: spark.createDataFrame(numbered(rows))


@pytest.fixture(scope="module")
def frame(frame_of):
    return frame_of(transactions())


@dataclass
class WatchedFit:
    """A fit, and what was seen of it.

    Attributes
    ----------
    travelled : the rows that came to the driver, by question.
    n_jobs : the jobs of Spark.
    keeps_nothing : whether Spark knows no table and caches nothing after the fit.
    """

    model: SparkUnderSamplingModel
    travelled: list[int]
    n_jobs: int
    keeps_nothing: bool


@pytest.fixture(scope="module")
def watched(spark, frame):
    travelled = []

    def counting(parts):
        travelled.append(sum(len(part) for part in parts))
        return stacked(parts)

    stacked = SparkEngine.stacked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkEngine, "stacked", staticmethod(counting))
        spark.sparkContext.setJobGroup("counted", "a fit")
        try:
            model = spe().fit(frame)
        finally:
            spark.sparkContext._jsc.clearJobGroup()
    n_jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup("counted"))
    caches_nothing = spark._jsparkSession.sharedState().cacheManager().isEmpty()
    return WatchedFit(model, travelled, n_jobs, caches_nothing and spark.catalog.listTables() == [])


def test_members_are_those_of_the_fit_in_memory(watched):
    assert_same(watched.model, expected())


def test_only_the_minority_once_and_the_drawn_rows_are_sent_to_the_driver(watched):
    assert watched.travelled == [80] * (1 + len(watched.model.rounds))


def test_the_jobs_of_a_fit_are_three_and_two_a_round(watched):
    assert watched.n_jobs == 3 + 2 * 2


def test_spark_keeps_nothing_after_a_fit(watched):
    assert watched.keeps_nothing


@pytest.mark.parametrize(("n_partitions", "base"), [(1, BOOSTER), (5, TREE)], ids=["1-lightgbm", "5-tree"])
def test_members_are_the_same_for_any_partitions_and_any_rows_in_them(frame, base, n_partitions):
    scattered = frame.repartition(n_partitions, sf.rand(seed=1))
    assert_same(spe(base, n_estimators=1).fit(scattered), expected(base, n_estimators=1))


def test_rows_of_parquet_files_need_no_id(spark, rows, tmp_path):
    for number, start in enumerate(range(0, len(rows), 2000)):
        part = pa.Table.from_pandas(rows.iloc[start : start + 2000], preserve_index=False)
        pq.write_table(part, tmp_path / f"part {number}.parquet")
    files = spark.read.parquet(str(tmp_path)).repartition(4)
    assert_same(spe(id_col=None, n_estimators=1).fit(files), expected(n_estimators=1))


def test_a_pool_on_spark_passes_the_tests_of_all_pools(frame_of):
    hardness = "cross_entropy"  # which asks for the largest one, too
    label = np.where(np.isin(np.arange(len(exam.X)), exam.IDS), 0, 1)
    table = open_table(
        frame_of(pd.DataFrame(exam.X).add_prefix("V").assign(label=label)), target="label", id_column="number"
    )
    pool = PartitionedPool(Partitions(table.begin(), {0: exam.IDS.size}, exam.SEED), 0, exam.IDS.size)
    for answer, known in zip(exam.play(pool, hardness), exam.play(exam.frame(exam.X), hardness), strict=True):
        np.testing.assert_array_equal(answer, known)


def test_balance_cascade_equals_the_fit_in_memory(frame):
    model = spe(kind=SparkBalanceCascadeClassifier).fit(frame)
    assert_same(model, expected(kind=BalanceCascadeClassifier))
    assert type(model.to_local()) is BalanceCascadeClassifier


class TestColumnsOfAllKinds:
    """One table with strings, missing values, whole numbers, truths, dates, weights and names with dots."""

    FEATURES = ("a.b `c`", "b", "channel", "visits", "known", "when")

    @pytest.fixture(scope="class")
    @classmethod
    def mixed(cls):
        rows, rng = transactions(), np.random.default_rng(0)
        moments = pd.Timestamp("2024-03-01", tz="UTC") + pd.to_timedelta(np.arange(len(rows)), unit="min")
        return rows[["b", "is_fraud"]].assign(
            **{"a.b `c`": rows["a"].mask(np.arange(len(rows)) % 7 == 0)},
            channel=pd.Categorical(rng.choice(["post", "web", "shop", None], len(rows)), ["post", "shop", "web"]),
            visits=np.where(np.arange(len(rows)) % 9, rng.integers(0, 50, len(rows)), np.nan),
            known=rng.random(len(rows)) < 0.5,
            when=moments,
            weight=rng.uniform(0.5, 2, len(rows)),
            number=np.arange(len(rows)),
        )

    @pytest.fixture(scope="class")
    @classmethod
    def in_tokyo(cls, spark, mixed):
        """The rows on Spark, in a session of another time zone than UTC."""
        zone = spark.conf.get("spark.sql.session.timeZone")
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        table = pa.Table.from_pandas(mixed.astype({"channel": "str", "visits": "Int64"}), preserve_index=False)
        yield spark.createDataFrame(table)
        spark.conf.set("spark.sql.session.timeZone", zone)

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, in_tokyo):
        assert dict(in_tokyo.dtypes)["visits"] == "bigint"
        return spe(BOOSTER, features=list(cls.FEATURES), weight_col="weight", n_estimators=1).fit(in_tokyo)

    @pytest.fixture(scope="class")
    @classmethod
    def numbers(cls, mixed):
        """The features with the dates as numbers in UTC."""
        moments = mixed["when"].dt
        parts = {
            "when": moments.as_unit("s").astype(np.int64),
            "when.weekday": moments.day_of_week,
            "when.hour": moments.hour,
        }
        plain = [name for name in cls.FEATURES if name != "when"]
        return mixed[plain].assign(**{name: part.astype(float) for name, part in parts.items()})

    @pytest.fixture(scope="class")
    @classmethod
    def local(cls, mixed, numbers):
        weights = mixed["weight"].to_numpy()
        return in_memory(numbers.assign(is_fraud=mixed["is_fraud"]), BOOSTER, n_estimators=1, sample_weight=weights)

    def test_give_the_members_that_they_give_in_memory(self, model, local):
        assert_same(model, local)

    def test_get_the_scores_that_they_get_in_memory(self, model, local, in_tokyo, numbers):
        scores = probabilities(model.transform(in_tokyo))
        np.testing.assert_array_equal(scores, local.predict_proba(numbers))


def test_three_classes_of_strings(frame_of, rows):
    labels = np.array(["chip", "online", "stolen"])[np.where(rows.is_fraud, 2, np.arange(len(rows)) % 5 == 0)]
    three = rows.assign(is_fraud=labels)
    frame = frame_of(three)
    model = spe(n_estimators=1).fit(frame)
    local = in_memory(three, n_estimators=1)
    assert_same(model, local)
    scored = model.transform(frame).orderBy("number").select("prediction").collect()
    assert [row.prediction for row in scored] == local.predict(three[NAMES]).tolist()


def test_empty_partitions_and_partitions_without_positives(frame, rows):
    by_class = frame.repartition(3, "is_fraud")
    sizes = by_class.groupBy(sf.spark_partition_id()).count().count()
    assert sizes == 2  # of three
    model = spe(n_estimators=1).fit(by_class)
    assert_same(model, expected(n_estimators=1))
    assert probabilities(model.transform(by_class)).shape == (len(rows), 2)


class TestModels:
    """What a fitted model does, and what parameters do."""

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, watched):
        return watched.model

    @pytest.fixture(scope="class")
    @classmethod
    def saved(cls, model, tmp_path_factory):
        """A folder with a saved model, which took the place of something else, and a saved estimator."""
        folder = tmp_path_factory.mktemp("saved")
        estimator = spe(callbacks=ProgressBar(), n_bins=7)
        for name in ("model", "estimator"):
            estimator.save(str(folder / name))
        model.write().overwrite().save(str(folder / "model"))
        return folder

    @pytest.fixture(scope="class")
    @classmethod
    def loaded_estimator(cls, saved):
        return SparkSelfPacedEnsembleClassifier.load(str(saved / "estimator"))

    def test_transform_is_lazy_keeps_other_columns_and_equals_the_local_model(self, frame_of, rows, model):
        frame = frame_of(rows.assign(note="x"))
        scored = model.transform(frame)
        assert scored.columns == [*frame.columns, "rawPrediction", "probability", "prediction"]
        assert dict(scored.dtypes)["prediction"] == "double"
        local = model.to_local()
        found = scored.orderBy("number").select("prediction", "probability").collect()
        scores = np.stack([row.probability.toArray() for row in found])
        np.testing.assert_array_equal(scores, local.predict_proba(rows[NAMES]))
        assert [row.prediction for row in found] == local.predict(rows[NAMES]).tolist()

    def test_rows_are_scored_once_for_both_columns(self, frame, model, capsys):
        model.transform(frame).explain()
        assert capsys.readouterr().out.count("ArrowEvalPython") == 1

    def test_a_model_is_the_same_after_it_is_saved_and_loaded(self, model, saved):
        loaded = SparkUnderSamplingModel.load(str(saved / "model"))
        assert_same(loaded, model.to_local())
        assert loaded.uid == model.uid
        assert loaded.classes.tolist() == [0, 1]
        assert len(loaded.rounds) == 3
        with pytest.raises(Exception, match="already exists"):
            model.save(str(saved / "model"))

    def test_an_estimator_is_the_same_after_it_is_saved_and_loaded(self, saved, loaded_estimator):
        assert loaded_estimator.getOrDefault("n_bins") == 7
        assert loaded_estimator.getOrDefault("estimator").max_depth == 8
        with pytest.raises(TypeError, match="holds a SparkSelfPacedEnsembleClassifier, not a SparkUnderSamplingModel"):
            SparkUnderSamplingModel.load(str(saved / "estimator"))

    @pytest.mark.parametrize(
        ("name", "kind"), [("estimator", SparkSelfPacedEnsembleClassifier), ("model", SparkUnderSamplingModel)]
    )
    def test_loading_runs_no_code_of_a_pickle(self, saved, tmp_path, name, kind):
        hostile = b"cos\nmkdir\n(V%s\ntR." % str(tmp_path / "executed").encode()
        copytree(saved / name, tmp_path / name)
        rmtree(tmp_path / name / "content")
        (tmp_path / name / "content").mkdir()
        pq.write_table(pa.table({"content": [hostile]}), tmp_path / name / "content" / "part.parquet")
        with pytest.raises(ModelFileError, match="is not a selfpaced model file"):
            kind.load(str(tmp_path / name))
        assert not (tmp_path / "executed").exists()

    def test_parameters_of_untrusted_types_are_refused_when_they_are_saved(self, spark, model, tmp_path):
        with pytest.raises(
            ModelFileError, match=r"holds .*PredictsNaN, which .*save_model\(model\.to_local\(\), \.\.\., allow="
        ):
            spe(PredictsNaN()).save(str(tmp_path / "estimator"))
        local = copy(model.to_local()).set_params(hardness=lambda doubts: doubts)
        with pytest.raises(ModelFileError, match="parameter hardness is the function"):
            SparkUnderSamplingModel(local).save(str(tmp_path / "model"))
        assert list(tmp_path.iterdir()) == []

    def test_callbacks_are_not_saved(self, loaded_estimator):
        assert loaded_estimator.getOrDefault("callbacks") is None
        assert loaded_estimator.getOrDefault("featuresCol") == NAMES
        assert not loaded_estimator.isSet("hardness")

    def test_files_are_scored_by_the_local_model(self, rows, model, tmp_path):
        rows.to_parquet(tmp_path / "rows.parquet")
        assert model.to_local().trained_on_.schema.names == NAMES
        assert open_table(tmp_path, columns=NAMES).schema == model.to_local().trained_on_.schema

    def test_a_vector_column_serves_in_a_pipeline_which_is_saved_and_loaded(self, frame, rows, tmp_path):
        stages = [VectorAssembler(inputCols=NAMES, outputCol="features"), spe(features="features", n_estimators=1)]
        fitted = Pipeline(stages=stages).fit(frame)
        X = rows[NAMES].to_numpy()
        local = SelfPacedEnsembleClassifier(TREE, 1, random_state=3).fit(X, rows["is_fraud"])
        assert_same(fitted.stages[-1], local)
        fitted.write().overwrite().save(str(tmp_path))
        scored = PipelineModel.load(str(tmp_path)).transform(frame)
        np.testing.assert_array_equal(probabilities(scored), local.predict_proba(X))

    def test_a_fit_takes_parameter_maps_and_evaluators_read_the_probabilities(self, frame):
        bagging = spe(kind=SparkUnderBaggingClassifier)
        model = bagging.fit(frame, {bagging.n_estimators: 1})
        assert_same(model, expected(kind=UnderBaggingClassifier, n_estimators=1))
        assert type(model.to_local()) is UnderBaggingClassifier
        evaluator = BinaryClassificationEvaluator(
            rawPredictionCol="probability", labelCol="is_fraud", metricName="areaUnderPR"
        )
        assert evaluator.evaluate(model.transform(frame)) > 2 * 80 / 5000  # chance is the share of frauds

    def test_parameters_are_sparks_own(self):
        estimator = spe()
        assert {"n_estimators", "n_bins", "estimator", "featuresCol", "seed"} <= {p.name for p in estimator.params}
        copied = estimator.copy({estimator.n_estimators: 7})
        assert (copied.getOrDefault("n_estimators"), estimator.getOrDefault("n_estimators")) == (7, 2)
        assert "hardness bins" in estimator.explainParams()
        assert estimator.setParams(label_col="y").getLabelCol() == "y"


class TestBadInput:
    """What Spark itself must tell. What is wrong in a partition is in `tests/partitions/test_spark_batches.py`."""

    def test_no_id_and_no_files(self, frame):
        with pytest.raises(TableError, match=r"(?s)has no order.*xxhash64"):
            spe(id_col=None).fit(frame)

    def test_ids_that_come_twice(self, frame_of, rows):
        with pytest.raises(TableError, match="occurs more than once"):
            spe().fit(frame_of(rows.assign(number=np.arange(len(rows)) // 2)))

    def test_ids_that_are_missing(self, frame_of, rows):
        gap = rows.assign(number=pd.array([*range(len(rows) - 1), None], dtype="Int64"))
        with pytest.raises(TableError, match=r"partition \d has rows without an id"):
            spe().fit(frame_of(gap))

    def test_ids_that_are_strings(self, frame_of, rows):
        with pytest.raises(TableError, match=r"integers; they are string.*xxhash64\('number'\)"):
            spe().fit(frame_of(rows.assign(number=[f"tx-{i}" for i in range(len(rows))])))

    def test_no_rows_at_all(self, frame):
        with pytest.raises(TableError, match="has no rows"):
            spe().fit(frame.where("a > 1e9"))

    def test_weights_that_are_strings(self, frame_of, rows):
        with pytest.raises(TableError, match="weights in column 'w' must be numbers; they are string"):
            spe(weight_col="w").fit(frame_of(rows.assign(w="heavy")))

    def test_a_column_that_is_not_there(self, frame):
        with pytest.raises(TableError, match="no column 'fraud'"):
            spe(label_col="fraud").fit(frame)

    def test_a_column_without_vectors(self, frame):
        with pytest.raises(TableError, match="Column 'a' is double, neither vectors nor arrays"):
            spe(features="a").fit(frame)

    def test_a_member_that_predicts_nan_raises_its_own_error(self, frame):
        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors cannot import tests: it travels whole
        try:
            with pytest.raises(ValueError, match="predicted NaN") as caught:
                spe(PredictsNaN()).fit(frame)
        finally:
            cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
        assert "Raised on a Spark executor." in caught.value.__notes__


class PredictsNaN(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_the_code_of_the_guide_runs(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = next((Path(__file__).parents[2] / "docs" / "guide").glob("clusters*.md")).read_text()
    blocks = re.findall(
        r"^```py(?:thon)?\n(.*?)^```", page.partition("\n## Spark")[2].partition("\n## ")[0], re.M | re.S
    )
    namespace = {"spark": spark}
    for block in blocks:
        # The JVM does not follow when this process changes its folder.
        block = re.sub(r'"((?:transactions|fraud-model)[^"]*)"', rf'"{tmp_path}/\1"', block)
        exec(compile(block, "guide", "exec"), namespace)
    assert len(blocks) == 3
    assert namespace["scored"].count() == 5000
    assert len(namespace["local"].estimators_) == 2


def test_an_executor_without_the_package_of_the_base_model_raises_an_import_error(frame, base_known_here_only):
    missing = (
        "executor's Python has no module 'package_of_the_driver'. Install the package in the executors' environment"
    )
    with pytest.raises(ImportError, match=missing):
        spe(base_known_here_only).fit(frame)


def test_a_connect_session_gives_the_same_model_and_saves_it(spark, spark_cluster, tmp_path):
    told = run(
        f"""
        import numpy as np
        from pyspark.ml import Pipeline, PipelineModel
        from pyspark.ml.feature import VectorAssembler
        from pyspark.sql import SparkSession
        from selfpaced.exceptions import TableError
        from tests.cluster.spark_models import *

        spark = SparkSession.builder.remote({spark_cluster.connect_url!r}).getOrCreate()
        rows = transactions()
        frame = spark.createDataFrame(numbered(rows)).coalesce(1)  # Python workers are started anew: one will do
        assert "connect" in type(frame).__module__
        stages = [VectorAssembler(inputCols=NAMES, outputCol="features"), spe(features="features", n_estimators=1)]
        model = Pipeline(stages=stages).fit(frame)
        local = SelfPacedEnsembleClassifier(TREE, 1, random_state=3).fit(rows[NAMES].to_numpy(), rows["is_fraud"])
        assert_same(model.stages[-1], local)
        assert spark.catalog.listTables() == []

        model.write().overwrite().save({str(tmp_path)!r})
        scores = probabilities(PipelineModel.load({str(tmp_path)!r}).transform(frame))
        np.testing.assert_array_equal(scores, local.predict_proba(rows[NAMES].to_numpy()))
        try:
            spe(id_col=None).fit(frame)
        except TableError as error:
            print(error)
        spark.stop()
        """
    )
    assert "has no order of rows" in told


class TestTablesOnSpark(TableExam):
    @pytest.fixture(scope="class")
    @classmethod
    def opened(cls, spark):
        return Opened(spark.createDataFrame(ROWS), "a Spark DataFrame", {**COLUMNS, "id_column": "tx"})

    @pytest.fixture(scope="class")
    @classmethod
    def table(cls, opened):
        return opened.open()


def as_spark_has_them(table):
    """The columns whose types Spark knows too, and ids: Spark has no order of rows."""
    known = (
        pa.types.is_signed_integer,
        pa.types.is_float32,
        pa.types.is_float64,
        pa.types.is_boolean,
        pa.types.is_string,
        pa.types.is_decimal128,
    )
    names = [field.name for field in table.schema if any(is_kind(field.type) for is_kind in known)]
    moments = (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))
    names += [field.name for field in table.schema if field.type in moments]
    return table.select(names).append_column("row_id", pa.array(range(len(table))))


@settings(exam_settings, max_examples=max(EXAMPLES // 2, 1))
@given(table=tables().map(as_spark_has_them))
def test_the_same_rows_on_spark_train_the_model_of_the_file(spark, table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        expected = scores_of(trained(path, id_column="row_id"), path)
        again = trained(spark.createDataFrame(table), id_column="row_id")
        np.testing.assert_array_equal(scores_of(again, path), expected)


@settings(exam_settings, max_examples=max(EXAMPLES // 6, 1))
@given(table=tables().map(as_spark_has_them))
def test_the_same_rows_on_spark_get_the_same_scores(spark, table):
    features = [name for name in table.column_names if name not in ("label", "row_id")]
    frame = spark.createDataFrame(table)
    columns = {"features_col": features, "label_col": "label", "id_col": "row_id"}
    model = SparkSelfPacedEnsembleClassifier(estimator=small_booster(), n_estimators=2, seed=0, **columns).fit(frame)
    local = model.to_local()
    with TemporaryDirectory() as folder:
        expected = local.predict_proba_table(parquet(table, Path(folder)))
    scored = model.transform(frame).orderBy("row_id").select(vector_to_array("probability").alias("p")).collect()
    np.testing.assert_array_equal([row.p[local.trained_on_.score_column] for row in scored], expected)
