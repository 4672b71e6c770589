"""Thresholds are those that trying every one finds; what cannot be is said."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import selfpaced
from selfpaced.exceptions import UnreachableRuleError
from selfpaced.metrics import MEASURES, Alerts, alerts_at_threshold, best_threshold
from selfpaced.thresholds import choose_threshold
from selfpaced.thresholds.rules import AlertsAtMost, PrecisionAtLeast

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 9)), min_size=4, max_size=40).filter(
    lambda rows: {label for label, *_ in rows} == {True, False} and len({score for _, score, _ in rows}) > 1
)


def unzipped(rows):
    labels, scores, amounts = (np.array(column) for column in zip(*rows, strict=True))
    return labels.astype(int), scores / 6, amounts.astype(float)


def tried(y, scores, amounts, threshold):
    """Precision, recall, number of alerts and costs at a threshold, counted row by row."""
    alert = scores >= threshold
    hits = int(np.sum(alert & (y == 1)))
    return {
        "precision": hits / alert.sum() if alert.any() else 0,
        "recall": hits / y.sum(),
        "alerts": int(alert.sum()),
        "cost": 2 * int(np.sum(alert & (y == 0))) + 5 * int(np.sum(~alert & (y == 1))),
        "loss": 2 * int(np.sum(alert & (y == 0))) + float(amounts[~alert & (y == 1)].sum()),
    }


# What to sort thresholds by, the best first; None where a threshold does not meet the rule.
WISHES = {
    "precision>=0.6": lambda one: (-one["recall"], one["alerts"]) if one["precision"] >= 0.6 else None,
    "recall>=0.6": lambda one: (-one["precision"], -one["recall"]) if one["recall"] >= 0.6 else None,
    "alerts<=3/10": lambda one: (-one["alerts"],) if 10 * one["alerts"] <= 3 * one["rows"] else None,
    "alerts<=5": lambda one: (-one["alerts"],) if one["alerts"] <= 5 else None,
    "cost=2:5": lambda one: (one["cost"], one["alerts"]),
    "cost=2": lambda one: (one["loss"], one["alerts"]),
}


@pytest.mark.parametrize("rule", WISHES)
@given(rows=rows)
@settings(deadline=None, max_examples=60)
def test_the_threshold_is_the_one_that_trying_all_finds(rule, rows):
    y, scores, amounts = unzipped(rows)
    thresholds = [*np.unique(scores), *([2.0] if rule.startswith("cost") else [])]
    wishes = [WISHES[rule]({**tried(y, scores, amounts, one), "rows": y.size}) for one in thresholds]
    met = [wish for wish in wishes if wish is not None]
    options = {"amounts": amounts} if rule == "cost=2" else {}
    if not met:
        with pytest.raises(UnreachableRuleError):
            choose_threshold(y, scores, rule, n_bootstrap=100, **options)
        return
    choice = choose_threshold(y, scores, rule, n_bootstrap=100, **options)
    assert WISHES[rule]({**tried(y, scores, amounts, choice.threshold), "rows": y.size}) == pytest.approx(min(met))
    if options:
        assert choice.cost == pytest.approx(min(met)[0])


@pytest.mark.parametrize("measure", MEASURES)
@given(rows=rows)
@settings(deadline=None, max_examples=30)
def test_the_best_by_a_measure_is_that_of_the_metrics(measure, rows):
    y, scores, _ = unzipped(rows)
    best = alerts_at_threshold(y, scores, best_threshold(y, scores, measure))
    assert choose_threshold(y, scores, measure, n_bootstrap=100).alerts == best


SHORT = (
    st.floats(-1e6, 1e6, allow_nan=False) | st.floats(0, 1) | st.integers(0, 3).map(lambda steps: 0.9 + steps * 2e-8)
)


@given(scores=st.lists(SHORT, min_size=2, max_size=20, unique=True), single=st.booleans())
@settings(deadline=None, max_examples=200)
def test_a_copy_of_the_printed_threshold_has_the_alerts_of_the_choice(scores, single):
    values = np.array(scores, dtype=np.float32 if single else np.float64)
    if np.unique(values).size == 1:
        return
    y = values >= np.median(values)
    if y.all():
        return
    choice = choose_threshold(y, values, "f1", n_bootstrap=100)
    copied = float(str(choice).split()[1])
    assert copied == choice.threshold
    assert int(np.sum(values.astype(np.float64) >= copied)) == choice.alerts.n_alerts
    if single:  # what was rounded to these scores reaches it too
        below = np.nextafter(values, np.float32(-np.inf)).astype(np.float64)
        before = np.where(values == 0, 0, values - 0.499 * (values - below))  # nothing is rounded to 0 but dust
        assert int(np.sum(before >= copied)) == choice.alerts.n_alerts


def test_a_threshold_is_as_short_as_can_be(scored):
    for rule in ("f1", "recall>=0.7", "alerts<=30"):
        assert len(str(choose_threshold(*scored, rule).threshold)) <= 7


def test_scores_that_are_rounded_on_their_way_are_alerts_too(scored):
    y, scores = scored
    choice = choose_threshold(y, scores, "f1")
    assert int(np.sum(scores.astype(np.float32) >= choice.threshold)) == choice.alerts.n_alerts


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.02).astype(int)
    return y, rng.normal(size=4000) + 2.5 * y


def test_the_figures_are_those_of_the_metrics_at_the_threshold(scored):
    choice = choose_threshold(*scored, "recall>=0.7")
    alerts = alerts_at_threshold(*scored, choice.threshold)
    assert choice.alerts == alerts
    assert (choice.precision, choice.recall, choice.f1, choice.mcc) == (
        *(alerts.precision, alerts.recall, alerts.f1, alerts.mcc),
    )
    assert choice.alert_share == alerts.n_alerts / 4000
    assert choice.cost is None


def test_gmean_is_the_one_of_imbalanced_learns_users(scored):
    assert choose_threshold(*scored, "gmean") == choose_threshold(*scored, "sensitivity_specificity_gmean")


def test_a_rule_may_be_given_as_an_object(scored):
    assert choose_threshold(*scored, AlertsAtMost(30)) == choose_threshold(*scored, "alerts<=30")


def test_costs_in_the_text_are_costs_given(scored):
    by_text, by_pair = choose_threshold(*scored, "cost=5:100"), choose_threshold(*scored, "cost", costs=(5, 100))
    assert by_text == by_pair
    assert str(by_pair.rule) == "cost=5:100"


def test_amounts_take_the_place_of_the_cost_of_a_missed_case(scored):
    amounts = np.full(4000, 100.0)
    by_amount = choose_threshold(*scored, "cost", costs=5, amounts=amounts)
    fixed = choose_threshold(*scored, "cost=5:100")
    assert (by_amount.threshold, by_amount.cost) == (fixed.threshold, pytest.approx(fixed.cost))
    by_matrix = choose_threshold(*scored, "cost", costs=[[0, 5], [0, 0]], amounts=amounts)
    assert by_matrix.threshold == by_amount.threshold


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_alert_at_all_is_a_choice_by_cost(dtype):
    scores = np.linspace(0, 1, 50).astype(dtype)
    y = np.arange(50) == 0  # the only case scores lowest
    choice = choose_threshold(y, scores, "cost=5:1")
    assert (choice.alerts.n_alerts, choice.cost) == (0, 1)
    assert not (scores >= choice.threshold).any()
    assert not (scores.astype(np.float32) >= choice.threshold).any()
    assert np.isfinite(choice.threshold)
    assert "best choice: no alerts" in str(choice)


def test_the_counts_of_no_alert_at_all_are_those_of_all_rows():
    choice = choose_threshold(np.arange(50) == 0, np.linspace(0, 1, 50), "cost=5:1")
    assert choice.alerts == Alerts(0, 0, 1, 49)


def test_a_threshold_for_one_alert_is_reached_by_one_row(scored):
    assert np.sum(scored[1] >= choose_threshold(*scored, "alerts<=1").threshold) == 1


def test_the_highest_precision_there_is_can_be_asked_for():
    assert choose_threshold([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.9], "precision>=1").precision == 1


def test_a_choice_by_cost_tells_the_other_figures_too(scored):
    choice = choose_threshold(*scored, "cost=5:100")
    assert (choice.precision, choice.recall) == (choice.alerts.precision, choice.alerts.recall)


def test_another_label_is_named(scored):
    y, scores = scored
    words = np.array(["ok", "fraud"])[y]
    assert choose_threshold(words, scores, "f1", pos_label="fraud") == choose_threshold(y, scores, "f1")


def test_one_of_several_classes_is_told_from_the_rest(scored):
    y, scores = scored
    several = np.where(y == 1, 2, np.arange(y.size) % 2)
    assert choose_threshold(several, scores, pos_label=2) == choose_threshold(y, scores)


def test_it_says_itself_in_words(scored):
    said = str(choose_threshold(*scored, "precision>=0.9"))
    assert said.startswith("threshold ")
    assert "by precision>=0.9:" in said
    for word in ("alerts in 4,000 rows (", "precision ", "recall", "F1", "MCC", "90% intervals"):
        assert word in said
    assert "cost" not in said
    assert "a cost of" in str(choose_threshold(*scored, "cost=5:100"))


def test_it_names_the_measure_of_its_rule_and_counts_alerts_once(scored):
    assert "sensitivity_specificity_gmean 0." in str(choose_threshold(*scored, "gmean"))
    assert str(choose_threshold(*scored, "alerts<=30")).count(" alerts in ") == 1


def test_costs_have_one_form_and_one_alert_is_one(scored):
    said = choose_threshold(*scored, "cost=5.5:1234.5").said("cost")
    assert re.fullmatch(r"a cost of [\d,]+ \([\d,]+ to [\d,]+\)", said)
    assert re.fullmatch(r"a cost of \d\.\d\d \(.*\)", choose_threshold(*scored, "cost=0.005:0.0301").said("cost"))
    assert choose_threshold(*scored, "alerts<=1").said("alert_share").startswith("1 alert in 4,000 rows")


def test_its_facts_are_json(scored):
    facts = json.loads(json.dumps(choose_threshold(*scored, "cost=5:100").as_facts()))
    assert facts["rule"] == "cost=5:100"
    assert facts["intervals"]["cost"][0] <= facts["cost"] <= facts["intervals"]["cost"][1]


def test_it_is_a_public_name():
    assert selfpaced.choose_threshold is choose_threshold


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("y", "scores", "complaint"),
        [
            ([0, 1, 1], [0.1, np.nan, 0.3], "scores contains NaN"),
            ([0, 1, 1], [0.1, np.inf, 0.3], "scores contains infinity"),
            ([0, 1], [0.1, 0.2, 0.3], "same length; got 2 labels and 3 scores"),
            ([], [], "There are no rows"),
            (
                [0, 1],
                [[0.9, 0.1], [0.2, 0.8]],
                r"scores has 2 columns. Pass the column of the rare class: predict_proba\(X\)\[:, list\(",
            ),
            ([[0, 1], [1, 0]], [0.1, 0.2], "y_true has 2 columns. Pass one label for each row"),
            ([0, 0, 0], [0.1, 0.2, 0.3], "No row of y_true has the label 1"),
            ([1, 1, 1], [0.1, 0.2, 0.3], "All rows of y_true are of the rare class"),
            ([0, 1, 1], [0.5, 0.5, 0.5], "All 3 scores are 0.5, so no threshold can separate rows"),
        ],
    )
    def test_rows_that_nothing_can_be_chosen_by(self, y, scores, complaint):
        with pytest.raises(ValueError, match=complaint):
            choose_threshold(y, scores)

    def test_a_precision_that_no_threshold_has_with_the_highest_there_is(self):
        with pytest.raises(
            UnreachableRuleError,
            match=r"No threshold has a precision of 0.99 .* The highest is 0.666, at the threshold 0.5, with",
        ):
            choose_threshold([0, 0, 0, 1, 1], [0.1, 0.2, 0.9, 0.5, 0.5], PrecisionAtLeast(0.99))

    def test_a_budget_below_the_ties_at_the_top_with_the_fewest_alerts_there_are(self):
        with pytest.raises(UnreachableRuleError, match=r"alerts<=2 cannot .* fewest possible alerts are 3 in 4 rows"):
            choose_threshold([0, 1, 1, 0], [0.9, 0.9, 0.9, 0.1], "alerts<=2")

    @pytest.mark.parametrize("options", [{"costs": (1, 2)}, {"amounts": [1, 1, 1, 1]}])
    def test_costs_that_the_rule_has_no_use_for(self, options):
        with pytest.raises(ValueError, match="The rule 'f1' does not use costs or amounts"):
            choose_threshold([0, 1, 1, 0], [0.9, 0.8, 0.9, 0.1], "f1", **options)

    @pytest.mark.parametrize(
        ("rule", "options", "complaint"),
        [
            ("cost", {}, "needs the costs of a false alarm and of a missed case, such as cost=5:100"),
            ("cost", {"amounts": [1, 1, 1, 1]}, "needs the cost of a false alarm, such as cost=5"),
            ("cost", {"costs": 5}, "costs must be two numbers"),
            ("cost=5", {}, "needs amounts, the cost of each missed case"),
            ("cost=5:100", {"costs": (5, 100)}, "already has costs"),
            ("cost=5:100", {"amounts": [1, 1, 1, 1]}, "A missed case has two costs, 100 and its amount"),
            ("cost=5", {"amounts": [1, 2]}, "amounts must have a number for each row"),
        ],
    )
    def test_costs_that_are_not_there_or_there_twice(self, rule, options, complaint):
        with pytest.raises(ValueError, match=complaint):
            choose_threshold([0, 1, 1, 0], [0.9, 0.8, 0.9, 0.1], rule, **options)

    @pytest.mark.parametrize("options", [{"confidence": 0}, {"confidence": 1}, {"confidence": 90}, {"n_bootstrap": 99}])
    def test_an_interval_of_nothing(self, scored, options):
        with pytest.raises(ValueError, match="n_bootstrap must be at least"):
            choose_threshold(*scored, **options)
