import io
import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import EasyEnsembleClassifier
from selfpaced.callbacks import Callback, EarlyStopping, FitPlan, ProgressBar, Round, Stop
from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.tables.sources import open_table


class Diary(Callback):
    """Writes down every call."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.entries = []

    def on_fit_begin(self, plan):
        self.entries.append(plan)

    def on_round_end(self, round):
        self.entries.append(round.number)
        return Stop(keep=round.number) if round.number == self.stop_after else None

    def on_fit_end(self):
        self.entries.append("end")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def round_with(number, score):
    return Round(number, 1.0, {}, 0, 0.0, 0.0, 0.0, score)


def fit(board, callbacks, **arguments):
    return SelfPacedEnsembleClassifier(n_estimators=4, random_state=0, callbacks=callbacks).fit(*board, **arguments)


def test_the_hooks_are_called_in_order(board):
    diary = Diary()
    fit(board, [diary])
    assert diary.entries == [FitPlan(4, 1100, 100, has_eval_set=False), 0, 1, 2, 3, 4, "end"]


def test_one_callback_needs_no_list(board):
    diary = Diary()
    fit(board, diary)
    assert diary.entries[-1] == "end"


def test_a_callback_can_stop_the_fit(board):
    diary = Diary(stop_after=2)
    model = fit(board, [Diary(), diary])
    assert diary.entries[1:] == [0, 1, 2, "end"]
    assert len(model.estimators_) == 2
    assert [note.number for note in model.rounds_] == [0, 1, 2]


@pytest.mark.parametrize("keep", [0, -1, 3])
def test_only_members_that_are_there_can_be_kept(board, keep):
    class Stops(Callback):
        def on_round_end(self, round):
            return Stop(keep=keep) if round.number == 2 else None

    with pytest.raises(ValueError, match=f"asked to keep {keep} members. It must keep 1 to 2"):
        fit(board, Stops())


def test_a_callback_must_say_what_to_keep(board):
    class Stops(Callback):
        def on_round_end(self, round):
            return True

    with pytest.raises(TypeError, match=r"on_round_end must return None or Stop\(keep=...\); .* returned True"):
        fit(board, Stops())


def test_a_stopped_ensemble_is_the_beginning_of_the_whole_one(board):
    whole, stopped = fit(board, None), fit(board, Diary(stop_after=2))
    for one, other in zip(stopped.estimators_, whole.estimators_, strict=False):
        np.testing.assert_array_equal(one.predict_proba(board[0]), other.predict_proba(board[0]))


def test_the_end_is_told_after_an_error_too(board):
    class Fails(Diary):
        def on_round_end(self, round):
            raise KeyboardInterrupt

    fails = Fails()
    with pytest.raises(KeyboardInterrupt):
        fit(board, fails)
    assert fails.entries[-1] == "end"


def test_callbacks_survive_clone_and_pickle(board):
    model = SelfPacedEnsembleClassifier(
        n_estimators=2, random_state=0, callbacks=[EarlyStopping(patience=2), ProgressBar()]
    )
    fitted = clone(model).fit(*board, eval_set=board)
    stopping, bar = fitted.callbacks
    assert (stopping.patience, type(bar)) == (2, ProgressBar)
    again = pickle.loads(pickle.dumps(fitted))
    assert [type(each) for each in again.callbacks] == [EarlyStopping, ProgressBar]
    assert (again.callbacks[0].best_round_, again.callbacks[0].best_score_) == (
        stopping.best_round_,
        stopping.best_score_,
    )
    np.testing.assert_array_equal(again.predict_proba(board[0]), fitted.predict_proba(board[0]))
    np.testing.assert_array_equal(
        again.fit(*board, eval_set=board).predict_proba(board[0]), fitted.predict_proba(board[0])
    )


class TestEarlyStopping:
    def begin(self, **parameters):
        stopping = EarlyStopping(**parameters)
        stopping.on_fit_begin(FitPlan(10, 100, 10, has_eval_set=True))
        return stopping

    def test_it_stops_when_its_patience_ends_and_keeps_the_best(self):
        stopping = self.begin(patience=2)
        wishes = [stopping.on_round_end(round_with(i, score)) for i, score in enumerate([0.1, 0.5, 0.4, 0.5], start=1)]
        assert wishes == [None, None, None, Stop(keep=2)]
        assert (stopping.best_round_, stopping.best_score_) == (2, 0.5)

    def test_a_rise_too_small_is_none(self):
        stopping = self.begin(patience=1, min_delta=0.1)
        assert stopping.on_round_end(round_with(1, 0.5)) is None
        assert stopping.on_round_end(round_with(2, 0.55)) == Stop(keep=1)

    def test_the_last_round_keeps_the_best_too(self):
        stopping = self.begin(patience=100)
        scores = [0.1, 0.9] + [0.5] * 8
        wishes = [stopping.on_round_end(round_with(i, score)) for i, score in enumerate(scores, start=1)]
        assert wishes == [None] * 9 + [Stop(keep=2)]

    def test_the_warm_up_does_not_count(self):
        assert self.begin(patience=1).on_round_end(round_with(0, None)) is None

    def test_it_forgets_an_earlier_fit(self):
        stopping = self.begin()
        stopping.on_round_end(round_with(1, 0.9))
        stopping.on_fit_begin(FitPlan(10, 100, 10, has_eval_set=True))
        assert stopping.best_score_ == float("-inf")

    def test_a_fit_keeps_the_members_up_to_the_best_round(self):
        X, y = make_checkerboard(n_minority=200, n_majority=2000, random_state=0)
        eval_set = make_checkerboard(n_minority=200, n_majority=2000, random_state=1)
        stopping = EarlyStopping(patience=2)
        base = DecisionTreeClassifier(max_depth=8)
        model = SelfPacedEnsembleClassifier(base, 60, random_state=0, callbacks=stopping).fit(X, y, eval_set=eval_set)
        scores = [note.score for note in model.rounds_[1:]]
        assert len(model.estimators_) == stopping.best_round_ == int(np.argmax(scores)) + 1 < 60
        assert len(scores) == stopping.best_round_ + 2

    def test_a_number_of_numpy_is_a_patience(self):
        assert self.begin(patience=np.int64(1)).on_round_end(round_with(1, 0.5)) is None

    @pytest.mark.parametrize(
        "kind", [SelfPacedEnsembleClassifier, BalanceCascadeClassifier, UnderBaggingClassifier, EasyEnsembleClassifier]
    )
    @pytest.mark.parametrize("by_table", [False, True], ids=["fit", "fit_table"])
    def test_every_ensemble_predicts_as_it_did_in_its_best_round(self, kind, by_table, tmp_path):
        X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
        held_out = make_checkerboard(n_minority=100, n_majority=1000, random_state=1)
        stopping = EarlyStopping(patience=2)
        model = kind(DecisionTreeClassifier(max_depth=8), 30, random_state=0, callbacks=[stopping])
        if by_table:
            frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
            frame.to_parquet(tmp_path / "rows.parquet")
            held_out = pd.DataFrame(held_out[0], columns=["a", "b"]), held_out[1]
            model.fit_table(open_table(tmp_path / "rows.parquet", target="label"), eval_set=held_out)
        else:
            model.fit(X, y, eval_set=held_out)
        by_number = {note.number: note.score for note in model.rounds_}
        assert stopping.best_score_ == max(score for score in by_number.values() if score is not None)
        assert len(model.estimators_) == stopping.best_round_ == max(by_number) - 2
        again = average_precision_score(held_out[1], model.predict_proba(held_out[0])[:, 1])
        assert again == pytest.approx(stopping.best_score_)

    def test_it_stops_by_the_mean_over_several_classes(self):
        centers = [[0, 0], [1, 1], [0, 2]]
        X, y = make_blobs([60, 600, 300], centers=centers, random_state=0)
        held_out = make_blobs([60, 600, 300], centers=centers, random_state=1)
        stopping = EarlyStopping(patience=2)
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 50, random_state=0, callbacks=stopping)
        model.fit(X, y, eval_set=held_out)
        assert len(model.estimators_) == stopping.best_round_ < 50
        one_hot = held_out[1][:, np.newaxis] == np.arange(3)
        again = average_precision_score(one_hot, model.predict_proba(held_out[0]))
        assert again == pytest.approx(stopping.best_score_)

    def test_a_stopped_ensemble_keeps_the_pacing_of_the_longer_one(self, board):
        stopping = EarlyStopping(patience=1)
        model = SelfPacedEnsembleClassifier(n_estimators=40, random_state=0, callbacks=stopping)
        model.fit(*board, eval_set=make_checkerboard(n_minority=100, n_majority=1000, random_state=1))
        assert model.n_estimators == 40
        assert len(model.estimators_) < 40
        expected = [np.tan(note.number * np.pi / 80) for note in model.rounds_[1:]]
        assert [note.alpha for note in model.rounds_[1:]] == pytest.approx(expected)


class TestProgressBar:
    def test_it_shows_members_and_score_on_a_terminal(self, board):
        terminal = Terminal()
        fit(board, ProgressBar(file=terminal), eval_set=board)
        assert re.search(r"member 4/4, AUCPRC 0\.\d\d\d", terminal.getvalue())

    def test_it_is_silent_where_nobody_watches(self, board, capsys):
        fit(board, ProgressBar())
        assert capsys.readouterr() == ("", "")

    def test_it_can_be_cloned_and_pickled_whatever_it_draws_on(self, board):
        bar = ProgressBar(file=sys.stdout)
        model = SelfPacedEnsembleClassifier(n_estimators=1, callbacks=bar)
        assert clone(model).callbacks.file is sys.stdout
        assert pickle.loads(pickle.dumps(model)).callbacks.file is None

    def test_it_leaves_the_terminal_in_order_after_an_error(self, board):
        terminal = Terminal()

        class Fails(Callback):
            def on_round_end(self, round):
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fit(board, [ProgressBar(file=terminal), Fails()])
        show_cursor = "\x1b[?25h"
        assert terminal.getvalue().count(show_cursor) == 1

    def test_it_takes_the_bar_away_after_ctrl_c(self, board):
        class Interrupts(Callback):
            def on_round_end(self, round):
                raise KeyboardInterrupt

        terminal = Terminal()
        with pytest.raises(KeyboardInterrupt):
            fit(board, [ProgressBar(file=terminal), Interrupts()])
        erase_line = "\x1b[2K"
        assert terminal.getvalue().endswith(erase_line)
        finished = Terminal()
        fit(board, ProgressBar(file=finished))
        assert not finished.getvalue().endswith(erase_line)

    def test_without_rich_it_says_what_to_install(self, board, monkeypatch):
        monkeypatch.setitem(sys.modules, "rich.console", None)
        with pytest.raises(ImportError, match=r"pip install 'selfpaced\[cli\]'"):
            fit(board, ProgressBar(file=Terminal()))
