"""Models trained and tested in the order of time."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.backtesting import Budget, JudgedRows, SkipFoldError, run_backtest
from selfpaced.backtesting.rolling import backtest, measure_fold
from selfpaced.backtesting.splitter import Fold, RollingTimeSplit
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import aucprc
from selfpaced.thresholds import parse_decision

N_ROWS = 3000


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=N_ROWS, n_frauds=150, n_features=4, random_state=0)
    times = np.datetime64("2024-01-01") + np.arange(N_ROWS) * np.timedelta64(30, "m")
    return pd.DataFrame(X, columns=list("abcd")), y, times


def small(**params):
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 2, random_state=0, **params)


def test_every_model_has_a_row_for_every_fold_and_the_figures_of_its_scores(rows):
    X, y, times = rows
    cv = RollingTimeSplit(times, "14d", delay="3d")
    found = backtest({"trees": small(), "chance": DummyClassifier()}, X, y, cv)
    folds = cv.folds()
    assert found["model"].tolist() == ["trees", "chance"] * len(folds)
    for fold, aucprc_found, n_rare in zip(folds, found["aucprc"][::2], found["n_rare"][::2], strict=True):
        model = small().fit(X.iloc[fold.train], y[fold.train])
        assert aucprc_found == aucprc(y[fold.test], model.predict_proba(X.iloc[fold.test])[:, 1])
        assert n_rare == y[fold.test].sum()


def test_only_probabilities_expect_rare_rows_and_have_costs(rows):
    X, y, times = rows
    models = {"calibrated": small(calibration="sigmoid"), "raw": small()}
    costs = {"amount": np.full(N_ROWS, 100.0)}
    found = backtest(models, X, y, RollingTimeSplit(times, "20d"), decide="p*amount>5", cost_columns=costs).set_index(
        "model"
    )
    assert found.loc["calibrated", "expected"].sum() == pytest.approx(found.loc["calibrated", "n_rare"].sum(), rel=0.5)
    assert (found.loc["calibrated", "cost"] < found.loc["calibrated", "cost_without"]).all()
    assert found.loc["raw", ["expected", "cost"]].isna().all(axis=None)


def test_a_fold_without_rare_rows_is_kept_without_an_aucprc(rows):
    X, y, times = rows
    none_late = np.where(times < times[0] + np.timedelta64(40, "D"), y, 0)
    found = backtest(small(), X, none_late, RollingTimeSplit(times, "10d", first="20d"))
    assert found["aucprc"].isna().tolist() == (found["n_rare"] == 0).tolist()
    assert found["note"].dropna().unique().tolist() == ["no rare row in the test rows"]


class TestBudget:
    """Two days with two cards each."""

    moments = np.array(["2024-01-01", "2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"], dtype="datetime64[us]")
    scores = np.array([0.9, 0.8, 0.3, 0.7, 0.6])
    is_rare = np.array([False, True, True, False, True])
    cards = np.array(["a", "a", "b", "a", "b"])

    def measured(self, top, **others):
        return measure_fold(JudgedRows(self.is_rare, self.moments, budget=Budget(top), **others), self.scores, True)

    def test_the_best_rows_of_each_day_are_alerts(self):
        found = self.measured(1)
        assert (found.alerts, found.precision, found.recall) == (2, 0.0, 0.0)
        found = self.measured(2)
        assert (found.alerts, found.precision, found.recall) == (4, 0.5, pytest.approx(2 / 3))

    def test_a_card_is_as_good_as_its_best_row_and_right_if_any_of_its_rows_of_the_day_is_rare(self):
        assert self.measured(1, groups=self.cards).group_precision == 0.5  # card a on the first day, not on the second
        assert self.measured(2, groups=self.cards).group_precision == 0.75

    def test_days_are_those_of_the_time_zone(self):
        late = np.array(["2024-01-01T23:30", "2024-01-02T00:30"], dtype="datetime64[us]")
        for zone, n_alerts in ((None, 2), ("Europe/Berlin", 1)):
            tested = JudgedRows(np.array([True, False]), late, budget=Budget(1, "day", zone))
            assert measure_fold(tested, np.array([0.9, 0.8]), True).alerts == n_alerts

    @pytest.mark.parametrize("text", ["many", "0/day", "-1", "1.5/day"])
    def test_what_is_no_budget_is_refused(self, text):
        with pytest.raises(ValueError, match="A budget must be a number of alerts in a period"):
            Budget.of(text)


def test_costs_are_those_of_the_decisions_row_by_row():
    tested = JudgedRows(
        np.array([True, True, False]),
        np.arange(3),
        decision=parse_decision("p*amount>5"),
        costs={"amount": np.array([100.0, 10.0, 100.0])},
    )
    found = measure_fold(tested, np.array([0.5, 0.1, 0.5]), True)
    assert (found.cost_alerts, found.cost, found.cost_without) == (2, 20.0, 110.0)


def test_a_column_that_a_rule_reads_must_be_somewhere(rows):
    X, y, times = rows
    with pytest.raises(ValueError, match="which is in neither X nor cost_columns"):
        backtest(small(), X, y, RollingTimeSplit(times), decide="p*amount>5")


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_times_and_costs_are_columns_of_frames_of_any_kind(rows, kind):
    X, y, _ = rows
    priced = X.assign(amount=np.full(N_ROWS, 100.0), when=np.arange(N_ROWS) / 48)
    cv, model = RollingTimeSplit("when", 20), small(calibration="sigmoid")
    found, expected = (backtest(model, frame, y, cv, decide="p*amount>5") for frame in (kind(priced), priced))
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"))
    assert found["cost"].notna().all()


def test_a_fold_that_is_skipped_has_the_reason_and_the_others_go_on():
    moments, is_rare = np.arange(40.0), np.arange(40) % 4 == 0
    folds = RollingTimeSplit(moments, 10).folds()

    def trial(fold):
        if fold is folds[0]:
            raise SkipFoldError("not today")
        return np.linspace(0, 1, fold.test.size), True

    first, *others = run_backtest(JudgedRows(is_rare, moments), folds, {"a": trial})
    assert (first.note, first.reached.aucprc, first.n_test) == ("not today", None, folds[0].test.size)
    assert others
    assert all(one.note is None and one.reached.aucprc is not None for one in others)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"y": np.arange(N_ROWS + 1) % 2}, "inconsistent numbers of samples"),
        ({"y": np.where(np.arange(N_ROWS) == 5, np.nan, 1.0)}, "y contains NaN"),
        ({"groups": np.arange(N_ROWS + 1)}, "inconsistent numbers of samples"),
        ({"groups": np.array([None, *range(N_ROWS - 1)], dtype=object)}, "has no value in 1 of 3,000 rows"),
        ({"budget": "2/year"}, "A period is one of"),
        ({"decide": "p*amount>5", "cost_columns": {"amount": np.full(N_ROWS, -1.0)}}, "is negative"),
    ],
    ids=["more labels", "a missing label", "more groups", "a missing group", "another period", "negative costs"],
)
def test_what_cannot_be_backtested_is_refused_before_the_first_fit(rows, given, complaint):
    X, y, times = rows
    with pytest.raises(ValueError, match=complaint):
        backtest("not a model", X, **{"y": y, "cv": RollingTimeSplit(times, "14d"), **given})


def test_a_fold_whose_training_rows_lack_the_rarest_class_is_kept_with_the_reason(rows):
    X, _, times = rows
    kinds = np.arange(N_ROWS) % 2
    kinds[1500::15] = 2
    found = backtest(DecisionTreeClassifier(), X, kinds, RollingTimeSplit(times, "10d", first="20d"))
    skipped = found["n_train_rare"] < 2
    assert 0 < skipped.sum() < len(found)
    assert found["aucprc"].isna().tolist() == skipped.tolist()
    assert found.loc[skipped, "note"].tolist() == ["0 rare rows to train on"] * skipped.sum()


def test_rows_may_be_lists(rows):
    X, y, times = rows
    cv = RollingTimeSplit(times, "20d")
    found, expected = (backtest(small(), each, y, cv) for each in (X.to_numpy().tolist(), X.to_numpy()))
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"))


def test_folds_are_numbered_from_1_and_need_two_rare_rows_and_a_common_one_to_train_on():
    is_rare = np.array([True, True, False, False, True, True, False])
    moments = np.arange(7.0)
    trains = {1: [1, 2, 3], 2: [0, 1, 2], 3: [0, 1, 4], 4: [0, 1, 4, 3]}
    folds = [Fold(np.array(train), np.array([5, 6]), 5.0, 7.0) for train in trains.values()]
    found = list(run_backtest(JudgedRows(is_rare, moments), folds, {"m": lambda fold: (np.array([0.9, 0.1]), True)}))
    assert [one.fold for one in found] == [1, 2, 3, 4]
    assert [one.note for one in found] == ["1 rare rows to train on", None, "3 rare rows to train on", None]
    assert [one.reached.aucprc for one in found] == [None, 1, None, 1]
    assert all(0 <= one.seconds < 60 for one in found)


def test_a_budget_is_given_as_a_text_or_as_one():
    assert Budget.of("1/week") == Budget(1, "week")
    assert Budget.of("20") == Budget(20, "day")
    assert Budget.of(Budget(3, "hour", "Asia/Tokyo")) == Budget(3, "hour", "Asia/Tokyo")
    with pytest.raises(ValueError, match="A budget must be a number of alerts in a period"):
        Budget.of("0/day")


def test_rules_without_columns_have_costs_too():
    rows = JudgedRows(np.array([True, False]), np.arange(2.0), decision=parse_decision("p*100>5"), costs={})
    assert measure_fold(rows, np.array([0.01, 0.9]), True).cost == 5 + 100


def test_models_that_accept_times_get_those_of_their_training_rows(rows):
    X, y, times = rows
    seen = []

    class Timed(DecisionTreeClassifier):
        def fit(self, X, y, times=None):
            seen.append(times)
            return super().fit(X, y)

    cv = RollingTimeSplit(times, "10d", first="20d")
    backtest(Timed(), X, y, cv)
    folds = cv.folds(X, y)
    assert len(seen) == len(folds) > 1
    for given, fold in zip(seen, folds, strict=True):
        np.testing.assert_array_equal(given, np.asarray(times, dtype="datetime64[us]")[fold.train])
