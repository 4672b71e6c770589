"""A model judged on labelled rows: at its threshold or at a new one, with what the rows cost."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.commands.evaluate import Judging, Known, evaluate, known_from
from selfpaced.cli.commands.predict import predict
from selfpaced.cli.request import amounts_in, rule_of
from selfpaced.exceptions import TableError
from selfpaced.metrics import alerts_at_threshold
from selfpaced.tables.sources import open_table
from selfpaced.thresholds import parse_rule


@pytest.fixture(scope="module")
def scored(trained, payments):
    """Labels, scores and amounts of all payments."""
    frame = pd.read_parquet(payments)
    return frame["label"].to_numpy() == 1, trained.model.predict_proba_table(payments), frame["amount"].to_numpy()


def test_at_a_threshold_the_rows_are_judged_there(trained, payments, scored):
    is_rare, scores, _ = scored
    judged = evaluate(trained.model, payments, "label", Judging(threshold=0.3))
    alerts = alerts_at_threshold(is_rare, scores, 0.3)
    assert (judged.evaluation.precision, judged.evaluation.recall) == pytest.approx((alerts.precision, alerts.recall))
    assert (judged.choice, judged.cost, judged.unpriced) == (None, None, None)


def test_a_rule_chooses_a_new_threshold(trained, payments):
    judged = evaluate(trained.model, payments, "label", Judging(rule="recall>=0.9", threshold=0.3))
    assert judged.evaluation.threshold == judged.choice.threshold
    assert judged.evaluation.recall >= 0.9
    assert judged.cost is None


def test_by_the_costs_of_training_the_rows_cost_what_is_wrong(trained, payments, scored):
    is_rare, scores, _ = scored
    known = Known(parse_rule("cost=2:30"))
    judged = evaluate(trained.model, payments, "label", Judging(threshold=0.5, known=known))
    alarms, missed = np.sum(~is_rare & (scores >= 0.5)), np.sum(is_rare & (scores < 0.5))
    assert judged.cost == pytest.approx(2 * alarms + 30 * missed)


@pytest.mark.parametrize("threshold", [0.02, 0.5])
def test_by_amounts_the_rows_cost_what_is_missed(trained, payments, scored, threshold):
    is_rare, scores, amounts = scored
    expected = 2 * np.sum(~is_rare & (scores >= threshold)) + amounts[is_rare & (scores < threshold)].sum()
    for judging in (
        Judging(threshold, known=Known(parse_rule("cost=2"), "amount")),
        Judging(threshold, amount="amount", known=Known(parse_rule("cost=2"), "gone")),
    ):
        assert evaluate(trained.model, payments, "label", judging).cost == pytest.approx(expected)


def test_a_missed_row_is_one_below_the_threshold_and_not_at_it(trained, payments, scored):
    is_rare, scores, amounts = scored
    at = float(np.sort(scores[is_rare])[20])
    judged = evaluate(trained.model, payments, "label", Judging(at, known=Known(parse_rule("cost=0"), "amount")))
    assert judged.cost == pytest.approx(amounts[is_rare & (scores < at)].sum())


@pytest.mark.parametrize(
    ("column", "reason"),
    [(None, "the column of amounts is not known. Name it: --amount COL"), ("gone", "there is no column 'gone'")],
)
def test_without_amounts_it_is_said_why_there_is_no_cost(trained, payments, column, reason):
    judged = evaluate(trained.model, payments, "label", Judging(0.5, known=Known(parse_rule("cost=2"), column)))
    assert judged.cost is None
    assert judged.unpriced.startswith(reason)


def test_amounts_that_no_rule_uses_are_refused(trained, payments):
    with pytest.raises(TableError, match="--amount needs a rule about costs"):
        evaluate(trained.model, payments, "label", Judging(0.5, amount="amount"))
    with pytest.raises(
        TableError, match=r"The rule cost=2:30 already has the cost of a missed case. Omit --amount amount"
    ):
        evaluate(trained.model, payments, "label", Judging(0.5, amount="amount", known=Known(parse_rule("cost=2:30"))))


@pytest.mark.parametrize("card", [{}, {"rule": "nonsense"}, {"rule": "cost=-1"}])
def test_a_card_without_a_rule_knows_none(card):
    assert known_from(card) == Known()


def test_a_rule_is_checked_before_any_row_is_read():
    assert str(rule_of("cost=5", "price")) == "cost=5"
    with pytest.raises(ValueError, match="needs amounts"):
        rule_of("cost=5", None)
    with pytest.raises(ValueError, match="does not use costs or amounts"):
        rule_of("f1", "price")


def test_amounts_are_numbers_and_may_be_missing(tmp_path, trained):
    assert amounts_in(trained.data.test, "amount").dtype == np.float64
    pd.DataFrame({"price": ["a", "b"], "paid": [1, None], "label": [0, 1]}).to_parquet(tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet", target="label")
    np.testing.assert_array_equal(amounts_in(table, "paid"), [1.0, np.nan])
    with pytest.raises(TableError, match=r"The column of amounts 'price' is .*string. Name a column of numbers"):
        amounts_in(table, "price")


def test_written_scores_are_counted(trained, payments, scored, tmp_path):
    _, scores, _ = scored
    found = predict(trained.model, payments, tmp_path / "scores.parquet", threshold=0.5)
    assert (found.n_rows, found.n_alerts) == (1000, np.sum(scores >= 0.5))
    assert found.n_expected == pytest.approx(scores.sum())
    without = predict(trained.model, payments, tmp_path / "more.parquet")
    assert (without.n_rows, without.n_alerts) == (1000, None)


def test_scores_that_are_no_probabilities_add_up_to_nothing(trained, payments, tmp_path):
    model = trained.model.with_model(trained.model.model_.recalibrated(None, None))
    assert predict(model, payments, tmp_path / "scores.parquet", threshold=0.5).n_expected is None


def test_a_row_at_the_threshold_is_an_alert(trained, payments, scored, tmp_path):
    _, scores, _ = scored
    at = float(np.sort(scores)[-50])
    assert predict(trained.model, payments, tmp_path / "scores.parquet", threshold=at).n_alerts == np.sum(scores >= at)
