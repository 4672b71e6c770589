"""From a file to a model, to scores, to a decision."""

import gc
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from selfpaced import cli
from selfpaced.calibration import METHODS
from selfpaced.cli import main
from selfpaced.cli.commands.compare import methods_for
from selfpaced.cli.parser import CALIBRATIONS as TYPED_CALIBRATIONS
from selfpaced.cli.parser import COMMANDS, KINDS_OF_MEMBERS
from selfpaced.ensembles.auto.recipes import BASES
from selfpaced.metrics import aucprc
from selfpaced.persistence import read_card
from selfpaced.persistence.files import load_model
from tests.cli.commands import CSV, MODEL, other_warnings, train, train_calibrated
from tests.few_recipes import FEW_RECIPES, use_recipes


@pytest.fixture(scope="module")
def training(payments, tmp_path_factory):
    """A training: its exit code, what it said, what it complained of, and its model."""
    said, complained = StringIO(), StringIO()
    path = tmp_path_factory.mktemp("training") / MODEL
    with redirect_stdout(said), redirect_stderr(complained):
        code = main([str(argument) for argument in train(payments / CSV, "-o", path)])
    return SimpleNamespace(code=code, said=said.getvalue(), complained=complained.getvalue(), path=path)


def test_train_says_what_came_of_it_and_keeps_the_model(training):
    assert (training.code, other_warnings(training.complained)) == (0, [])
    assert "3,000 rows: 2,910 of 0, 90 of 1." in training.said
    assert "are right; it finds" in training.said
    assert load_model(training.path).classes_.tolist() == [0, 1]


def test_train_leaves_out_what_is_no_feature_and_says_why(training):
    assert "dropped column 'currency': the same value in every row" in training.said
    assert "dropped column 'tx_id': an identifier: every value differs" in training.said
    assert "dropped column 'note': an identifier or free text: every value differs" in training.said
    names = load_model(training.path).feature_names_in_.tolist()
    assert names == [
        *("amount", "balance", "age of account", "<b>risk</b>", "channel"),
        *("when", "when.weekday", "when.hour", "abroad"),
    ]


@pytest.mark.parametrize("base", sorted(BASES))
def test_every_base_learns_from_numbers_strings_dates_and_missing_values(run, csv, base):
    plain = ("--members", 2, "--calibration", "none")
    code, said, _ = run("train", csv, "--target", "is_fraud", "--base", base, *plain, "--json")
    facts = json.loads(said)
    assert code == 0
    assert facts["aucprc"] > 3 * facts["chance"]


def test_the_seconds_of_a_command_are_told_by_phase(run, csv):
    facts = json.loads(run("train", csv, "--target", "is_fraud", "--base", "tree", "--members", 2, "--json")[1])
    rounds = facts["phases"].pop("rounds")
    assert facts["seconds"] == pytest.approx(sum(facts["phases"].values()))
    assert 0 < rounds["fitting"] + rounds["calibrating"] < facts["phases"]["training"]


def test_the_kinds_of_members_that_can_be_typed_are_those_there_are():
    assert set(KINDS_OF_MEMBERS) == {"auto", *BASES}


def test_the_calibrations_that_can_be_typed_are_those_there_are():
    assert set(TYPED_CALIBRATIONS) == {*METHODS, "none"}


@pytest.mark.parametrize("where", [[], ["--out-of-core"]], ids=["in memory", "out of core"])
def test_scores_are_probabilities_unless_that_is_not_wanted(run, csv, where):
    calibrated = json.loads(run(*train_calibrated(csv, "--json", *where))[1])
    assert calibrated["calibration"] == "isotonic"
    assert calibrated["mean_score"] == pytest.approx(calibrated["chance"], rel=0.35)  # 18 frauds
    _, said, _ = run(*train(csv, *where))
    assert "They are not probabilities" in said
    assert read_card("model.skops").metrics["mean_score"] > 3 * calibrated["mean_score"]


def records_of(rows):
    """Rows with all digits of their numbers, and null for what is missing."""
    return rows.astype(object).where(rows.notna(), None).to_dict("records")


@pytest.fixture(scope="module")
def of_csv(mixed, tmp_path_factory):
    """The quality of the model that the rows of a CSV file give."""
    folder = tmp_path_factory.mktemp("plain")
    mixed.drop(columns=["when", "note"]).to_csv(folder / "plain.csv", index=False)
    command = train(folder / "plain.csv", "-o", folder / "model.skops", "-q")
    assert main([str(argument) for argument in command]) == 0
    return read_card(folder / "model.skops").metrics["aucprc"]


@pytest.mark.parametrize("ending", ["parquet", "feather", "jsonl", "csv.gz", "tsv"])
def test_all_kinds_of_files_give_the_same_model(run, mixed, folder, of_csv, ending):
    rows = mixed.drop(columns=["when", "note"])
    path = folder / f"payments.{ending}"
    writers = {
        "parquet": lambda: rows.to_parquet(path, index=False),
        "feather": lambda: rows.to_feather(path),
        "jsonl": lambda: path.write_text("".join(f"{json.dumps(row)}\n" for row in records_of(rows))),
        "csv.gz": lambda: rows.to_csv(path, index=False),
        "tsv": lambda: rows.to_csv(path, index=False, sep="\t"),
    }
    writers[ending]()
    code, said, _ = run(*train(path.name, "--json"))
    assert code == 0
    assert json.loads(said)["aucprc"] == of_csv


def test_semicolons_are_found_out(run, mixed, folder):
    mixed.to_csv("payments.csv", index=False, sep=";")
    assert run(*train("payments.csv", "-q")) == (0, "", "")


def test_the_last_rows_are_held_out_by_time(run, csv, mixed):
    command = train(csv, "--time-column", "when", "--json")
    facts = json.loads(run(*command)[1])
    last = mixed["when"] >= mixed["when"].sort_values().iloc[int(np.ceil(0.8 * (len(mixed) - 1)))]
    assert (facts["n_rows"], facts["n_positives"]) == (last.sum(), mixed["is_fraud"][last].sum())
    assert facts["judged_on"] == "the last 20% of the rows by when"
    assert "when" not in load_model("model.skops").feature_names_in_


def test_rows_to_judge_by_may_be_in_a_file_of_their_own(run, csv, mixed, folder):
    mixed.iloc[::3].to_parquet(folder / "other.parquet", index=False)
    command = train(csv, "--valid", "other.parquet", "--id", "tx_id", "--report", "report.html", "--json")
    facts = json.loads(run(*command)[1])
    assert facts["n_rows"] == len(mixed.iloc[::3])
    assert load_model("model.skops").class_counts_.sum() == len(mixed)
    assert "1,000 rows" in (folder / "report.html").read_text()


def test_the_held_out_rows_have_every_class_in_its_share(run, csv):
    facts = json.loads(run(*train(csv, "--holdout", "0.3", "--json"))[1])
    assert (facts["n_rows"], facts["n_positives"]) == (900, 27)


def test_out_of_core_gives_the_same_model_and_says_so(run, csv, training):
    code, said, _ = run(*train(csv, "--out-of-core"))
    assert code == 0
    assert "not loaded, but read once for each member" in said
    inside, outside = (read_card(path).metrics for path in (training.path, MODEL))
    assert inside["aucprc"] == outside["aucprc"]


class TestOneOfSeveralLabels:
    """A training with a report that looks for one of three labels."""

    @pytest.fixture(scope="class")
    @classmethod
    def kinds(cls, mixed):
        return np.where(mixed["is_fraud"] == 1, np.where(mixed["abroad"], "stolen", "forged"), "fine")

    @pytest.fixture(scope="class")
    @classmethod
    def forged(cls, mixed, kinds, tmp_path_factory):
        """What the command said, and the page."""
        folder, said = tmp_path_factory.mktemp("forged"), StringIO()
        mixed.assign(is_fraud=kinds).to_parquet(folder / "kinds.parquet", index=False)
        output = ("-o", folder / MODEL, "--report", folder / "report.html")
        with redirect_stdout(said):
            assert main([str(one) for one in train(folder / "kinds.parquet", "--pos-label", "forged", *output)]) == 0
        return said.getvalue(), (folder / "report.html").read_text()

    def test_it_can_be_the_one_to_find(self, forged, kinds):
        assert "of all rows where is_fraud is 'forged'" in forged[0]
        n_forged = int((kinds == "forged").sum())
        assert f"{n_forged} of 'forged', {3000 - n_forged:,} others" in forged[0]

    def test_a_report_is_about_it(self, forged):
        assert "forged" in forged[1]

    def test_one_that_most_rows_have_is_warned_about(self, run, mixed, kinds, folder):
        mixed.assign(is_fraud=kinds).to_parquet("kinds.parquet", index=False)
        code, said, _ = run(*train("kinds.parquet", "--pos-label", "fine", "--json"))
        warned = other_warnings("\n".join(json.loads(said)["warnings"]))
        assert code == 0
        assert [one.partition(":")[0] for one in warned] == ["'fine', the label to find, is not rare"]
        assert "582 of 600 held-out rows have it" in warned[0]


def test_a_few_rare_rows_with_strings_are_learned_from(run, folder):
    """Boosted trees with their usual leaves of 20 rows and categories of 100 would learn nothing."""
    rng = np.random.default_rng(0)
    shop = rng.choice([f"shop {i}" for i in range(20)], 6000)
    y = (np.isin(shop, ["shop 3", "shop 7"]) & (rng.random(6000) < 0.08)).astype(int)
    pd.DataFrame({"shop": shop, "amount": rng.normal(size=6000), "y": y}).to_parquet("shops.parquet", index=False)
    for base in ("lightgbm", "gbdt"):
        facts = json.loads(run("train", "shops.parquet", "--target", "y", "--base", base, "--members", 3, "--json")[1])
        assert facts["aucprc"] > 3 * facts["chance"]


def test_more_categories_than_gbdt_supports(run, folder):
    rng = np.random.default_rng(0)
    word = np.array([f"w{i}" for i in range(400)])[rng.integers(0, 400, 4000)]
    rare = rng.choice(["a", "b"], 4000)
    y = ((rare == "b") & (rng.random(4000) < 0.05)).astype(int)
    pd.DataFrame({"word": word, "rare": rare, "y": y}).to_parquet("words.parquet", index=False)
    assert run("train", "words.parquet", "--target", "y", "--base", "gbdt", "--members", 2, "-q") == (0, "", "")
    encoder = load_model("model.skops").estimators_[0][0]
    assert encoder.transformers_[0][2] == ["word"]


def test_a_model_that_learned_nothing_is_warned_of(run, folder):
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.integers(0, 2, 500), "y": (np.arange(500) < 4).astype(int)}).to_parquet("rows.parquet")
    _, _, complained = run("train", "rows.parquet", "--target", "y", "--base", "gbdt", "--members", 1)
    assert "all rows have the same score" in complained


def test_columns_to_exclude_may_be_parted_by_commas(run, csv):
    assert run(*train(csv, "--exclude", "amount,balance", "-q"))[0] == 0
    assert not {"amount", "balance"} & set(load_model("model.skops").feature_names_in_)


def test_a_column_that_gives_the_answer_away_is_warned_of(run, mixed, folder):
    mixed.assign(chargeback=mixed["is_fraud"] * 100.0).to_parquet("leak.parquet", index=False)
    code, _, complained = run(*train("leak.parquet"))
    assert code == 0
    assert "column 'chargeback' alone nearly determines the target" in complained
    assert "'amount'" not in complained


def test_few_cases_are_warned_of(run, mixed, folder):
    few = pd.concat([mixed[mixed["is_fraud"] == 0], mixed[mixed["is_fraud"] == 1][:5]])
    few.to_parquet("few.parquet", index=False)
    code, said, complained = run(*train_calibrated("few.parquet"))
    assert code == 0
    assert "the rarest class has only 5 rows" in complained
    assert "too few rare rows for a calibration" in said


def test_predict_writes_scores_beside_the_columns_that_are_kept(run, trained, csv, mixed):
    code, said, _ = run("predict", trained, csv, "-o", "scores.csv", "--keep", "tx_id,is_fraud", "--threshold", "best")
    scores = pd.read_csv("scores.csv")
    n_alerts, n_expected = scores["alert"].sum(), scores["score"].sum()
    told = f"Wrote 3,000 scores to scores.csv: {n_alerts} alerts, about {n_expected:.0f} rare rows expected.\n"
    assert (code, said) == (0, told)
    assert scores.columns.tolist() == ["tx_id", "is_fraud", "score", "alert"]
    assert scores["tx_id"].tolist() == mixed["tx_id"].tolist()
    assert aucprc(scores["is_fraud"], scores["score"]) > 0.5
    assert scores["alert"].sum() > 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_counts_for_scripts(run, trained, csv, ending):
    output = f"scores.{ending}"
    facts = json.loads(run("predict", trained, csv, "-o", output, "--threshold", "best", "--json")[1])
    scores = load_model(trained).predict_proba_table(csv)
    assert (facts["n_rows"], facts["n_alerts"]) == (3000, int(np.sum(scores >= facts["threshold"])))
    assert facts["n_expected"] == pytest.approx(scores.sum())
    assert json.loads(run("predict", trained, csv, "-o", output, "--json")[1])["n_alerts"] is None


def test_what_evaluate_and_report_tell_scripts_has_always_the_same_keys(run, trained, csv):
    tries = [[], ["--threshold", "0.5"], ["--rule", "recall>=0.5"], ["--rule", "cost=1:9"]]
    found = [json.loads(run("evaluate", trained, csv, *options, "--json")[1]) for options in tries]
    assert len({frozenset(facts) for facts in found}) == 1
    assert [facts["rule"] for facts in found] == ["f1", None, "recall>=0.5", "cost=1:9"]
    assert [facts["cost"] is None for facts in found] == [True, True, True, False]
    assert [facts["intervals"] is None for facts in found] == [True, True, False, False]
    assert {(facts["chance"], facts["calibration"]) for facts in found} == {(90 / 3000, "isotonic")}
    page = json.loads(run("report", trained, csv, "--rule", "recall>=0.5", "--json")[1])
    assert (page["rule"], page["threshold"]) == ("recall>=0.5", found[2]["threshold"])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_predict_writes_the_same_columns_for_no_rows(run, trained, mixed, ending):
    mixed.to_parquet("rows.parquet", index=False)
    mixed[:0].to_parquet("empty.parquet", index=False)
    read = pd.read_parquet if ending == "parquet" else pd.read_csv
    written = {}
    for name in ("rows", "empty"):
        output = f"{name}-scores.{ending}"
        command = ("predict", trained, f"{name}.parquet", "-o", output, "--keep", "tx_id,when", "--threshold", "0.5")
        assert run(*command, "-q") == (0, "", "")
        written[name] = read(output)
    assert len(written["empty"]) == 0
    assert list(written["empty"].columns) == ["tx_id", "when", "score", "alert"]
    if ending == "parquet":
        assert pq.read_schema("empty-scores.parquet").equals(pq.read_schema("rows-scores.parquet"))


def test_predict_scores_rows_without_labels(run, trained, mixed):
    mixed.drop(columns="is_fraud").to_parquet("new.parquet", index=False)
    assert run("predict", trained, "new.parquet", "-o", "scores.parquet", "-q") == (0, "", "")
    assert len(pd.read_parquet("scores.parquet")) == len(mixed)


def test_evaluate_judges_on_other_rows(run, trained, csv):
    code, said, _ = run("evaluate", trained, csv)
    assert code == 0
    assert "3,000 rows, 90 of them 1. AUCPRC" in said
    facts = json.loads(run("evaluate", trained, csv, "--json")[1])
    assert facts["n_positives"] == 90
    assert facts["threshold"] == read_card(trained).metrics["threshold"]
    others = json.loads(run("evaluate", trained, csv, "--threshold", "0.9", "--json")[1])
    assert others["threshold"] == 0.9
    assert others["recall"] <= facts["recall"]


def test_inspect_tells_what_the_model_is(run, trained):
    code, said, _ = run("inspect", trained)
    assert code == 0
    for part in ("SelfPacedEnsembleClassifier", "2,328 of 0, 72 of 1", "sklearn", "aucprc", "round"):
        assert part in said
    assert json.loads(run("inspect", trained, "--json")[1])["target"] == "is_fraud"
    assert f"threshold    {read_card(trained).metrics['threshold']}\n" in said


def test_export_writes_a_graph(run, mixed, folder):
    mixed[["amount", "age of account", "is_fraud"]].to_parquet("numbers.parquet", index=False)
    assert run(*train("numbers.parquet", "-q"))[0] == 0
    code, said, _ = run("export", "model.skops")
    assert code == 0
    assert "model.onnx" in said
    assert (folder / "model.onnx").stat().st_size > 1000


def test_trees_that_read_strings_are_exported_with_their_encoders(run, trained):
    assert run("export", trained, "-q") == (0, "", "")


def test_export_of_members_that_no_graph_can_hold_says_so(run, csv):
    command = ("train", csv, "--target", "is_fraud", "--members", 2, "--calibration", "none", "-q")
    assert run(*command, "--base", "knn") == (0, "", "")
    code, _, complained = run("export", "model.skops")
    assert code == 2
    assert "KNeighborsClassifier" in complained
    assert "cannot be exported to ONNX" in complained


@pytest.mark.parametrize("where", [[], ["--out-of-core"]], ids=["in memory", "out of core"])
def test_train_writes_a_report_of_the_rows_held_out(run, csv, folder, where):
    command = train(csv, "--id", "tx_id", "--report", "report.html", *where)
    code, said, _ = run(*command, "--json")
    page = (folder / "report.html").read_text()
    assert code == 0
    assert f"{json.loads(said)['aucprc']:.3f}" in page
    assert "rows where is_fraud is 1" in page
    assert "the same value in every row" in page  # what was left out, and why
    assert "<b>risk</b>" not in page  # the name of a column is no HTML


def test_report_is_written_for_other_rows_with_its_facts(run, trained, mixed, folder):
    mixed.iloc[:1500].to_parquet("other.parquet", index=False)
    code, said, _ = run("report", trained, "other.parquet", "--id", "tx_id")
    assert (code, said) == (0, "The report is in report.html.\n")
    code, said, _ = run("report", trained, "other.parquet", "--id", "tx_id", "-o", "report.json")
    assert (code, said) == (0, "The report is in report.json.\n")
    facts = json.loads((folder / "report.json").read_text())
    assert facts["n_rows"] == 1500
    assert (folder / "report.html").stat().st_size < 2_000_000


@pytest.fixture
def few_payments(mixed, folder, monkeypatch):
    """A third of the payments, and few recipes: what a comparison needs."""
    use_recipes(monkeypatch, FEW_RECIPES)
    mixed.iloc[:1000].to_csv("few.csv", index=False)
    return "few.csv"


@pytest.mark.slow
def test_compare_puts_the_methods_in_order_and_draws_them(run, few_payments, folder):
    command = ("compare", few_payments, "--target", "is_fraud", "--base", "tree", "--members", 2)
    code, said, complained = run(*command, "--picture", "compare.svg")
    assert (code, complained) == (0, "")
    *lines, table, _ = said.split("\n\n")
    rows = table.splitlines()[1:]
    for method in ("AutoSelfPaced", "Self-paced Ensemble", "tree, class weights", "XGBoost, 100 rounds"):
        assert f"{method}: AUCPRC 0." in lines[0]
        assert sum(row.startswith(method) for row in rows) == 1
    scores = [float(re.search(r"  (0\.\d{3})  ", row)[1]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "EasyEnsemble: failed. Input X contains NaN." in lines[0]
    assert "<svg" in (folder / "compare.svg").read_text()


@pytest.mark.slow
def test_compare_tells_scripts_how_far_each_method_is_ahead(run, few_payments, monkeypatch):
    few = {"AutoSelfPaced", "LightGBM, 100 rounds", "lightgbm, all rows"}

    def few_methods(*given):
        return (method for method in methods_for(*given) if method.name in few)

    monkeypatch.setattr("selfpaced.cli.commands.compare.methods_for", few_methods)
    found = json.loads(run("compare", few_payments, "--target", "is_fraud", "--members", 2, "--json")[1])["methods"]
    by_name = {one["method"]: one for one in found}
    assert "lightgbm, all rows" not in by_name  # LightGBM with more rounds is there
    ours, single = by_name["AutoSelfPaced"], by_name["LightGBM, 100 rounds"]
    assert single["ahead"] == pytest.approx(single["aucprc"] - ours["aucprc"])
    assert single["ahead_interval"][0] < single["ahead"] < single["ahead_interval"][1]
    assert (ours["ahead"], ours["ahead_interval"]) == (None, None)


def test_completion_is_a_script_that_knows_the_commands(run):
    code, said, _ = run("completion", "bash")
    assert code == 0
    assert "--time-column" in said


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_has_examples(run, command, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(command, "--help")
    assert stopped.value.code == 0
    assert f"selfpaced {command}" in capsys.readouterr().out.split("examples:")[1]


def test_help_does_not_wait_for_heavy_packages():
    code = (
        "import sys\n"
        "from selfpaced.cli import main\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'sklearn', 'numpy', 'pandas', 'pyarrow', 'scipy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_program_does_not_look_for_garbage_among_what_it_imports(monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "import_module", lambda name: seen.append(gc.isenabled()) or import_module(name))
    monkeypatch.setattr(gc, "freeze", lambda: seen.append("frozen"))
    monkeypatch.setattr(sys, "argv", ["selfpaced", "inspect", "nowhere.skops"])
    assert main() == 2
    assert seen == [False, "frozen"]
    assert gc.isenabled()
    assert main(sys.argv[1:]) == 2  # of another program, which may have garbage
    assert seen == [False, "frozen", True]


def on_a_terminal(*commands):
    """What each command shows on a terminal, standard error included."""
    end = "-- the end of a command --"
    code = (
        "import gc, json, sys\n"
        "gc.disable()\n"  # imports are half of what it does
        "from selfpaced.cli import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    assert main(command) == 0\n"
        f"    print({end!r}, end='', flush=True)\n"
    )
    ours, theirs = pytest.importorskip("pty").openpty()  # Windows has none
    process = subprocess.Popen([sys.executable, "-c", code, json.dumps(commands)], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the end of a terminal, on Linux
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert process.wait() == 0
    return shown.decode().split(end)[:-1]


@pytest.fixture(scope="module")
def terminal(payments):
    """A quiet training, and one with the usual number of members, on a terminal of 70 columns."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COLUMNS", "70")
        environment.chdir(payments)
        quiet = [str(argument) for argument in train(CSV, "-q", "-o", "shown.skops")]
        usual = ["train", CSV, "--target", "is_fraud", "--base", "tree", "--calibration", "none", "-o", "shown.skops"]
        return on_a_terminal(quiet, usual)


@pytest.mark.slow
def test_a_terminal_shows_progress_and_colours(terminal):
    assert "member 10/10" in terminal[1]
    assert "\x1b[1mOf 100 alerts" in terminal[1]


@pytest.mark.slow
def test_on_a_terminal_lines_are_as_wide_as_it_is(terminal):
    text = terminal[1][terminal[1].index("\x1b[1mOf 100 alerts") :]
    said = text.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert len(said) > 6
    assert max(map(len, said)) <= 70


@pytest.mark.slow
def test_a_quiet_command_shows_nothing_on_a_terminal(terminal):
    assert terminal[0] == ""


def test_a_pipe_gets_neither(training):
    assert "\x1b" not in training.said + training.complained


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_new_categories_are_counted_in_a_warning_and_in_json(run, payments, mixed, folder, command):
    new = mixed.assign(channel=mixed["channel"].mask(mixed.index < 5, "kiosk"))
    new.to_parquet(folder / "new.parquet")
    output = ["-o", "scores.csv"] if command == "predict" else []
    arguments = (command, payments / MODEL, "new.parquet", *output)
    code, _, complained = run(*arguments)
    assert code == 0
    assert "'channel' in 5 rows of 3,000." in complained
    assert complained.count("warning:") == 1
    _, said, _ = run(*arguments, "--json")
    assert json.loads(said)["new_categories"] == {"channel": 5}
