"""The facts of a report are those that the rows, the scores and the model give."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced import thresholds
from selfpaced.baselines import RUSBoostClassifier
from selfpaced.baselines.smote import SMOTEBaggingClassifier
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.metrics import alerts_at_all_thresholds, alerts_at_threshold, aucprc, best_threshold
from selfpaced.report import make_report, quality, report_of_scores, suspect_rows
from selfpaced.report.answer import Case
from selfpaced.report.html import threshold_text
from selfpaced.report.quality import MOST_POINTS, calibration_facts, spread
from selfpaced.thresholds import choose_threshold, share_interval, sweep_of
from selfpaced.thresholds.rules import RecallAtLeast


class TestRanking:
    def test_the_areas_are_those_of_the_metrics(self, scored):
        ranking = report_of_scores(*scored, pos_label=True).facts.ranking
        assert ranking.aucprc == pytest.approx(aucprc(*scored))
        assert ranking.auroc == pytest.approx(roc_auc_score(*scored))
        assert ranking.chance == scored[0].mean()

    def test_a_curve_of_many_points_keeps_its_ends_and_its_shape(self):
        rng = np.random.default_rng(0)
        is_case = rng.random(100_000) < 0.01
        scores = rng.normal(size=100_000) + 2 * is_case
        _, alerts = alerts_at_all_thresholds(is_case, scores)
        curve = report_of_scores(is_case, scores, pos_label=True).facts.ranking.precision_recall
        assert len(curve.x) <= MOST_POINTS
        assert (curve.x[-1], curve.y[-1]) == (1, pytest.approx(is_case.mean(), abs=1e-5))
        assert (curve.x[0], curve.y[0]) == pytest.approx((alerts.recall[0], alerts.precision[0]), abs=1e-5)
        every = np.stack([alerts.recall, alerts.precision], axis=1)[:: 100_000 // 1000]
        kept = np.stack([curve.x, curve.y], axis=1)
        assert np.abs(every[:, np.newaxis] - kept).sum(axis=2).min(axis=1).max() < 0.02

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(3, 50))
    def test_every_point_of_a_line_is_within_one_step_of_a_chosen_one(self, heights, n_points):
        line = np.array(heights)
        places = spread(n_points, line)
        length = np.concatenate([[0], np.cumsum(np.abs(np.diff(line)))])
        assert len(places) <= n_points
        assert places[0] == 0 or length[places[0]] == 0
        assert places[-1] == line.size - 1
        gaps = [np.min(np.abs(length[places] - at)) for at in length]
        assert max(gaps) <= length[-1] / max(1, n_points - 2) + 1e-12

    def test_the_interval_is_that_of_drawing_the_rows_again(self, scored):
        is_case, scores = scored
        rng = np.random.default_rng(1)
        draws = [rng.integers(0, is_case.size, is_case.size) for _ in range(300)]
        low, high = np.quantile([aucprc(is_case[rows], scores[rows]) for rows in draws], [0.05, 0.95])
        interval = report_of_scores(is_case, scores, pos_label=True).facts.ranking.aucprc_interval
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.03)

    @pytest.mark.parametrize(("part", "whole"), [(8, 10), (0, 5), (5, 5), (121, 131)])
    def test_the_interval_of_a_share_is_wilsons(self, part, whole):
        interval, expected = share_interval(part, whole), binomtest(part, whole).proportion_ci(0.9, method="wilson")
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


class TestThresholds:
    def test_the_suggested_one_is_the_best_by_f1(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True).facts.thresholds
        best = alerts_at_threshold(*scored, best_threshold(*scored))
        assert thresholds.alerts(thresholds.suggested) == best
        assert thresholds.chosen is not None

    def test_a_given_one_is_suggested(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True, threshold=0.12345).facts.thresholds
        assert thresholds.values[thresholds.suggested] == 0.12345
        assert thresholds.chosen is None

    def test_the_alerts_at_each_are_those_of_the_metrics(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True, threshold=0.12345).facts.thresholds
        assert len(thresholds.values) <= MOST_POINTS
        for place in range(0, len(thresholds.values), 7):
            assert thresholds.alerts(place) == alerts_at_threshold(*scored, thresholds.values[place])

    def test_each_is_said_in_full_so_that_a_copy_has_the_same_alerts(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True).facts.thresholds
        assert [float(threshold_text(value)) for value in thresholds.values] == list(thresholds.values)
        assert len(threshold_text(thresholds.values[thresholds.suggested])) <= 7

    @pytest.mark.parametrize("threshold", [np.nan, np.inf])
    def test_one_that_is_no_number_is_refused(self, scored, threshold):
        with pytest.raises(ValueError, match="threshold must be a finite number"):
            report_of_scores(*scored, pos_label=True, threshold=threshold)

    def test_one_above_all_scores_raises_no_alert(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True, threshold=2).facts.thresholds
        assert thresholds.alerts(thresholds.suggested).n_alerts == 0

    @pytest.mark.parametrize("rule", ["f1", "precision>=0.6", "recall>=0.7", "alerts<=10/1000", "cost=1:30"])
    def test_one_by_a_rule_is_that_of_the_rule_with_its_interval(self, scored, rule):
        thresholds = report_of_scores(*scored, pos_label=True, threshold=rule).facts.thresholds
        choice = choose_threshold(*scored, rule)
        assert thresholds.values[thresholds.suggested] == choice.threshold
        assert thresholds.alerts(thresholds.suggested) == choice.alerts
        assert thresholds.chosen.rule == rule
        assert thresholds.chosen is not None
        for promise in thresholds.chosen.promises:
            assert (promise.value, promise.interval) == (choice.value(promise.name), choice.intervals[promise.name])

    def test_a_rule_may_be_an_object(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True, threshold=RecallAtLeast(0.7)).facts.thresholds
        assert thresholds.chosen.rule == "recall>=0.7"

    def test_the_explorer_starts_with_the_costs_of_the_rule(self, scored):
        by_text = report_of_scores(*scored, pos_label=True, threshold="cost=2:30").facts.thresholds
        by_pair = report_of_scores(*scored, pos_label=True, threshold="cost", costs=(2, 30)).facts.thresholds
        assert by_text == by_pair
        assert (by_text.cost_false_alarm, by_text.cost_missed) == (2, 30)

    def test_costs_that_the_rule_has_no_use_for_are_the_explorers(self, scored):
        thresholds = report_of_scores(*scored, pos_label=True, threshold="recall>=0.7", costs=(2, 30)).facts.thresholds
        assert (thresholds.cost_false_alarm, thresholds.cost_missed) == (2, 30)

    def test_amounts_take_the_place_of_the_cost_of_a_missed_case(self, scored):
        amounts = np.linspace(1, 99, scored[0].size)
        thresholds = report_of_scores(*scored, pos_label=True, threshold="cost=2", amounts=amounts).facts.thresholds
        expected = choose_threshold(*scored, "cost=2", amounts=amounts).threshold
        assert thresholds.values[thresholds.suggested] == expected
        assert thresholds.cost_missed == pytest.approx(amounts[scored[0]].mean())

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"threshold": "best"}, "'best' is not a rule for a threshold"),
            ({"threshold": "precision>=0.9999"}, "No threshold has a precision of 0.9999"),
            ({"threshold": "cost"}, "needs the costs"),
            ({"threshold": 0.5, "amounts": [1]}, "amounts need a threshold that is chosen by costs"),
        ],
    )
    def test_a_rule_that_does_not_work_is_refused(self, scored, options, complaint):
        is_case, scores = scored
        with pytest.raises(ValueError, match=complaint):
            report_of_scores(is_case, np.append(scores[1:], 1.0), pos_label=True, **options)

    @pytest.mark.parametrize("costs", [(1,), (-1, 2), "cheap", 3, (1, np.inf)])
    def test_costs_that_are_none_are_refused(self, scored, costs):
        with pytest.raises(ValueError, match="costs must be two numbers"):
            report_of_scores(*scored, pos_label=True, costs=costs)


class TestCalibration:
    def test_the_brier_score_is_scikit_learns(self, scored):
        calibration = calibration_facts(sweep_of(*scored))
        assert calibration.brier == pytest.approx(brier_score_loss(*scored))
        assert calibration.mean_score == pytest.approx(scored[1].mean())

    def test_every_row_is_in_one_bin_and_bins_rise(self, scored):
        bins = calibration_facts(sweep_of(*scored)).bins
        assert sum(one.n_rows for one in bins) == scored[1].size
        assert [one.mean_score for one in bins] == sorted(one.mean_score for one in bins)

    def test_scores_drawn_as_labels_are_calibrated(self):
        rng = np.random.default_rng(0)
        scores = rng.random(50_000) ** 3
        assert calibration_facts(sweep_of(rng.random(50_000) < scores, scores)).calibration_error < 0.01

    @pytest.mark.parametrize(("factor", "is_named"), [(1.0, False), (1.8, True)])
    def test_scores_that_are_wrong_in_a_range_are_named_although_their_sum_is_right(self, factor, is_named):
        """Between 0.1 and 0.3 fewer rows are rare than the scores say, and above it as many more."""
        rng = np.random.default_rng(0)
        scores = rng.random(20_000) ** 3
        inside, above = (scores > 0.1) & (scores < 0.3), scores >= 0.3
        missing = scores[inside].sum() * (1 - 1 / factor)
        share = np.where(inside, scores / factor, np.where(above, scores + missing / above.sum(), scores))
        is_rare = rng.random(20_000) < share
        page = report_of_scores(is_rare, scores, pos_label=True).to_html()
        assert "On average, yes." in page
        assert bool(re.search(r"among the [\d,]+ rows whose mean score is [\d.]+%, [\d,]+ rare", page)) is is_named

    def test_equal_scores_are_one_bin(self):
        (only,) = calibration_facts(sweep_of(np.array([True, False, False, False]), np.full(4, 0.3))).bins
        assert (only.n_rows, only.mean_score, only.share) == (4, pytest.approx(0.3), 0.25)

    def test_scores_that_are_no_probabilities_have_none(self):
        assert calibration_facts(sweep_of(np.array([True, False]), np.array([3.0, -1.0]))) is None


class TestLearning:
    def test_the_rounds_are_those_of_the_model(self, model, report):
        rounds = report.facts.learning.rounds
        assert [note.alpha for note in rounds] == [note.alpha for note in model.rounds_]
        assert [sum(note.bins.drawn) for note in rounds] == [note.quota.sum() for note in model.rounds_]
        assert list(rounds[2].bins.counts) == model.rounds_[2].counts.tolist()

    def test_the_last_round_scores_what_the_headline_says(self, report):
        assert report.facts.learning.rounds[-1].aucprc == pytest.approx(report.facts.ranking.aucprc)
        assert report.facts.learning.rounds[0].aucprc is None  # the warm-up model is not a member

    def test_scores_on_an_eval_set_are_not_measured_again(self, frauds, tree):
        X, y = frauds
        model = SelfPacedEnsembleClassifier(tree, n_estimators=3, random_state=0)
        model.fit(X[::2], y[::2], eval_set=(X[1::4], y[1::4]))
        learned = model.report(X[1::2], y[1::2]).facts.learning
        assert [note.aucprc for note in learned.rounds] == [note.score for note in model.rounds_]
        assert learned.scored_on == "the eval_set of the fit"

    def test_many_bins_are_taken_together(self, frauds, tree):
        X, y = frauds
        model = SelfPacedEnsembleClassifier(tree, n_estimators=2, n_bins=1000, random_state=0).fit(X, y)
        bins = model.report(X, y).facts.learning.rounds[-1].bins
        assert len(bins.counts) == 40
        assert sum(bins.counts) == model.rounds_[-1].counts.sum()

    @pytest.mark.parametrize(
        "kind", [BalanceCascadeClassifier, RUSBoostClassifier, SMOTEBaggingClassifier, UnderBaggingClassifier]
    )
    def test_every_kind_of_ensemble_has_a_round_for_each_member(self, kind, frauds, tree):
        X, y = frauds
        facts = kind(tree, n_estimators=3, random_state=0).fit(X, y).report(X, y).facts
        assert len(facts.learning.rounds) == 3
        assert facts.learning.rounds[-1].aucprc == pytest.approx(facts.ranking.aucprc)


class TestImportances:
    def test_they_are_the_members_own(self, model, report):
        found, own = report.facts.importances, model.feature_importances_
        assert list(found.values) == sorted(own, reverse=True)
        assert found.names[0] == f"x{own.argmax()}"

    def test_members_without_any_have_columns_shuffled(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2000, 3))
        y = (X[:, 1] + 0.1 * rng.normal(size=2000) > 1.9).astype(int)
        model = UnderBaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0).fit(X, y)
        found = model.report(X, y).facts.importances
        assert found.names[0] == "x1"
        assert "shuffled" in found.method

    @pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_columns_of_frames_are_shuffled_too(self, kind, frauds):
        X, y = frauds
        frame = kind({f"column {n}": X[:, n] for n in range(3)})
        model = UnderBaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0).fit(frame, y)
        assert {*model.report(frame, y).facts.importances.names} == {"column 0", "column 1", "column 2"}

    def test_frames_are_shuffled_as_the_kind_that_they_are(self, frauds):
        X, y = frauds
        seen = set()

        class Watching(LogisticRegression):
            def predict_proba(self, X):
                seen.add(type(X))
                return super().predict_proba(X)

        frame = pl.DataFrame(X[:, :2], schema=["a", "b"])
        assert make_report(Watching().fit(frame, y), frame, y).facts.importances.n_features == 2
        assert seen == {pl.DataFrame}

    def test_shuffled_categories_stay_categories(self):
        rng = np.random.default_rng(0)
        word = rng.choice(["a", "b", "c"], 2000)
        y = ((word == "b") & (rng.random(2000) < 0.2)).astype(int)
        X = pd.DataFrame({"noise": rng.normal(size=2000), "word": pd.Categorical(word)}, index=np.arange(2000) * 3)
        base = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
        model = UnderBaggingClassifier(base, n_estimators=2, random_state=0).fit(X, y)
        assert model.report(X, y).facts.importances.names[0] == "word"

    def test_of_many_columns_those_are_shuffled_in_which_cases_differ(self, frauds):
        X, y = frauds
        wide = np.hstack([np.random.default_rng(0).normal(size=(len(X), 60)), 5 * y[:, np.newaxis] + X[:, :1]])
        model = UnderBaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0).fit(wide, y)
        found = model.report(wide, y).facts.importances
        assert found.names[0] == "x60"
        assert "30 columns in which rare rows differ most" in found.method

    def test_sparse_columns_are_not(self, frauds):
        X, y = frauds
        rows = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
        model = UnderBaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0).fit(rows, y)
        assert model.report(rows, y).facts.importances is None

    def test_a_pipeline_is_judged_by_the_columns_that_go_in(self, frauds, tree):
        X, y = frauds
        model = make_pipeline(StandardScaler(), SelfPacedEnsembleClassifier(tree, n_estimators=2, random_state=0))
        facts = make_report(model.fit(X, y), X, y).facts
        assert facts.model.kind == "StandardScaler → SelfPacedEnsembleClassifier"
        assert facts.importances.n_features == 6
        assert facts.learning.rounds[-1].aucprc == pytest.approx(facts.ranking.aucprc)

    def test_contrasts_are_quantiles_of_both_classes(self, report, frauds):
        X, y = frauds[0][1::2], frauds[1][1::2]
        first = report.facts.importances.contrasts[0]
        column = X[:, int(first.name[1:])]
        assert first.cases[2] == pytest.approx(np.median(column[y == 1]))
        assert first.others[4] == pytest.approx(np.quantile(column[y == 0], 0.95), rel=0.1)


class TestSuspects:
    def test_planted_wrong_labels_come_first(self):
        rng = np.random.default_rng(0)
        y = (rng.random(5000) < 0.02).astype(int)
        scores = np.clip(0.1 + 0.7 * y + 0.05 * rng.normal(size=5000), 0, 1)
        wrong = [*np.flatnonzero(y == 1)[:3], *np.flatnonzero(y == 0)[:3]]
        y[wrong] = 1 - y[wrong]
        suspects = report_of_scores(y, scores, ids=[f"tx-{n}" for n in range(5000)]).facts.suspects
        assert {one.id for one in suspects.missed_cases[:3]} == {f"tx-{n}" for n in wrong[3:]}
        assert {one.id for one in suspects.alarming_others[:3]} == {f"tx-{n}" for n in wrong[:3]}

    def test_they_are_as_many_as_there_are(self):
        missed, alarming = suspect_rows(np.array([True] * 5 + [False] * 30), np.linspace(0, 1, 35))
        assert missed.tolist() == [0, 1, 2, 3, 4]
        assert alarming.tolist() == list(range(34, 14, -1))

    def test_the_index_of_a_frame_names_the_rows(self, model, frauds):
        X, y = frauds
        frame = pd.DataFrame(X, index=[f"row {n}" for n in range(len(X))])[1::2]
        unnamed = UnderBaggingClassifier(random_state=0).fit(frame.set_axis(list("abcdef"), axis=1), y[1::2])
        report = unnamed.report(frame.set_axis(list("abcdef"), axis=1), y[1::2])
        assert report.facts.suspects.missed_cases[0].id.startswith("row ")

    def test_values_come_from_a_sample_that_holds_the_rows(self, scored):
        is_case, scores = scored
        missed, alarming = suspect_rows(is_case, scores)
        rows = np.sort([*missed, *alarming[:5]])
        frame = pd.DataFrame({"position": rows, "word": [f"w{n}" for n in rows]})
        found = report_of_scores(is_case, scores, pos_label=True, sample=frame, sample_rows=rows).facts.suspects
        assert found.missed_cases[0].values == (f"{missed[0]:,}", f"w{missed[0]}")
        assert found.alarming_others[4].values == (f"{alarming[4]:,}", f"w{alarming[4]}")
        assert found.alarming_others[5].values == ("", "")

    def test_a_sample_must_say_which_rows_it_holds(self, scored):
        with pytest.raises(ValueError, match="The sample has 10 rows, but there are 5000 labels"):
            report_of_scores(*scored, pos_label=True, sample=np.zeros((10, 2)))
        with pytest.raises(ValueError, match="The sample has 10 rows, but there are 2 sample_rows"):
            report_of_scores(*scored, pos_label=True, sample=np.zeros((10, 2)), sample_rows=[3, 4])

    def test_ids_must_name_every_row(self, scored):
        with pytest.raises(ValueError, match="there are 5000 rows and 3 ids"):
            report_of_scores(*scored, pos_label=True, ids=["a", "b", "c"])


def mixed(n_rows=400, moved=0.0):
    rng = np.random.default_rng(int(moved * 10))
    number = rng.normal(size=n_rows) + moved
    number[:40] = np.nan
    words = rng.choice(["a", "b"], n_rows, p=[0.5 - moved / 4, 0.5 + moved / 4]).astype(object)
    words[:20] = None
    return {"number": number, "word": words, "constant": np.ones(n_rows), "yes": rng.random(n_rows) < 0.5}


class TestData:
    @pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_every_kind_of_frame_has_the_same_facts(self, kind, scored):
        columns = mixed()
        if kind is pl.DataFrame:
            columns = {name: pl.Series(values.tolist(), strict=False) for name, values in columns.items()}
        facts = report_of_scores([0, 1] * 200, np.linspace(0, 1, 400), sample=kind(columns)).facts.data
        assert [one.name for one in facts.columns] == ["number", "word", "constant", "yes"]
        assert [one.missing for one in facts.columns] == [0.1, 0.05, 0, 0]
        assert [one.n_distinct for one in facts.columns] == [360, 2, 1, 2]
        assert facts.columns[2].values == "1 … 1 … 1"
        assert facts.columns[1].values[:3] in ("a (", "b (")

    def test_names_may_be_numbers_or_the_same_twice(self):
        sample = pd.DataFrame(np.arange(800.0).reshape(400, 2), columns=[7, 7])
        facts = report_of_scores([0, 1] * 200, np.linspace(0, 1, 400), sample=sample, train_sample=sample).facts.data
        assert [(one.name, one.values) for one in facts.columns] == [("7", "0 … 399 … 798"), ("7", "1 … 400 … 799")]

    def test_nullable_numbers_are_numbers_and_dates_are_text(self):
        nullable = pd.array([1, None, 3, 4], dtype="Int64")
        sample = pd.DataFrame({"n": nullable, "day": pd.to_datetime(["2026-01-01"] * 3 + [None])}, index=[3, 3, 1, 0])
        number, day = report_of_scores([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], sample=sample).facts.data.columns
        assert (number.type, number.missing, number.values) == ("Int64", 0.25, "1 … 3 … 4")
        assert (day.missing, day.n_distinct, day.values[:10]) == (0.25, 1, "2026-01-01")

    def test_columns_that_moved_stand_out_of_chance(self, scored):
        sample, train = pd.DataFrame(mixed(2000, 1.0)), pd.DataFrame(mixed(2000))
        facts = report_of_scores([0, 1] * 1000, np.linspace(0, 1, 2000), sample=sample, train_sample=train).facts.data
        drift = {one.name: one.drift for one in facts.columns}
        assert {name: one.is_real for name, one in drift.items()} == {
            "number": True, "word": True, "constant": False, "yes": False,
        }  # fmt: skip

    def test_chance_ends_where_it_should(self):
        rng = np.random.default_rng(0)
        frames = [pd.DataFrame({f"w{n}": rng.choice(list("abcde"), 500) for n in range(60)}) for _ in range(2)]
        numbers = [pd.DataFrame(rng.normal(size=(500, 60))).add_prefix("n") for _ in range(2)]
        sample, train = (pd.concat(pair, axis=1) for pair in zip(frames, numbers, strict=True))
        facts = report_of_scores([0, 1] * 250, np.linspace(0, 1, 500), sample=sample, train_sample=train).facts.data
        assert sum(one.drift.is_real for one in facts.columns) == 0  # a column is named in 1 of 100 reports

    def test_dropped_columns_keep_their_reasons(self, scored):
        sample = pd.DataFrame(mixed(5000))
        facts = report_of_scores(*scored, pos_label=True, sample=sample, dropped={"id": "every value differs"}).facts
        assert facts.data.dropped == {"id": "every value differs"}


class TestTheWhole:
    def test_json_holds_all_facts_and_no_infinity(self, frauds, tree):
        X, y = frauds
        model = SelfPacedEnsembleClassifier(tree, n_estimators=2, pacing=lambda i, n: float("inf"), random_state=0)
        told = json.loads(model.fit(X, y).report(X, y).to_json(), parse_constant=pytest.fail)
        assert told["learning"]["rounds"][1]["alpha"] is None
        assert told["n_rows"] == 3000
        assert told["thresholds"]["n_cases"] == 60

    def test_rows_of_each_class_are_told_with_and_without_labels(self, model, report, frauds):
        X, y = frauds
        assert report.facts.model.training_rows == {"0": 1468, "1": 32}
        assert model.report(X, y).facts.model.training_rows == {"0": 1468, "1": 32}

    def test_of_many_classes_the_rarest_is_looked_for(self, frauds, tree):
        X, y = frauds
        labels = np.where(y == 1, "fraud", np.where(X[:, 0] > 0, "shop", "home"))
        facts = SelfPacedEnsembleClassifier(tree, n_estimators=2, random_state=0).fit(X, labels).report(X, labels).facts
        assert (facts.case.label, facts.n_cases) == ("fraud", 60)

    def test_any_classifier_will_do(self, frauds, tree):
        X, y = frauds
        facts = make_report(tree.fit(X, y), X, y).facts
        assert (facts.case.label, facts.model.kind, facts.learning) == ("1", "DecisionTreeClassifier", None)

    def test_the_name_of_the_labels_is_that_of_their_column(self, model, frauds):
        X, y = frauds
        assert model.report(X, pd.Series(y, name="is_fraud")).facts.case == Case("1", "is_fraud")
        assert model.report(X, y, target="bad").facts.case.rows == "rows where bad is 1"
        assert model.report(X, pl.Series(y)).facts.case.rows == "rows of the class 1"

    def test_a_label_told_from_all_others_is_found_in_the_file_and_out_of_it(self, tmp_path, frauds, tree):
        from selfpaced.tables.sources import open_table

        X, y = frauds
        frame = pd.DataFrame(X).add_prefix("x").assign(kind=np.where(y == 1, "fraud", np.where(X[:, 0] > 0, "a", "b")))
        frame.to_parquet(tmp_path / "rows.parquet")
        table = open_table(tmp_path / "rows.parquet", target="kind", pos_label="fraud")
        model = SelfPacedEnsembleClassifier(tree, n_estimators=2, random_state=0).fit_table(table)
        facts = model.report(frame.drop(columns="kind"), frame["kind"]).facts
        assert (facts.case, facts.n_cases) == (Case("fraud", "kind"), 60)
        assert facts.ranking.aucprc > 0.3

    def test_an_option_that_does_not_exist_is_refused(self, model, frauds):
        with pytest.raises(TypeError, match="tresh"):
            model.report(*frauds, tresh=0.5)
        with pytest.raises(TypeError, match="X_train"):
            report_of_scores([0, 1], [0.1, 0.9], X_train=None)


class TestAKnownChoice:
    def test_it_is_shown_as_if_it_were_chosen_here(self, scored):
        is_case, scores = scored
        expected = report_of_scores(is_case, scores, pos_label=True, threshold="recall>=0.7").facts
        sweep = sweep_of(is_case, scores)
        choice = choose_threshold(is_case, scores, "recall>=0.7")
        found = report_of_scores(is_case, scores, pos_label=True, choice=choice, sweep=sweep).facts
        assert (found.thresholds, found.ranking) == (expected.thresholds, expected.ranking)

    def test_with_its_sweep_no_threshold_is_counted_again_and_only_the_ranking_is_bootstrapped(
        self, scored, monkeypatch
    ):
        is_case, scores = scored
        sweep, choice = sweep_of(is_case, scores), choose_threshold(is_case, scores)
        called = []

        def counted(module, name):
            original = getattr(module, name)
            monkeypatch.setattr(module, name, lambda *given, **more: called.append(name) or original(*given, **more))

        counted(thresholds.sweep, "alerts_at_all_thresholds")
        counted(thresholds.choosing, "intervals_of")
        counted(quality, "aucprc_interval")
        report_of_scores(is_case, scores, pos_label=True, choice=choice, sweep=sweep).to_html()
        assert called == ["aucprc_interval"]
        report_of_scores(is_case, scores, pos_label=True).to_html()
        assert sorted(called[1:]) == ["alerts_at_all_thresholds", "aucprc_interval", "intervals_of"]

    def test_one_by_amounts_needs_the_amounts(self, scored):
        amounts = np.linspace(1, 99, scored[0].size)
        choice = choose_threshold(*scored, "cost=2", amounts=amounts)
        by_rule = report_of_scores(*scored, pos_label=True, threshold="cost=2", amounts=amounts).facts
        by_choice = report_of_scores(*scored, pos_label=True, choice=choice, amounts=amounts).facts
        assert by_choice.thresholds == by_rule.thresholds
        with pytest.raises(ValueError, match=r"chosen by amounts\. Give the report the same amounts"):
            report_of_scores(*scored, pos_label=True, choice=choice)

    def test_a_threshold_beside_it_is_refused(self, scored):
        with pytest.raises(ValueError, match="given twice, by threshold and by choice"):
            report_of_scores(*scored, pos_label=True, choice=choose_threshold(*scored), threshold=0.5)


class TestEdges:
    def test_equal_scores_have_one_threshold(self):
        facts = report_of_scores([0, 0, 0, 1], [0.5] * 4).facts
        assert facts.thresholds.values == (0.499,)
        assert facts.ranking.aucprc == 0.25

    def test_five_cases_are_enough(self):
        facts = report_of_scores([1] * 5 + [0] * 995, np.linspace(1, 0, 1000)).facts
        assert facts.ranking.aucprc == 1
        assert facts.ranking.aucprc_interval is None
        assert facts.thresholds.alerts(facts.thresholds.suggested).false_positives == 0

    @pytest.mark.parametrize(
        ("y", "scores", "complaint"),
        [
            ([0, 0], [0.1, 0.2], r"needs rows of the class 1 and rows of other classes; the labels found are \[0\]"),
            (["a", "b"], [0.1, 0.2], r"the labels found are \['a', 'b'\]"),
            ([1, 1], [0.1, 0.2], "needs rows of the class 1 and rows of other classes"),
            ([0, 1], [0.1, np.nan], "scores contains NaN"),
            ([0, 1], [0.1], "got 2 labels and 1 scores"),
        ],
    )
    def test_rows_that_tell_nothing_are_refused(self, y, scores, complaint):
        with pytest.raises(ValueError, match=complaint):
            report_of_scores(y, scores)

    def test_missing_values_and_a_single_feature_are_shown(self):
        rng = np.random.default_rng(0)
        y = (rng.random(1000) < 0.05).astype(int)
        X = pd.DataFrame({"only one": np.where(rng.random(1000) < 0.3, np.nan, y + rng.normal(size=1000))})
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2, random_state=0)
        facts = model.fit(X, y).report(X, y).facts
        assert facts.importances.names == ("only one",)
        assert facts.data.columns[0].missing == pytest.approx(0.3, abs=0.05)
        assert any(one.values == ("missing",) for one in facts.suspects.missed_cases)

    def test_of_500_columns_the_most_important_come_first(self, frauds):
        X, y = frauds
        wide = np.hstack([np.zeros((len(X), 594)), X])
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=2, random_state=0)
        facts = model.fit(wide, y).report(wide, y).facts
        assert len(facts.importances.names) == 20
        assert (facts.data.n_columns, len(facts.data.columns)) == (600, 500)
        assert facts.data.columns[0].name == facts.importances.names[0]
