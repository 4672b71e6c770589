"""The classifier that chooses among recipes."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, choosing, judging, recipes
from selfpaced.ensembles.auto.judging import WorkingSample, folds_of
from selfpaced.exceptions import TableError
from selfpaced.model import log_odds
from selfpaced.pools import GROUP
from selfpaced.tables import InMemoryTable, group_hashes
from selfpaced.tables.sources import open_table
from tests.few_recipes import FEW_RECIPES, SMALL_RECIPES, with_limits

TREES = SelfPacedEnsembleClassifier(ExtraTreesClassifier(5), 4, ratio=2)
FOREST = SelfPacedEnsembleClassifier(ExtraTreesClassifier(10), 3, ratio=3)
GUESS = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=1, max_features=1), 1)
RECIPES = [("trees", TREES), ("forest", FOREST), ("guess", GUESS)]


class Failing(ClassifierMixin, BaseEstimator):
    """A base model that cannot be trained."""

    def fit(self, X, y):
        raise RuntimeError("out of luck")


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=6000, n_frauds=120, n_features=8, random_state=0)
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


@pytest.fixture(scope="module")
def fitted(rows):
    X, _, y, _ = rows
    return AutoSelfPacedClassifier(RECIPES, random_state=0).fit(X, y)


def auto(recipes=RECIPES, kind=AutoSelfPacedClassifier, **params):
    return kind(recipes, **{"random_state": 0} | params)


class TestChoosing:
    def test_it_tells_what_it_did(self, fitted):
        assert [result.name for result in fitted.recipes_] == ["trees", "forest", "guess"]
        assert sum(result.weight for result in fitted.recipes_) == pytest.approx(1)
        for result in fitted.recipes_:
            assert 0 < result.aucprc < 1
            assert 0 < result.standard_error < 0.2
            assert result.seconds_judging > 0
            assert (result.weight > 0) == (result.seconds_fitting > 0) == (result.note is None)

    def test_a_recipe_that_does_not_help_is_dropped_with_a_reason(self, fitted):
        guess = fitted.recipes_[2]
        assert guess.weight == 0
        assert guess.note == "no weight: the others are better without it"
        assert list(fitted.ensembles_) == ["trees", "forest"]

    def test_the_honest_score_is_what_other_rows_give(self, fitted, rows):
        _, X, _, y = rows
        forest = fitted.recipes_[1]
        found = average_precision_score(y, fitted.ensembles_["forest"].predict_proba(X)[:, 1])
        assert abs(found - forest.aucprc) < 4 * forest.standard_error

    def test_the_blend_is_at_least_nearly_as_good_as_its_best_recipe(self, fitted, rows):
        _, X, _, y = rows
        alone = [average_precision_score(y, each.predict_proba(X)[:, 1]) for each in fitted.ensembles_.values()]
        assert average_precision_score(y, fitted.predict_proba(X)[:, 1]) > max(alone) - 0.03

    def test_the_probabilities_are_the_calibrated_pool_of_the_ensembles(self, fitted, rows):
        X = rows[1]
        pooled = fitted.pool_([each.predict_proba(X) for each in fitted.ensembles_.values()])
        np.testing.assert_allclose(fitted.predict_proba(X), fitted.calibrator_(pooled))

    def test_calibrated_probabilities_add_up_to_the_rare_rows(self):
        X, y = make_fraud(n_rows=20_000, n_frauds=800, n_features=8, random_state=0)
        model = auto().fit(X[::2], y[::2])
        assert model.predict_proba(X[1::2])[:, 1].sum() == pytest.approx(y[1::2].sum(), rel=0.1)

    def test_recipes_keep_their_own_parameters(self, fitted):
        assert fitted.ensembles_["forest"].ratio == 3
        assert len(fitted.ensembles_["trees"].estimators_) == 4
        assert len(fitted.estimators_) == 7
        assert TREES.n_jobs is None
        assert not hasattr(TREES, "estimators_")

    def test_other_kinds_of_ensembles_can_be_recipes(self, rows):
        X, X_test, y, _ = rows
        bags = UnderBaggingClassifier(ExtraTreesClassifier(10), 3, ratio=3)
        cascade = BalanceCascadeClassifier(ExtraTreesClassifier(10), 4)
        model = auto([("bags", bags), ("cascade", cascade), ("guess", GUESS)]).fit(X, y)
        kinds = {"bags": UnderBaggingClassifier, "cascade": BalanceCascadeClassifier}
        assert {name: type(each) for name, each in model.ensembles_.items()} == kinds
        assert [len(each.estimators_) for each in model.ensembles_.values()] == [3, 4]
        pooled = model.pool_([each.predict_proba(X_test) for each in model.ensembles_.values()])
        np.testing.assert_allclose(model.predict_proba(X_test), model.calibrator_(pooled))

    def test_another_kind_of_ensemble_is_trained_as_it_is_alone(self, rows):
        X, X_test, y, _ = rows
        bags = UnderBaggingClassifier(DecisionTreeClassifier(max_depth=4), 3, random_state=7)
        found = auto([("bags", bags), ("guess", GUESS)]).fit(X, y).ensembles_["bags"]
        alone = clone(bags).set_params(random_state=found.random_state).fit(X, y)
        np.testing.assert_array_equal(found.predict_proba(X_test), alone.predict_proba(X_test))

    def test_progress_is_told_by_recipe(self, rows):
        X, _, y, _ = rows
        told = []

        class Notes(Callback):
            def on_recipe_begin(self, name, stage):
                told.append((stage, name))

        auto(RECIPES[:2], callbacks=Notes()).fit(X, y)
        assert told[:2] == [("judging", "forest"), ("judging", "trees")]  # the last takes longest in the default
        assert sorted(told[2:]) == [("fitting", "forest"), ("fitting", "trees")]


class TestRows:
    def test_a_file_gives_the_model_of_memory(self, fitted, rows, tmp_path):
        X, X_test, y, _ = rows
        names = [f"x{number}" for number in range(8)]
        pd.DataFrame(X, columns=names).assign(y=y).to_parquet(tmp_path / "rows.parquet")
        from_file = auto().fit_table(open_table(tmp_path / "rows.parquet", target="y", batch_rows=700))
        assert [r.weight for r in from_file.recipes_] == [r.weight for r in fitted.recipes_]
        frame = pd.DataFrame(X_test, columns=names)
        np.testing.assert_array_equal(from_file.predict_proba(frame), fitted.predict_proba(X_test))

    @pytest.mark.parametrize("source", ["memory", "file"])
    def test_of_a_large_class_a_sample_is_judged_by(self, source, rows, tmp_path, monkeypatch):
        kind = with_limits(fewest_common_rows=600, most_rare_rows=50, common_per_rare_row=10)
        X, _, y, _ = rows
        judged = []
        monkeypatch.setattr(judging, "folds_of", lambda *a: judged.append(a[0]) or folds_of(*a))
        if source == "memory":
            auto(kind=kind).fit(X, y)
        else:
            names = [f"x{number}" for number in range(8)]
            pd.DataFrame(X, columns=names).assign(y=y).to_parquet(tmp_path / "rows.parquet")
            auto(kind=kind).fit_table(open_table(tmp_path / "rows.parquet", target="y"))
        (sample,) = judged
        assert np.bincount(sample.classes).tolist() == [600, 50]
        assert sample.weights[sample.classes == 0].sum() == pytest.approx((y == 0).sum(), rel=0.02)
        assert sample.weights[sample.classes == 1].sum() == pytest.approx((y == 1).sum())

    def test_a_sample_chooses_as_all_rows_do(self, fitted, rows):
        X, X_test, y, y_test = rows
        by_sample = auto(kind=with_limits(fewest_common_rows=900, common_per_rare_row=10)).fit(X, y)
        for one, other in zip(by_sample.recipes_, fitted.recipes_, strict=True):
            assert one.aucprc == pytest.approx(other.aucprc, abs=3 * other.standard_error)
        scores = [average_precision_score(y_test, m.predict_proba(X_test)[:, 1]) for m in (by_sample, fitted)]
        assert scores[0] > scores[1] - 0.05
        assert by_sample.predict_proba(X_test)[:, 1].mean() == pytest.approx(y.mean(), rel=0.25)

    def test_the_calibration_is_for_the_level_of_the_ensembles_and_not_of_their_copies(self, monkeypatch):
        """Copies that are judged on some of the rare rows learn from fewer rows, and are surer."""
        kind = with_limits(most_rare_rows=100, fewest_common_rows=1500, common_per_rare_row=15)
        levels, difference_of_levels = [], judging.difference_of_levels

        def recorded(copies, ensembles, calibrator, weights):
            levels.extend(np.average(log_odds(each[:, 1]), weights=weights) for each in (copies, ensembles))
            levels.append(difference_of_levels(copies, ensembles, calibrator, weights))
            return levels[-1]

        monkeypatch.setattr(judging, "difference_of_levels", recorded)
        rng = np.random.default_rng(1)
        X = rng.normal(size=(40_000, 8))
        y = (rng.random(40_000) < expit(0.7 * X[:, 0] - 4)).astype(int)
        boosted = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=40, num_leaves=15, verbose=-1), 5, ratio=3)
        model = auto([("boosted", boosted)], kind).fit(X[:20_000], y[:20_000])
        new = X[20_000:][y[20_000:] == 0]
        of_copies, of_ensembles, difference = levels
        on_new_rows = log_odds(model.ensembles_["boosted"].predict_proba(new)[:, 1]).mean()
        assert of_ensembles == pytest.approx(on_new_rows, abs=0.05)
        assert of_copies < on_new_rows - 0.15
        assert difference > 0.1
        assert model.predict_proba(X[20_000:])[:, 1].mean() == pytest.approx(y[20_000:].mean(), rel=0.1)

    @pytest.mark.parametrize(
        ("kind", "names"),
        [(pd.DataFrame, list(SMALL_RECIPES)), (pl.DataFrame, ["LightGBM, random splits", "linear", "extra trees"])],
        ids=["pandas", "polars"],
    )
    @pytest.mark.slow
    def test_strings_dates_and_missing_values_are_read_by_the_default_recipes(self, kind, names):
        rng = np.random.default_rng(0)
        y = np.arange(800) % 20 == 0
        columns = {
            "amount": np.where(rng.random(800) < 0.1, np.nan, rng.normal(size=800) + y),
            "where": np.where(y & (rng.random(800) < 0.6), "web", rng.choice(["till", "phone"], 800)).tolist(),
            "when": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(800), unit="h"),
        }
        frame = kind(columns)
        small = {name: SMALL_RECIPES[name] for name in names}
        model = with_limits(recipes=small)(random_state=0).fit(frame, y)
        assert not [result for result in model.recipes_ if result.note and "failed" in result.note]
        scores = model.predict_proba(frame)[:, 1]
        assert average_precision_score(y, scores) > 0.5
        assert list(model.feature_names_in_) == ["amount", "where", "when", "when.weekday", "when.hour"]

    def test_categories_with_missing_values_of_pandas_are_read(self, rows):
        X, _, y, _ = rows
        words = pd.Series(np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])], dtype="string")
        words[::9] = pd.NA
        frame = pd.DataFrame(X[:, 1:3], columns=["A", "B"]).assign(word=words.astype("category"))
        columns = recipes.Columns(list(frame), {"word": 3})
        model = auto([("linear", recipes.default_recipes(columns)["linear"].set_params(n_estimators=2))]).fit(frame, y)
        assert model.recipes_[0].weight == 1

    def test_the_order_of_categories_does_not_matter(self, rows):
        X, y = rows[0][:1500], rows[2][:1500]
        words = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
        frame = pd.DataFrame(X[:, 1:], columns=list("ABCDEFG")).assign(word=pd.Categorical(words))
        other = frame.assign(word=pd.Categorical(words, categories=["c", "a", "b"]))
        known = recipes.default_recipes(recipes.Columns(list(frame), {"word": 3}))
        few = [
            (name, known[name].set_params(n_estimators=2))
            for name in ("linear", "LightGBM, random splits", "extra trees")
        ]
        model = auto(few).fit(frame, y)
        np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(other))

    def test_weights_count_in_training_and_in_judging(self, rows):
        X, _, y, _ = rows
        weights = np.where(X[:, 0] > 0, 5.0, 0.2)
        plain, weighted = auto().fit(X, y), auto().fit(X, y, sample_weight=weights)
        assert plain.recipes_[0].aucprc != weighted.recipes_[0].aucprc
        tree = weighted.ensembles_["forest"].estimators_[0].estimators_[0].tree_
        assert tree.weighted_n_node_samples[0] != tree.n_node_samples[0]

    def test_suspects_are_judged_by_all_recipes(self, rows):
        X, _, y, _ = rows
        wrong = y.copy()
        flipped = np.flatnonzero(y == 0)[:4]
        wrong[flipped] = 1
        found = auto(RECIPES[:2]).fit(X, wrong).suspects(X, wrong, n=40)
        assert found.cross_fitted
        assert np.isin(flipped, found.rows).sum() >= 3


class TestGroups:
    def test_no_group_is_on_both_sides(self):
        classes = np.repeat([1, 0], [40, 400]).astype(np.intp)
        groups = np.random.default_rng(0).integers(60, size=440)
        rows = InMemoryTable(np.empty((440, 1)), {GROUP: group_hashes(groups)})
        parts = folds_of(WorkingSample(rows, classes, np.ones(440), np.arange(440), np.ones(440)), 0, 3, 9)
        assert all(np.unique(parts[groups == group]).size == 1 for group in np.unique(groups))
        assert np.unique(parts).size == 3

    def test_rows_that_repeat_in_a_group_flatter_no_recipe(self):
        """Cards with many rows each: whoever knows the card knows the answer, and a new card is a guess."""
        rng = np.random.default_rng(0)
        cards = rng.integers(200, size=4000)
        is_bad = rng.random(200) < 0.1
        X = rng.normal(size=(200, 5))[cards] + 0.001 * rng.normal(size=(4000, 5))
        y = is_bad[cards].astype(int)
        recipe = [("trees", SelfPacedEnsembleClassifier(DecisionTreeClassifier(), 3))]
        by_row, by_card = (auto(recipe).fit(X, y, groups=groups).recipes_[0].aucprc for groups in (None, cards))
        assert by_row > 0.9
        assert by_card < 0.5

    def test_files_are_judged_by_the_same_folds(self, tmp_path):
        X, y = make_fraud(n_rows=2000, n_frauds=80, n_features=4, random_state=0)
        cards = np.random.default_rng(0).integers(300, size=2000)
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame.assign(card=[f"{card}" for card in cards], label=y).to_parquet(tmp_path / "cards.parquet")
        table = open_table(tmp_path / "cards.parquet", target="label", group_column="card")
        in_files = auto(RECIPES[:2]).fit_table(table)
        in_memory = auto(RECIPES[:2]).fit(frame, y, groups=cards)
        assert [one.aucprc for one in in_files.recipes_] == [one.aucprc for one in in_memory.recipes_]
        np.testing.assert_array_equal(in_files.calibrator_.map.shares, in_memory.calibrator_.map.shares)

    def test_missing_groups_are_refused(self, rows):
        X, _, y, _ = rows
        groups = np.array(["card"] * 2999 + [None], dtype=object)
        with pytest.raises(ValueError, match="groups has no value in 1 of 3,000 rows"):
            auto().fit(X, y, groups=groups)

    def test_one_giant_group_is_refused(self, rows):
        X, _, y, _ = rows
        with pytest.raises(ValueError, match="too few groups"):
            auto().fit(X, y, groups=np.zeros(3000))


class TestTimes:
    def test_a_period_is_in_one_part_and_the_newest_in_the_first(self):
        times = np.random.default_rng(0).permutation(900).astype(float)
        parts = judging.parts_of_times(times, None, n_parts=3, n_periods=9)
        newest_first = parts[np.argsort(-times)]
        assert newest_first.tolist() == np.tile([0, 1, 2], 3).repeat(100).tolist()

    def test_rows_of_one_time_are_in_one_part(self):
        times = np.repeat([7.0, 3.0, 5.0], [50, 40, 10])
        parts = judging.parts_of_times(times, None, n_parts=3, n_periods=9)
        assert [np.unique(parts[times == time]).size for time in (3, 5, 7)] == [1, 1, 1]

    def test_rows_of_a_group_are_of_one_time(self):
        groups = np.random.default_rng(0).integers(60, size=440)
        parts = judging.parts_of_times(np.arange(440.0), group_hashes(groups), n_parts=3, n_periods=9)
        assert all(np.unique(parts[groups == group]).size == 1 for group in np.unique(groups))
        assert np.unique(parts).size == 3

    def test_campaigns_flatter_no_recipe(self):
        """Each campaign has a pattern of its own: whoever knows other rows of it knows the answer."""
        rng = np.random.default_rng(0)
        campaign = np.arange(4000) // 100
        y = (rng.random(4000) < 0.1).astype(int)
        pattern = rng.normal(size=(40, 5))[campaign] + 0.1 * rng.normal(size=(4000, 5))
        X = np.where(y[:, None] == 1, pattern, rng.normal(size=(4000, 5)))
        recipe = [("trees", SelfPacedEnsembleClassifier(DecisionTreeClassifier(), 3))]
        by_row, by_time = (auto(recipe).fit(X, y, times=times).recipes_[0].aucprc for times in (None, np.arange(4000)))
        assert by_time < by_row - 0.2

    def test_files_are_judged_by_the_same_periods(self, tmp_path):
        X, y = make_fraud(n_rows=2000, n_frauds=80, n_features=4, random_state=0)
        when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.random.default_rng(0).permutation(2000), unit="min")
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame.assign(when=when, label=y).to_parquet(tmp_path / "rows.parquet")
        frame.assign(when=when, label=y).to_csv(tmp_path / "rows.csv", index=False)
        models = [auto(RECIPES[:2]).fit(frame, y, times=when)]
        for name in ("rows.parquet", "rows.csv"):
            table = open_table(tmp_path / name, target="label", time_column="when")
            models.append(auto(RECIPES[:2]).fit_table(table))
        expected = auto(RECIPES[:2]).fit(frame, y).predict_proba(frame)
        found = [each.predict_proba(frame) for each in models]
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        assert not np.array_equal(found[0], expected)

    def test_rare_rows_of_one_period_are_judged_by_all_times(self, rows):
        X, _, y, _ = rows
        times = np.where(y == 1, 0.0, np.arange(3000))
        with pytest.warns(UserWarning, match="too few periods. Recipes are judged by rows of all times"):
            found = auto(RECIPES[:1]).fit(X, y, times=times)
        assert found.recipes_[0].aucprc == auto(RECIPES[:1]).fit(X, y).recipes_[0].aucprc

    def test_missing_times_are_refused(self, rows):
        X, _, y, _ = rows
        times = np.arange(3000.0)
        times[7] = np.nan
        with pytest.raises(TableError, match="times has no time in 1 of 3,000 rows"):
            auto().fit(X, y, times=times)

    def test_missing_times_are_refused_in_files_also_of_rows_that_are_not_drawn(self, rows, tmp_path):
        X, _, y, _ = rows
        times = np.arange(3000.0)
        times[np.flatnonzero(y == 0)[7]] = np.nan
        pd.DataFrame(X).rename(columns=str).assign(y=y, when=times).to_parquet(tmp_path / "rows.parquet")
        single = SelfPacedEnsembleClassifier(DecisionTreeClassifier(), 1, random_state=0)
        with pytest.raises(TableError, match="The time column 'when' has no time in 1 of 3,000 rows"):
            single.fit_table(open_table(tmp_path / "rows.parquet", target="y", time_column="when"))


class TestFailures:
    def test_a_recipe_that_fails_is_reported_and_the_others_go_on(self, rows):
        X, X_test, y, _ = rows
        model = auto([("broken", SelfPacedEnsembleClassifier(Failing())), ("trees", TREES)])
        with pytest.warns(UserWarning, match="The recipe 'broken' failed and is skipped. RuntimeError: out of luck"):
            model.fit(X, y)
        assert model.recipes_[0].note.startswith("failed: RuntimeError: out of luck")
        assert model.recipes_[1].weight == 1
        assert model.predict_proba(X_test).shape == (3000, 2)

    def test_if_all_fail_one_error_says_why(self, rows):
        X, _, y, _ = rows
        model = auto([("broken", SelfPacedEnsembleClassifier(Failing()))])
        with pytest.warns(UserWarning, match="broken"), pytest.raises(ValueError, match=r"No recipe.*broken: failed"):
            model.fit(X, y)

    def test_a_recipe_that_takes_no_weights_is_left_out_where_there_are_weights(self, rows):
        X, _, y, _ = rows
        model = auto([("neighbours", SelfPacedEnsembleClassifier(KNeighborsClassifier(), 2)), ("trees", TREES)])
        with pytest.warns(UserWarning, match="KNeighborsClassifier does not accept sample_weight"):
            model.fit(X, y, sample_weight=np.ones(3000))
        assert list(model.ensembles_) == ["trees"]

    def test_with_fewer_than_ten_rare_rows_all_recipes_count_the_same(self):
        X, y = make_fraud(n_rows=500, n_frauds=9, n_features=5, random_state=0)
        with pytest.warns(UserWarning, match="has 9 rows. Comparing recipes needs at least 10"):
            model = auto().fit(X, y)
        assert [result.weight for result in model.recipes_] == pytest.approx([1 / 3] * 3)
        assert model.calibrator_ is None
        assert model.calibration_ is None
        assert model.predict_proba(X).shape == (500, 2)

    def test_a_package_that_is_not_installed_is_named(self, monkeypatch, rows):
        X, _, y, _ = rows
        missing = {"catboost", "lightgbm"}
        monkeypatch.setattr(recipes, "find_spec", lambda name: None if name in missing else object())
        cheap = {name: part for name, part in SMALL_RECIPES.items() if name in ("linear", "CatBoost")}
        model = with_limits(recipes=cheap)(random_state=0).fit(X, y)
        assert {result.name for result in model.recipes_} == {"gradient boosting", "linear", "CatBoost"}
        assert model.recipes_[-1].note == "skipped: catboost is not installed (pip install 'selfpaced[catboost]')"


def settings_of(recipe):
    """The parameters of a recipe and of its base model, which is named by its kind: CatBoost's has no other name."""
    return repr(recipe.get_params(deep=True) | {"estimator": type(recipe.estimator)})


def strong_of(n_rare, n_columns=100):
    return recipes.default_recipes(recipes.Columns(None, {}), recipes.MinoritySize(n_rare, n_columns))


class TestRecipesBySize:
    """A member's training set is as large as its ratio says, but not larger than a number of values."""

    ALL = recipes.default_recipes(recipes.Columns(None, {}))

    @pytest.mark.parametrize(("n_rare", "n_columns"), [(199, 30), (400, 30), (1000, 40), (10, 1000)])
    def test_small_minorities_have_the_usual_recipes(self, n_rare, n_columns):
        size = recipes.MinoritySize(n_rare, n_columns)
        found = recipes.default_recipes(recipes.Columns(None, {}), size)
        of_all = ["LightGBM, all rows"] if n_rare >= 200 else []
        assert list(found) == [*of_all, *self.ALL]
        for name, recipe in self.ALL.items():
            assert settings_of(found[name]) == settings_of(recipe)
        assert recipes.too_slow(size) == []

    def test_lightgbm_adds_up_by_column_in_all_recipes_so_that_the_clock_decides_nothing(self):
        found = [recipe for size in (strong_of(100), strong_of(5000)) for recipe in size.values()]
        boosted = [each.estimator for each in found if isinstance(each.estimator, LGBMClassifier)]
        assert [(each.force_col_wise, each.deterministic) for each in boosted] == [(True, True)] * 3

    def test_with_more_columns_fewer_common_rows_are_drawn(self):
        found = recipes.default_recipes(recipes.Columns(None, {}), recipes.MinoritySize(1000, 400))
        assert found["LightGBM, random splits"].ratio == 9.49
        assert {found[name].ratio for name in ("linear", "extra trees")} == {1.62}

    def test_a_training_set_has_no_more_values_than_the_limit(self):
        for n_rare in (1, 100, 2000, 5000, 15_000):
            size = recipes.MinoritySize(n_rare, 250)
            skipped = [result.name for result in recipes.too_slow(size)] if size.is_large else []
            for name, recipe in recipes.default_recipes(recipes.Columns(None, {}), size).items():
                if name in skipped:
                    continue
                is_slow = "LGBM" not in type(recipe.estimator).__name__
                most = size.limits.most_values_of_slow_kinds if is_slow else 2 * size.limits.most_values
                most = size.limits.most_values_of_all if recipe.n_estimators == 1 else most
                assert (1 + recipe.ratio) * n_rare * 250 <= 1.01 * most

    def test_of_wide_tables_only_fast_recipes_are_left_with_few_members(self):
        size = recipes.MinoritySize(2000, 600)
        found = recipes.default_recipes(recipes.Columns(None, {}), size)
        skipped = [result.name for result in recipes.too_slow(size)]
        assert skipped == [name for name in found if "LightGBM" not in name]
        assert {name: recipe.n_estimators for name, recipe in found.items() if name not in skipped} == {
            "LightGBM, strong": 2,
            "LightGBM, all rows": 1,
            "LightGBM, random splits": 5,
        }
        assert found["LightGBM, random splits"].estimator.max_bin == 63

    @pytest.mark.parametrize(("n_rare", "n_leaves"), [(2001, 31), (4525, 31), (4526, 63), (9051, 127), (10**6, 127)])
    def test_the_leaves_of_strong_trees_follow_the_rare_rows(self, n_rare, n_leaves):
        assert strong_of(n_rare)["LightGBM, strong"].estimator.num_leaves == n_leaves

    def test_of_large_wide_tables_the_linear_model_is_skipped(self):
        size = recipes.MinoritySize(5000, 118, n_common=100_000)
        assert [each.name for each in recipes.too_slow(size)] == ["linear"]

    def test_catboost_has_one_thread_because_others_give_another_model(self):
        large = recipes.default_recipes(recipes.Columns(None, {}), recipes.MinoritySize(3000, 10, n_common=45_000))
        assert {each["CatBoost"].estimator.get_params()["thread_count"] for each in (self.ALL, large)} == {1}

    @pytest.mark.parametrize(("n_rare", "n_columns", "ratio"), [(200, 10, 32), (2000, 2000, 15.777)])
    def test_one_recipe_of_hundreds_of_rare_rows_is_trained_on_many_common_rows(self, n_rare, n_columns, ratio):
        size = recipes.MinoritySize(n_rare, n_columns)
        found = recipes.default_recipes(recipes.Columns(None, {}), size)["LightGBM, all rows"]
        assert found.ratio == pytest.approx(ratio, abs=1e-3)
        assert found.n_estimators == 1

    def test_one_recipe_is_trained_on_all_rows_if_they_are_in_memory(self):
        size = recipes.MinoritySize(3000, 10, n_common=45_000)
        assert "LightGBM, all rows" not in strong_of(3000)
        assert recipes.default_recipes(recipes.Columns(None, {}), size)["LightGBM, all rows"].ratio == 15

    @pytest.mark.parametrize(
        ("n_rare", "n_columns", "most"), [(3000, 10, 96_000), (30_000, 118, 538_719), (10**6, 100, 0)]
    )
    def test_a_model_of_all_rows_has_a_limit(self, n_rare, n_columns, most):
        """32 common rows for each rare one, or 2^26 values."""
        assert recipes.MinoritySize(n_rare, n_columns).most_common == most

    @pytest.mark.parametrize(("n_rare", "n_parts"), [(2001, 8), (4499, 8), (11_000, 22), (10**6, 32)])
    def test_about_five_hundred_rare_rows_are_held_out(self, n_rare, n_parts):
        assert recipes.MinoritySize(n_rare, 10).n_parts == n_parts

    @pytest.mark.parametrize(("n_columns", "n_parts", "again"), [(87, 8, True), (88, 16, False)])
    def test_of_wide_large_minorities_a_sixteenth_is_held_out_and_not_trained_on(self, n_columns, n_parts, again):
        size = recipes.MinoritySize(3000, n_columns)
        assert (size.n_parts, size.is_trained_again) == (n_parts, again)

    @pytest.mark.parametrize("time_limit", [None, 600])
    def test_slow_recipes_are_skipped_with_a_note_unless_there_is_a_time_limit(self, rows, time_limit):
        X, _, y, _ = rows
        few = {name: SMALL_RECIPES[name] for name in ("LightGBM, random splits", "linear")}
        kind = with_limits(recipes=few, most_values_of_slow_kinds=500)
        model = kind(time_limit=time_limit, random_state=0).fit(X, y)
        notes = {result.name: result.note for result in model.recipes_}
        told = "skipped: slow with 60 rare rows of 8 values each; tried with a time limit"
        assert (notes["linear"] == told) is (time_limit is None)
        assert sorted(notes) == sorted([*few, "LightGBM, strong"])  # for wide tables


LARGE = {name: recipe for name, recipe in FEW_RECIPES.items() if name != "boosted"}


class TestHeldOutRows:
    """Of tables with many rare rows some rows are held out, and the models themselves are judged by them."""

    AGAIN = with_limits(large_recipes=LARGE, large_minority=50, common_per_drawn_row=2)
    KIND = with_limits(large_recipes=LARGE, large_minority=50, common_per_drawn_row=2, fewest_parts_to_spare=0)

    @pytest.fixture(scope="class")
    @classmethod
    def held_out(cls, rows):
        X, _, y, _ = rows
        return cls.KIND(random_state=0).fit(X, y)

    def test_no_member_sees_all_rare_rows(self, held_out, rows):
        y = rows[2]
        for ensemble in held_out.ensembles_.values():
            for each in ensemble.rounds_:
                n_rare = int(y[each.ids].sum())
                assert n_rare == 60 - 8  # an eighth is held out
                assert each.n_rows == each.ids.size

    def test_members_draw_from_a_few_common_rows_for_each_that_they_draw(self, held_out, rows):
        """The trees draw as many common rows as there are rare ones, from twice as many."""
        y = rows[2]
        rounds = held_out.ensembles_["trees"].rounds_
        assert next(iter(rounds[1].bins.values())).counts.sum() == 2 * 60
        seen = np.unique(np.concatenate([each.ids for each in rounds]))
        assert np.sum(y[seen] == 0) <= 2 * 60

    def test_a_model_of_all_rows_draws_from_all(self, rows):
        X, _, y, _ = rows
        kept = {"LightGBM, all rows": recipes.LARGE_RECIPES["LightGBM, all rows"]}
        kind = with_limits(
            large_recipes=kept, large_minority=50, common_per_rare_row_of_all=30, fewest_parts_to_spare=0
        )
        model = kind(random_state=0).fit(X, y)
        (every,) = model.ensembles_.values()
        ids = np.concatenate([each.ids for each in every.rounds_])
        assert int(y[ids].sum()) == 60 - 8
        assert np.sum(y[ids] == 0) == pytest.approx(30 * 60 * 7 / 8, abs=30)

    def test_where_much_is_held_out_the_models_are_trained_again_on_all_rows(self, held_out, rows):
        X, X_test, y, y_test = rows
        model = self.AGAIN(random_state=0).fit(X, y)
        assert {int(y[each.ids].sum()) for e in model.ensembles_.values() for each in e.rounds_} == {60}
        assert [(r.aucprc, r.weight) for r in model.recipes_] == [(r.aucprc, r.weight) for r in held_out.recipes_]
        np.testing.assert_array_equal(model.pool_.centres, held_out.pool_.centres)
        scores = model.predict_proba(X_test)[:, 1]
        assert not np.array_equal(scores, held_out.predict_proba(X_test)[:, 1])
        assert scores.sum() == pytest.approx(y_test.sum(), rel=0.35)

    def test_the_second_training_goes_on_from_a_checkpoint(self, rows, tmp_path):
        X, X_test, y, _ = rows
        pd.DataFrame(X).rename(columns=str).assign(y=y).to_parquet(tmp_path / "rows.parquet")
        table = open_table(tmp_path / "rows.parquet", target="y")
        fits = [self.AGAIN(random_state=0).fit_table(table, checkpoint=tmp_path / "kept") for _ in range(2)]
        first, second = (each.predict_proba(pd.DataFrame(X_test).rename(columns=str)) for each in fits)
        np.testing.assert_array_equal(first, second)
        assert {"recipe-0", "again-0"} <= {each.name for each in (tmp_path / "kept").iterdir()}

    def test_no_recipe_gets_nearly_all_of_the_weight(self, held_out):
        weights = [each.weight for each in held_out.recipes_ if each.weight > 0]
        assert len(weights) == 2
        assert max(weights) < 0.75 < sum(weights)

    def test_a_file_gives_the_model_of_memory(self, held_out, rows, tmp_path):
        X, X_test, y, _ = rows
        names = [f"x{number}" for number in range(8)]
        pd.DataFrame(X, columns=names).assign(y=y).to_parquet(tmp_path / "rows.parquet")
        from_file = self.KIND(random_state=0).fit_table(
            open_table(tmp_path / "rows.parquet", target="y", batch_rows=700)
        )
        assert [each.weight for each in from_file.recipes_] == [each.weight for each in held_out.recipes_]
        frame = pd.DataFrame(X_test, columns=names)
        np.testing.assert_array_equal(from_file.predict_proba(frame), held_out.predict_proba(X_test))

    def test_suspects_are_found_by_the_ids_of_the_whole_table(self, held_out, rows):
        X, y = rows[0], rows[2]
        assert held_out.suspects(X, y, n=10).cross_fitted

    def test_a_short_time_limit_gives_the_first_recipe(self, rows):
        X, _, y, _ = rows
        told = "The time limit of 0.001 s was reached. Skipped recipes: 'linear'. 'trees' has 1 of 3 members."
        with pytest.warns(UserWarning, match=told):
            model = self.KIND(time_limit=0.001, random_state=0).fit(X, y)
        assert list(model.ensembles_) == ["trees"]
        assert len(model.estimators_) == 1  # the model itself is judged, so that calibration is right
        assert model.calibrator_ is not None

    def test_no_group_is_held_out_and_trained_on(self, rows):
        X, _, y, _ = rows
        cards = np.random.default_rng(0).integers(600, size=y.size)
        model = self.KIND(random_state=0).fit(X, y, groups=cards)
        seen = np.unique(np.concatenate([each.ids for each in model.ensembles_["trees"].rounds_]))
        held_out = np.setdiff1d(np.flatnonzero(y), seen)
        assert held_out.size > 0
        assert not set(cards[held_out]) & set(cards[seen])

    def test_the_newest_rows_are_held_out_and_always_trained_on_in_the_end(self, held_out, rows):
        X, _, y, _ = rows
        times = np.random.default_rng(0).permutation(y.size)
        model = self.KIND(random_state=0).fit(X, y, times=times)
        assert {int(y[each.ids].sum()) for e in model.ensembles_.values() for each in e.rounds_} == {60}
        assert all(one.aucprc != other.aucprc for one, other in zip(model.recipes_, held_out.recipes_, strict=True))

    def test_own_recipes_are_judged_by_copies(self, rows):
        X, _, y, _ = rows
        model = auto(RECIPES[:1], self.KIND).fit(X, y)
        assert int(y[model.ensembles_["trees"].rounds_[1].ids].sum()) == 60

    @pytest.mark.slow
    def test_probabilities_add_up_to_the_rare_rows(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(60_000, 8))
        y = (rng.random(60_000) < expit(0.9 * X[:, 0] + X[:, 1] * (X[:, 2] > 0) - 3)).astype(int)
        model = AutoSelfPacedClassifier(random_state=0).fit(X[:40_000], y[:40_000])
        assert [each.name for each in model.recipes_] == list(recipes.LARGE_RECIPES)
        scores, new = model.predict_proba(X[40_000:])[:, 1], y[40_000:]
        assert scores.sum() == pytest.approx(new.sum(), rel=0.1)
        for low, high in [(0.02, 0.1), (0.1, 0.3)]:
            some = (scores >= low) & (scores < high)
            assert scores[some].sum() == pytest.approx(new[some].sum(), rel=0.25)  # of 300 held-out rare rows


class TestTimeLimit:
    def test_a_limit_that_cannot_be_kept_still_gives_a_model_and_says_what_is_missing(self, rows):
        X, X_test, y, _ = rows
        with pytest.warns(
            UserWarning, match="The time limit of 0.001 s was reached. Skipped recipes: 'forest', 'guess'"
        ):
            model = auto(time_limit=0.001).fit(X, y)
        assert list(model.ensembles_) == ["trees"]
        assert len(model.ensembles_["trees"].estimators_) == recipes.BlendLimits().n_members_judged
        assert model.predict_proba(X_test).shape == (3000, 2)
        assert model.calibration_ == "isotonic"

    def test_an_ensemble_that_is_cut_short_has_as_many_members_as_were_judged(self, rows):
        """With fewer, its scores would not fit the calibration."""
        X, _, y, _ = rows
        many = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 50)
        with pytest.warns(UserWarning, match="'many' has 3 of 50 members"):
            model = auto([("many", many)], time_limit=0.001).fit(X, y)
        assert len(model.estimators_) == recipes.BlendLimits().n_members_judged

    def test_a_generous_limit_changes_nothing(self, fitted, rows):
        X, X_test, y, _ = rows
        model = auto(time_limit=1000.0).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X_test), fitted.predict_proba(X_test))

    def test_recipes_for_which_no_time_is_left_are_left_out(self, rows, monkeypatch):
        """The time to judge is up after the first recipe, and there is time to train it."""
        X, _, y, _ = rows
        monkeypatch.setattr(choosing.Clock, "allows", lambda clock, seconds, share=1.0: share == 1)
        with pytest.warns(UserWarning, match="Skipped recipes: 'forest', 'guess'"):
            model = auto(time_limit=1000.0).fit(X, y)
        assert [result.aucprc is None for result in model.recipes_] == [False, True, True]
        assert len(model.estimators_) == 4


class TestBadInput:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"recipes": "trees"}, "recipes must be a list of"),
            ({"recipes": []}, "recipes must be a list of"),
            ({"recipes": [TREES]}, "A recipe must be a pair of a name and an ensemble"),
            ({"recipes": [("tree", DecisionTreeClassifier())]}, "The recipe 'tree' must be a SelfPacedEnsemble"),
            ({"recipes": [("a", TREES), ("a", TREES)]}, "The names of recipes must differ"),
            ({"time_limit": 0}, "time_limit must be None or a positive number"),
            ({"time_limit": "1h"}, "time_limit must be None or a positive number"),
            ({"calibration": "prior"}, "calibration='prior' is for one ensemble"),
            ({"calibration": "magic"}, "calibration must be None or one of"),
            ({"n_jobs": 0}, "n_jobs must be"),
        ],
    )
    def test_wrong_parameters_are_refused_by_name(self, params, message, rows):
        X, _, y, _ = rows
        with pytest.raises(ValueError, match=message):
            AutoSelfPacedClassifier(**{"recipes": RECIPES} | params).fit(X, y)

    def test_arguments_that_fit_does_not_take_are_refused(self, rows):
        X, _, y, _ = rows
        with pytest.raises(TypeError, match=r"fit got \['eval_set'\]"):
            auto().fit(X, y, eval_set=(X, y))

    def test_an_interrupted_fit_leaves_no_model(self, rows):
        X, _, y, _ = rows

        class Interrupting(Callback):
            def on_recipe_begin(self, name, stage):
                if stage == "fitting":
                    raise KeyboardInterrupt

        model = auto(callbacks=Interrupting())
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, "estimators_")


@pytest.mark.slow
def test_sparse_rows_are_read_by_the_default_recipes(rows):
    X, y = rows[0][:1500], rows[2][:1500]
    sparse = csr_matrix(np.where(np.abs(X) > 1, X, 0))
    few = recipes.default_recipes(recipes.Columns(None, {}, are_sparse=True))
    model = auto([(name, few[name].set_params(n_estimators=2)) for name in few if "CatBoost" not in name]).fit(
        sparse, y
    )
    assert not [result for result in model.recipes_ if result.note and "failed" in result.note]


def test_a_scout_that_fails_is_followed_by_the_next(rows):
    kind = with_limits(fewest_common_rows=600, common_per_rare_row=10)
    X, _, y, _ = rows
    with pytest.warns(UserWarning, match="The recipe 'broken' failed"):
        model = auto([("broken", SelfPacedEnsembleClassifier(Failing())), ("trees", TREES)], kind).fit(X, y)
    assert list(model.ensembles_) == ["trees"]


class TestInScikitLearn:
    def test_a_grid_searches_it(self, rows):
        X, X_test, y, y_test = rows
        choices = [[("guess", GUESS)], RECIPES[:1]]
        search = GridSearchCV(auto(), {"recipes": choices}, scoring="average_precision", cv=2).fit(X, y)
        assert search.best_params_["recipes"] == RECIPES[:1]
        worse, better = search.cv_results_["mean_test_score"]
        assert better > worse
        best = auto(RECIPES[:1]).fit(X, y)
        np.testing.assert_array_equal(search.predict_proba(X_test), best.predict_proba(X_test))
        assert search.score(X_test, y_test) == average_precision_score(y_test, best.predict_proba(X_test)[:, 1])

    def test_cross_validation_scores_a_model_of_each_fold(self, rows):
        X, _, y, _ = rows
        folds = list(StratifiedKFold(2).split(X, y))
        scores = cross_val_score(auto(RECIPES[:2]), X, y, scoring="average_precision", cv=folds)
        by_hand = [
            average_precision_score(y[test], auto(RECIPES[:2]).fit(X[train], y[train]).predict_proba(X[test])[:, 1])
            for train, test in folds
        ]
        assert scores.tolist() == by_hand
        assert min(scores) > 5 * y.mean()

    def test_it_ends_a_pipeline(self, rows):
        X, X_test, y, _ = rows
        pipeline = make_pipeline(StandardScaler(), auto(RECIPES[:2])).fit(X, y)
        scaler = StandardScaler().fit(X)
        alone = auto(RECIPES[:2]).fit(scaler.transform(X), y)
        np.testing.assert_array_equal(pipeline.predict_proba(X_test), alone.predict_proba(scaler.transform(X_test)))
        assert pipeline.classes_.tolist() == [0, 1]

    def test_a_clone_of_a_fitted_one_gives_the_same_model(self, fitted, rows):
        X, X_test, y, _ = rows
        again = clone(fitted).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X_test), fitted.predict_proba(X_test))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_the_default_recipes_are_given_to_be_changed(kind):
    plain = AutoSelfPacedClassifier.default_recipes()
    assert dict(plain).keys() == recipes.default_recipes(recipes.Columns(None, {})).keys()
    assert [name for name, _ in AutoSelfPacedClassifier.default_recipes(np.zeros((3, 2)))] == [
        name for name, _ in plain
    ]
    frame = kind({"a": [1.0, 2.0, 3.0], "word": ["x", "y", "x"]})
    expected = recipes.default_recipes(recipes.Columns(["a", "word"], {"word": 2}))
    found = dict(AutoSelfPacedClassifier.default_recipes(frame))
    assert {name: _described(recipe) for name, recipe in found.items()} == {
        name: _described(recipe) for name, recipe in expected.items()
    }


def _described(recipe):
    """A recipe as text. Old versions of CatBoost write their models with an address."""
    return re.sub(r" at 0x\w+", "", repr(recipe))
