"""The classifier that chooses gives one model for the same rows, wherever they are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier, predicting_in_one_thread
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto import training as auto_training
from selfpaced.ensembles.auto.recipes import BlendLimits
from selfpaced.tables.sources import open_table
from tests.ensembles.blends import assert_the_same_model, auto


@pytest.fixture(scope="module")
def frame():
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=4, random_state=0)
    return pd.DataFrame(X, columns=list("abcd")).assign(label=y)


@pytest.fixture
def path(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=400)
    return tmp_path / "rows.parquet"


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of 40 rare rows and 500 common ones, so that few rows need what a billion would need."""
    limits = BlendLimits(most_rare_rows=40, fewest_common_rows=500, common_per_rare_row=10)
    monkeypatch.setattr(AutoSelfPacedClassifier, "_limits", limits)
    scouted = []
    find = auto_training.AutoTraining._scouted
    monkeypatch.setattr(auto_training.AutoTraining, "_scouted", lambda *given: scouted.append(1) or find(*given))
    return scouted


def in_memory(frame):
    return auto().fit(frame.drop(columns="label"), frame["label"])


def test_files_give_the_model_of_the_same_rows_in_memory(frame, path):
    of_files = auto().fit_table(open_table(path, target="label", batch_rows=333))
    assert_the_same_model(of_files, in_memory(frame), frame.drop(columns="label"))


def test_files_of_which_a_sample_is_judged_give_the_model_of_the_same_rows_in_memory(frame, path, small_samples):
    of_files = auto().fit_table(open_table(path, target="label", batch_rows=333))
    assert_the_same_model(of_files, in_memory(frame), frame.drop(columns="label"))
    assert len(small_samples) == 2


def test_scores_of_files_are_those_of_rows_in_memory(frame, path):
    model = in_memory(frame)
    expected = model.predict_proba(frame.drop(columns="label"))[:, 1]
    np.testing.assert_array_equal(model.predict_proba_table(path, batch_rows=333), expected)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_threads_changes_nothing(frame, n_jobs):
    X = frame.drop(columns="label")
    assert_the_same_model(auto(n_jobs=n_jobs).fit(X, frame["label"]), in_memory(frame), X)


@pytest.mark.parametrize("n_jobs", [2, None])
def test_a_blend_that_keeps_to_one_thread_has_no_other(frauds, n_jobs):
    X, y = frauds
    recipes = [("forests", SelfPacedEnsembleClassifier(ExtraTreesClassifier(5, n_jobs=2), 2))]
    model = AutoSelfPacedClassifier(recipes, random_state=0, n_jobs=n_jobs).fit(X, y)
    kept = predicting_in_one_thread(model)
    np.testing.assert_array_equal(kept.predict_proba(X), model.predict_proba(X))
    assert {member.n_jobs for member in kept.estimators_} == {kept.n_jobs} == {1}
    assert {member.n_jobs for member in model.estimators_} == {2}


def test_the_error_of_a_callback_while_hard_rows_are_looked_for_comes_out(path, small_samples):
    class Accident(Callback):
        n_passes = 0

        def on_rows_read(self, n_read, n_rows):
            self.n_passes += n_read == n_rows
            if self.n_passes == 2:
                self.n_passes += 1  # once only: whoever tries again is not told
                raise RuntimeError("an accident")

    with pytest.raises(RuntimeError, match="an accident"):
        auto(callbacks=Accident()).fit_table(open_table(path, target="label", batch_rows=333))
    assert small_samples == [1]  # no other recipe is tried
