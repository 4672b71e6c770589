"""Zones, guarantees and alerts per day, from the command line."""

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from shutil import copyfile

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.persistence import load_model, read_card, save_model
from tests.cli.commands import train

ZONES = "block: precision>=0.8 with 90%, review: alerts<=6/day, pass"
TIMES = ("--time-column", "when")
SMOOTH = ("--base", "logistic", "--members", "2", "--calibration", "sigmoid")  # few scores are equal


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A folder with rows of 30 days in the order of time, later ones, a model with zones and what its training told."""
    folder, facts = tmp_path_factory.mktemp("zones"), StringIO()
    rng = np.random.default_rng(0)
    y = (rng.random(12_000) < 0.05).astype(int)
    frame = pd.DataFrame(rng.normal(size=(y.size, 3)) + 2 * y[:, None], columns=list("abc")).assign(is_fraud=y)
    frame["when"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(y.size) * 216, unit="s")
    frame[:9000].to_parquet(folder / "train.parquet", index=False)
    frame[9000:].to_parquet(folder / "new.parquet", index=False)
    command = train(folder / "train.parquet", "--rule", ZONES, *TIMES, *SMOOTH, "-o", folder / "model.skops", "--json")
    with redirect_stdout(facts):
        assert main([str(argument) for argument in command]) == 0
    (folder / "facts.json").write_text(facts.getvalue())
    return folder


@pytest.fixture
def files(folder, training):
    """The rows, in the folder that commands are called in."""
    for name in ("train.parquet", "new.parquet"):
        copyfile(training / name, folder / name)


@pytest.fixture
def zoned(folder, files, training):
    """The facts of a training with zones, whose model is beside the rows."""
    copyfile(training / "model.skops", folder / "model.skops")
    return json.loads((training / "facts.json").read_text())


def test_zones_are_saved_with_the_model_and_written_by_predict(zoned, run):
    kept = read_card("model.skops").metrics
    assert (kept["rule"], kept["zones"]) == (ZONES, zoned["zones"])
    assert [zone["name"] for zone in kept["zones"]] == ["block", "review", "pass"]
    command = ("predict", "model.skops", "new.parquet", "-o", "scores.csv", "--threshold", "best", "--json")
    found = json.loads(run(*command)[1])
    written = pd.read_csv("scores.csv")
    block, review = (zone["threshold"] for zone in kept["zones"][:2])
    expected = np.select([written["score"] >= block, written["score"] >= review], ["block", "review"], "pass")
    assert written["zone"].tolist() == expected.tolist()
    assert written["alert"].tolist() == (expected != "pass").tolist()
    assert found["n_zones"] == {name: int((expected == name).sum()) for name in ("block", "review", "pass")}


def test_evaluate_and_report_show_the_zones_of_training(zoned, run):
    code, said, _ = run("evaluate", "model.skops", "new.parquet")
    assert code == 0
    assert f"block (from {zoned['zones'][0]['threshold']}): " in said
    facts = json.loads(run("evaluate", "model.skops", "new.parquet", "--json")[1])["zones"]
    assert sum(zone["n_rows"] for zone in facts) == 3000
    assert run("report", "model.skops", "new.parquet", "-o", "report.json", "-q")[0] == 0
    with open("report.json") as file:
        shown = json.load(file)["zones"]
    assert [zone["n_rows"] for zone in shown] == [zone["n_rows"] for zone in facts]


def test_zones_do_not_go_with_other_ways_to_choose_alerts(zoned, run):
    command = ("predict", "model.skops", "new.parquet", "-o", "scores.csv", "--threshold", "best", "--top", "3")
    code, _, complained = run(*command)
    assert code == 2
    assert f"--threshold {zoned['threshold']}" in complained


def test_a_guarantee_on_the_table_of_the_training_is_refused(zoned, run):
    guarantee = ("--rule", "precision>=0.8 with 90%")
    for command in ("evaluate", "report"):
        code, _, complained = run(command, "model.skops", "train.parquet", *guarantee)
        assert (code, "which needs rows that the model was not trained on" in complained) == (2, True)
    code, said, _ = run("evaluate", "model.skops", "new.parquet", *guarantee)
    assert code == 0
    assert "Guaranteed: rows at or above the threshold are right in at least 80% of the cases" in said


GUARANTEE = ("--rule", "precision>=0.8 with 90%")


def of_training(said):
    """The share of rows of the training that a complaint names, in percent; None if it names none."""
    found = re.search(r"which needs rows .* but about (\d+)% of these rows are rows of the training", said)
    return None if found is None else int(found.group(1))


def test_a_guarantee_on_a_part_of_the_training_rows_is_refused_in_any_file_and_order(zoned, run):
    rows = pd.read_parquet("train.parquet")
    rows[:3000].sample(frac=1, random_state=0)[sorted(rows.columns)].to_csv("part.csv", index=False)
    for command in ("evaluate", "report"):
        code, _, complained = run(command, "model.skops", "part.csv", *GUARANTEE)
        assert (code, of_training(complained)) == (2, 100)


def test_a_guarantee_on_some_training_rows_is_given_with_a_warning(zoned, run):
    mixed = pd.concat([pd.read_parquet("new.parquet"), pd.read_parquet("train.parquet")[:400]])
    mixed.to_parquet("mixed.parquet", index=False)
    code, said, complained = run("evaluate", "model.skops", "mixed.parquet", *GUARANTEE)
    assert (code, "Guaranteed:" in said) == (0, True)
    assert 4 <= of_training(complained) <= 25  # 400 of 3,400 rows are 12%; they are estimated by a sample
    assert run("report", "model.skops", "mixed.parquet", *GUARANTEE, "-o", "report.json", "-q")[0] == 0
    with open("report.json") as file:
        assert of_training(json.load(file)["cautions"][0]) == of_training(complained)


def test_a_guarantee_on_a_copy_of_the_training_rows_as_valid_is_refused(files, run):
    rows = pd.read_parquet("train.parquet")
    rows.to_csv("copy.csv", index=False)
    code, _, complained = run(*train("train.parquet", *GUARANTEE, *SMOOTH, "--exclude", "when", "--valid", "copy.csv"))
    assert (code, of_training(complained)) == (2, 100)
    code, _, complained = run(
        *train("train.parquet", *GUARANTEE, *SMOOTH, "--exclude", "when", "--valid", "new.parquet")
    )
    assert (code, of_training(complained)) == (0, None)


def test_rows_that_are_often_equal_are_not_taken_for_training_rows(folder, run):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 13, (16_000, 3)), columns=list("abc"))
    rows["is_fraud"] = (rows.sum(axis=1) > 29).astype(int)
    rows[:8000].to_parquet("train.parquet", index=False)
    rows[8000:].to_parquet("new.parquet", index=False)
    assert run(*train("train.parquet", "--drop-unlabelled", "-q"))[0] == 0
    assert read_card("model.skops").record.data.repeated > 0.9  # of the rows that were held out
    code, said, complained = run("evaluate", "model.skops", "new.parquet", *GUARANTEE)
    assert (code, "Guaranteed:" in said, complained) == (0, True, "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: save_model(load_model("model.skops"), "model.skops"), "The model has no record of its rows"),
        (
            lambda: pd.read_parquet("new.parquet").drop(columns="when").to_parquet("new.parquet"),
            "This was not checked, because the column 'when' of the training is missing here",
        ),
    ],
)
def test_a_guarantee_says_if_training_rows_cannot_be_recognised(zoned, run, change, why):
    change()
    code, said, complained = run("evaluate", "model.skops", "new.parquet", *GUARANTEE)
    assert (code, "Guaranteed:" in said) == (0, True)
    assert why in complained


def test_rows_without_a_label_do_not_shift_the_rows_that_are_known(files, run):
    rows = pd.read_parquet("train.parquet").astype({"is_fraud": float})
    rows.loc[::3, "is_fraud"] = np.nan
    rows.to_parquet("some.parquet", index=False)
    assert run(*train("some.parquet", *TIMES, *SMOOTH, "--drop-unlabelled", "-q"))[0] == 0
    labelled = rows.dropna()
    labelled[:3000].to_parquet("part.parquet", index=False)
    labelled[-1000:].to_parquet("held_out.parquet", index=False)
    code, _, complained = run("evaluate", "model.skops", "part.parquet", *GUARANTEE)
    assert (code, of_training(complained)) == (2, 100)
    code, _, complained = run("evaluate", "model.skops", "held_out.parquet", *GUARANTEE)
    assert (code, complained) == (0, "")


def test_a_report_without_a_rule_is_about_the_model_s_own_threshold_and_days(zoned, run):
    command = ("report", "model.skops", "new.parquet", *TIMES)
    found = json.loads(run(*command, "-o", "report.json", "--json")[1])
    assert (found["threshold"], found["rule"]) == (zoned["threshold"], ZONES)
    with open("report.json") as file:
        facts = json.load(file)
    own = facts["thresholds"]["values"][facts["thresholds"]["suggested"]]
    assert (own, facts["thresholds"]["chosen"], facts["course"]["period"]) == (zoned["threshold"], None, "day")
    assert run(*command, "-o", "report.html", "-q")[0] == 0
    with open("report.html", encoding="utf-8") as file:
        assert "chose in training." in file.read()


def test_alerts_per_day_are_counted_by_the_day_in_train_evaluate_and_report(files, run):
    rule = ("--rule", "alerts<=9/day", *TIMES)
    assert json.loads(run(*train("train.parquet", *rule, *SMOOTH, "--json"))[1])["rule"] == "alerts<=9/day"
    facts = json.loads(run("evaluate", "model.skops", "new.parquet", *rule, "--json")[1])
    assert run("report", "model.skops", "new.parquet", *rule, "-o", "report.json", "-q")[0] == 0
    assert run("report", "model.skops", "new.parquet", *rule, "-o", "report.html", "-q")[0] == 0
    with open("report.json") as file:
        course = json.load(file)["course"]
    days = course["periods"]
    assert (course["period"], course["budget"]) == ("day", 9)
    assert max(day["n_alerts"] for day in days) <= 9
    assert [day["n_best"] for day in days] == [min(9, day["n_rows"]) for day in days]
    assert sum(day["n_alerts"] for day in days) == round(facts["n_positives"] * facts["recall"] / facts["precision"])


@pytest.mark.parametrize("command", [("train", "--target", "is_fraud"), ("report",), ("evaluate",)])
def test_alerts_per_day_need_the_times_of_the_rows(zoned, run, command):
    given = ["train.parquet"] if command[0] == "train" else ["model.skops", "new.parquet"]
    code, _, complained = run(command[0], *given, *command[1:], "--rule", "alerts<=9/day")
    assert code == 2
    assert "'alerts<=9/day' needs the times of the rows. Name their column: --time-column COL." in complained


def test_a_backtest_reads_the_same_budget_and_gives_it_by_the_day(files, run):
    command = ("backtest", "train.parquet", "--target", "is_fraud", *TIMES, "--every", "8d", *SMOOTH)
    found = json.loads(run(*command, "--rule", "alerts<=9/day", "--json", "--html", "backtest.html")[1])
    assert all(day["alerts"] == min(9, day["n_rows"]) for day in found["periods"])
    assert sum(day["alerts"] for day in found["periods"]) == found["courses"][0]["alerts"]
    code, _, complained = run(*command, "--rule", "f1")
    assert (code, "its rule is a number of alerts" in complained) == (2, True)
