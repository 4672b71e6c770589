"""Graphs of ensembles with members of several kinds, and of blends of several ensembles."""

from copy import copy

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, Columns, base_model, catboost
from selfpaced.ensembles.auto.recipes import RECIPES, default_recipes
from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export import export_onnx

NUMBERS = Columns(None, {})
LINEAR = base_model("logistic", NUMBERS)
BOOSTER = LGBMClassifier(n_estimators=10, verbose=-1)
KINDS = [
    DecisionTreeClassifier(max_depth=4),
    BOOSTER,
    LINEAR,
    HistGradientBoostingClassifier(max_iter=5),
    ExtraTreesClassifier(5),
]
BLENDED = {"trees": KINDS[0], "boosted": BOOSTER, "linear": LINEAR}


def run(model, X, folder):
    session = onnxruntime.InferenceSession(export_onnx(model, folder / "model.onnx"))
    return session.run(["label", "probabilities"], {"X": np.asarray(X, dtype=np.float64)})


def assert_the_same(model, X, folder, expected=None, tolerance=1e-9):
    expected = model.predict_proba(X) if expected is None else expected
    labels, probabilities = run(model, X, folder)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=tolerance)
    assert labels.tolist() == model.classes_[expected.argmax(axis=1)].tolist()


def spe(base, n_estimators=5, **options):
    return SelfPacedEnsembleClassifier(base, n_estimators, random_state=0, **options)


def auto(bases, **options):
    recipes = [(name, SelfPacedEnsembleClassifier(base, 2)) for name, base in bases.items()]
    return AutoSelfPacedClassifier(recipes, random_state=0, **options)


@pytest.fixture(scope="module")
def with_missing_values(frauds):
    X, y = frauds
    return np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X), y


@pytest.fixture(scope="module")
def three_classes(frauds):
    X, y = frauds
    rng = np.random.default_rng(0)
    return X, np.where(y == 1, "fraud", np.where((X[:, 1] > 1.2) & (rng.random(len(y)) < 0.8), "odd", "ok"))


@pytest.fixture(scope="module")
def blend(with_missing_values):
    model = auto(BLENDED).fit(*with_missing_values)
    assert len(model.ensembles_) > 1
    return model


@pytest.fixture(scope="module")
def shops(frauds):
    X, y = frauds
    rng = np.random.default_rng(0)
    shop = np.array(["a", "b", "c, d", "é"])[(rng.integers(4, size=len(y)) + 2 * y) % 4]
    country = np.array(["AT", "DE", "FR"])[rng.integers(3, size=len(y))]
    frame = pd.DataFrame({"amount": X[:, 0], "shop": shop, "hour": X[:, 1], "country": country})
    for column in ("shop", "amount"):
        frame[column] = frame[column].mask(rng.random(len(y)) < 0.1)
    return frame, y


class TestMembersOfSeveralKinds:
    def test_the_graph_predicts_what_the_ensemble_predicts(self, with_missing_values, tmp_path):
        X, y = with_missing_values
        assert_the_same(spe(KINDS, 7).fit(X, y), X, tmp_path)

    def test_of_three_classes_too(self, three_classes, tmp_path):
        X, y = three_classes
        assert_the_same(spe(KINDS).fit(X, y), X, tmp_path)

    def test_one_feature_is_not_rounded_to_32_bits(self, frauds, tmp_path):
        X, y = frauds
        assert_the_same(spe([LINEAR, BOOSTER]).fit(X[:, :1], y), X[:, :1], tmp_path, tolerance=1e-12)

    def test_a_kind_that_cannot_be_exported_is_refused_wherever_it_is_in_the_list(self, frauds, tmp_path):
        model = spe([BOOSTER, KNeighborsClassifier()]).fit(*frauds)
        with pytest.raises(ModelFileError, match="KNeighborsClassifier cannot be exported"):
            export_onnx(model, tmp_path / "model.onnx")


class TestXGBoost:
    """XGBoost adds up in 32 bits."""

    def test_two_classes_with_missing_values(self, with_missing_values, tmp_path):
        X, y = with_missing_values
        model = spe(XGBClassifier(n_estimators=10, n_jobs=1)).fit(X, y)
        assert_the_same(model, X, tmp_path, tolerance=1e-6)

    def test_three_classes(self, three_classes, tmp_path):
        X, y = three_classes
        assert_the_same(spe(XGBClassifier(n_estimators=5, n_jobs=1)).fit(X, y), X, tmp_path, tolerance=1e-6)

    def test_rows_at_a_threshold_go_the_same_way(self, frauds, tmp_path):
        X, y = frauds
        X = np.round(X, 1)
        model = spe(XGBClassifier(n_estimators=10, n_jobs=1)).fit(X, y)
        assert_the_same(model, X + 0.05, tmp_path, tolerance=1e-6)

    def test_another_booster_is_refused(self, frauds, tmp_path):
        model = spe(XGBClassifier(n_estimators=3, booster="dart"), 2).fit(*frauds)
        with pytest.raises(ModelFileError, match="booster='dart'"):
            export_onnx(model, tmp_path / "model.onnx")


class TestCatBoost:
    def test_rows_at_a_border_go_the_same_way(self, frauds, tmp_path):
        X, y = frauds
        X = np.round(X, 1)
        assert_the_same(spe(catboost(NUMBERS, iterations=10)).fit(X, y), X + 0.05, tmp_path)

    def test_trees_that_are_not_symmetric_are_refused(self, frauds, tmp_path):
        model = spe(catboost(NUMBERS, iterations=3, grow_policy="Lossguide"), 2).fit(*frauds)
        with pytest.raises(ModelFileError, match="with symmetric trees on numbers"):
            export_onnx(model, tmp_path / "model.onnx")


class TestPipelines:
    def test_a_step_that_is_not_known_is_refused_with_the_steps_that_are(self, frauds, tmp_path):
        model = spe(make_pipeline(QuantileTransformer(n_quantiles=10), LogisticRegression())).fit(*frauds)
        with pytest.raises(ModelFileError, match=r"QuantileTransformer cannot be exported.*StandardScaler"):
            export_onnx(model, tmp_path / "model.onnx")

    def test_a_scaler_that_only_scales(self, frauds, tmp_path):
        X, y = frauds
        model = spe(make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=500))).fit(X, y)
        assert_the_same(model, X, tmp_path)

    @pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
    def test_columns_without_any_value_in_training_are_dropped_as_they_were(self, frauds, tmp_path):
        X, y = frauds
        X = np.column_stack([X[:, :2], np.full(len(X), np.nan), X[:, 2:]])
        base = make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=4))
        model = spe(base, 2).fit(X, y)
        assert_the_same(model, X, tmp_path)


class TestBlends:
    def test_the_graph_predicts_what_the_blend_predicts(self, blend, with_missing_values, tmp_path):
        assert_the_same(blend, with_missing_values[0], tmp_path)

    def test_scores_without_calibration_are_the_same_too(self, blend, with_missing_values, tmp_path):
        model = copy(blend)
        model = model.with_model(model.model_.recalibrated(None, None))
        assert_the_same(model, with_missing_values[0], tmp_path)

    def test_the_rare_class_may_be_the_first(self, frauds, tmp_path):
        X, y = frauds
        model = auto(BLENDED).fit(X, np.where(y, "a fraud", "ok"))
        assert len(model.ensembles_) > 1
        assert_the_same(model, X, tmp_path)

    def test_three_classes(self, three_classes, tmp_path):
        X, y = three_classes
        model = auto(BLENDED).fit(X, y)
        assert len(model.ensembles_) > 1
        assert_the_same(model, X, tmp_path)

    def test_a_recipe_that_cannot_be_exported_is_refused_by_its_name(self, frauds, tmp_path):
        model = auto({"neighbours": KNeighborsClassifier(), "trees": DecisionTreeClassifier(max_depth=4)}).fit(*frauds)
        assert "neighbours" in model.ensembles_
        with pytest.raises(ModelFileError, match=r"The recipe 'neighbours' cannot be exported.*recipes=\[\.\.\.\]"):
            export_onnx(model, tmp_path / "model.onnx")


class TestCategories:
    """In the graph a column of categories is a column of their numbers."""

    def numbers(self, model, frame):
        categories = {column.name: column.categories for column in model.trained_on_.schema.columns}
        as_numbers = {
            name: frame[name]
            if categories[name] is None
            else frame[name].map(dict(zip(categories[name], range(99), strict=False))).astype(float)
            for name in frame.columns
        }
        return pd.DataFrame(as_numbers)

    @pytest.mark.parametrize("base", ["lightgbm", "logistic", "extra_trees", "catboost"])
    def test_the_base_models_of_recipes_read_them_as_before(self, shops, base, tmp_path):
        frame, y = shops
        columns = Columns(list(frame.columns), {"shop": 4, "country": 3})
        base = base_model(base, columns)
        small = {name: 5 for name in base.get_params() if name.endswith(("n_estimators", "iterations"))}
        model = auto({"only": base.set_params(**small)}).fit(frame, y)
        assert_the_same(model, self.numbers(model, frame), tmp_path, model.predict_proba(frame))

    def test_an_encoder_of_categories_that_were_not_kept_is_refused_by_the_column(self, shops, tmp_path):
        frame, y = shops
        base = base_model("extra_trees", Columns(list(frame.columns), {"shop": 4, "country": 3}))
        model = spe(base, n_estimators=1).fit(frame, y)
        with pytest.raises(ModelFileError, match="column 'shop', whose categories the model has not stored"):
            export_onnx(model, tmp_path / "model.onnx")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RECIPES)
def test_the_default_recipes_can_all_be_exported(name, with_missing_values, tmp_path):
    X, y = with_missing_values
    recipe = default_recipes(NUMBERS)[name]
    model = recipe.set_params(n_estimators=1, random_state=0).fit(X, y)
    assert_the_same(model, X, tmp_path)
