import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from selfpaced import explaining as trees
from selfpaced import explaining as values
from selfpaced.baselines import EasyEnsembleClassifier, RUSBoostClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.explaining import as_seen_in_32_bits, shap_values

pd = pytest.importorskip("pandas")

N_EXPLAINED = 60
NAMES = ["amount", "hour", "noise", "age"]


def lightgbm(**parameters):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=10, verbose=-1, **parameters)


def xgboost(**parameters):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=10, **parameters)


TREES = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5),
    "extra tree": ExtraTreeClassifier,
    "forest": lambda: RandomForestClassifier(5, max_depth=5),
    "extra trees": lambda: ExtraTreesClassifier(5, max_depth=5),
}
BOOSTED = {
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=10),
    "GradientBoosting": lambda: GradientBoostingClassifier(n_estimators=10),
}
# What is not made of trees, or not for SHAP.
OTHERS = [
    KNeighborsClassifier(),
    MLPClassifier((2,), max_iter=1000, solver="lbfgs"),
    make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)),
]


@pytest.fixture(scope="module")
def rows():
    """Rare rows are large in `amount` and, less so, in `hour`; the other two say nothing."""
    rng = np.random.default_rng(0)
    y = (np.arange(3000) % 10 == 0).astype(int)
    X = rng.normal(size=(3000, 4))
    X[:, 0] += 3 * y
    X[:, 1] += 1.5 * y
    return X, y


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs([40, 1000, 300], centers=[[0, 0], [2, 2], [0, 3]], random_state=0)
    return X, np.array(["worm", "ok", "scan"])[y]


def spe(base=None):
    return SelfPacedEnsembleClassifier(TREES["tree"]() if base is None else base, 4, random_state=0)


def blend(base=None):
    recipes = {"trees": spe(base), "others": spe(TREES["forest"]() if base is None else base).set_params(ratio=3)}
    return AutoSelfPacedClassifier(list(recipes.items()), random_state=0)


def added_up(explanation):
    return explanation.base_values + explanation.values.sum(axis=1)


class TestAddingUp:
    @pytest.mark.parametrize("kind", TREES)
    def test_values_of_trees_add_up_to_the_probability_of_the_rare_class(self, rows, kind):
        X, y = rows
        model = spe(TREES[kind]()).fit(X, y)
        expected = model.predict_proba(X[:N_EXPLAINED])[:, 1]
        np.testing.assert_allclose(added_up(shap_values(model, X[:N_EXPLAINED])), expected, atol=1e-6)

    @pytest.mark.parametrize("kind", TREES | BOOSTED)
    def test_values_against_a_background_add_up_too(self, rows, kind):
        X, y = rows
        model = spe((TREES | BOOSTED)[kind]()).fit(X, y)
        explanation = shap_values(model, X[:N_EXPLAINED], background=X[-100:])
        expected = model.predict_proba(X[:N_EXPLAINED])[:, 1]
        np.testing.assert_allclose(added_up(explanation), expected, atol=1e-6)

    def test_the_base_value_is_the_mean_score_of_the_whole_background(self, rows):
        X, y = rows
        model = spe(lightgbm()).fit(X, y)
        explanation = shap_values(model, X[:5], background=X[:250])
        np.testing.assert_allclose(explanation.base_values, model.predict_proba(X[:250])[:, 1].mean(), atol=1e-6)

    @pytest.mark.parametrize("kind", ["tree", "LightGBM"])
    def test_the_rare_class_may_be_the_first_of_the_labels(self, rows, kind):
        X, y = rows
        model = spe((TREES | BOOSTED)[kind]()).fit(X, np.where(y, "a fraud", "ok"))
        explanation = shap_values(model, X[:N_EXPLAINED], background=X[-50:])
        expected = model.predict_proba(X[:N_EXPLAINED])[:, 0]
        np.testing.assert_allclose(added_up(explanation), expected, atol=1e-6)

    def test_members_of_boosting_count_by_their_weights(self, rows):
        X, y = rows
        model = RUSBoostClassifier(TREES["tree"](), 4, random_state=0).fit(X, y)
        assert np.ptp(model.estimator_weights_) > 0
        expected = model.predict_proba(X[:N_EXPLAINED])[:, 1]
        np.testing.assert_allclose(added_up(shap_values(model, X[:N_EXPLAINED])), expected, atol=1e-6)

    def test_missing_values_go_where_the_members_send_them(self, rows):
        X, y = rows
        holed = np.where(np.random.default_rng(1).uniform(size=X.shape) < 0.2, np.nan, X)
        model = spe().fit(holed, y)
        expected = model.predict_proba(holed[:N_EXPLAINED])[:, 1]
        np.testing.assert_allclose(added_up(shap_values(model, holed[:N_EXPLAINED])), expected, atol=1e-6)

    def test_several_classes_have_a_slice_each(self, blobs):
        X, y = blobs
        model = spe().fit(X, y)
        explanation = shap_values(model, X)
        assert explanation.shape == (1340, 2, 3)
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(X), atol=1e-6)
        worm = model.predict_proba(X)[:, model.classes_.tolist().index("worm")]
        np.testing.assert_allclose(added_up(explanation[:, :, "worm"]), worm, atol=1e-6)

    def test_values_that_do_not_add_up_are_refused(self, rows, monkeypatch):
        X, y = rows
        model = spe().fit(X, y)
        whole = trees._of_member
        monkeypatch.setattr(trees, "_of_member", lambda *given: tuple(0.99 * part for part in whole(*given)))
        with pytest.raises(ValueError, match=r"they differ by up to 0\.01.*permutation_importance"):
            shap_values(model, X[:5])


class TestMembersOfSeveralKinds:
    def test_values_of_trees_and_boosted_trees_add_up(self, rows):
        X, y = rows
        model = spe([TREES["tree"](), lightgbm(), TREES["extra trees"]()]).fit(X, y)
        explanation = shap_values(model, X[:N_EXPLAINED], background=X[-50:])
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(X[:N_EXPLAINED])[:, 1], atol=1e-6)

    def test_a_boosted_member_asks_for_a_background_wherever_it_is_in_the_list(self, rows):
        model = spe([TREES["tree"](), lightgbm()]).fit(*rows)
        with pytest.raises(ValueError, match=r"trees of LGBMClassifier add up to log-odds"):
            shap_values(model, rows[0][:5])

    def test_one_that_is_no_tree_is_found_wherever_it_is_in_the_list(self, rows):
        model = spe([TREES["tree"](), KNeighborsClassifier()]).fit(*rows)
        with pytest.raises(ValueError, match=r"with members DecisionTreeClassifier, KNeighborsClassifier, which SHAP"):
            shap_values(model, rows[0][:5])


@pytest.mark.slow  # SHAP compiles its permutations at the first call, which takes 8 s
class TestPermutations:
    """What SHAP cannot take apart by trees."""

    @pytest.mark.parametrize("base", OTHERS[1:], ids=lambda base: type(base).__name__)
    def test_values_of_members_of_any_kind_add_up(self, rows, base):
        X, y = rows
        model = spe(base).fit(X, y)
        explanation = shap_values(model, X[:4], background=X[-8:])
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(X[:4])[:, 1], atol=1e-12)
        np.testing.assert_allclose(explanation.base_values, model.predict_proba(X[-8:])[:, 1].mean())

    def test_values_of_boosted_members_of_several_classes_add_up(self, blobs):
        X, y = blobs
        model = spe(lightgbm()).fit(X, y)
        explanation = shap_values(model, X[:4], background=X[-8:])
        assert explanation.shape == (4, 2, 3)
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(X[:4]), atol=1e-12)

    def test_values_of_a_blend_add_up_to_the_score_before_its_calibration(self, rows):
        X, y = rows
        model = blend().fit(X, y)
        assert len(model.ensembles_) == 2
        explanation = shap_values(model, X[:4], background=X[-8:])
        model = model.with_model(model.model_.recalibrated(None, None))
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(X[:4])[:, 1], atol=1e-12)
        assert np.abs(explanation.values).mean(axis=0).argmax() == 0

    def test_they_agree_with_the_values_of_trees(self, rows, monkeypatch):
        X, y = rows
        model = spe().fit(X, y)
        by_trees = shap_values(model, X[:4], background=X[-8:])
        monkeypatch.setattr(values, "adds_up_trees", lambda model: False)
        by_permutations = shap_values(model, X[:4], background=X[-8:])
        np.testing.assert_allclose(by_permutations.values, by_trees.values, atol=0.02)
        np.testing.assert_allclose(by_permutations.base_values, by_trees.base_values, atol=1e-6)

    def test_the_same_rows_have_the_same_values_again(self, rows):
        X, y = rows
        model = spe(OTHERS[1]).fit(X, y)
        one, other = (shap_values(model, X[:2], background=X[-8:]).values for _ in range(2))
        np.testing.assert_array_equal(one, other)

    def test_categories_and_missing_values_are_features_as_others(self, rows):
        X, y = rows
        country = np.where(y == 1, "AT", np.where(X[:, 2] > 0, "DE", "FR"))
        frame = pd.DataFrame(X, columns=NAMES).assign(country=country)
        frame.loc[::7, ["country", "amount"]] = None
        model = blend(lightgbm(min_child_samples=5, min_data_per_group=5)).fit(frame, y)
        explanation = shap_values(model, frame[y == 1][:3], background=frame[-8:])
        model = model.with_model(model.model_.recalibrated(None, None))
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(frame[y == 1][:3])[:, 1], atol=1e-12)
        assert explanation.feature_names == [*NAMES, "country"]
        assert explanation[:, "country"].values[1] > 0


class TestRowsAtThresholds:
    def test_training_rows_of_histograms_add_up(self, rows):
        X, y = rows
        model = spe(HistGradientBoostingClassifier(max_iter=10)).fit(X, y)
        frauds = X[y == 1]  # every member has seen them: some are its thresholds
        explanation = shap_values(model, frauds, background=frauds[:100])
        np.testing.assert_allclose(added_up(explanation), model.predict_proba(frauds)[:, 1], atol=1e-6)

    def test_rows_stay_on_their_sides_of_rounded_thresholds(self):
        rng = np.random.default_rng(0)
        thresholds = np.sort(rng.normal(size=50))
        neighbours = [np.nextafter(thresholds, to) for to in (-np.inf, np.inf)]
        column = np.concatenate([thresholds, *neighbours, rng.normal(size=50)])
        moved = as_seen_in_32_bits(column[:, np.newaxis], {0: thresholds})
        before = column[:, np.newaxis] <= thresholds
        np.testing.assert_array_equal(moved <= thresholds.astype(np.float32), before)
        np.testing.assert_allclose(moved[:, 0], column, rtol=1e-6)

    def test_missing_values_and_other_columns_are_left_alone(self):
        rows = np.array([[np.nan, 0.3], [0.1, 0.3]])
        moved = as_seen_in_32_bits(rows, {0: np.array([0.1])})
        assert np.isnan(moved[0, 0])
        np.testing.assert_array_equal(moved[:, 1], rows[:, 1])


class TestWhatIsExplained:
    def test_the_feature_that_makes_a_row_rare_has_the_largest_value(self, rows):
        X, y = rows
        explanation = shap_values(spe().fit(X, y), X[y == 1][:N_EXPLAINED])
        assert np.abs(explanation.values).mean(axis=0).argmax() == 0
        assert explanation.values[:, 0].mean() > 0.1

    def test_a_frame_brings_its_names_and_numbers(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=NAMES)
        explanation = shap_values(spe(lightgbm()).fit(frame, y), frame[:5], background=frame[-50:])
        assert explanation.feature_names == NAMES
        np.testing.assert_array_equal(explanation.data, X[:5])

    def test_a_frame_and_an_array_have_the_same_values(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=NAMES)
        by_frame, by_array = shap_values(spe().fit(frame, y), frame[:5]), shap_values(spe().fit(X, y), X[:5])
        np.testing.assert_array_equal(by_frame.values, by_array.values)
        assert by_array.feature_names is None

    def test_a_sparse_matrix_is_explained(self, rows):
        from scipy.sparse import csr_matrix

        X, y = rows
        explanation = shap_values(spe().fit(X, y), csr_matrix(X[:5]))
        np.testing.assert_array_equal(explanation.data, X[:5])

    def test_it_is_what_the_plots_of_shap_take(self, rows):
        import shap

        X, y = rows
        frame = pd.DataFrame(X, columns=NAMES)
        explanation = shap_values(spe().fit(frame, y), frame[:20])
        assert isinstance(explanation, shap.Explanation)
        assert explanation[0].shape == (4,)
        assert explanation[:, "amount"].shape == (20,)


class TestRefusals:
    @pytest.mark.parametrize("kind", BOOSTED)
    def test_boosted_members_ask_for_a_background(self, rows, kind):
        model = spe(BOOSTED[kind]()).fit(*rows)
        with pytest.raises(ValueError, match=r"add up to log-odds.*background=X_train\[:100\]"):
            shap_values(model, rows[0][:5])

    @pytest.mark.parametrize("kind", BOOSTED)
    def test_boosted_members_of_several_classes_ask_for_a_background(self, blobs, kind):
        X, y = blobs
        with pytest.raises(ValueError, match=r"of 3 classes with members .*background=.*permutation_importance"):
            shap_values(spe(BOOSTED[kind]()).fit(X, y), X[:5])

    @pytest.mark.parametrize("base", OTHERS, ids=lambda base: type(base).__name__)
    def test_members_that_are_no_trees_ask_for_a_background(self, rows, base):
        model = spe(base).fit(*rows)
        with pytest.raises(ValueError, match=f"with members {type(base).__name__}.*background=.*"):
            shap_values(model, rows[0][:5])

    def test_boosted_trees_of_easy_ensemble_do_too(self, rows):
        model = EasyEnsembleClassifier(n_estimators=2, random_state=0).fit(*rows)
        with pytest.raises(ValueError, match=r"with members AdaBoostClassifier.*permutation_importance"):
            shap_values(model, rows[0][:5])

    def test_a_blend_does_too(self, rows):
        with pytest.raises(ValueError, match=r"The model is a blend of ensembles.*background="):
            shap_values(blend().fit(*rows), rows[0][:5])

    def test_categories_are_no_numbers(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=NAMES).assign(country=pd.Categorical(np.where(X[:, 2] > 0, "AT", "DE")))
        model = spe(lightgbm()).fit(frame, y)
        with pytest.raises(ValueError, match="Column 'country' of X does not hold numbers"):
            shap_values(model, frame[:5], background=frame[-50:])

    def test_splits_by_category_that_shap_does_not_know_are_refused(self, rows):
        X, y = rows
        country = np.random.default_rng(0).integers(8, size=len(y))
        country[y == 1] = 2 * (country[y == 1] // 2)  # rare rows are in countries of even numbers
        X = np.column_stack([X[:, 2], country])
        model = spe(HistGradientBoostingClassifier(max_iter=10, categorical_features=[1])).fit(X, y)
        with pytest.raises(ValueError, match=r"do not add up to their probabilities.*permutation_importance"):
            shap_values(model, X[:50], background=X[-50:])

    def test_columns_in_another_order_are_refused(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=NAMES)
        with pytest.raises(ValueError, match="feature names should match"):
            shap_values(spe().fit(frame, y), frame[NAMES[::-1]])

    def test_what_shap_cannot_read_is_said_to_be_so(self, rows, monkeypatch):
        import shap

        def fail(*given, **options):
            raise AssertionError("Only some trees are supported!")

        monkeypatch.setattr(shap, "TreeExplainer", fail)
        with pytest.raises(ValueError, match=r"SHAP cannot read a member, .*Only some trees.*permutation_importance"):
            shap_values(spe().fit(*rows), rows[0][:5])

    def test_other_models_are_refused(self, rows):
        with pytest.raises(TypeError, match="needs an ensemble of selfpaced; got a DecisionTreeClassifier"):
            shap_values(DecisionTreeClassifier().fit(*rows), rows[0])

    def test_a_model_that_is_not_fitted_says_so(self, rows):
        with pytest.raises(NotFittedError):
            shap_values(spe(), rows[0])

    def test_without_shap_it_says_what_to_install(self, rows, monkeypatch):
        monkeypatch.setitem(sys.modules, "shap", None)
        with pytest.raises(ImportError, match=r"SHAP values needs shap, .*: pip install 'selfpaced\[explain\]'"):
            shap_values(spe(), rows[0])


@pytest.mark.parametrize("as_frame", [False, True], ids=["array", "frame"])
class TestByScikitLearn:
    """What scikit-learn has for explaining works, and finds what is there to be found."""

    @pytest.fixture
    def given(self, rows, as_frame):
        X, y = rows
        return (pd.DataFrame(X, columns=NAMES) if as_frame else X), y

    def test_importances_of_the_members_find_the_informative_features(self, given):
        importances = spe().fit(*given).feature_importances_
        assert importances.argsort()[::-1][:2].tolist() == [0, 1]
        assert importances.sum() == pytest.approx(1)

    @pytest.mark.parametrize("base", [TREES["tree"](), KNeighborsClassifier()], ids=["tree", "k-NN"])
    def test_permutation_importance_finds_the_informative_features(self, given, base):
        X, y = given
        model = spe(base).fit(X, y)
        found = permutation_importance(model, X, y, scoring="average_precision", n_repeats=2, random_state=0)
        amount, hour, *others = found.importances_mean
        assert amount > hour > 0.05
        assert amount > 5 * max(others)

    def test_partial_dependence_rises_with_the_informative_feature(self, given):
        X, y = given
        model = spe().fit(X, y)
        rising, flat = (partial_dependence(model, X, [place], grid_resolution=5)["average"][0] for place in (0, 2))
        assert np.ptp(rising) > 5 * np.ptp(flat)
        assert rising[-1] > rising[0]

    def test_partial_dependence_is_drawn(self, given, as_frame):
        import matplotlib

        matplotlib.use("agg")
        X, y = given
        features = ["amount", ("amount", "hour")] if as_frame else [0, (0, 1)]
        display = PartialDependenceDisplay.from_estimator(spe().fit(X, y), X[:200], features, grid_resolution=4)
        assert display.axes_.size == 2
        matplotlib.pyplot.close(display.figure_)
