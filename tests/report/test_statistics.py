"""The statistics of a report: its intervals hold as often as they say, and a drift is told from chance."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, roc_auc_score

from selfpaced import scoring
from selfpaced.callbacks import BinNotes, Round
from selfpaced.ensembles import UnderBaggingClassifier
from selfpaced.metrics import aucprc
from selfpaced.monitoring import make_reference
from selfpaced.monitoring.drift import measure_drift
from selfpaced.report import report_of_scores, suspect_rows
from selfpaced.report.data import Values, column_facts, data_facts, some_rows, suspect_facts
from selfpaced.report.importance import _difference, _some_of_both, importance_facts
from selfpaced.report.learning import learning_facts
from selfpaced.report.quality import aucprc_interval, calibration_facts, ranking_facts, spread
from selfpaced.report.thresholds import threshold_facts
from selfpaced.thresholds import Costs, Interval, Sweep, share_interval, sweep_of

SHIFT, SHARE, N_ROWS = 1.5, 0.05, 1200


def numbers(values):
    found = np.asarray(values, dtype=np.float64)
    return Values("number", "float64", found, found)


def texts(**counts):
    found = np.repeat(np.array(list(counts), dtype=object), list(counts.values()))
    return Values("text", "string", found, found)


def simulated(rng, n_rows=N_ROWS):
    is_case = rng.random(n_rows) < SHARE
    return is_case, rng.normal(size=n_rows) + SHIFT * is_case


def true_aucprc():
    """The area for endlessly many rows."""
    at = np.linspace(-6, 8, 20_001)
    recall, alarms = norm.sf(at - SHIFT), norm.sf(at)
    precision = SHARE * recall / (SHARE * recall + (1 - SHARE) * alarms)
    return float(np.sum(-np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


def areas_of_rows_drawn_again(rng, is_case, scores, n_draws=1000):
    """The AUCPRC of draws with replacement, by how often each of the rows is drawn. No two scores are equal."""
    order = np.argsort(-scores)
    times = rng.multinomial(is_case.size, np.full(is_case.size, 1 / is_case.size), n_draws)[:, order]
    cases = times * is_case[order]
    precision = np.cumsum(cases, axis=1) / np.maximum(np.cumsum(times, axis=1), 1)
    return np.sum(cases * precision, axis=1) / cases.sum(axis=1)


class TestTheIntervalOfTheArea:
    def test_it_holds_the_true_area_in_about_90_of_100_samples(self):
        rng, truth = np.random.default_rng(0), true_aucprc()
        intervals = [aucprc_interval(sweep_of(*simulated(rng))) for _ in range(100)]
        held = np.mean([one.low <= truth <= one.high for one in intervals])
        assert 0.81 <= held <= 0.99  # three standard errors of 100 samples

    def test_each_end_cuts_off_a_twentieth_of_the_areas_of_rows_drawn_again(self):
        """With as many draws as are made, an end is off by 0.015 as a standard error: by 0.012 on average."""
        rng, cut_off = np.random.default_rng(0), []
        for _ in range(6):
            is_case, scores = simulated(rng)
            interval = aucprc_interval(sweep_of(is_case, scores))
            areas = areas_of_rows_drawn_again(rng, is_case, scores)
            cut_off += [np.mean(areas < interval.low), np.mean(areas > interval.high)]
        assert np.mean(np.abs(np.array(cut_off) - 0.05)) < 0.016
        assert np.mean(cut_off) == pytest.approx(0.05, abs=0.01)

    def test_it_is_the_middle_90_percent_of_what_is_drawn(self, monkeypatch):
        drawn = []
        monkeypatch.setattr("selfpaced.report.quality.area_of", lambda *_: drawn.append(len(drawn)) or drawn[-1])
        interval = aucprc_interval(sweep_of(*simulated(np.random.default_rng(0))))
        assert (interval.low, interval.high) == pytest.approx((0.05 * drawn[-1], 0.95 * drawn[-1]))

    def test_twenty_rare_rows_have_one_and_nineteen_have_none(self):
        scores = np.random.default_rng(0).random(1000)
        assert aucprc_interval(sweep_of(np.arange(1000) < 20, scores)) is not None
        assert aucprc_interval(sweep_of(np.arange(1000) < 19, scores)) is None

    def test_of_a_perfect_ranking_it_is_1(self):
        assert aucprc_interval(sweep_of(np.arange(200) < 20, np.linspace(1, 0, 200))) == Interval(1, 1)

    def test_the_last_rare_row_counts(self):
        """19 rare rows above all others, and one below them."""
        is_case = np.concatenate([np.ones(19), np.zeros(1000), np.ones(1)]) == 1
        assert aucprc_interval(sweep_of(is_case, np.linspace(1, 0, is_case.size))).low < 0.95

    def test_rows_after_the_last_rare_one_do_not_matter(self):
        is_case, scores = simulated(np.random.default_rng(2))
        reached = scores >= scores[is_case].min()
        assert aucprc_interval(sweep_of(is_case, scores)) == aucprc_interval(
            sweep_of(is_case[reached], scores[reached])
        )

    def test_it_is_that_of_drawing_the_rows_again_also_where_it_takes_larger_steps(self):
        is_case, scores = simulated(np.random.default_rng(3))
        exact = aucprc_interval(sweep_of(is_case, scores))
        coarse = aucprc_interval(sweep_of(is_case, scores), n_steps=30)
        assert (coarse.low, coarse.high) == pytest.approx((exact.low, exact.high), abs=0.02)

    def test_of_more_than_5000_rare_rows_5000_evenly_spread_ones_are_steps(self, monkeypatch):
        seen = []
        monkeypatch.setattr("selfpaced.report.quality.area_of", lambda found, _: seen.append(found.size) or 0.0)
        for n_cases in (5000, 6000):
            aucprc_interval(sweep_of(np.arange(7000) < n_cases, np.random.default_rng(0).random(7000)))
        assert set(seen) == {5000}
        assert len(seen) == 2 * 200


class Scorer:
    """A model whose probability is the logistic function of a column, times a weight for each."""

    def __init__(self, *weights):
        self.weights, self.n_calls = np.array(weights), 0

    def predict_proba(self, X):
        self.n_calls += 1
        rare = 1 / (1 + np.exp(-np.asarray(X) @ self.weights))
        return np.column_stack([1 - rare, rare])


class TestCounting:
    COUNTS = Sweep(np.array([0.9, 0.5, 0.2]), np.array([2, 3, 4]), np.array([0, 6, 16]), 1.0)

    def test_rates_are_shares_of_the_class(self):
        assert (self.COUNTS.n_positives, self.COUNTS.n_negatives, self.COUNTS.n_rows) == (4, 16, 20)
        assert self.COUNTS.recall.tolist() == [0.5, 0.75, 1]
        assert self.COUNTS.false_alarm_rate.tolist() == [0, 0.375, 1]
        assert self.COUNTS.precision.tolist() == [1, pytest.approx(1 / 3), 0.2]
        assert self.COUNTS.alerts.false_negatives.tolist() == [2, 1, 0]
        assert self.COUNTS.alerts.true_negatives.tolist() == [16, 10, 0]

    @pytest.mark.parametrize(
        ("threshold", "expected"),
        [(1, (0, 0)), (0.9, (2, 0)), (0.6, (2, 0)), (0.5, (3, 6)), (0.2, (4, 16)), (0, (4, 16))],
    )
    def test_rows_at_the_threshold_are_alerts(self, threshold, expected):
        alerts = self.COUNTS.alerts_from(threshold)
        assert (alerts.true_positives, alerts.false_positives) == expected
        assert (alerts.false_negatives, alerts.true_negatives) == (4 - expected[0], 16 - expected[1])

    def test_a_short_threshold_is_reached_by_its_own_score_and_by_no_lower_one(self):
        counts = sweep_of(np.array([True, False, True]), np.array([0.12345679, 0.12345678, 0.1]))
        assert 0.12345678 < counts.short(0) <= 0.12345679
        assert 0.1 < counts.short(1) <= 0.12345678
        assert counts.short(2) <= 0.1

    def test_finds_are_the_places_of_rare_rows(self):
        counts = sweep_of(np.array([False, True, True, False, True]), np.array([0.9, 0.8, 0.8, 0.5, 0.1]))
        assert counts.finds.tolist() == [1, 3]

    def test_the_area_is_the_sum_over_rare_rows(self):
        """Ties, a common row above all rare ones, and one below."""
        is_case = np.array([False, True, True, False, True, False])
        scores = np.array([0.9, 0.8, 0.8, 0.8, 0.3, 0.1])
        assert aucprc(is_case, scores) == pytest.approx((2 / 4 + 2 / 4 + 3 / 5) / 3)

    def test_a_line_is_spread_along_its_length_with_both_ends(self):
        line = np.array([0.0, 1.0, 1.01, 1.02, 2.0, 3.0])
        assert spread(4, line).tolist() == [0, 4, 5]
        assert spread(5, line).tolist() == [0, 1, 4, 5]
        assert spread(3, line, -line).tolist() == [0, 5]
        assert spread(10, np.array([0.5])).tolist() == [0]


class TestRanking:
    def test_the_curves_are_those_of_the_counts(self):
        """Two rare rows and three common ones: rare, common, rare, common, common."""
        ranking = ranking_facts(sweep_of(np.array([1, 0, 1, 0, 0]) == 1, np.array([0.9, 0.8, 0.7, 0.2, 0.1])))
        assert ranking.precision_recall.x == (0.5, 0.5, 1, 1, 1)
        assert ranking.precision_recall.y == (1, 0.5, 0.66667, 0.5, 0.4)
        assert ranking.roc.x == (0, 0, 0.33333, 0.33333, 0.66667, 1)
        assert ranking.roc.y == (0, 0.5, 0.5, 1, 1, 1)
        assert ranking.aucprc == pytest.approx((1 + 2 / 3) / 2)
        assert ranking.auroc == pytest.approx(5 / 6)
        assert ranking.chance == 0.4

    def test_the_areas_of_a_few_rows_with_ties_are_scikit_learns(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            is_case, scores = rng.permutation([True, True, False, False, False]), rng.integers(0, 4, 5) / 4
            ranking = ranking_facts(sweep_of(is_case, scores))
            assert ranking.auroc == pytest.approx(roc_auc_score(is_case, scores))
            assert ranking.aucprc == pytest.approx(average_precision_score(is_case, scores))

    def test_a_curve_has_at_most_400_points(self):
        is_case, scores = simulated(np.random.default_rng(0), 20_000)
        ranking = ranking_facts(sweep_of(is_case, scores))
        for curve in (ranking.precision_recall, ranking.roc):
            assert 250 < len(curve.x) <= 400

    def test_thresholds_are_spread_over_alerts_of_all_numbers(self):
        """From the first alert to all rows: no two neighbours have more than a tenth as many alerts more or less."""
        is_case, scores = simulated(np.random.default_rng(0), 20_000)
        facts = threshold_facts(sweep_of(is_case, scores), 0.5)
        n_alerts = np.array(facts.found) + np.array(facts.false_alarms)
        assert 200 < len(facts.values) <= 400
        assert (n_alerts[-1], n_alerts[0]) == (1, 20_000)
        assert (n_alerts[:-1] <= 1.1 * n_alerts[1:] + 5).all()

    def test_a_threshold_of_a_report_has_its_counts_and_costs(self):
        counts = sweep_of(np.array([1, 0, 1, 0, 0]) == 1, np.array([0.9, 0.8, 0.7, 0.2, 0.1]))
        facts = threshold_facts(counts, 0.75)
        assert facts.values[facts.suggested] == 0.75
        assert (facts.found[facts.suggested], facts.false_alarms[facts.suggested]) == (1, 1)
        assert (facts.n_cases, facts.n_others, facts.chosen) == (2, 3, None)
        assert (facts.cost_false_alarm, facts.cost_missed) == (1, 10)

    def test_two_rows_are_enough_for_thresholds(self):
        facts = threshold_facts(sweep_of(np.array([True, False]), np.array([0.9, 0.1])), 0.9)
        assert (facts.found[0], facts.found[-1]) == (1, 1)
        assert (facts.false_alarms[0], facts.false_alarms[-1]) == (1, 0)

    @pytest.mark.parametrize("costs", [(0, 0), (2, 0), (0, 3)])
    def test_a_cost_may_be_nothing(self, costs):
        assert (Costs.of(costs).false_alarm, Costs.of(costs).missed) == costs

    @pytest.mark.parametrize("costs", [(-1, 0), (0, -1), (np.inf, 1), (1, np.inf), (np.nan, 1)])
    def test_a_cost_may_not_be_negative_or_infinite(self, costs):
        with pytest.raises(ValueError, match="costs must be two numbers >= 0"):
            Costs.of(costs)

    def test_a_share_of_nothing_may_be_anything(self):
        assert share_interval(0, 0) == Interval(0, 1)
        assert share_interval(0, 1).high < 1

    def test_rounding_moves_no_end_beyond_nothing_or_all(self):
        assert all(share_interval(n, n).high <= 1 for n in range(1, 300))
        assert all(share_interval(0, n).low >= 0 for n in range(1, 300))


class TestCalibration:
    def test_there_are_twelve_bins_in_which_both_classes_weigh_the_same_in_total(self):
        rng = np.random.default_rng(0)
        is_case = np.arange(24_000) < 1200
        scores = np.where(is_case, rng.beta(4, 2, 24_000), rng.beta(2, 8, 24_000))
        bins = calibration_facts(sweep_of(is_case, scores)).bins
        cases, rows = (np.array([getattr(one, name) for one in bins]) for name in ("share", "n_rows"))
        cases = cases * rows
        weights = (cases / 1200 + (rows - cases) / 22_800) / 2
        np.testing.assert_allclose(weights, 1 / 12, atol=1 / 1200)
        assert [one.mean_score for one in bins] == sorted(one.mean_score for one in bins)

    def test_a_bin_has_the_mean_score_and_the_share_of_its_rows(self):
        """A tie of a rare and three common rows below a rare row: two bins."""
        is_case, scores = np.array([1, 1, 0, 0, 0]) == 1, np.array([0.9, 0.3, 0.3, 0.3, 0.3])
        facts = calibration_facts(sweep_of(is_case, scores))
        assert [(one.n_rows, one.mean_score, one.share) for one in facts.bins] == [
            (4, pytest.approx(0.3), 0.25),
            (1, pytest.approx(0.9), 1),
        ]
        assert facts.bins[0].interval == share_interval(1, 4)
        assert facts.brier == pytest.approx((0.1**2 + 0.7**2 + 3 * 0.3**2) / 5)
        assert facts.brier_of_prevalence == pytest.approx(0.4 * 0.6)
        assert facts.mean_score == pytest.approx(2.1 / 5)
        assert facts.calibration_error == pytest.approx((4 * 0.05 + 1 * 0.1) / 5)

    @pytest.mark.parametrize(("low", "high", "are_probabilities"), [
        (0, 1, True), (0.2, 0.7, True), (-0.1, 1, False), (0, 1.1, False), (0, 1.9, False), (-5, -4, False),
    ])  # fmt: skip
    def test_scores_from_0_to_1_are_probabilities(self, low, high, are_probabilities):
        facts = calibration_facts(sweep_of(np.array([True, False, False]), np.array([high, (low + high) / 2, low])))
        assert (facts is not None) == are_probabilities


class TestLearning:
    @staticmethod
    def model(*rounds):
        return SimpleNamespace(rounds_=list(rounds), classes_=[0, 1])

    @staticmethod
    def round(number, counts=(), score=None, **others):
        bins = {label: BinNotes(np.array(of), np.full(len(of), 0.5), np.array(of) // 2) for label, of in others.items()}
        if len(counts):
            hardness = np.where(np.array(counts) > 0, np.arange(len(counts)) / 10, np.nan)
            bins["common"] = BinNotes(np.array(counts), hardness, np.array(counts) // 2)
        return Round(number, 0.1 * number, bins, 10 + number, 0.0, 0.0, 0.0, score)

    def test_scores_of_members_stand_beside_the_rounds_of_the_members(self):
        """The warm-up model is not a member. A round without a score has no figure."""
        facts = learning_facts(self.model(self.round(0), self.round(1), self.round(2), self.round(3)), [0.4, 0.6])
        assert [one.aucprc for one in facts.rounds] == [None, 0.4, 0.6, None]
        assert [one.n_rows for one in facts.rounds] == [10, 11, 12, 13]
        assert facts.scored_on == "these rows"

    def test_without_scores_those_of_the_eval_set_are_shown(self):
        facts = learning_facts(self.model(self.round(1, score=0.3), self.round(2, score=0.5)), None)
        assert [one.aucprc for one in facts.rounds] == [0.3, 0.5]
        assert facts.scored_on == "the eval_set of the fit"

    def test_a_model_without_rounds_and_scores_has_nothing_to_tell(self):
        assert learning_facts(self.model(), None) is None
        assert learning_facts(self.model(), [0.5]).rounds == ()
        assert learning_facts(self.model(self.round(1)), None) is not None

    def test_the_bins_are_those_of_the_largest_class(self):
        facts = learning_facts(self.model(self.round(1, [30, 0, 10], small=[5, 5, 5])), None)
        assert facts.drawn_class == "common"
        bins = facts.rounds[0].bins
        assert (bins.counts, bins.drawn, bins.mean_hardness) == ((30, 0, 10), (15, 0, 5), (0, None, 0.2))

    def test_of_more_than_40_bins_neighbours_are_taken_together(self):
        counts = np.arange(80)
        bins = learning_facts(self.model(self.round(1, counts)), None).rounds[0].bins
        assert bins.counts == tuple((counts[::2] + counts[1::2]).tolist())
        assert bins.mean_hardness[0] == pytest.approx(0.1)  # no row in the first bin, one in the second
        assert bins.mean_hardness[1] == pytest.approx((2 * 0.2 + 3 * 0.3) / 5)
        whole = learning_facts(self.model(self.round(1, counts[:40])), None).rounds[0].bins
        assert whole.counts == tuple(range(40))


class TestImportance:
    """Columns of 2,000 rows; the last weighs most."""

    X = np.random.default_rng(0).normal(size=(2000, 3))
    IS_CASE = X @ [0, 1, 3] > 7

    def test_what_shuffling_costs_is_the_mean_of_three_shuffles(self):
        model = Scorer(0, 1, 3)
        found = importance_facts(model, self.X, self.IS_CASE, 1)
        assert found.names == ("x2", "x1", "x0")
        assert found.values[2] == pytest.approx(0)
        assert found.values[0] > found.values[1] > 0.05
        assert found.values[0] < 1
        assert model.n_calls == 1 + 3 * 3
        assert found.n_features == 3
        assert found.method == "AUCPRC lost when the column is shuffled"

    def test_the_standard_error_is_the_spread_over_samples_of_rows(self):
        """Of 40 samples, the values differ by about the error that is stated for each of them."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 600, 2))
        found = [importance_facts(Scorer(0, 1), rows, rows[:, 1] + rng.normal(size=600) > 2, 1) for rows in X]
        assert all(one.names[0] == "x1" and one.n_rows == 600 for one in found)
        spread, stated = np.std([one.values[0] for one in found]), np.mean([one.errors[0] for one in found])
        assert stated == pytest.approx(spread, rel=0.35)
        assert max(one.errors[1] for one in found) < 1e-12  # of a column that the model does not read

    def test_a_single_rare_row_leaves_the_error_unknown(self):
        found = importance_facts(Scorer(0, 1, 3), self.X, np.arange(2000) == self.X[:, 2].argmax(), 1)
        assert np.isnan(found.errors).all()

    def test_own_importances_have_no_error(self):
        model = Scorer(0, 1, 3)
        model.feature_importances_ = np.array([0.5, 0.3, 0.2])
        found = importance_facts(model, self.X, self.IS_CASE, 1)
        assert (found.errors, found.n_rows) == (None, None)

    def test_the_members_are_prepared_once_for_all_shuffles(self, monkeypatch):
        made = []
        real = scoring.scorers_of
        monkeypatch.setattr(scoring, "scorers_of", lambda *given: made.append(1) or real(*given))
        base = HistGradientBoostingClassifier(max_iter=5, early_stopping=False)
        model = UnderBaggingClassifier(base, 2, random_state=0).fit(self.X, self.IS_CASE)
        rows = np.concatenate([np.flatnonzero(self.IS_CASE), np.arange(900)])
        found = importance_facts(model, self.X[rows], self.IS_CASE[rows], 1)
        assert made == [1]
        assert found.names[0] == "x2"

    def test_without_rows_of_both_classes_nothing_is_known(self):
        assert importance_facts(Scorer(0, 1, 3), self.X, np.zeros(2000, dtype=bool), 1) is None
        assert importance_facts(Scorer(0, 1, 3), self.X, np.ones(2000, dtype=bool), 1) is None

    def test_up_to_30_columns_are_all_shuffled_and_of_more_the_30_that_differ_most(self):
        rng = np.random.default_rng(0)
        for n_columns, n_shuffled in ((30, 30), (31, 30)):
            X = rng.normal(size=(1000, n_columns))
            X[:100, -1] += 5
            model = Scorer(*np.eye(n_columns)[-1])
            found = importance_facts(model, X, np.arange(1000) < 100, 1)
            assert model.n_calls == 1 + 3 * n_shuffled
            assert found.names[0] == f"x{n_columns - 1}"
            assert len(found.names) == 20
            assert ("30 columns" in found.method) == (n_columns > 30)

    def test_own_importances_are_taken_if_there_is_one_for_each_column(self):
        model = Scorer(0, 1, 3)
        model.feature_importances_ = np.array([0.5, 0.3, 0.2])
        assert importance_facts(model, self.X, self.IS_CASE, 1).names == ("x0", "x1", "x2")
        model.feature_importances_ = np.array([0.5, 0.5])
        assert importance_facts(model, self.X, self.IS_CASE, 1).names == ("x2", "x1", "x0")

    def test_a_column_without_values_in_one_class_differs_and_one_without_any_does_not(self):
        full, same = numbers(np.where(self.IS_CASE, np.nan, 1.0)), numbers(np.full(2000, np.nan))
        assert _difference(full, self.IS_CASE) < _difference(same, self.IS_CASE) == (1.0, 0.0)

    def test_rows_to_look_at_are_spread_over_both_classes(self):
        is_case = np.arange(100_000) % 10 == 0
        rows = _some_of_both(is_case, 5000)
        assert (is_case[rows].sum(), (~is_case[rows]).sum()) == (1000, 5000)
        assert (rows[0], rows[-1] >= 99_990) == (0, True)
        assert (np.diff(rows) > 0).all()
        assert _some_of_both(is_case[:100], 5000).tolist() == list(range(100))

    @pytest.mark.parametrize(("n_columns", "n_rows"), [(10, 6000), (200, 3000), (2000, 600)])
    def test_wide_tables_are_shuffled_in_fewer_rows(self, monkeypatch, n_columns, n_rows):
        """500,000 cells, but 500 to 5,000 common rows, and a fifth as many rare ones."""
        seen, X = [], np.zeros((12_000, n_columns))
        monkeypatch.setattr(
            "selfpaced.report.importance._worth_shuffling", lambda frame, _: seen.append(len(frame)) or []
        )
        importance_facts(Scorer(*np.zeros(n_columns)), X, np.arange(12_000) < 4000, 1)
        assert seen == [n_rows]

    def test_contrasts_are_the_quantiles_of_six_columns_without_missing_values(self):
        """The first column has a missing value, and the second has none but missing ones in rare rows."""
        X = np.tile(np.arange(101.0)[:, np.newaxis], (2, 8))
        is_case = np.arange(202) < 101
        X[is_case] += 1000
        X[0, 0], X[:101, 1] = np.nan, np.nan
        model = Scorer()
        model.feature_importances_ = np.ones(8)
        first, second, *others = importance_facts(model, X, is_case, 1).contrasts
        assert [one.name for one in (first, second, *others)] == ["x0", "x2", "x3", "x4", "x5"]
        assert first.cases == pytest.approx((1005.95, 1025.75, 1050.5, 1075.25, 1095.05))
        assert second.cases == (1005, 1025, 1050, 1075, 1095)
        assert second.others == (5, 25, 50, 75, 95)


class TestSuspects:
    def test_twenty_of_each_kind_are_shown_the_worst_first_with_ties_in_order(self):
        is_case, scores = np.arange(100) < 50, np.repeat(np.arange(20) / 20, 5)
        missed, alarming = suspect_rows(is_case, scores)
        assert missed.tolist() == list(range(20))
        assert alarming.tolist() == [row for block in (95, 90, 85, 80) for row in range(block, block + 5)]

    def test_no_more_than_asked_for_are_found_where_rows_tie(self):
        missed, alarming = suspect_rows(np.arange(100) < 50, np.zeros(100), 7)
        assert (missed.tolist(), alarming.tolist()) == (list(range(7)), list(range(50, 57)))

    @pytest.mark.parametrize("n", [1, 2, 49, 50, 51])
    def test_as_many_as_asked_for_are_found(self, n):
        scores = np.random.default_rng(0).random(100)
        missed, alarming = suspect_rows(np.arange(100) < 50, scores, n)
        assert missed.tolist() == np.argsort(scores[:50])[:n].tolist()
        assert alarming.tolist() == (50 + np.argsort(-scores[50:])[:n]).tolist()

    def test_the_four_most_important_columns_are_shown_or_the_first_four(self):
        sample = pd.DataFrame(np.arange(60.0).reshape(10, 6), columns=list("abcdef"))
        is_case, scores = np.arange(10) < 5, np.arange(10) / 10
        facts = suspect_facts(is_case, scores, None, sample, None, ["f", "z", "b", "a", "c", "d"])
        assert facts.columns == ("f", "b", "a", "c")
        assert facts.missed_cases[1].values == ("11", "7", "6", "8")
        assert suspect_facts(is_case, scores, None, sample, None, []).columns == ("a", "b", "c", "d")


class TestTheSuggestedThreshold:
    @staticmethod
    def suggested(threshold, costs=None, amounts=None):
        y, scores = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1]
        facts = report_of_scores(y, scores, threshold=threshold, costs=costs, amounts=amounts).facts.thresholds
        return (facts.cost_false_alarm, facts.cost_missed), facts.chosen

    def test_the_explorers_costs_are_those_of_a_wrong_row_over_a_right_one(self):
        costs, chosen = self.suggested("cost", [[1, 5], [20, 3]])
        assert costs == (4, 17)
        assert not chosen.by_amount

    def test_a_missed_row_costs_the_mean_amount_less_what_a_found_one_costs(self):
        costs, chosen = self.suggested("cost", [[0, 2], [0, 5]], amounts=[10, 0, 30, 0, 0])
        assert costs == (2, 15)
        assert chosen.by_amount
        assert self.suggested("cost", [[0, 2], [0, 50]], amounts=[10, 0, 30, 0, 0])[0] == (2, 0)

    def test_costs_go_to_the_explorer_where_the_rule_does_not_use_them(self):
        assert self.suggested(None, (3, 4))[0] == (3, 4)
        assert self.suggested(0.5, (3, 4)) == ((3, 4), None)


class TestRowsAndColumns:
    @pytest.mark.parametrize(("n_columns", "n_rows"), [(1, 50_000), (200, 50_000), (400, 25_000), (20_000, 1000)])
    def test_wide_tables_are_described_by_fewer_rows(self, n_columns, n_rows):
        """Ten million cells, but 1,000 to 50,000 rows."""
        table = np.arange(60_000)[:, np.newaxis]
        some = some_rows(table, n_columns)
        assert len(some) == n_rows
        assert (some[0, 0], some[-1, 0]) == (0, 59_999)

    def test_a_table_of_few_rows_is_described_by_all(self):
        assert len(some_rows(np.zeros((50_000, 1)), 1)) == 50_000
        assert len(some_rows(np.zeros((3, 0)), 0)) == 3

    def test_the_three_most_frequent_texts_are_shown_with_their_share_of_all_rows(self):
        column = texts(a=10, b=40, c=20, d=25)
        values = np.append(column.values, [None] * 5)
        facts = column_facts(Values("text", "string", values, values))
        assert facts.values == "b (40%), d (25%), c (20%)"
        assert (facts.missing, facts.n_distinct) == (0.05, 4)

    def test_of_numbers_the_smallest_the_median_and_the_largest_are_shown(self):
        assert column_facts(numbers([10, 1, np.nan, 2, 3])).values == "1 … 2.5 … 10"

    def test_a_column_without_values_has_nothing_to_show(self):
        assert column_facts(numbers([np.nan, np.nan])).values == "nothing"

    def test_a_long_text_is_shortened_to_24_characters(self):
        assert column_facts(texts(**{"x" * 30: 3})).values == "x" * 23 + "… (100%)"

    def test_columns_named_first_come_first_and_the_others_stay_in_order(self):
        frame = pd.DataFrame(np.zeros((4, 5)), columns=list("abcde"))
        facts = data_facts(frame, None, None, ["d", "z", "b"])
        assert [one.name for one in facts.columns] == ["d", "b", "a", "c", "e"]
        assert (facts.n_columns, facts.n_rows_looked_at) == (5, 4)

    def test_a_column_is_compared_with_the_one_of_the_same_name(self):
        frame = pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100.0), "new": np.arange(100.0)})
        train = pd.DataFrame({"b": np.arange(100.0), "a": np.arange(100.0) + 50})
        first, second, third = (one.drift for one in data_facts(frame, train, None, []).columns)
        assert (first.name, first.is_large, second.psi, third) == ("a", True, 0, None)


class TestDrift:
    """A report measures drift as monitoring does, so both name the same columns."""

    @pytest.fixture
    def frames(self):
        rng = np.random.default_rng(0)
        shops = rng.choice(["a", "b", "c"], (2, 4000), p=[0.6, 0.3, 0.1])
        before, now = (pd.DataFrame({"same": rng.normal(size=4000), "shop": shop}) for shop in shops)
        days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, (2, 4000)).ravel(), "D")
        before, now = before.assign(day=days[:4000]), now.assign(day=days[4000:] + pd.Timedelta("40D"))
        holes = np.where(rng.random(4000) < 0.3, np.nan, rng.normal(size=4000))
        before, now = before.assign(filled=rng.normal(size=4000)), now.assign(filled=holes)
        return before.assign(moved=rng.normal(size=4000)), now.assign(moved=rng.normal(0.6, size=4000))

    @pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
    @pytest.mark.parametrize("by", ["rows", "reference"])
    def test_a_report_and_monitoring_name_the_same_columns_of_the_same_rows(self, frames, kind, by):
        before, now = (kind(frame) for frame in frames)
        reference = make_reference(before, np.ones(4000))
        monitored = {one.name: one for one in measure_drift(reference, now)}
        given = {"train_sample": before} if by == "rows" else {"reference": reference}
        scores = np.linspace(0, 1, 4000)
        reported = report_of_scores([0, 1] * 2000, scores, sample=now, **given).facts.data.columns
        assert {one.name: one.drift for one in reported} == monitored
        assert {name for name, one in monitored.items() if one.is_large} == {"day", "filled", "moved"}

    def test_columns_of_another_kind_and_unknown_ones_have_none(self, frames):
        before, now = frames
        strange = now.assign(shop=1.0, other=2.0)
        facts = data_facts(strange, None, None, (), make_reference(before, np.ones(4000)))
        assert {one.name for one in facts.columns if one.drift is None} == {"shop", "other"}
