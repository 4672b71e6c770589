"""One model of any kind: adopted after it was trained elsewhere, or trained on all rows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from selfpaced import (
    CostDecisionClassifier,
    RollingTimeSplit,
    SingleModelClassifier,
    adopt,
    backtest,
    choose_threshold,
    load_model,
    open_table,
    save_model,
)
from selfpaced.ensembles.single import AsPredicted
from selfpaced.exceptions import ModelFileError
from selfpaced.metrics import aucprc
from selfpaced.monitoring import make_reference, measure_drift
from selfpaced.onnx_export import export_onnx
from selfpaced.predicting import score_arrow

N_TRAIN = 400


def lightgbm(**parameters):
    package = pytest.importorskip("lightgbm")
    return package.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1, **parameters)


def xgboost(**parameters):
    package = pytest.importorskip("xgboost")
    return package.XGBClassifier(n_estimators=5, n_jobs=1, **parameters)


def catboost(**parameters):
    package = pytest.importorskip("catboost")
    return package.CatBoostClassifier(iterations=5, verbose=0, thread_count=1, allow_writing_files=False, **parameters)


def pipeline():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["shop"]), (StandardScaler(), ["amount", "age"])
    )
    return make_pipeline(columns, LogisticRegression())


@pytest.fixture(scope="module")
def payments():
    """Payments with a category, and which of them are frauds."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"amount": rng.lognormal(size=800), "age": rng.integers(0, 99, 800).astype(float)})
    rows["shop"] = pd.Categorical(rng.choice(["web", "till", "phone"], 800))
    is_fraud = rng.random(800) < 1 / (1 + np.exp(4 - rows["amount"] - 1.5 * (rows["shop"] == "web")))
    return rows, is_fraud.to_numpy()


NUMBERS = ["amount", "age"]
# A classifier, the columns that it reads, and the labels of common and rare rows.
KINDS = {
    "LightGBM": (lightgbm, [*NUMBERS, "shop"], ["ok", "fraud"]),
    "XGBoost": (xgboost, NUMBERS, [0, 1]),
    "CatBoost": (lambda: catboost(cat_features=["shop"]), [*NUMBERS, "shop"], ["ok", "fraud"]),
    "forest": (lambda: RandomForestClassifier(10, random_state=0), NUMBERS, [7, 3]),
    "pipeline": (pipeline, [*NUMBERS, "shop"], ["ok", "fraud"]),
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request, payments):
    """A model that was trained elsewhere, and held-out rows with labels."""
    make, columns, labels = KINDS[request.param]
    X, y = payments[0][columns], np.array(labels)[payments[1].astype(int)]
    return make().fit(X[:N_TRAIN], y[:N_TRAIN]), X[N_TRAIN:], y[N_TRAIN:]


def forest_of(payments, labels=("fraud", "ok")):
    X, is_fraud = payments
    X, y = X[NUMBERS], np.where(is_fraud, *labels)
    return RandomForestClassifier(5, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN]), X[N_TRAIN:], y[N_TRAIN:]


class TestTheSameFigures:
    def test_probabilities_are_those_of_the_model_bit_for_bit(self, kind):
        fitted, X, y = kind
        model = adopt(fitted, X, y)
        # The trees of some kinds are read at the second call.
        for _ in range(2):
            np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X), np.ravel(fitted.predict(X)))

    def test_aucprc_is_that_of_scikit_learn(self, kind):
        fitted, X, y = kind
        model = adopt(fitted, X, y)
        rare, column = y == model.pos_label_, model.trained_on_.score_column
        own = average_precision_score(rare, fitted.predict_proba(X)[:, column])
        assert aucprc(rare, model.predict_proba(X)[:, column]) == pytest.approx(own, rel=1e-12)

    def test_a_saved_model_is_the_same(self, kind, tmp_path):
        fitted, X, y = kind
        loaded = load_model(save_model(adopt(fitted, X, y), tmp_path / "model.skops"))
        np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))

    def test_single_rows_are_the_same(self, kind):
        fitted, X, y = kind
        score = adopt(fitted, X, y).row_scorer()
        for number in range(3):
            own = fitted.predict_proba(X.iloc[[number]])[0]
            np.testing.assert_array_equal(score.predict_proba(X.iloc[number].to_dict()), own)

    def test_rows_of_a_file_are_the_same(self, kind, tmp_path):
        fitted, X, y = kind
        X.to_csv(tmp_path / "rows.csv", index=False)
        model = adopt(fitted, X, y)
        own = fitted.predict_proba(X)[:, model.trained_on_.score_column]
        np.testing.assert_array_equal(model.predict_proba_table(tmp_path / "rows.csv"), own)


class TestEverythingElse:
    def test_report_threshold_drift_and_costs_take_an_adopted_model(self, payments):
        model = adopt(*forest_of(payments))
        _, X, y = forest_of(payments)
        assert model.report(X, y).facts.model.training_rows == {}  # they are not known
        scores = model.predict_proba(X)[:, 0]
        assert choose_threshold(y, scores, "recall>=0.5", pos_label="fraud").threshold > 0
        assert measure_drift(make_reference(X, scores), X)[0].psi == 0
        decides = CostDecisionClassifier(FrozenEstimator(model.recalibrated(X, y)), missed=9).fit(X, y)
        assert set(decides.predict(X)) == {"fraud", "ok"}

    def test_three_classes(self, tmp_path):
        X, y = make_classification(600, n_classes=3, n_informative=4, weights=[0.7, 0.2], random_state=0)
        labels = np.array(["c", "a", "b"])[y]
        fitted = lightgbm().fit(X[:300], labels[:300])
        model = load_model(save_model(adopt(fitted, X[300:], labels[300:]), tmp_path / "model.skops"))
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.pos_label_ == "b"
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))

    def test_a_calibration_is_by_the_given_rows(self, payments):
        fitted, X, y = forest_of(payments)
        plain, model = adopt(fitted, X, y), adopt(fitted, X, y, calibration="isotonic")
        by_hand = plain.recalibrated(X, y, "isotonic")
        np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(X))
        assert model.calibration_ == "isotonic"

    def test_counts_are_those_of_the_given_rows_unless_they_are_stated(self, payments):
        fitted, X, y = forest_of(payments)
        assert adopt(fitted, X, y).trained_on_.counts == {"fraud": (y == "fraud").sum(), "ok": (y == "ok").sum()}
        stated = adopt(fitted, X, y, class_counts={"ok": 3, "fraud": 5000})
        assert stated.class_counts_.tolist() == [5000, 3]
        assert stated.pos_label_ == "ok"

    def test_the_labels_of_a_model_of_class_numbers_are_named(self, payments):
        X, y = payments[0][NUMBERS], np.where(payments[1], "fraud", "ok")
        encoder = LabelEncoder()
        fitted = xgboost().fit(X, encoder.fit_transform(y))
        model = adopt(fitted, X, y, classes=encoder.classes_)
        assert model.pos_label_ == "fraud"
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))

    def test_columns_in_another_order_than_that_of_the_labels_are_sorted(self, payments, tmp_path):
        X, y = payments[0][NUMBERS], np.where(payments[1], "fraud", "ok")
        fitted = catboost(class_names=["ok", "fraud"]).fit(X, y)
        model = load_model(save_model(adopt(fitted, X, y), tmp_path / "model.skops"))
        assert model.classes_.tolist() == ["fraud", "ok"]
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X)[:, ::-1])

    def test_a_model_whose_trees_are_not_all_that_it_predicts_by_is_asked_itself(self, payments):
        X, y = payments[0][NUMBERS], payments[1]
        fitted = lightgbm(pred_early_stop=True, pred_early_stop_freq=1, pred_early_stop_margin=0.1).fit(X, y)
        model = adopt(fitted, X, y)
        assert isinstance(model.estimators_[0], AsPredicted)
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))

    def test_graphs_are_written_for_kinds_that_are_supported_and_refused_for_others(self, payments, tmp_path):
        pytest.importorskip("onnx")
        runtime = pytest.importorskip("onnxruntime")
        fitted, X, y = forest_of(payments)
        path = export_onnx(adopt(fitted, X, y), tmp_path / "model.onnx")
        _, given = runtime.InferenceSession(path).run(None, {"X": X.to_numpy()})
        np.testing.assert_allclose(given, fitted.predict_proba(X), atol=1e-9)
        unsorted = catboost(class_names=["ok", "fraud"]).fit(X, y)
        with pytest.raises(ModelFileError, match="type AsPredicted cannot be exported"):
            export_onnx(adopt(unsorted, X, y), tmp_path / "model.onnx")


class Blind(LogisticRegression):
    """A classifier of the user's own."""


class TestRefused:
    def test_a_model_that_is_not_fitted(self, payments):
        _, X, y = forest_of(payments)
        with pytest.raises(ValueError, match=r"This RandomForestClassifier is not fitted\. Fit it first"):
            adopt(RandomForestClassifier(), X, y)

    def test_a_model_without_probabilities(self, payments):
        _, X, y = forest_of(payments)
        with pytest.raises(ValueError, match="SVC has no predict_proba"):
            adopt(SVC().fit(X, y), X, y)

    def test_what_is_not_a_classifier(self, payments):
        _, X, y = forest_of(payments)
        with pytest.raises(ValueError, match=r"adopt needs a fitted classifier .* such as LGBMClassifier"):
            adopt(RandomForestClassifier, X, y)

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (("theft", "ok"), r"labels in y are \['ok', 'theft'\], but the classes of the RandomForestClassifier are"),
            ((1, 0), r"trained on encoded labels, name them: classes="),
        ],
    )
    def test_other_classes(self, payments, labels, message):
        fitted, X, _ = forest_of(payments)
        with pytest.raises(ValueError, match=message):
            adopt(fitted, X, np.where(payments[1], *labels)[N_TRAIN:])

    def test_another_number_of_class_names(self, payments):
        with pytest.raises(ValueError, match="classes has 3 labels"):
            adopt(*forest_of(payments), classes=["fraud", "ok", "other"])

    def test_its_own_labels_in_another_order(self, payments):
        fitted, X, y = forest_of(payments)
        with pytest.raises(ValueError, match=r"have the labels \['fraud', 'ok'\].* in another order.*Omit classes"):
            adopt(fitted, X, y, classes=["ok", "fraud"])

    def test_labels_of_class_numbers_in_another_order_are_warned_of(self, payments):
        X, y = payments[0][NUMBERS], np.where(payments[1], "fraud", "ok")
        fitted = xgboost().fit(X, LabelEncoder().fit_transform(y))
        with pytest.warns(
            UserWarning, match=r"mean probability of 'fraud' is 0\.\d+ in its own rows and 0\.\d+ in all"
        ):
            adopt(fitted, X, y, classes=["ok", "fraud"])

    def test_stated_counts_of_other_labels(self, payments):
        with pytest.raises(ValueError, match=r"class_counts has the labels \['fraud'\]"):
            adopt(*forest_of(payments), class_counts={"fraud": 3})

    def test_another_number_of_features(self, payments):
        fitted, X, y = forest_of(payments)
        with pytest.raises(ValueError, match="was trained on 2 features, but X has 1"):
            adopt(fitted, X[["age"]], y)

    def test_other_names(self, kind):
        fitted, X, y = kind
        with pytest.raises(ValueError, match=r"X has the columns \['total', .* was trained on \['amount', "):
            adopt(fitted, X.rename(columns={"amount": "total"}), y)

    def test_names_in_another_order(self, payments):
        fitted, X, y = forest_of(payments)
        with pytest.raises(ValueError, match="Give X these columns, in this order"):
            adopt(fitted, X[["age", "amount"]], y)

    def test_an_array_for_a_model_with_names(self, payments):
        fitted, X, y = forest_of(payments)
        with pytest.raises(ValueError, match="Give X as a frame with these columns"):
            adopt(fitted, X.to_numpy(), y)

    def test_a_frame_for_a_model_without_names(self, payments):
        fitted, X, y = forest_of(payments)
        nameless = clone(fitted).fit(X.to_numpy(), y)
        with pytest.raises(ValueError, match=r"Give X as an array: X\.to_numpy"):
            adopt(nameless, X, y)

    @pytest.mark.parametrize("calibration", ["prior", "platt"])
    def test_a_calibration_that_one_model_does_not_have(self, payments, calibration):
        fitted, X, y = forest_of(payments)
        with pytest.raises(ValueError, match="calibration must be None or one of"):
            adopt(fitted, X, y, calibration=calibration)
        with pytest.raises(ValueError, match="calibration must be None or one of"):
            SingleModelClassifier(fitted, calibration=calibration).fit(X, y)

    def test_a_class_of_the_user_in_a_file(self, payments, tmp_path):
        _, X, y = forest_of(payments)
        with pytest.raises(ValueError, match=r"Blind, which is not on the list of trusted types"):
            save_model(adopt(Blind().fit(X, y), X, y), tmp_path / "model.skops")


class TestTrainedHere:
    def test_a_fit_is_that_of_the_classifier_itself(self, payments):
        X, y = payments
        model = SingleModelClassifier(pipeline()).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), pipeline().fit(X, y).predict_proba(X))
        assert model.n_training_rows_ == [800]

    def test_a_fit_on_a_file_is_that_on_the_same_rows(self, payments, tmp_path):
        X, y = payments
        X.assign(label=y).to_parquet(tmp_path / "rows.parquet")
        table = open_table(tmp_path / "rows.parquet", target="label")
        model = SingleModelClassifier(lightgbm()).fit_table(table)
        np.testing.assert_array_equal(model.predict_proba(X), lightgbm().fit(X, y).predict_proba(X))

    def test_weights_reach_the_last_step_of_a_pipeline(self, payments):
        X, y = payments
        weights = np.where(y, 5.0, 1.0)
        own = pipeline().fit(X, y, logisticregression__sample_weight=weights)
        model = SingleModelClassifier(pipeline()).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))

    def test_a_calibration_is_by_copies_that_have_not_seen_the_rows(self, payments):
        X, y = payments[0][NUMBERS], payments[1]
        forest = RandomForestClassifier(10, random_state=0)
        model = SingleModelClassifier(forest, calibration="isotonic", random_state=0).fit(X, y)
        # A forest is nearly sure of the rows that it has seen. Calibrated by them it would be overconfident.
        rare = model.predict_proba(X)[y, 1].mean()
        assert rare < 0.65 < 0.75 < forest.fit(X, y).predict_proba(X)[y, 1].mean()

    def test_groups_are_kept_together_by_the_calibration(self, payments):
        X, y = payments[0][NUMBERS], payments[1]
        groups = np.arange(800) // 4
        model = SingleModelClassifier(pipeline()[-1:], calibration="sigmoid", random_state=0).fit(X, y, groups=groups)
        assert model.trained_on_.group == "groups"

    def test_categories_of_catboost_are_cloned(self, payments):
        X, y = payments
        model = clone(SingleModelClassifier(catboost(cat_features=["shop"]))).fit(X, y)
        np.testing.assert_array_equal(
            model.predict_proba(X), catboost(cat_features=["shop"]).fit(X, y.astype(int)).predict_proba(X)
        )

    def test_a_backtest_trains_clones(self, payments):
        X, y = payments
        days = np.arange(800) / 100
        adopted = adopt(pipeline().fit(X, y), X, y)
        found = backtest(
            {"mine": SingleModelClassifier(pipeline()), "adopted": adopted}, X, y, RollingTimeSplit(days, every=2)
        )
        mine, other = (found[found["model"] == name]["aucprc"].tolist() for name in ("mine", "adopted"))
        assert len(set(mine)) > 1
        assert mine == other

    def test_a_model_that_is_not_fitted_does_not_predict(self, payments):
        with pytest.raises(NotFittedError):
            SingleModelClassifier().predict_proba(payments[0])

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore")
    def test_every_check_of_scikit_learn_passes(self):
        results = check_estimator(SingleModelClassifier(RandomForestClassifier(5)), on_fail=None)
        assert {one["check_name"]: one["exception"] for one in results if one["status"] != "passed"} == {}


def test_an_adopted_model_with_categories_scores_arrow_tables_of_strings():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400)
    frame = pd.DataFrame(
        {"amount": random.normal(size=400) + y, "country": pd.Categorical(random.choice(list("xyz"), 400))}
    )
    fitted = LGBMClassifier(n_estimators=5, verbose=-1).fit(frame, y)
    model = adopt(fitted, frame, y)
    table = pa.table({"country": frame["country"].astype(str), "amount": frame["amount"]})
    ((_, found),) = score_arrow(model.model_, table, "the table")
    assert (found == fitted.predict_proba(frame)).all()
