"""What the notes of a fit say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score

from selfpaced.callbacks import Callback, seconds_by_phase
from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table


@pytest.fixture(scope="module")
def rounds(board):
    X, y = board
    eval_set = make_checkerboard(n_minority=100, n_majority=1000, random_state=1)
    return SelfPacedEnsembleClassifier(n_estimators=4, n_bins=8, random_state=0).fit(X, y, eval_set=eval_set).rounds_


def test_the_warm_up_and_each_round_have_a_note(rounds):
    assert [note.number for note in rounds] == [0, 1, 2, 3, 4]


def test_alpha_follows_the_tangent(rounds):
    assert rounds[0].alpha is None
    assert [note.alpha for note in rounds[1:4]] == pytest.approx([np.tan(i * np.pi / 8) for i in (1, 2, 3)])


def test_the_bins_hold_all_majority_rows(rounds):
    assert [note.counts.sum() for note in rounds] == [1000] * 5
    assert [note.counts.size for note in rounds] == [1, 8, 8, 8, 8]


def test_the_quotas_add_up_to_the_minority(rounds):
    assert [note.quota.sum() for note in rounds] == [100] * 5
    assert all(np.all(note.quota <= note.counts) for note in rounds)


def test_mean_hardness_lies_in_its_bin(rounds):
    for note in rounds[1:]:
        lower_edges = np.arange(8) / 8
        filled = note.counts > 0
        assert np.all(note.mean_hardness[filled] >= lower_edges[filled])
        assert np.all(note.mean_hardness[filled] <= lower_edges[filled] + 1 / 8)
        assert np.all(np.isnan(note.mean_hardness[~filled]))


def test_seconds_are_told_apart(rounds):
    assert all(note.seconds_fitting > 0 and note.seconds_drawing > 0 for note in rounds)
    assert rounds[0].seconds_scoring == 0
    assert all(note.seconds_scoring > 0 for note in rounds[1:])


def test_a_calibration_has_seconds_of_its_own():
    X, y = make_checkerboard(100, 1000, random_state=0)
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0, calibration="beta").fit(X, y)
    assert [note.seconds_calibrating > 0 for note in model.rounds_] == [False, True, True]
    phases = seconds_by_phase(model.rounds_)
    assert list(phases) == ["scoring", "drawing", "fitting", "calibrating", "reading"]
    assert sum(phases.values()) == pytest.approx(sum(note.seconds for note in model.rounds_))  # nothing is read
    assert phases["reading"] == 0


def test_the_time_of_reading_files_is_noted(tmp_path):
    X, y = make_checkerboard(100, 1000, random_state=0)
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0)
    model.fit_table(open_table(tmp_path / "rows.parquet", target="y"))
    assert all(note.seconds_reading > 0 for note in model.rounds_)


def test_members_are_scored_on_the_eval_set(rounds):
    assert rounds[0].score is None
    assert all(0 < note.score < 1 for note in rounds[1:])


def test_bins_are_found_by_the_label_of_their_class(rounds):
    assert list(rounds[1].bins) == [0]
    assert rounds[1].bins[0].counts is rounds[1].counts


def test_the_score_of_a_round_is_the_aucprc_of_the_stage(board):
    X_test, y_test = make_checkerboard(n_minority=50, n_majority=500, random_state=1)
    model = SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit(*board, eval_set=(X_test, y_test))
    stages = [average_precision_score(y_test, stage[:, 1]) for stage in model.staged_predict_proba(X_test)]
    assert [note.score for note in model.rounds_[1:]] == pytest.approx(stages)


def test_the_score_is_that_of_the_rarer_class_whatever_its_name(board):
    X, y = board
    X_test, y_test = make_checkerboard(n_minority=50, n_majority=500, random_state=1)
    plain = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y, eval_set=(X_test, y_test))
    named = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(
        X, np.where(y, "a fraud", "ok"), eval_set=(X_test, np.where(y_test, "a fraud", "ok"))
    )
    assert [note.score for note in named.rounds_] == pytest.approx([note.score for note in plain.rounds_])


def test_a_fit_that_was_interrupted_leaves_no_model(board):
    """The features have been looked at by then, and are remembered."""

    class Interrupted(Callback):
        def on_round_end(self, round):
            raise KeyboardInterrupt

    X, y = board
    model = SelfPacedEnsembleClassifier(callbacks=[Interrupted()])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    for use in (model.predict, model.predict_proba, lambda X: model.suspects(X, y)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(X)
