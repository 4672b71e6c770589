"""A report on rows in memory is that of the same rows in files, but for what is sampled."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.commands import report as job
from selfpaced.cli.commands.report import ReportRequest, report_of_file, report_of_training
from selfpaced.cli.commands.train import meaning, train
from selfpaced.cli.request import TrainRequest
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.report import make_report


@pytest.fixture(params=["in memory", "in files"])
def where(request, monkeypatch):
    """The rows fit in memory, or not."""
    monkeypatch.setattr(job, "fits_in_memory", lambda *_: request.param == "in memory")
    return request.param


@pytest.mark.usefixtures("where")
def test_a_report_of_training_is_about_the_rows_held_out(trained):
    facts = report_of_training(trained).facts
    assert (facts.n_rows, facts.n_cases) == (500, 20)
    assert facts.ranking.aucprc == pytest.approx(trained.evaluation.aucprc)
    assert facts.thresholds.chosen.rule == "f1"
    assert facts.data.columns[0].drift is not None


def test_a_report_of_a_file_is_about_its_rows_with_their_ids_rule_and_amounts(where, trained, payments):
    request = ReportRequest(id="amount", rule="cost=5", amount="amount")
    facts = report_of_file(trained.model, payments, request).facts
    assert (facts.n_rows, facts.n_cases, facts.case.target) == (1000, 40, "label")
    assert facts.thresholds.chosen.rule == "cost=5"
    assert facts.thresholds.chosen.by_amount
    rare = pd.read_parquet(payments).query("label == 1")
    assert {float(one.id) for one in facts.suspects.missed_cases} <= set(rare["amount"])
    shown = facts.suspects.missed_cases[0]
    assert all(shown.values)
    assert (facts.learning.scored_on == "these rows") is (where == "in memory")


def test_a_rule_that_was_not_met_in_training_is_not_asked_for_again(trained):
    request = replace(trained.request, rule="precision>=0.999", holdout=0.5)
    unmet = train(request, for_report=True)
    assert unmet.unmet.startswith("No threshold has a precision of 0.999")
    assert report_of_training(unmet).facts.thresholds.chosen.rule == "f1"


def test_a_wrong_rule_is_refused_before_a_row_is_read(trained):
    with pytest.raises(ValueError, match="needs amounts"):
        report_of_file(trained.model, "no such file", ReportRequest(rule="cost=5"))


def test_a_model_that_was_not_trained_from_a_file_needs_the_name_of_the_target(board, payments):
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(*board)
    with pytest.raises(TableError, match="The column of labels is not known"):
        report_of_file(model, payments, ReportRequest())
    with pytest.raises(TableError, match="trained on 2 features without names"):
        report_of_file(model, payments, ReportRequest("label"))


@pytest.mark.usefixtures("where")
def test_new_categories_of_a_file_are_counted_once(payments, tmp_path):
    rows = pd.read_parquet(payments).assign(shop=["web", "store"] * 500)
    rows.to_parquet(tmp_path / "rows.parquet")
    trained = train(TrainRequest(tmp_path / "rows.parquet", "label", base="tree", members=2, calibration="none"))
    rows.loc[:4, "shop"] = "kiosk"
    rows.to_parquet(tmp_path / "new.parquet")
    with pytest.warns(NewCategoryWarning, match="'shop' in 5 rows of 1,000") as caught:
        report_of_file(trained.model, tmp_path / "new.parquet", ReportRequest())
    assert len([one for one in caught if issubclass(one.category, NewCategoryWarning)]) == 1


def test_a_calibrated_model_on_rows_with_another_share_of_rare_rows_is_not_advised_to_be_calibrated():
    X, y = make_fraud(n_rows=4000, n_frauds=200, n_features=4, random_state=0)
    model = SelfPacedEnsembleClassifier(n_estimators=3, calibration="prior", random_state=0).fit(X[::2], y[::2])
    kept = (y == 0) | (np.cumsum(y) % 10 == 0)
    report = make_report(model, X[kept], y[kept])
    assert report.facts.model.calibration == "prior"
    assert "Not on these rows." in report.to_html()
    assert "calibration=&#x27;isotonic&#x27;" not in report.to_html().split("Not on these rows.")[1][:600]


def test_the_terminal_says_whether_probabilities_fit_the_held_out_rows(trained):
    fitting = replace(trained.evaluation, mean_score=trained.evaluation.n_positives / trained.evaluation.n_rows)
    said = meaning(replace(trained, evaluation=fitting))
    assert said == "Scores are calibrated (isotonic). On the held-out rows they sum to 20; 20 rows are rare."
    too_high = replace(fitting, mean_score=3 * fitting.mean_score)
    assert meaning(replace(trained, evaluation=too_high)).startswith(
        "Scores are calibrated (isotonic). On the held-out rows they sum to 60; 20 rows are rare. So they are not"
    )
