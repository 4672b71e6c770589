"""The record of the training data, and what rests on it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced import SelfPacedEnsembleClassifier, open_table, save_model
from selfpaced.baselines import RUSBoostClassifier
from selfpaced.baselines.smote_bagging import SMOTEBaggingClassifier
from selfpaced.datasets import make_fraud
from selfpaced.exceptions import ModelFileError, TableError
from selfpaced.persistence.loading import load_model


def spe(**options):
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0, **options)


@pytest.fixture
def rows(tmp_path):
    X, y = make_fraud(n_rows=1000, n_frauds=60, n_features=4, random_state=0)
    rows = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        when=pd.date_range("2024-03-01", periods=1000, freq="h"), shop=np.where(X[:, 2] > 0, "web", "till"), is_fraud=y
    )
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    return rows


@pytest.mark.parametrize("model", [spe(), RUSBoostClassifier(random_state=0), SMOTEBaggingClassifier(random_state=0)])
def test_every_fit_leaves_a_record(frauds, model):
    X, y = frauds
    record = model.fit(X, np.where(y, "fraud", "ok")).trained_on_
    assert record.counts == {"fraud": 60, "ok": 2940}
    assert (record.score_label, record.score_column, model.pos_label_) == ("fraud", 0, "fraud")
    assert (record.schema, record.target, record.pos_label) == (None, None, None)


def test_a_second_fit_leaves_nothing_of_the_first(rows, frauds, tmp_path):
    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=5, verbose=-1), 2, random_state=0)
    model.fit_table(open_table(tmp_path / "rows.parquet", target="is_fraud"))
    assert model.trained_on_.target == "is_fraud"
    model.fit(*frauds)
    assert (model.trained_on_.target, model.trained_on_.schema) == (None, None)


def test_the_score_label_is_unknown_before_the_fit():
    with pytest.raises(AttributeError):
        _ = spe().pos_label_


def test_an_eval_set_is_read_as_predict_proba_reads_it(rows, tmp_path):
    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=5, verbose=-1), 2, random_state=0)
    table = open_table(tmp_path / "rows.parquet", target="is_fraud")
    X, y = rows.drop(columns="is_fraud"), rows["is_fraud"]
    model.fit_table(table, eval_set=(X, y))
    assert model.rounds_[-1].score > 0.5
    assert model.predict_proba(X).shape == (1000, 2)


class TestTheCalibrationInForce:
    @pytest.mark.parametrize("asked", [None, "prior", "sigmoid"])
    def test_it_is_that_of_the_fit(self, frauds, asked):
        assert spe(calibration=asked).fit(*frauds).calibration_ == asked

    def test_it_is_that_of_other_rows_afterwards_and_is_saved(self, frauds, tmp_path):
        model = spe(calibration="prior").fit(*frauds).calibrate(*frauds, method="beta")
        assert (model.calibration, model.calibration_) == ("prior", "beta")
        assert load_model(save_model(model, tmp_path / "model.skops")).calibration_ == "beta"

    def test_a_new_fit_takes_its_place(self, frauds):
        model = spe().fit(*frauds).calibrate(*frauds)
        assert model.calibration_ == "isotonic"
        assert model.fit(*frauds).calibration_ is None


class TestATableThatIsOpenAlready:
    @pytest.fixture
    def model(self, rows, tmp_path):
        table = open_table(tmp_path / "rows.parquet", target="is_fraud", columns=["a", "b"])
        return spe().fit_table(table)

    @pytest.fixture
    def table(self, rows, tmp_path):
        return open_table(tmp_path / "rows.parquet", columns=["a", "b"], where=[("a", ">", 0.0)])

    def test_its_columns_can_be_kept(self, model, table, rows, tmp_path):
        model.write_predictions(table, tmp_path / "scores.parquet", keep=["when", "shop"])
        scores = pd.read_parquet(tmp_path / "scores.parquet")
        assert list(scores.columns) == ["when", "shop", "score"]
        assert scores["when"].tolist() == rows.loc[rows["a"] > 0, "when"].tolist()

    def test_a_column_to_keep_that_is_missing_is_refused(self, model, table, tmp_path):
        with pytest.raises(TableError, match=r"rows\.parquet has no column 'tx'"):
            model.write_predictions(table, tmp_path / "scores.parquet", keep=["tx"])

    @pytest.mark.parametrize(
        "option", [{"where": [("b", ">", 0.0)]}, {"columns": ["a"]}, {"batch_rows": 7}, {"cache": "folder"}], ids=str
    )
    def test_what_it_has_decided_is_refused(self, model, table, tmp_path, option):
        name = next(iter(option))
        with pytest.raises(TableError, match=rf"{name}= does not apply to a table that is open already"):
            model.write_predictions(table, tmp_path / "scores.parquet", **option)
        assert not (tmp_path / "scores.parquet").exists()

    def test_another_target_is_refused(self, model, rows, tmp_path):
        table = open_table(tmp_path / "rows.parquet", target="is_fraud", columns=["a", "b"])
        with pytest.raises(TableError, match=r"opened with the target 'is_fraud', not 'shop'"):
            model.evaluate_table(table, target="shop")
        assert model.evaluate_table(table).n_positives == 60

    def test_another_label_to_find_is_refused(self, rows, tmp_path):
        rows.assign(kind=np.arange(1000) % 3).to_parquet(tmp_path / "kinds.parquet", index=False)
        tables = [
            open_table(tmp_path / "kinds.parquet", target="kind", pos_label=label, columns=["a", "b"])
            for label in (1, 2)
        ]
        model = spe().fit_table(tables[0])
        with pytest.raises(TableError, match=r"opened with pos_label=2, but the model finds 1"):
            model.evaluate_table(tables[1])
        assert model.evaluate_table(tables[0]).n_positives == 333

    def test_its_features_are_read_as_in_training(self, rows, tmp_path):
        """By itself it would be opened with the hours of its own time zone, and without the category that it lacks."""
        lgbm = LGBMClassifier(n_estimators=5, verbose=-1)
        model = SelfPacedEnsembleClassifier(lgbm, 2, random_state=0)
        model.fit_table(open_table(tmp_path / "rows.parquet", target="is_fraud", timezone="Asia/Tokyo"))
        rows[rows["shop"] == "web"].to_parquet(tmp_path / "web.parquet", index=False)
        table = open_table(tmp_path / "web.parquet", target="is_fraud")
        np.testing.assert_array_equal(
            model.predict_proba_table(table), model.predict_proba_table(tmp_path / "web.parquet")
        )


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("predict_proba_table", {}),
        ("write_predictions", {"output": "scores.parquet"}),
        ("evaluate_table", {"target": "is_fraud"}),
    ],
)
def test_a_misspelt_option_is_refused_with_the_known_ones(frauds, method, given):
    with pytest.raises(TypeError, match=r"no option 'wheer'. Its options are batch_rows, cache, .*, where"):
        getattr(spe().fit(*frauds), method)("rows.parquet", wheer=[("a", ">", 0.0)], **given)


def test_names_of_features_are_for_models_without_names(rows, tmp_path):
    table = open_table(tmp_path / "rows.parquet", target="is_fraud", columns=["a", "b"])
    with pytest.raises(TableError, match=r"columns= is for a model without feature names"):
        spe().fit_table(table).predict_proba_table(tmp_path / "rows.parquet", columns=["b", "a"])


def test_a_model_file_whose_record_is_about_other_labels_is_refused(frauds, tmp_path):
    model = spe().fit(*frauds)
    object.__setattr__(model.trained_on_, "classes", ("fraud", "ok"))
    path = save_model(model, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"its record of the training rows has others"):
        load_model(path)
