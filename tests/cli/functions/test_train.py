"""Training from a file: who is trained on, who is judged by, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import splitting
from selfpaced.cli.commands import train as command
from selfpaced.cli.commands.report import report_of_training
from selfpaced.cli.commands.train import check_enough, chosen, open_data, train
from selfpaced.cli.opening import open_source
from selfpaced.cli.request import TrainRequest
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc
from selfpaced.model import Model
from selfpaced.tables import Schema, encode_labels
from selfpaced.thresholds import parse_rule


def labels_of(*counts):
    return encode_labels(np.repeat(np.arange(len(counts)), counts))


def test_scores_and_labels_are_those_of_the_rows_held_out(trained, payments):
    frame = pd.read_parquet(payments)
    assert (trained.facts.n_train, trained.data.test.n_rows) == (500, 500)
    assert trained.is_rare.sum() == 20
    assert trained.scores.size == 500
    assert trained.evaluation.aucprc == pytest.approx(aucprc(trained.is_rare, trained.scores))
    assert trained.evaluation.threshold == trained.choice.threshold
    assert trained.facts.counts == {0: 960, 1: 40}
    assert trained.model.pos_label_ == 1
    assert 0 < trained.seconds < 600
    assert trained.choice is not None
    held_out = np.asarray(trained.data.test.column("a"))
    data = open_data(trained.request)
    assert np.asarray(data.test.column("a")).tolist() == held_out.tolist()
    assert sorted([*held_out, *data.train.features()["a"]]) == sorted(frame["a"])


def test_training_rows_are_not_kept_but_a_sample_for_the_report(trained):
    assert trained.data.train is None
    assert trained.train_sample.shape == (500, 5)


def test_the_rows_of_a_table_in_memory_are_given_to_both_sides(payments):
    source = open_source(TrainRequest(payments, "label"))
    (file,) = source.table.reader.files
    data = splitting.split_for(TrainRequest(payments, "label"), source)
    assert file.n_rows == 0
    assert data.train.is_converted
    assert (data.train.n_rows, data.test.n_rows, data.facts.n_rows) == (800, 200, 1000)


def test_rows_are_converted_by_the_schema_once_however_many_passes_a_fit_makes(payments, monkeypatch):
    converted, convert = [], Schema.converted
    monkeypatch.setattr(
        Schema, "converted", lambda schema, batch, where: converted.append(len(batch)) or convert(schema, batch, where)
    )
    train(TrainRequest(payments, "label", base="tree", members=8, calibration="none"))
    # Once for training, and the held-out rows for their scores.
    assert sum(converted) == 800 + 200


def test_held_out_rows_are_scored_and_their_thresholds_swept_once_also_with_a_report(payments, monkeypatch):
    scored, swept = [], []
    staged, sweep = Model.staged, command.thresholds.sweep_of
    monkeypatch.setattr(Model, "staged", lambda model, X, n_jobs: scored.append(len(X)) or staged(model, X, n_jobs))
    monkeypatch.setattr(command.thresholds, "sweep_of", lambda *given: swept.append(1) or sweep(*given))
    monkeypatch.setattr("selfpaced.report.building.choice_from", None)
    monkeypatch.setattr("selfpaced.report.building.sweep_of", None)
    found = train(TrainRequest(payments, "label", base="tree", members=3), for_report=True)
    facts = report_of_training(found).facts
    assert (sum(scored), sum(swept)) == (200, 1)
    assert facts.thresholds.chosen.rule == "f1"
    assert len(found.stage_scores) == 3
    assert found.stage_scores[-1] == found.evaluation.aucprc


def test_the_rows_held_out_are_judged_at_the_threshold_of_the_rule(payments):
    found = train(TrainRequest(payments, "label", base="tree", members=2, holdout=0.5, rule="recall>=0.95"))
    assert found.evaluation.threshold == found.choice.threshold
    assert found.evaluation.recall >= 0.95


def test_a_column_that_names_the_rows_is_not_a_feature(payments):
    assert open_source(TrainRequest(payments, "label", id="a")).table.schema.names == ["b", "c", "d", "amount"]


def test_forty_rare_rows_are_not_few_and_fewer_than_twenty_are(trained):
    assert not trained.facts.few_cases
    for count, are_few in ((20, False), (19, True)):
        assert replace(trained.facts, labels=labels_of(500, count)).few_cases is are_few


@pytest.mark.parametrize(("n_rare", "method"), [(25, "isotonic"), (24, None)])
def test_with_fewer_than_twenty_rare_rows_to_train_on_there_is_no_calibration(tmp_path, n_rare, method):
    """A fifth is held out: 20 of 25 are left, and 19 of 24."""
    rng = np.random.default_rng(0)
    y = np.arange(300) < n_rare
    pd.DataFrame({"a": rng.normal(size=300) + y, "b": rng.normal(size=300), "label": y}).to_parquet(
        tmp_path / "rows.parquet"
    )
    found = train(TrainRequest(tmp_path / "rows.parquet", "label", base="tree", members=2))
    assert found.model.calibration_ == method


def test_a_calibration_that_is_not_wanted_is_left_out(payments):
    found = train(TrainRequest(payments, "label", base="tree", members=2, calibration="none"))
    assert found.model.calibrator_ is None


def test_three_rows_of_a_class_are_enough_and_two_are_not():
    check_enough(labels_of(50, 3), "kind")
    with pytest.raises(TableError, match=r"The class 1 of column 'kind' has 2 row\(s\); at least 3 are needed, two"):
        check_enough(labels_of(50, 2), "kind")


def test_with_several_classes_the_way_out_is_named():
    with pytest.raises(TableError, match="Or name the label to find among all others: --pos-label LABEL"):
        check_enough(labels_of(50, 20, 2), "kind")
    with pytest.raises(TableError) as refused:
        check_enough(labels_of(50, 2), "kind")
    assert "--pos-label" not in str(refused.value)


def test_a_single_class_is_refused_for_what_it_is():
    with pytest.raises(ValueError, match="Column 'kind'"):
        check_enough(labels_of(2), "kind")


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5])
def test_a_share_to_hold_out_lies_between_0_and_1(payments, share):
    request = TrainRequest(payments, "label", holdout=share)
    with pytest.raises(TableError, match="--holdout must be between 0 and 1"):
        open_data(request)


def test_a_file_to_judge_by_leaves_all_rows_to_train_on(payments, tmp_path):
    other = tmp_path / "other.parquet"
    pd.read_parquet(payments)[:100].to_parquet(other)
    request = TrainRequest(payments, "label", valid=other)
    data = open_data(request)
    assert (data.train.n_rows, data.test.n_rows) == (1000, 100)


def test_the_file_to_train_on_is_not_one_to_judge_by(payments):
    request = TrainRequest(payments, "label", valid=str(payments.parent / "." / payments.name))
    with pytest.raises(TableError, match="is the file that is trained on"):
        open_data(request)


def test_a_list_of_files_is_no_single_file(payments):
    assert not splitting._same_file([payments], payments)
    assert splitting._same_file(str(payments), payments)


def test_a_rule_that_cannot_be_met_costs_no_model():
    y, scores = np.arange(100) % 2 == 0, np.linspace(0, 1, 100)
    _, choice, unmet = chosen(y, scores, parse_rule("precision>=0.99"), None)
    assert str(choice.rule) == "f1"
    assert unmet.startswith("No threshold has a precision of 0.99")
    _, choice, unmet = chosen(y, scores, parse_rule("recall>=0.9"), None)
    assert (str(choice.rule), unmet) == ("recall>=0.9", None)


def test_where_all_scores_are_alike_there_is_no_threshold():
    _, choice, unmet = chosen(np.arange(10) < 3, np.full(10, 0.5), parse_rule("f1"), None)
    assert choice is None
    assert "no threshold can separate rows" in unmet


def test_leaks_are_looked_for_in_all_rare_rows_and_as_many_others_as_asked_for(trained):
    data = open_data(trained.request)
    for n_others, found in ((20_000, 480), (120, pytest.approx(120, abs=30))):  # more than three standard deviations
        frame, is_rare = data.rare_and_others(trained.model, n_others, seed=0)
        assert (len(frame), is_rare.sum()) == (is_rare.size, 20)
        assert (~is_rare).sum() == found
