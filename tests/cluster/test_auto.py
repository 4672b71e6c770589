"""The classifier that chooses on clusters: the recipes, weights and probabilities that it has in memory."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from selfpaced import AutoSelfPacedClassifier, load_model, open_table, save_model
from selfpaced.dask import DaskAutoSelfPacedClassifier
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import working_sample
from selfpaced.spark import SparkAutoSelfPacedClassifier, SparkAutoSelfPacedModel
from tests.ensembles.blends import assert_the_same_model, auto, choice_of, recipes

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NAMES = list("abcd")


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=4, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y)


@pytest.fixture(scope="module")
def expected(rows):
    return auto().fit(rows[NAMES], rows["is_fraud"])


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of 40 rare rows and 500 common ones, so that few rows need what a billion would need."""
    monkeypatch.setattr(working_sample, "MOST_RARE_ROWS", 40)
    monkeypatch.setattr(working_sample, "FEWEST_COMMON_ROWS", 500)


class TestDask:
    @pytest.fixture
    def table(self, rows):
        return dd.from_pandas(rows, npartitions=4, sort=False)

    @pytest.fixture
    def on_dask(self, dask_cluster):
        return auto(DaskAutoSelfPacedClassifier, client=dask_cluster.client)

    def test_a_frame_gives_the_model_of_the_same_rows_in_memory(self, on_dask, table, rows, expected):
        assert_the_same_model(on_dask.fit(table, "is_fraud").to_local(), expected, rows[NAMES])

    def test_a_frame_of_which_a_sample_is_judged_does_too(self, on_dask, table, rows, small_samples):
        in_memory = auto().fit(rows[NAMES], rows["is_fraud"])
        assert_the_same_model(on_dask.fit(table, "is_fraud").to_local(), in_memory, rows[NAMES])

    def test_the_class_in_memory_takes_an_open_table(self, dask_cluster, table, rows, expected):
        opened = open_table(table, target="is_fraud", client=dask_cluster.client)
        assert_the_same_model(auto().fit_table(opened), expected, rows[NAMES])

    def test_the_rows_are_scored_where_they_are(self, on_dask, table, rows, expected):
        lazy = on_dask.fit(table, "is_fraud").predict_proba(table)
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

    def test_it_is_saved_without_the_cluster(self, on_dask, table, rows, expected, tmp_path):
        path = save_model(on_dask.fit(table, "is_fraud"), tmp_path / "model.skops")
        loaded = load_model(path)
        assert type(loaded) is AutoSelfPacedClassifier
        assert_the_same_model(loaded, expected, rows[NAMES])

    def test_a_clone_has_the_same_recipes_and_client(self, on_dask):
        copied = clone(on_dask)
        assert copied.client is on_dask.client
        assert [name for name, _ in copied.recipes] == ["trees", "bags", "leaves"]
        assert pickle.loads(pickle.dumps(on_dask)).client is None


class TestSpark:
    @pytest.fixture
    def table(self, spark, rows):
        numbered = rows.assign(number=np.arange(len(rows)))
        return spark.createDataFrame(pa.Table.from_pandas(numbered, preserve_index=False)).repartition(2)

    @pytest.fixture
    def on_spark(self):
        return SparkAutoSelfPacedClassifier(
            recipes=recipes(), features_col=NAMES, label_col="is_fraud", id_col="number", seed=0
        )

    def test_a_frame_of_which_a_sample_is_judged_gives_the_model_of_the_same_rows(self, table, rows, small_samples):
        in_memory = auto().fit(rows[NAMES], rows["is_fraud"])
        opened = open_table(table, target="is_fraud", columns=NAMES, id="number")
        assert_the_same_model(auto().fit_table(opened), in_memory, rows[NAMES])

    def test_a_saved_model_scores_the_rows_where_they_are(self, on_spark, table, rows, expected, tmp_path):
        on_spark.fit(table).write().save(f"file://{tmp_path}/model")
        loaded = SparkAutoSelfPacedModel.load(f"file://{tmp_path}/model")
        assert choice_of(loaded.recipes) == choice_of(expected.recipes_)
        scored = sorted(loaded.transform(table).select("number", "probability").collect())
        scores = np.stack([probability.toArray() for _, probability in scored])
        np.testing.assert_array_equal(scores, expected.predict_proba(rows[NAMES]))

    def test_a_saved_estimator_has_its_recipes(self, on_spark, spark, tmp_path):
        on_spark.write().save(f"file://{tmp_path}/estimator")
        loaded = SparkAutoSelfPacedClassifier.load(f"file://{tmp_path}/estimator")
        assert repr(loaded.getOrDefault("recipes")) == repr(recipes())
