"""`--history`, `--past`, `--no-past`: what customers and terminals did before, in the commands."""

import json

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_transactions
from selfpaced.history import History, HistoryState
from selfpaced.persistence import read_card
from tests.cli.commands import MODEL

TREES = ("--base", "tree", "--members", 3, "--calibration", "none")
HISTORY = ("--time-column", "when", "--delay", "7d", "--history", "customer,terminal", "--amount", "amount")
WHAT = ("--target", "is_fraud", *HISTORY, *TREES)


def succeed(*arguments):
    assert main([str(argument) for argument in arguments]) == 0


@pytest.fixture(scope="session")
def rows():
    """Payments at terminals of which some are compromised for three weeks: only earlier frauds there show that."""
    X, _ = make_transactions(n_customers=120, n_terminals=60, days=84, fraud_share=0, random_state=0)
    period = (X["when"].dt.day_of_year - 1) // 21
    return X.assign(is_fraud=((X["terminal"] * 7 + period * 13) % 31 == 0).astype(int))


@pytest.fixture(scope="session")
def trained(rows, tmp_path_factory):
    """A folder with all rows, those that were trained on or before, those that were held out, and the model."""
    folder = tmp_path_factory.mktemp("history")
    rows.to_parquet(folder / "all.parquet")
    succeed("train", folder / "all.parquet", *WHAT, "-o", folder / "model.skops", "-q")
    n_held_out = read_card(folder / "model.skops").metrics["n_rows"]
    rows.iloc[:-n_held_out].to_csv(folder / "past.csv", index=False)
    rows.iloc[-n_held_out:].to_parquet(folder / "new.parquet")
    return folder


@pytest.fixture
def card(trained):
    return read_card(trained / "model.skops")


def scores_in(path):
    return pd.read_parquet(path)["score"].to_numpy()


def predicted(run, trained, tmp_path, *options):
    code, _, complaint = run("predict", trained / "model.skops", *options, "-o", tmp_path / "scores.parquet")
    assert code == 0, complaint
    return scores_in(tmp_path / "scores.parquet")


class TestTraining:
    def test_features_are_the_columns_of_the_row_and_those_of_its_history(self, card):
        history = History.from_dict(card.metrics["history"])
        assert history.entities == ("customer", "terminal")
        assert "amount" in card.feature_names
        assert not {"when", "customer", "terminal"} & {*card.feature_names}
        assert {*card.feature_names} - {"amount"} <= {*history.feature_names}
        assert "terminal_share_7d" in card.feature_names

    def test_the_base_rate_is_that_of_labels_known_when_the_held_out_rows_begin(self, card, rows):
        begin = rows["when"].iloc[-card.metrics["n_rows"]]
        known = rows[rows["when"] + pd.Timedelta(days=7) <= begin]
        assert card.metrics["history"]["base_rate"] == pytest.approx(known["is_fraud"].mean())

    def test_a_history_finds_frauds_that_rows_alone_do_not_show(self, card, trained, run, tmp_path):
        code, said, _ = run(
            "train", trained / "all.parquet", "--target", "is_fraud", "--time-column", "when", "--delay", "7d",
            "--exclude", "customer,terminal", *TREES, "-o", tmp_path / "alone.skops", "--json",
        )  # fmt: skip
        assert code == 0
        assert card.metrics["aucprc"] > 2 * json.loads(said)["aucprc"]

    def test_files_that_are_not_loaded_give_the_same_model(self, trained, run, card, tmp_path):
        code, _, complaint = run(
            "train", trained / "all.parquet", *WHAT, "--out-of-core", "-o", tmp_path / "model.skops", "-q"
        )
        assert code == 0, complaint
        found = read_card(tmp_path / "model.skops").metrics
        assert found["history"] == card.metrics["history"]
        assert (found["aucprc"], found["threshold"]) == (card.metrics["aucprc"], card.metrics["threshold"])

    def test_a_hold_out_at_random_is_refused_because_it_would_leak(self, trained, run):
        code, _, complaint = run("train", trained / "all.parquet", "--target", "is_fraud", "--history", "customer")
        assert code == 2
        assert "--time-column" in complaint
        assert "at random" in complaint

    @pytest.mark.parametrize("entity", ["is_fraud", "customer+is_fraud", "when"])
    def test_labels_and_times_are_refused_as_entities(self, entity, trained, run):
        options = ("--target", "is_fraud", "--time-column", "when", "--history", entity)
        code, _, complaint = run("train", trained / "all.parquet", *options)
        assert code == 2
        assert "own label" in complaint or "time column" in complaint

    def test_windows_without_entities_are_refused(self, trained, run):
        code, _, complaint = run("train", trained / "all.parquet", "--target", "is_fraud", "--windows", "1d")
        assert code == 2
        assert "--history" in complaint

    def test_an_unknown_entity_is_refused_with_a_suggestion(self, trained, run):
        code, _, complaint = run(
            "train", trained / "all.parquet", "--target", "is_fraud", "--time-column", "when", "--history", "custmer"
        )
        assert code == 2
        assert "customer" in complaint

    def test_rows_without_a_label_count_in_the_history(self, rows, trained, run, tmp_path):
        some = rows.assign(is_fraud=rows["is_fraud"].astype(float).where(rows.index % 7 > 0))
        some.to_parquet(tmp_path / "some.parquet")
        code, said, complaint = run(
            "train", tmp_path / "some.parquet", *WHAT, "--drop-unlabelled", "-o", tmp_path / "some.skops", "--json"
        )
        assert code == 0, complaint
        assert json.loads(said)["n_unlabelled"] == (rows.index % 7 == 0).sum()

    def test_another_file_to_judge_by_is_refused_with_the_command_that_does_it(self, trained, run):
        code, _, complaint = run("train", trained / "past.csv", *WHAT, "--valid", trained / "new.parquet")
        assert code == 2
        assert "selfpaced evaluate" in complaint


class TestScoring:
    def test_rows_with_their_past_get_the_scores_of_all_rows_together(self, run, trained, tmp_path):
        whole = predicted(run, trained, tmp_path, trained / "all.parquet", "--no-past")
        new = predicted(run, trained, tmp_path, trained / "new.parquet", "--past", trained / "past.csv")
        np.testing.assert_array_equal(new, whole[-new.size :])

    def test_a_past_changes_the_scores(self, run, trained, tmp_path):
        new = predicted(run, trained, tmp_path, trained / "new.parquet", "--past", trained / "past.csv")
        assert (new != predicted(run, trained, tmp_path, trained / "new.parquet", "--no-past")).any()

    def test_the_held_out_rows_with_their_past_are_judged_as_in_training(self, run, trained, card):
        past = ("--past", trained / "past.csv", "--json")
        code, said, _ = run("evaluate", trained / "model.skops", trained / "new.parquet", *past)
        assert code == 0
        assert json.loads(said)["aucprc"] == card.metrics["aucprc"]

    @pytest.mark.parametrize("command", ["predict", "evaluate", "report", "monitor"])
    def test_rows_without_a_past_are_refused_unless_there_is_none(self, command, run, trained, tmp_path):
        output = ("-o", tmp_path / "scores.parquet") if command == "predict" else ()
        code, _, complaint = run(command, trained / "model.skops", trained / "new.parquet", *output)
        assert code == 2
        assert "--past FILE" in complaint
        assert "--no-past" in complaint

    def test_a_past_for_a_model_without_a_history_is_refused(self, run, csv, payments, tmp_path):
        code, _, complaint = run("predict", payments / MODEL, csv, "-o", tmp_path / "scores.csv", "--no-past")
        assert code == 2
        assert "without --history" in complaint

    def test_labels_of_the_past_that_are_written_in_another_way_are_refused(self, run, trained, rows, tmp_path):
        rows.assign(is_fraud=rows["is_fraud"].map({0: "no", 1: "yes"})).to_parquet(tmp_path / "past.parquet")
        output = ("-o", tmp_path / "scores.parquet", "--past", tmp_path / "past.parquet")
        code, _, complaint = run("predict", trained / "model.skops", trained / "new.parquet", *output)
        assert code == 2
        assert "is_fraud" in complaint

    def test_a_past_without_labels_is_refused_because_none_would_be_known(self, run, trained, rows, tmp_path):
        rows.drop(columns="is_fraud").to_parquet(tmp_path / "past.parquet")
        output = ("-o", tmp_path / "scores.parquet", "--past", tmp_path / "past.parquet")
        code, _, complaint = run("predict", trained / "model.skops", trained / "new.parquet", *output)
        assert code == 2
        assert "no column 'is_fraud'" in complaint

    @pytest.mark.parametrize("option", [("--id", "transaction"), ("--learn", "labels.csv")])
    def test_options_of_a_state_without_one_are_refused(self, option, run, trained, tmp_path):
        output = ("-o", tmp_path / "scores.parquet", "--no-past", *option)
        code, _, complaint = run("predict", trained / "model.skops", trained / "new.parquet", *output)
        assert code == 2
        assert "--state FOLDER" in complaint

    @pytest.mark.parametrize("option", ["--past", "--state"])
    def test_a_past_is_refused_on_a_cluster(self, option, run, trained, tmp_path):
        code, _, complaint = run(
            "predict", trained / "model.skops", trained / "new.parquet", "-o", tmp_path / "scores", "--engine", "dask",
            option, trained / "past.csv",
        )  # fmt: skip
        assert code == 2
        assert f"{option} is not supported on a cluster" in complaint

    def test_a_report_with_the_past_has_the_figures_of_the_training(self, run, trained, card, tmp_path):
        output = ("--past", trained / "past.csv", "-o", tmp_path / "report.json")
        code, _, complaint = run("report", trained / "model.skops", trained / "new.parquet", *output)
        assert code == 0, complaint
        assert json.loads((tmp_path / "report.json").read_text())["ranking"]["aucprc"] == card.metrics["aucprc"]

    def test_rows_that_were_scored_before_are_refused_with_the_column(self, run, trained, rows, tmp_path):
        rows.assign(customer_rows_1d=0.0).to_parquet(tmp_path / "with.parquet")
        output = ("-o", tmp_path / "scores.parquet", "--no-past")
        code, _, complaint = run("predict", trained / "model.skops", tmp_path / "with.parquet", *output)
        assert code == 2
        assert "customer_rows_1d" in complaint

    def test_monitoring_compares_the_features_of_the_history_too(self, run, trained):
        past = ("--past", trained / "past.csv", "--json")
        code, said, complaint = run("monitor", trained / "model.skops", trained / "new.parquet", *past)
        assert code == 0, complaint
        names = {one["name"] for one in json.loads(said)["all"]["drifts"]}
        assert "terminal_share_7d" in names

    def test_suspects_are_found_among_the_rows_of_the_training(self, run, trained):
        code, said, complaint = run("suspects", trained / "model.skops", trained / "all.parquet", "--json")
        assert code == 0, complaint
        assert json.loads(said)["cross_fitted"]


class TestState:
    WITH_IDS = ("--past", "past.csv", "--id", "transaction")

    @pytest.fixture
    def days(self, trained, rows, tmp_path, monkeypatch):
        """The held-out rows in three files of less than a week, so that no label of a file is known within it."""
        monkeypatch.chdir(trained)
        n_held_out = read_card("model.skops").metrics["n_rows"]
        parts = np.array_split(np.arange(len(rows))[-n_held_out:], 3)
        for number, part in enumerate(parts):
            some = rows.iloc[part]
            some.drop(columns="is_fraud").to_parquet(tmp_path / f"{number}.parquet")
            some[["transaction", "is_fraud"]].to_csv(tmp_path / f"labels{number}.csv", index=False)
        return tmp_path

    def test_files_one_after_the_other_get_the_scores_of_all_rows_together(self, run, trained, days):
        whole, state = predicted(run, trained, days, "all.parquet", "--no-past"), ("--state", days / "state")
        parts = [predicted(run, trained, days, days / "0.parquet", *state, *self.WITH_IDS)]
        for number in (1, 2):
            learn = ("--learn", days / f"labels{number - 1}.csv")
            parts.append(predicted(run, trained, days, days / f"{number}.parquet", *state, *learn))
        found = np.concatenate(parts)
        np.testing.assert_array_equal(found, whole[-found.size :])

    @pytest.mark.parametrize(("ids", "complaint"), [(WITH_IDS, "counted twice"), (WITH_IDS[:2], "not after")])
    def test_rows_that_the_state_has_are_refused(self, run, trained, days, ids, complaint):
        state = ("--state", days / "state")
        predicted(run, trained, days, days / "0.parquet", *state, *ids)
        code, _, said = run("predict", "model.skops", days / "0.parquet", *state, "-o", days / "again.parquet")
        assert code == 2
        assert complaint in said
        assert not (days / "again.parquet").exists()

    def test_a_command_that_fails_adds_no_rows(self, run, trained, days):
        state = ("--state", days / "state", "--no-past", "--id", "transaction")
        output = ("-o", days / "scores.parquet", "--keep", "nothing")
        assert run("predict", "model.skops", days / "0.parquet", *state, *output)[0] == 2
        with HistoryState.open(days / "state") as found:
            assert found.n_rows == 0

    def test_a_state_is_made_only_with_a_past_or_without_one_if_told_so(self, run, days):
        state = ("--state", days / "state", "-o", days / "scores.parquet")
        code, _, said = run("predict", "model.skops", days / "0.parquet", *state)
        assert code == 2
        assert "--no-past" in said


class TestAgain:
    def test_a_refit_has_the_same_history_with_the_base_rate_of_its_rows(self, run, trained, rows, card, tmp_path):
        rows.iloc[500:].to_parquet(tmp_path / "later.parquet")
        code, _, complaint = run(
            "refit", trained / "model.skops", tmp_path / "later.parquet", "-o", tmp_path / "new.skops", "-q"
        )
        assert code == 0, complaint
        found, before = (one.metrics["history"] for one in (read_card(tmp_path / "new.skops"), card))
        assert found["base_rate"] != before["base_rate"]
        assert {**found, "base_rate": None} == {**before, "base_rate": None}

    def test_no_fold_of_a_backtest_sees_what_comes_later(self, run, rows, tmp_path):
        rows.to_parquet(tmp_path / "all.parquet")
        last = rows["when"].max() - pd.Timedelta(days=7)
        other = rows.assign(
            is_fraud=rows["is_fraud"].where(rows["when"] < last, 1 - rows["is_fraud"]),
            amount=rows["amount"].where(rows["when"] < last, 1.0),
        )
        other.to_parquet(tmp_path / "other.parquet")
        folds = []
        for path in ("all.parquet", "other.parquet"):
            code, said, complaint = run("backtest", tmp_path / path, *WHAT, "--every", "7d", "--json")
            assert code == 0, complaint
            folds.append(json.loads(said)["folds"])
        before = [fold for fold in folds[0] if pd.Timestamp(fold["end"]) <= last]
        assert len(before) > 2
        assert [fold["aucprc"] for fold in before] == [fold["aucprc"] for fold in folds[1][: len(before)]]


class TestAuto:
    def test_what_helps_is_kept_and_the_figures_are_in_the_card(self, run, trained, tmp_path):
        code, said, complaint = run(
            "train", trained / "all.parquet", "--target", "is_fraud", "--time-column", "when", "--delay", "7d",
            "--history", "auto", "--amount", "amount", *TREES, "-o", tmp_path / "auto.skops", "--json",
            "--report", tmp_path / "report.html",
        )  # fmt: skip
        assert code == 0, complaint
        trials = {one["name"]: one["aucprc"] for one in json.loads(said)["history_trials"]}
        assert list(trials) == ["no history", "windows", "windows and known labels"]
        assert trials["windows and known labels"] > trials["no history"]
        page = (tmp_path / "report.html").read_text()
        assert all(f"{name} {figure:.3f}" in page for name, figure in trials.items())
        assert read_card(tmp_path / "auto.skops").metrics["history"]["delay"] == "7d"

    def test_a_history_that_does_not_help_is_left_out(self, run, rows, tmp_path):
        rng = np.random.default_rng(0)
        some = pd.DataFrame({"when": rows["when"], "amount": rows["amount"], "x": rng.normal(size=len(rows))})
        some = some.assign(card_id=rng.integers(0, 300, len(rows)), is_fraud=(some["x"] > 2.2).astype(int))
        some.to_parquet(tmp_path / "alone.parquet")
        code, _, complaint = run(
            "train", tmp_path / "alone.parquet", "--target", "is_fraud", "--time-column", "when", "--delay", "7d",
            "--history", "auto", *TREES, "-o", tmp_path / "alone.skops", "--json",
        )  # fmt: skip
        assert code == 0, complaint
        assert read_card(tmp_path / "alone.skops").metrics["history"] is None
        assert read_card(tmp_path / "alone.skops").feature_names == ("amount", "x")
