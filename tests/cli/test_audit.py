"""The audit trail: the record of a training, `verify`, stamps, the model card, and goals of a refit."""

import json

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.goals import Judged, compared
from selfpaced.persistence import load_model, read_card, save_model
from selfpaced.tables import digest_of
from selfpaced.tables.sources import open_reader
from selfpaced.thresholds import parse_rule
from tests.cli.commands import CSV, MODEL, train


@pytest.fixture
def parquet(folder, mixed):
    """The payments in a Parquet file, in another order of rows and columns."""
    mixed.sample(frac=1, random_state=0)[sorted(mixed.columns)].to_parquet("payments.parquet")
    return "payments.parquet"


def test_the_rows_of_a_training_are_recognised_in_another_file_and_order(run, trained, parquet):
    assert run("verify", trained, CSV)[0] == 0
    code, said, _ = run("verify", trained, parquet)
    assert code == 0
    assert said.startswith("These are the rows that the model was trained on: 3,000 rows.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.assign(amount=rows["amount"].where(rows.index != 7, 0.5)), "other values: 'amount'."),
        (lambda rows: rows.rename(columns={"balance": "balances"}), "Did you mean 'balances'?"),
        (lambda rows: rows[1:], "There are 2,999 rows here; in training there were 3,000."),
        (lambda rows: rows.assign(amount=rows["amount"].to_numpy()[::-1]), "values have moved from row to row"),
    ],
)
def test_other_rows_are_told_apart_with_code_4(run, trained, mixed, change, said):
    change(mixed).to_parquet("other.parquet")
    code, out, _ = run("verify", trained, "other.parquet")
    assert code == 4
    assert said in out


def test_floats_of_32_bits_that_were_written_as_text_are_told_from_other_values(run, folder):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"a": rng.random(300, dtype=np.float32), "b": rng.random(300), "is_fraud": np.arange(300) % 5 < 1}
    )
    rows.to_parquet("rows.parquet")
    rows.to_csv("rows.csv", index=False)
    assert run(*train("rows.parquet", "-q"))[0] == 0
    code, said, _ = run("verify", MODEL, "rows.csv")
    assert code == 4
    assert "These columns have other values: 'a'." in said
    assert "Their first seven digits are equal. If these are 32-bit floats: --types a=float32" in said
    assert run("verify", MODEL, "rows.csv", "--types", "a=float32")[0] == 0


def test_a_column_without_a_name_has_a_digest_of_its_own(folder):
    rows = pd.DataFrame({"": [1.0, 2.0], "b": [3.0, 4.0]})
    rows.to_parquet("rows.parquet")
    rows.assign(**{"": [1.0, 5.0]}).to_parquet("other.parquet")
    one, other = (digest_of(open_reader(name, {}, list), ["", "b"]) for name in ("rows.parquet", "other.parquet"))
    assert (one.columns[""] == other.columns[""], one.columns["b"] == other.columns["b"]) == (False, True)


def test_a_model_without_a_record_cannot_be_verified(run, trained):
    save_model(load_model(trained), "plain.skops")
    code, _, said = run("verify", "plain.skops", CSV)
    assert code == 2
    assert "plain.skops has no digest of its rows: it was saved from Python" in said
    assert "data         not recorded: saved from Python, or by an earlier version" in run("inspect", "plain.skops")[1]


def test_a_record_has_source_rows_command_and_author(run, csv):
    command = ("train", csv, "--target", "is_fraud", "--base", "tree", "--members", 2, "--time-column", "when")
    assert run(*command, "--author", "Ada", "-o", "new.skops", "-q")[0] == 0
    record = read_card("new.skops").record
    assert record.data.sources == (CSV,)
    assert record.data.n_rows == 3000
    assert record.data.first.startswith("2024-01-01")
    assert record.author == "Ada"
    assert record.command.startswith("selfpaced train payments.csv --target is_fraud")


def test_a_stamp_is_the_id_that_inspect_shows_and_the_threshold(run, trained):
    assert run("predict", trained, CSV, "-o", "scores.csv", "--stamp", "--threshold", "best")[0] == 0
    scores = pd.read_csv("scores.csv", dtype={"model_id": str})
    shown = json.loads(run("inspect", trained, "--json")[1])
    assert set(scores["model_id"]) == {shown["id"]}
    assert set(scores["threshold"]) == {shown["metrics"]["threshold"]}


def test_a_card_escapes_names_and_asks_for_what_is_not_known(run, trained):
    assert run("evaluate", trained, CSV, "--by", "channel", "--json")[0] == 0
    assert run("inspect", trained, "--card", "card.md")[0] == 0
    with open("card.md", encoding="utf-8") as file:
        card = file.read()
    assert r"\<b\>risk\</b\>" in card
    assert "<b>" not in card
    assert "**To fill in:** What is the intended purpose" in card
    assert "Annex IV" in card


def test_a_card_has_the_figures_by_group_of_an_evaluation(run, trained, folder):
    (folder / "july.json").write_text(run("evaluate", trained, CSV, "--by", "channel", "--json")[1])
    assert run("inspect", trained, "--card", "card.md", "--evaluation", "july.json")[0] == 0
    assert "| (missing) |" in (folder / "card.md").read_text()


def test_a_file_that_is_not_an_evaluation_is_refused(run, trained, folder):
    (folder / "other.json").write_text("[]")
    code, _, said = run("inspect", trained, "--card", "card.md", "--evaluation", "other.json")
    assert code == 2
    assert "is not the output of `selfpaced evaluate" in said


def test_a_column_of_groups_that_does_not_exist_is_suggested(run, trained):
    code, _, said = run("evaluate", trained, CSV, "--by", "channel_")
    assert code == 2
    assert "Did you mean 'channel'?" in said


def test_a_refit_keeps_the_history_of_promotions(run, trained):
    assert run("refit", trained, CSV, "-o", "second.skops", "-q")[0] == 0
    assert run("refit", "second.skops", CSV, "-o", "third.skops", "-q")[0] == 0
    promotions = read_card("third.skops").record.promotions
    ids = [json.loads(run("inspect", one, "--json")[1])["id"] for one in (MODEL, "second.skops")]
    assert [one.replaced for one in promotions] == ids


def test_a_refit_records_whether_the_new_model_had_to_be_better(run, trained, folder):
    assert run("refit", trained, CSV, "-o", "plain.skops", "-q")[0] == 0
    assert [one.if_better for one in read_card("plain.skops").record.promotions] == [False]
    assert ", not required); 1 in all" in run("inspect", "plain.skops")[1]
    assert run("inspect", "plain.skops", "--card", "card.md")[0] == 0
    assert "| Had to be better |" in (folder / "card.md").read_text()
    many = pd.read_csv(CSV).assign(is_fraud=lambda rows: rows["amount"].rank(pct=True).gt(0.9).astype(int))
    many.to_csv("clear.csv", index=False)  # the old model knows nothing about these labels
    assert run("refit", trained, "clear.csv", "-o", "better.skops", "--if-better", "-q")[0] == 0
    assert [one.if_better for one in read_card("better.skops").record.promotions] == [True]


@pytest.mark.parametrize(
    ("goal", "complaint"),
    [
        ("recall@0/day", "must be aucprc, cost or recall@200/day"),
        ("cost", "its rule is f1"),
        ("recall@5/day", "needs the times of the rows"),
    ],
)
def test_a_goal_that_cannot_be_measured_is_refused(run, trained, goal, complaint):
    code, _, said = run("refit", trained, CSV, "-o", "new.skops", "--if-better", goal)
    assert code == 2
    assert complaint in said


def test_goals_equal_an_independent_computation():
    rng = np.random.default_rng(0)
    is_rare, amounts = rng.random(400) < 0.2, rng.gamma(2, 50, 400)
    old, new = (np.round(rng.random(400) + strength * is_rare, 2) for strength in (0.2, 0.6))
    days = np.datetime64("2024-01-01") + np.arange(400) // 40
    judged = Judged(is_rare, old, new, parse_rule("cost=5"), amounts, days.astype("datetime64[us]"))
    rows = pd.DataFrame({"rare": is_rare, "old": old, "new": new, "day": days})
    recalls = [
        sum(own.sort_values(name, ascending=False, kind="stable")["rare"][:5].sum() for _, own in rows.groupby("day"))
        / is_rare.sum()
        for name in ("old", "new")
    ]
    found = compared("recall@5/day", judged)
    assert (found.old, found.new) == pytest.approx(tuple(recalls))
    assert found.interval.low < found.gain < found.interval.high
    # The same moments are other days in another time zone.
    shifted = pd.Series(days.astype("datetime64[us]")).dt.tz_localize("Asia/Tokyo").dt.tz_convert("UTC")
    utc = Judged(is_rare, old, new, parse_rule("cost=5"), None, shifted.dt.tz_localize(None).to_numpy(), "Asia/Tokyo")
    assert compared("recall@5/day", utc) == found
    costs = compared("cost", judged)
    cheapest = min(5 * (~is_rare & (new >= at)).sum() + amounts[is_rare & (new < at)].sum() for at in [*new, 9])
    assert costs.new == pytest.approx(cheapest)
    assert costs.gain == pytest.approx(costs.old - costs.new)
