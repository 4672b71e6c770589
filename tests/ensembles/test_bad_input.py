"""Every wrong input gets one clear error: what is wrong, what came, what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from selfpaced.callbacks import EarlyStopping
from selfpaced.ensembles import SelfPacedEnsembleClassifier

X = np.random.default_rng(0).normal(size=(100, 3))
Y = (np.arange(100) % 10 == 0).astype(int)


def spe(**parameters):
    return SelfPacedEnsembleClassifier(random_state=0, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bins": 0}, "n_bins must be a whole number >= 1; got 0"),
        ({"n_bins": 2.5}, "n_bins must be a whole number >= 1; got 2.5"),
        ({"n_bins": 10**9}, "n_bins must be at most 65536; got 1000000000"),
        ({"n_bins": True}, "n_bins must be a whole number >= 1; got True"),
        ({"n_estimators": 0}, "n_estimators must be a whole number >= 1; got 0"),
        ({"n_estimators": "10"}, "n_estimators must be a whole number >= 1; got '10'"),
        ({"ratio": 0}, "ratio must be a positive number; got 0"),
        ({"ratio": -1.0}, "ratio must be a positive number; got -1.0"),
        ({"ratio": np.nan}, "ratio must be a positive number; got nan"),
        ({"ratio": np.inf}, "ratio must be a positive number; got inf"),
        ({"ratio": "1"}, "ratio must be a positive number; got '1'"),
        ({"hardness": "hard"}, r"hardness must be one of \['absolute', 'cross_entropy', 'squared'\].*got 'hard'"),
        ({"hardness": lambda p: p * np.nan}, "finite numbers >= 0, but returned nan"),
        ({"hardness": lambda p: p[:1]}, r"one number per row: it got .* returned an array of shape \(1,\)"),
        ({"pacing": "sin"}, r"pacing must be one of \['tan'\].*got 'sin'"),
        ({"pacing": lambda i, n: -1}, "number >= 0, but returned -1 for round 1 of 10"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(parameters, message):
    with pytest.raises(ValueError, match=message):
        spe(**parameters).fit(X, Y)


@pytest.mark.parametrize("callbacks", [[print], print, EarlyStopping, 3, "bar"], ids=repr)
def test_a_callback_that_is_none_is_refused(callbacks):
    with pytest.raises(TypeError, match=r"callbacks must be .*Callback objects; got"):
        spe(callbacks=callbacks).fit(X, Y)


@pytest.mark.parametrize("patience", [0, -1, 2.5, "5", True, None])
def test_a_patience_that_is_no_number_of_rounds_is_refused(patience):
    with pytest.raises(ValueError, match="patience must be a whole number of rounds >= 1; got"):
        spe(callbacks=EarlyStopping(patience=patience)).fit(X, Y, eval_set=(X, Y))


@pytest.mark.parametrize("min_delta", [-0.1, 1, np.inf, np.nan, "0.1", True, None])
def test_a_rise_that_is_none_is_refused(min_delta):
    with pytest.raises(ValueError, match="min_delta, a difference of AUCPRC, must be at least 0 and below 1; got"):
        spe(callbacks=EarlyStopping(min_delta=min_delta)).fit(X, Y, eval_set=(X, Y))


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeRegressor(), KMeans(), StandardScaler(), IsolationForest(), "tree", DecisionTreeClassifier],
)
def test_a_base_model_that_is_no_classifier_is_refused(estimator):
    with pytest.raises(ValueError, match="estimator must be an instance of a classifier, not a class; got"):
        spe(estimator=estimator).fit(X, Y)


@pytest.mark.parametrize("n_jobs", ["all", 1.5, 0])
def test_a_number_of_jobs_that_is_none_is_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number other than 0; got"):
        spe(n_jobs=n_jobs).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(100), r"one class only, \[0.0\]. At least 2 classes are needed"),
        (
            np.arange(100) == 0,
            r"The class True has 1 row; at least 2 are needed. The classes found are \[False, True\]",
        ),
        (["fraud"] + ["ok"] * 99, r"The class 'fraud' has 1 row; .* The classes found are \['fraud', 'ok'\]"),
        (np.where(Y == 1, np.nan, 0.0), "Input y contains NaN"),
        (np.where(Y == 1, np.inf, 0.0), "Input y contains infinity"),
        (np.where(Y == 1, None, "ok"), "Input y contains None: every row needs a label"),
        (np.array([1 if rare else "ok" for rare in Y], dtype=object), r"cannot be sorted together: \['int', 'str'\]"),
        (Y[:99], r"inconsistent numbers of samples: \[100, 99\]"),
        (np.linspace(0, 1, 100), "Unknown label type: continuous"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
        (None, "requires y to be passed"),
    ],
    ids=[
        "one class",
        "one row",
        "one named row",
        "NaN",
        "infinity",
        "None",
        "mixed",
        "lengths",
        "numbers",
        "two columns",
        "no y",
    ],
)
def test_wrong_labels_are_explained(y, message):
    with pytest.raises(ValueError, match=message):
        spe().fit(X, y)


with_infinity = X.copy()
with_infinity[3, 1] = np.inf


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (with_infinity, "Input X contains infinity"),
        (pd.DataFrame(with_infinity, columns=list("abc")), "Column 'b' of X contains infinity"),
        (pl.DataFrame(with_infinity, schema=list("abc")), "Column 'b' of X contains infinity"),
        (pa.table(dict(zip("abc", with_infinity.T, strict=True))), "Column 'b' of X contains infinity"),
        (np.empty((0, 3)), r"Found array with 0 sample\(s\)"),
        (pd.DataFrame({"a": []}), "Found a table with 0 rows and 1 columns"),
        (np.empty((100, 0)), r"Found array with 0 feature\(s\)"),
        (X[:, 0], "Expected 2D array, got 1D array"),
        (np.full((100, 3), "a"), "not compatible with arrays of bytes/strings"),
    ],
    ids=["array", "pandas", "polars", "pyarrow", "no rows", "no rows in a frame", "no columns", "1D", "strings"],
)
def test_wrong_features_are_explained(features, message):
    with pytest.raises(ValueError, match=message):
        spe().fit(features, Y)


def test_infinity_is_refused_at_predict_too():
    with pytest.raises(ValueError, match="Input X contains infinity"):
        spe().fit(X, Y).predict_proba(with_infinity)


def test_a_lazy_frame_must_be_collected_first():
    with pytest.raises(TypeError, match=r"Pass X.collect\(\)"):
        spe().fit(pl.DataFrame(X, schema=list("abc")).lazy(), Y)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "staged_predict_proba"])
def test_an_unfitted_model_says_so(method):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(spe(), method)(X)


def test_an_unfitted_model_has_no_importances():
    assert not hasattr(spe(), "feature_importances_")


def test_missing_values_are_refused_by_base_models_that_take_none_with_the_round():
    with_nan = X.copy()
    with_nan[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN") as caught:
        spe(estimator=KNeighborsClassifier(), ratio=9).fit(with_nan, Y)
    assert "round 0 of 10" in caught.value.__notes__[0]


class FailsInRoundTwo(ClassifierMixin, BaseEstimator):
    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        if type(self).fits == 3:
            raise ZeroDivisionError("no luck")
        self.tree_ = DecisionTreeClassifier().fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)


def test_a_base_model_that_fails_in_the_middle_keeps_its_error_with_the_round_named():
    with pytest.raises(ZeroDivisionError, match="no luck") as caught:
        spe(estimator=FailsInRoundTwo()).fit(X, Y)
    assert caught.value.__notes__ == ["This happened in round 2 of 10."]


class PredictsNaN(FailsInRoundTwo):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_a_base_model_that_predicts_nan_is_found_out():
    with pytest.raises(ValueError, match="predicted NaN as a probability of a training row") as caught:
        spe(estimator=PredictsNaN()).fit(X, Y)
    assert caught.value.__notes__ == ["This happened in round 1 of 10."]


@pytest.mark.parametrize(
    ("eval_set", "message"),
    [
        ((X,), r"eval_set must be one pair \(X, y\).*got a tuple of length 1"),
        (X, r"eval_set must be one pair \(X, y\).*got a ndarray"),
        ([(X, Y)], "not a list of pairs; got a list of length 1"),
        ([(X, Y), (X, Y)], "not a list of pairs; got a list of length 2"),
        ((X[:, :2], Y), "X has 2 features, but SelfPacedModel is expecting 3"),
        ((X[:50], Y), "inconsistent numbers of samples"),
        ((X[Y == 0], Y[Y == 0]), r"The eval_set has no row of the class 1.*Split the rows with stratify=y"),
        ((X, Y + 1), r"The eval_set has labels .*: \[2\]. The classes of the training rows are \[0, 1\]"),
    ],
)
def test_a_wrong_eval_set_is_explained(eval_set, message):
    with pytest.raises(ValueError, match=message):
        spe().fit(X, Y, eval_set=eval_set)


def test_early_stopping_without_an_eval_set_says_what_to_give():
    with pytest.raises(ValueError, match=r"Give fit an eval_set=\(X, y\)"):
        spe(callbacks=EarlyStopping()).fit(X, Y)


def test_an_unknown_argument_of_fit_is_refused():
    with pytest.raises(
        TypeError, match=r"fit got \['colour'\], which are not its own arguments.*enable_metadata_routing"
    ):
        spe().fit(X, Y, colour="red")


def test_a_ratio_beyond_the_majority_gives_all_of_it_with_a_warning():
    with pytest.warns(UserWarning, match="ratio=50 asks for 500 rows of the class 0, which has only 90"):
        model = spe(ratio=50, n_estimators=2).fit(X, Y)
    assert [note.n_rows for note in model.rounds_] == [100] * 3
    assert [note.quota.sum() for note in model.rounds_] == [90] * 3


def test_columns_that_are_not_numbers_are_named_where_a_base_model_fails():
    rows = pd.DataFrame({"amount": np.arange(40.0), "when": pd.date_range("2024-01-01", periods=40), "shop": "web"})
    with pytest.raises((TypeError, ValueError)) as raised:
        SelfPacedEnsembleClassifier().fit(rows, [0, 0, 0, 1] * 10)
    assert any("['when', 'shop'] do not hold numbers" in note for note in raised.value.__notes__)
