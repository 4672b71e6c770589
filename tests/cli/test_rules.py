"""Thresholds by a rule, from the command line."""

import json
from shutil import copyfile

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.cli import main
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.persistence import read_card, save_model
from selfpaced.persistence.files import load_model
from selfpaced.thresholds import WRITTEN, choose_threshold
from tests.cli.commands import MODEL, other_warnings, train


@pytest.fixture
def refused(run):
    def refused(*arguments):
        code, said, complained = run(*arguments)
        assert (code, said) == (2, "")
        assert complained.count("\n") == 1
        return complained

    return refused


def test_train_chooses_by_the_rule_and_says_what_it_promises(run, csv):
    code, said, complained = run(*train(csv, "--rule", "recall>=0.8"))
    assert (code, other_warnings(complained)) == (0, [])
    assert "chosen by recall>=0.8 on these rows" in said
    assert "What to expect of other rows, with 90% intervals:" in said
    assert "recall 0." in said.split("intervals:")[1]


def test_the_card_keeps_the_rule_the_threshold_and_the_intervals(run, csv):
    facts = json.loads(run(*train(csv, "--rule", "recall>=0.8", "--json"))[1])
    kept = read_card("model.skops").metrics
    for name in ("rule", "threshold", "confidence", "intervals", "recall"):
        assert kept[name] == facts[name]
    assert kept["rule"] == "recall>=0.8"
    assert kept["recall"] >= 0.8
    low, high = kept["intervals"]["recall"]
    assert low <= kept["recall"] <= high
    assert "recall>=0.8" in run("inspect", "model.skops")[1]


def test_without_a_rule_it_is_f1(run, csv):
    facts = json.loads(run(*train(csv, "--json"))[1])
    assert (facts["rule"], facts["threshold"]) == ("f1", facts["best_threshold"])


def test_predict_and_evaluate_go_by_the_threshold_of_the_rule(run, csv, mixed, folder):
    mixed[::2].to_parquet("train.parquet", index=False)
    mixed[1::2].to_parquet("test.parquet", index=False)
    command = train("train.parquet", "--valid", "test.parquet", "--rule", "alerts<=100/1000", "--json")
    facts = json.loads(run(*command)[1])
    assert run("predict", "model.skops", "test.parquet", "-o", "scores.parquet", "--threshold", "best", "-q")[0] == 0
    n_alerts = int(pd.read_parquet("scores.parquet")["alert"].sum())
    assert 0 < n_alerts <= 150
    found = facts["recall"] * facts["n_positives"]
    assert n_alerts == round(found / facts["precision"])  # those that were judged, to the last digit of a score
    assert json.loads(run("evaluate", "model.skops", "test.parquet", "--json")[1])["threshold"] == facts["threshold"]


def test_the_amount_of_a_row_is_what_missing_it_costs(run, mixed, folder):
    priced = mixed.assign(price=np.abs(mixed["amount"]) * 100)
    priced[::2].to_parquet("train.parquet", index=False)
    priced[1::2].to_parquet("test.parquet", index=False)
    command = train("train.parquet", "--valid", "test.parquet", "--rule", "cost=5", "--amount", "price", "--json")
    facts = json.loads(run(*command)[1])
    model = load_model("model.skops")
    assert "price" in model.feature_names_in_
    choice = choose_threshold(
        priced["is_fraud"][1::2], model.predict_proba_table("test.parquet"), "cost=5", amounts=priced["price"][1::2]
    )
    assert (facts["threshold"], facts["cost"]) == (choice.threshold, pytest.approx(choice.cost))
    again = json.loads(
        run("evaluate", "model.skops", "test.parquet", "--rule", "cost=5", "--amount", "price", "--json")[1]
    )
    assert again["cost"] == pytest.approx(facts["cost"])


@pytest.mark.parametrize("where", [[], ["--out-of-core"]], ids=["in memory", "out of core"])
def test_a_column_of_amounts_need_not_be_a_feature(run, csv, where):
    command = train(csv, "--rule", "cost=5", "--amount", "tx_id", "--exclude", "tx_id", *where)
    assert run(*command, "-q") == (0, "", "")
    assert "tx_id" not in load_model("model.skops").feature_names_in_


def test_a_rule_that_cannot_be_met_costs_no_model(run, csv):
    code, said, complained = run(*train(csv, "--rule", "precision>=0.9999", "--report", "report.html"))
    assert code == 0
    assert "No threshold has a precision of 0.9999 on these rows. The highest is 0." in complained
    assert "The threshold is the best by F1 instead." in complained
    assert "the best threshold by F1 on these rows" in said
    kept = read_card("model.skops").metrics
    assert (kept["rule"], kept["threshold"]) == ("f1", kept["best_threshold"])
    assert "precision of 0.9999" in kept["unmet"]


def test_a_rule_that_cannot_be_met_is_said_with_quiet_too(run, csv):
    command = train(csv, "--rule", "precision>=0.99 with 99%")
    code, said, complained = run(*command, "--quiet")
    assert (code, said) == (0, "")
    assert complained.count("warning") == 1
    assert "The threshold is the best by F1 instead." in complained
    assert run(*command, "--json")[2] == ""


def test_amounts_that_turn_out_wrong_cost_no_model(run, mixed, folder):
    mixed.assign(price=-1.0 * mixed["is_fraud"]).to_parquet("priced.parquet", index=False)
    code, _, complained = run(*train("priced.parquet", "--rule", "cost=5", "--amount", "price", "--exclude", "price"))
    assert code == 0
    assert "amounts of rare rows, the costs of missing them, must be numbers >= 0" in complained
    assert (folder / "model.skops").exists()


def test_no_alert_at_all_is_said_so(run, csv):
    assert "At these costs it is cheapest to raise no alerts." in run(*train(csv, "--rule", "cost=1000:1"))[1]


def test_evaluate_chooses_anew(run, trained, csv):
    code, said, _ = run("evaluate", trained, csv, "--rule", "alerts<=300/3000")
    assert code == 0
    assert "chosen by alerts<=300/3000 on these rows" in said
    assert "alerts in 3,000 rows" in said
    facts = json.loads(run("evaluate", trained, csv, "--rule", "alerts<=300/3000", "--json")[1])
    assert facts["rule"] == "alerts<=300/3000"


def test_evaluate_refuses_a_rule_that_cannot_be_met(refused, trained, csv):
    assert "alerts<=1/3000 cannot be met" in refused("evaluate", trained, csv, "--rule", "alerts<=1/3000")


def test_a_threshold_and_a_rule_are_one_too_many(run, trained, csv, capsys):
    with pytest.raises(SystemExit) as stopped:
        run("evaluate", trained, csv, "--rule", "f1", "--threshold", "0.5")
    assert stopped.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--rule", "precision>=1.5"], "A precision must be between 0 and 1"),
        (["--rule", "cost"], "needs the costs of a false alarm and of a missed case, such as cost=5:100"),
        (["--rule", "cost=5"], "needs amounts, the cost of each missed case (--amount COL on the command line)"),
        (["--rule", "cost=5:9", "--amount", "amount"], "A missed case has two costs, 9 and its amount"),
        (["--amount", "amount"], "The rule 'f1' does not use costs or amounts"),
        (["--rule", "cost=5", "--amount", "price"], "There is no column 'price'"),
        (["--rule", "cost=5", "--amount", "note"], "The column of amounts 'note' is string. Name a column of numbers"),
    ],
)
def test_a_wrong_rule_is_refused_before_training(refused, csv, folder, monkeypatch, options, complaint):
    monkeypatch.setattr("selfpaced.cli.commands.train.model_for", None)  # nothing is trained
    assert complaint in refused(*train(csv, *options))
    assert not (folder / "model.skops").exists()


@pytest.fixture(scope="module")
def priced_by_amounts(mixed, tmp_path_factory):
    """A folder with a model whose threshold was chosen by amounts, and other rows; tests copy from it."""
    folder = tmp_path_factory.mktemp("priced")
    rows = mixed.assign(price=np.abs(mixed["amount"]) * 100)
    rows[::2].to_parquet(folder / "train.parquet", index=False)
    rows[1::2].to_parquet(folder / "test.parquet", index=False)
    options = ("--rule", "cost=5", "--amount", "price", "--exclude", "price", "-o", folder / MODEL, "-q")
    assert main([str(argument) for argument in train(folder / "train.parquet", *options)]) == 0
    return folder


@pytest.fixture
def priced(priced_by_amounts, folder):
    """The rows that the model was not trained on, beside them in a file and the model."""
    for name in ("test.parquet", MODEL):
        copyfile(priced_by_amounts / name, folder / name)
    return pd.read_parquet("test.parquet")


def cost_of(rows, scores, threshold, amounts):
    is_alert, is_fraud = scores >= threshold, rows["is_fraud"].to_numpy() == 1
    return 5 * np.sum(is_alert & ~is_fraud) + amounts.to_numpy()[~is_alert & is_fraud].sum()


class TestTheRuleOfTheTrainingIsRemembered:
    def test_evaluate_says_what_other_rows_cost_by_it(self, run, priced):
        code, said, complained = run("evaluate", "model.skops", "test.parquet")
        assert (code, complained) == (0, "")
        kept = read_card("model.skops").metrics
        assert (kept["rule"], kept["amount"]) == ("cost=5", "price")
        scores = load_model("model.skops").predict_proba_table("test.parquet")
        cost = cost_of(priced, scores, kept["threshold"], priced["price"])
        assert f", chosen by cost=5 in training. By cost=5 these rows cost {cost:,.0f}." in " ".join(said.split())
        again = json.loads(run("evaluate", "model.skops", "test.parquet", "--json")[1])
        assert (again["rule"], again["cost"]) == ("cost=5", pytest.approx(cost))

    def test_another_column_of_amounts_may_be_named(self, run, priced):
        facts = json.loads(run("evaluate", "model.skops", "test.parquet", "--amount", "tx_id", "--json")[1])
        scores = load_model("model.skops").predict_proba_table("test.parquet")
        assert facts["cost"] == pytest.approx(cost_of(priced, scores, facts["threshold"], priced["tx_id"]))

    def test_amounts_that_are_not_there_are_told_of(self, run, priced):
        priced.drop(columns="price").to_parquet("bare.parquet", index=False)
        code, said, _ = run("evaluate", "model.skops", "bare.parquet")
        assert code == 0
        assert "The cost of these rows by cost=5 is not known: there is no column 'price'" in said
        assert json.loads(run("evaluate", "model.skops", "bare.parquet", "--json")[1])["cost"] is None


def test_a_model_that_was_saved_in_python_is_evaluated_by_a_rule(run, refused, mixed, folder):
    features = ["amount", "balance"]
    X, y = mixed[features].fillna(0), mixed["is_fraud"]
    X.assign(is_fraud=y).to_parquet("rows.parquet", index=False)
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 3, random_state=0)
    save_model(model.fit(X, y), "model.skops")
    command = ("evaluate", "model.skops", "rows.parquet", "--target", "is_fraud", "--rule", "alerts<=300/3000")
    facts = json.loads(run(*command, "--json")[1])
    choice = choose_threshold(y, model.predict_proba(X)[:, 1], "alerts<=300/3000")
    assert (facts["rule"], facts["threshold"]) == ("alerts<=300/3000", choice.threshold)
    save_model(model.fit(X.to_numpy(), y), "model.skops")
    assert "trained on 2 features without names" in refused(*command)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("best", "'best' is not a rule for a threshold. The rules are:\n  f1 "),
        ("precision", "In a shell, put a rule with > or < in quotes"),
        ("recall>0.5", "Did you mean 'recall>=0.5'?"),
        ("alerts<=20/dai", "Did you mean 'alerts<=200/day'?"),
    ],
)
def test_after_what_is_no_rule_come_the_rules_one_a_line(run, csv, rule, complaint):
    code, said, complained = run(*train(csv, "--rule", rule))
    assert (code, said) == (2, "")
    assert complaint in complained
    listed = complained.splitlines()[1:]
    assert all(line.startswith(f"  {text} ") for line, text in zip(listed, WRITTEN, strict=True))


def test_amounts_without_a_rule_are_refused(refused, trained, csv):
    assert "--amount needs a rule about costs" in refused("evaluate", trained, csv, "--amount", "amount")


def test_an_alert_is_a_written_score_that_reaches_the_threshold(run, mixed, folder):
    """Whoever compares the scores with the card's threshold, in SQL or in Python, finds the very same alerts."""
    mixed[::2].to_parquet("train.parquet", index=False)
    mixed[1::2].to_parquet("test.parquet", index=False)
    facts = json.loads(run(*train("train.parquet", "--valid", "test.parquet", "--base", "gbdt", "--json"))[1])
    for output in ("scores.parquet", "scores.csv"):
        assert run("predict", "model.skops", "test.parquet", "-o", output, "--threshold", "best", "-q") == (0, "", "")
    for written in (pd.read_parquet("scores.parquet"), pd.read_csv("scores.csv", engine="pyarrow")):
        is_alert = written["score"] >= facts["threshold"]
        assert written["alert"].tolist() == is_alert.tolist()
        assert is_alert.sum() == round(facts["recall"] * facts["n_positives"] / facts["precision"])


def test_a_row_whose_own_score_is_the_threshold_is_an_alert(trained, csv):
    model = load_model(trained)
    scores = model.predict_proba_table(csv)
    for threshold in np.unique(scores)[-12:].tolist():
        model.write_predictions(csv, "scores.parquet", threshold=threshold)
        written = pd.read_parquet("scores.parquet")
        assert written["score"].tolist() == scores.tolist()
        assert written["alert"].tolist() == (scores >= threshold).tolist()


def test_a_report_on_other_rows_is_by_the_rule(run, trained, csv, folder):
    command = ("report", trained, csv, "--rule", "cost=5", "--amount", "tx_id", "-q")
    for output in ("report.json", "report.html"):
        assert run(*command, "-o", output) == (0, "", "")
    assert json.loads((folder / "report.json").read_text())["thresholds"]["chosen"]["rule"] == "cost=5"
    assert "was chosen by cost=5 on these rows" in (folder / "report.html").read_text()


@pytest.mark.parametrize("where", [[], ["--out-of-core"]], ids=["in memory", "out of core"])
def test_the_report_of_a_training_is_by_its_rule(run, csv, folder, where):
    assert run(*train(csv, "--rule", "recall>=0.8", "--report", "report.html", "-q", *where)) == (0, "", "")
    assert "was chosen by recall&gt;=0.8 on these rows" in (folder / "report.html").read_text()


def test_a_report_refuses_a_wrong_rule_before_it_opens_the_rows(run, trained):
    code, _, complained = run("report", trained, "nowhere.csv", "--rule", "best")
    assert code == 2
    assert "is not a rule for a threshold" in complained
