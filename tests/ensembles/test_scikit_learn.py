"""At home in scikit-learn: its tools take the classifier as one of their own."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from selfpaced.callbacks import EarlyStopping
from selfpaced.ensembles import MemberFactory, SelfPacedEnsembleClassifier


def spe(**parameters):
    settings = {"estimator": DecisionTreeClassifier(max_depth=4), "n_estimators": 3, "random_state": 0}
    return SelfPacedEnsembleClassifier(**settings | parameters)


def test_a_grid_searches_its_own_and_nested_parameters(board):
    grid = {"n_bins": [1, 10], "estimator__max_depth": [2, 6]}
    search = GridSearchCV(spe(), grid, scoring="average_precision", cv=2).fit(*board)
    assert search.best_params_["estimator__max_depth"] == 6


def test_a_grid_searches_in_several_processes(board):
    search = GridSearchCV(spe(n_jobs=2), {"n_bins": [5, 10]}, scoring="average_precision", cv=2, n_jobs=2).fit(*board)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_it_ends_a_pipeline(board):
    model = make_pipeline(StandardScaler(), spe()).fit(*board)
    assert model.predict_proba(board[0]).shape == (1100, 2)


def test_it_is_scored_by_cross_validation(frauds):
    by_chance = frauds[1].mean()
    assert cross_val_score(spe(), *frauds, scoring="average_precision", cv=3).mean() > 3 * by_chance


def test_a_frozen_model_is_calibrated(board):
    X, y = board
    model = CalibratedClassifierCV(FrozenEstimator(spe().fit(X, y))).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)


def test_its_threshold_is_tuned(frauds):
    X, y = frauds
    model = TunedThresholdClassifierCV(spe(), scoring="f1", cv=3).fit(X, y)
    assert f1_score(y, model.predict(X)) > f1_score(y, spe().fit(X, y).predict(X))


def test_it_votes_and_selects_features_and_is_explained(frauds):
    X, y = frauds
    fitted = spe().fit(X, y)
    assert VotingClassifier([("a", spe()), ("b", spe(n_bins=3))], voting="soft").fit(X, y).predict(X).shape == y.shape
    assert SelectFromModel(fitted, prefit=True, max_features=2).transform(X).shape[1] <= 2
    assert permutation_importance(fitted, X, y, scoring="average_precision", n_repeats=1).importances.shape == (6, 1)
    assert partial_dependence(fitted, X, [0], grid_resolution=5)["average"].shape == (1, 5)


def test_parameters_are_stored_untouched_and_cloned():
    hardness, callbacks = np.sqrt, [EarlyStopping()]
    model = spe(hardness=hardness, callbacks=callbacks)
    assert model.get_params()["hardness"] is hardness
    assert model.callbacks is callbacks
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_its_name_and_parameters_print():
    assert repr(SelfPacedEnsembleClassifier(n_bins=5)) == "SelfPacedEnsembleClassifier(n_bins=5)"


@pytest.mark.parametrize(
    ("base", "allows_nan", "takes_sparse"),
    [
        (None, True, True),
        (HistGradientBoostingClassifier(), True, False),
        (LogisticRegression(), False, True),
        (KNeighborsClassifier(), False, True),
    ],
)
def test_the_tags_are_those_of_the_base_model(base, allows_nan, takes_sparse):
    tags = get_tags(SelfPacedEnsembleClassifier(base)).input_tags
    assert (tags.allow_nan, tags.sparse) == (allows_nan, takes_sparse)


def test_feature_names_are_those_of_the_last_fit(board):
    import pandas as pd

    X, y = board
    model = spe().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


class TestSampleWeight:
    """Weights reach the base models, with the rows they belong to."""

    def test_weights_change_what_is_learned(self, board):
        X, y = board
        weights = np.where(X[:, 0] > 1.5, 1.0, 1e-6)
        heavy = spe().fit(X, y, sample_weight=weights)
        assert not np.array_equal(heavy.predict_proba(X), spe().fit(X, y).predict_proba(X))

    def test_each_drawn_row_keeps_its_weight(self, board):
        X, y = board
        weights = 1 + np.arange(len(y), dtype=float)
        model = spe().fit(X, y, sample_weight=weights)
        total = model.estimators_[0].tree_.weighted_n_node_samples[0]
        smallest, largest = np.sort(weights[y == 0])[[0, -1]]
        minority = weights[y == 1].sum()
        assert minority + 100 * smallest < total < minority + 100 * largest
        assert total == int(total)

    def test_equal_weights_change_nothing(self, board):
        X, y = board
        same = spe().fit(X, y, sample_weight=np.full(len(y), 1.0))
        np.testing.assert_array_equal(same.predict_proba(X), spe().fit(X, y).predict_proba(X))

    def test_a_list_or_series_of_weights_is_taken(self, board):
        import pandas as pd

        X, y = board
        ones = [1.0] * len(y)
        for weights in (ones, pd.Series(ones)):
            spe().fit(X, y, sample_weight=weights)

    def test_no_weights_are_no_argument(self, board):
        SelfPacedEnsembleClassifier(KNeighborsClassifier(), 2, random_state=0).fit(*board, sample_weight=None)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(5), "inconsistent numbers of samples"),
            (np.ones((1100, 2)), r"sample_weight must be 1D, one number per row; got an array of shape \(1100, 2\)"),
            (np.full(1100, np.nan), "Input sample_weight contains NaN"),
            (["heavy"] * 1100, "sample_weight must be numbers; got an array of <U5"),
        ],
    )
    def test_wrong_weights_are_explained(self, board, weights, message):
        with pytest.raises(ValueError, match=message):
            spe().fit(*board, sample_weight=weights)

    def test_a_base_that_takes_none_says_so(self, board):
        model = spe(estimator=KNeighborsClassifier())
        with pytest.raises(ValueError, match="the base model KNeighborsClassifier does not accept sample_weight"):
            model.fit(*board, sample_weight=np.ones(1100))

    def test_the_last_step_of_a_pipeline_gets_them(self, board):
        model = spe(estimator=make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)))
        model.fit(*board, sample_weight=np.full(1100, 2.0))
        assert model.estimators_[0][-1].tree_.weighted_n_node_samples[0] == 400

    def test_a_pipeline_whose_last_step_takes_none_says_so(self, board):
        model = spe(estimator=make_pipeline(StandardScaler(), KNeighborsClassifier()))
        with pytest.raises(ValueError, match="the base model Pipeline does not accept sample_weight"):
            model.fit(*board, sample_weight=np.ones(1100))


class TestMetadataRouting:
    @pytest.fixture(autouse=True)
    def routing(self):
        with config_context(enable_metadata_routing=True):
            yield

    def test_requested_weights_reach_a_step_of_a_pipeline(self, board):
        X, y = board
        tree = DecisionTreeClassifier(max_depth=3).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = spe(estimator=make_pipeline(scaler, tree)).fit(X, y, sample_weight=np.full(len(y), 2.0))
        assert model.estimators_[0][-1].tree_.weighted_n_node_samples[0] == 400

    def test_weights_that_nobody_requested_are_refused(self, board):
        from sklearn.exceptions import UnsetMetadataPassedError

        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            spe().fit(*board, sample_weight=np.ones(1100))

    def test_weights_are_routed_through_cross_validation(self, board):
        base = DecisionTreeClassifier(max_depth=3).set_fit_request(sample_weight=True)
        model = make_pipeline(spe(estimator=base))
        scorer = make_scorer(average_precision_score, response_method="predict_proba")
        scorer.set_score_request(sample_weight=False)
        X, y = board
        folds = list(StratifiedKFold(2).split(X, y))
        weights = np.where(X[:, 0] > np.median(X[:, 0]), 20.0, 1.0)

        def by_hand(weights):
            fitted = [clone(model).fit(X[train], y[train], sample_weight=weights[train]) for train, _ in folds]
            return [scorer(each, X[test], y[test]) for each, (_, test) in zip(fitted, folds, strict=True)]

        options = {"scoring": scorer, "error_score": "raise", "cv": folds}
        scores = cross_val_score(model, X, y, params={"sample_weight": weights}, **options)
        assert scores.tolist() == by_hand(weights)
        assert scores.tolist() != by_hand(np.ones(len(y)))

    def test_other_metadata_goes_with_its_rows(self, board):
        from sklearn.base import BaseEstimator, ClassifierMixin

        class WantsAmounts(ClassifierMixin, BaseEstimator):
            def fit(self, X, y, amount=None, currency=None):
                self.amount_, self.currency_, self.X_ = amount, currency, X
                self.tree_ = DecisionTreeClassifier().fit(X, y)
                self.classes_ = self.tree_.classes_
                return self

            def predict_proba(self, X):
                return self.tree_.predict_proba(X)

        X, y = board
        base = WantsAmounts().set_fit_request(amount=True, currency=True)
        model = spe(estimator=base).fit(X, y, amount=X[:, 0], currency="EUR")
        for member in model.estimators_:
            assert np.array_equal(member.amount_, member.X_[:, 0])
            assert member.currency_ == "EUR"


class TestThreadsOfBaseModels:
    @pytest.fixture
    def watched(self):
        """A LightGBM that notes the n_jobs of each fit, and the notes."""
        from lightgbm import LGBMClassifier

        seen = []

        class Watched(LGBMClassifier):
            def fit(self, X, y, **arguments):
                seen.append(self.n_jobs)
                return super().fit(X, y, **arguments)

        return Watched, seen

    def test_few_rows_are_fitted_in_one_thread_and_the_setting_is_kept(self, watched, board):
        make, seen = watched
        model = spe(estimator=make(n_estimators=2, verbose=-1)).fit(*board)
        assert seen == [1, 1, 1, 1]
        assert [member.n_jobs for member in model.estimators_] == [None, None, None]

    def test_a_number_of_jobs_that_the_user_chose_is_left_alone(self, watched, board):
        make, seen = watched
        pipeline = make_pipeline(StandardScaler(), make(n_estimators=2, n_jobs=2, verbose=-1))
        spe(estimator=pipeline).fit(*board)
        assert seen == [2, 2, 2, 2]

    def test_many_rows_are_left_to_the_base_model(self, watched):
        """From half a million numbers on."""
        make, seen = watched
        for n_rows in (2**18 - 1, 2**18):
            factory = MemberFactory([make(n_estimators=1, verbose=-1)], 0, {})
            factory.fit(1, np.zeros((n_rows, 2)), np.arange(n_rows) % 2, {})
        assert seen == [1, None]

    @pytest.mark.parametrize(("chosen", "expected"), [(None, 2), (1, 1)])
    def test_the_trees_of_a_forest_are_trained_in_the_threads_of_the_ensemble(self, chosen, expected, board):
        seen = []

        class Watched(ExtraTreesClassifier):
            def fit(self, X, y, **arguments):
                seen.append(self.n_jobs)
                return super().fit(X, y, **arguments)

        forest = Watched(n_estimators=3, n_jobs=chosen)
        for base in (forest, make_pipeline(StandardScaler(), forest)):
            model = spe(estimator=base, n_jobs=2).fit(*board)
            assert seen == [expected] * 4
            assert [member.get_params()[name] for member in model.estimators_ for name in jobs_in(base)] == [chosen] * 3
            alone = spe(estimator=base, n_jobs=1).fit(*board)
            np.testing.assert_array_equal(model.predict_proba(board[0]), alone.predict_proba(board[0]))
            seen.clear()


def jobs_in(model):
    return [name for name in model.get_params() if name.endswith("n_jobs")]
