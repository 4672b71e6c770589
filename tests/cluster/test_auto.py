"""The classifier that chooses on clusters: the recipes, weights and probabilities that it has in memory."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from selfpaced.clusters.dask.estimators import DaskAutoSelfPacedClassifier
from selfpaced.clusters.spark.estimators import SparkAutoSelfPacedClassifier
from selfpaced.clusters.spark.model import SparkAutoSelfPacedModel
from selfpaced.datasets import make_fraud
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.recipes import BlendLimits
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table
from tests.ensembles.blends import assert_the_same_model, auto, choice_of, recipes
from tests.few_recipes import FEW_RECIPES, with_limits

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NAMES = list("abcd")
FEW = [(name, recipe.set_params(n_estimators=1)) for name, recipe in recipes()[1:]]  # a job costs Spark a moment


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=4, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y)


@pytest.fixture(scope="module")
def expected(rows):
    return auto().fit(rows[NAMES], rows["is_fraud"])


def judge_by_small_samples(patch):
    """Samples of 40 rare rows and 500 common ones, so that few rows need what a billion would need."""
    patch.setattr(AutoSelfPacedClassifier, "_limits", BlendLimits(most_rare_rows=40, fewest_common_rows=500))


class TestDask:
    @pytest.fixture(scope="class")
    @classmethod
    def table(cls, rows):
        return dd.from_pandas(rows, npartitions=4, sort=False)

    @pytest.fixture
    def on_dask(self, dask_cluster):
        return auto(DaskAutoSelfPacedClassifier, client=dask_cluster.client)

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls, dask_cluster, table):
        return auto(DaskAutoSelfPacedClassifier, client=dask_cluster.client).fit(table, "is_fraud")

    def test_a_frame_gives_the_model_of_the_same_rows_in_memory(self, fitted, rows, expected):
        assert_the_same_model(fitted.to_local(), expected, rows[NAMES])

    def test_the_class_in_memory_takes_an_open_table_of_which_a_sample_is_judged(
        self, dask_cluster, table, rows, monkeypatch
    ):
        judge_by_small_samples(monkeypatch)
        in_memory = auto().fit(rows[NAMES], rows["is_fraud"])
        opened = open_table(table, target="is_fraud", client=dask_cluster.client)
        assert_the_same_model(auto().fit_table(opened), in_memory, rows[NAMES])

    def test_rows_are_held_out_as_in_memory(self, dask_cluster, table, rows):
        few = {name: FEW_RECIPES[name] for name in ("trees", "linear")}
        kind = with_limits(large_recipes=few, large_minority=50, common_per_drawn_row=2)
        in_memory = kind(random_state=0).fit(rows[NAMES], rows["is_fraud"])
        opened = open_table(table, target="is_fraud", client=dask_cluster.client)
        assert_the_same_model(kind(random_state=0).fit_table(opened), in_memory, rows[NAMES])

    def test_the_rows_are_scored_where_they_are(self, fitted, table, rows, expected):
        lazy = fitted.predict_proba(table)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), expected.predict_proba(rows[NAMES]))

    def test_arrays_with_weights_give_the_model_of_the_same_rows_in_memory(self, on_dask, rows):
        X, y = rows[NAMES].to_numpy(), rows["is_fraud"].to_numpy()
        weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
        on_dask.fit(
            *(da.from_array(each, chunks=(800, *each.shape[1:])) for each in (X, y)),
            sample_weight=da.from_array(weights, chunks=800),
        )
        assert_the_same_model(on_dask.to_local(), auto().fit(X, y, sample_weight=weights), X)

    def test_a_blend_takes_no_rows_that_others_have_held_out(self, on_dask, table, rows):
        with pytest.raises(ValueError, match="eval_set is for one ensemble"):
            on_dask.fit(table, "is_fraud", eval_set=(rows[NAMES], rows["is_fraud"]))

    def test_it_is_saved_without_the_cluster(self, fitted, rows, expected, tmp_path):
        path = save_model(fitted, tmp_path / "model.skops")
        loaded = load_model(path)
        assert type(loaded) is AutoSelfPacedClassifier
        assert_the_same_model(loaded, expected, rows[NAMES])

    def test_a_clone_has_the_same_recipes_and_client(self, on_dask):
        copied = clone(on_dask)
        assert copied.client is on_dask.client
        assert [name for name, _ in copied.recipes] == ["trees", "bags", "leaves"]
        assert pickle.loads(pickle.dumps(on_dask)).client is None


class TestSpark:
    @pytest.fixture(scope="class")
    @classmethod
    def table(cls, spark, rows):
        numbered = rows.assign(number=np.arange(len(rows)))
        return spark.createDataFrame(pa.Table.from_pandas(numbered, preserve_index=False))

    @pytest.fixture(scope="class")
    @classmethod
    def on_spark(cls):
        return SparkAutoSelfPacedClassifier(
            recipes=FEW, features_col=NAMES, label_col="is_fraud", id_col="number", seed=0
        )

    @pytest.fixture(scope="class")
    @classmethod
    def both(cls, on_spark, table, rows):
        """The model that a sample of the frame has chosen, and that of the same rows in memory."""
        with pytest.MonkeyPatch.context() as patch:
            judge_by_small_samples(patch)
            in_memory = AutoSelfPacedClassifier(FEW, random_state=0).fit(rows[NAMES], rows["is_fraud"])
            return on_spark.fit(table), in_memory

    def test_a_frame_of_which_a_sample_is_judged_gives_the_model_of_the_same_rows(self, both, rows):
        model, in_memory = both
        assert_the_same_model(model.to_local(), in_memory, rows[NAMES])

    def test_a_saved_model_scores_the_rows_where_they_are(self, both, table, rows, tmp_path):
        model, in_memory = both
        model.write().save(f"file://{tmp_path}/model")
        loaded = SparkAutoSelfPacedModel.load(f"file://{tmp_path}/model")
        assert choice_of(loaded.recipes) == choice_of(in_memory.recipes_)
        scored = sorted(loaded.transform(table).select("number", "probability").collect())
        scores = np.stack([probability.toArray() for _, probability in scored])
        np.testing.assert_array_equal(scores, in_memory.predict_proba(rows[NAMES]))

    def test_a_saved_estimator_has_its_recipes(self, on_spark, spark, tmp_path):
        on_spark.write().save(f"file://{tmp_path}/estimator")
        loaded = SparkAutoSelfPacedClassifier.load(f"file://{tmp_path}/estimator")
        assert repr(loaded.getOrDefault("recipes")) == repr(FEW)
