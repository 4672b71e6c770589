"""SMOTEBagging: bags with changing shares of drawn and synthetic rows."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_blobs
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines.smote import SMOTEBaggingClassifier, full_bag, growing_bag
from selfpaced.datasets import make_fraud

TREE = DecisionTreeClassifier(max_depth=4)


def smote_bagging(base=TREE, n_estimators=4, **parameters):
    return SMOTEBaggingClassifier(base, n_estimators, **{"random_state": 0, **parameters})


@pytest.fixture(scope="module", params=["growing", "full"])
def bags(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(frauds, bags):
    return smote_bagging(bags=bags).fit(*frauds)


class Counter(ClassifierMixin, BaseEstimator):
    """Learns nothing but how many rows it got: a large bag costs no time."""

    def fit(self, X, y):
        self.classes_, self.counts_ = np.unique(y, return_counts=True)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_ten_growing_bags_on_credit_fraud_hold_as_many_rows_as_the_paper_says():
    y = np.repeat([0, 1], [170_564, 321])
    X = np.random.default_rng(0).normal(size=(y.size, 1))
    assert sum(smote_bagging(Counter(), 10).fit(X, y).n_training_rows_) == 1_876_204


def test_growing_bags_are_balanced_and_begin_again_after_the_tenth(frauds):
    model = smote_bagging(Counter(), 12).fit(*frauds)
    tenths = [*range(1, 11), 1, 2]
    assert [member.counts_.tolist() for member in model.estimators_] == [[294 * n, 294 * n] for n in tenths]
    assert model.n_training_rows_ == [588 * n for n in tenths]


def test_full_bags_are_balanced_at_the_size_of_the_largest_class(frauds):
    model = smote_bagging(Counter(), 12, bags="full").fit(*frauds)
    assert [member.counts_.tolist() for member in model.estimators_] == [[2940, 2940]] * 12


@pytest.mark.parametrize(
    ("bag", "drawn_and_new"),
    [(growing_bag, [(882, 0), (18, 864)]), (full_bag, [(2940, 0), (882, 2058)])],
    ids=["growing", "full"],
)
def test_the_third_bag_draws_three_tenths_and_leaves_the_rest_to_smote(bag, drawn_and_new):
    parts = bag([np.arange(2940), np.arange(60)], 3, lambda number, n_rows: np.zeros(n_rows, dtype=int))
    assert [(part.drawn.size, part.n_new) for part in parts] == drawn_and_new


def test_rows_are_drawn_with_replacement(frauds, oracle):
    X, y = frauds
    member = smote_bagging(oracle, 10).fit(X, y).estimators_[9]
    majority = member.X_[member.y_ == 0, 0]
    assert len(majority) == 2940
    assert 0.6 < len(np.unique(majority)) / 2940 < 0.66  # 1 - 1/e


def test_every_bag_draws_other_rows(frauds, oracle):
    X, y = frauds
    members = smote_bagging(oracle, 11).fit(X, y).estimators_
    assert not np.array_equal(np.sort(members[0].X_[:, 0]), np.sort(members[10].X_[:, 0]))


def test_synthetic_rows_lie_within_the_minority(frauds, oracle, bags):
    X, y = frauds
    for member in smote_bagging(oracle, 2, bags=bags).fit(X, y).estimators_:
        minority = member.X_[member.y_ == 1]
        assert (minority >= X[y == 1].min(axis=0)).all()
        assert (minority <= X[y == 1].max(axis=0)).all()


@pytest.mark.parametrize("n_minority", [2, 5])
def test_a_minority_of_a_few_rows_is_enough(n_minority, bags):
    """A tenth of it would be no row at all: a bag takes two."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = (np.arange(50) < n_minority).astype(int)
    model = smote_bagging(Counter(), 10, bags=bags).fit(X, y)
    assert all(member.counts_[0] == member.counts_[1] for member in model.estimators_)


def test_with_several_classes_all_become_as_large_as_the_largest(bags):
    X, y = make_blobs([40, 1000, 300], centers=[[0, 0], [3, 3], [0, 4]], random_state=0)
    model = smote_bagging(bags=bags).fit(X, y)
    assert model.n_training_rows_ == {"growing": [300, 600, 900, 1200], "full": [3000] * 4}[bags]
    assert all((model.predict(X[y == number]) == number).mean() > 0.7 for number in range(3))


def test_probabilities_are_the_mean_of_the_members(fitted, frauds):
    mean = np.mean([member.predict_proba(frauds[0]) for member in fitted.estimators_], axis=0)
    np.testing.assert_allclose(fitted.predict_proba(frauds[0]), mean)


def test_drawn_rows_bring_their_weights_and_synthetic_rows_the_mean_of_their_class(frauds, oracle, bags):
    X, y = frauds
    weights = np.where(y == 1, 10.0, 1.0)
    member = smote_bagging(oracle, 1, bags=bags).fit(X, y, sample_weight=weights).estimators_[0]
    np.testing.assert_array_equal(member.weights_, np.where(member.y_ == 1, 10.0, 1.0))


def test_without_weights_the_base_model_need_not_take_any(frauds):
    assert smote_bagging(KNeighborsClassifier(), 1).fit(*frauds).predict_proba(frauds[0]).shape == (3000, 2)


def test_it_ranks_better_than_a_single_tree():
    X, y = make_fraud(n_rows=20_000, n_frauds=400, random_state=0)
    tree = DecisionTreeClassifier(max_depth=10, random_state=0)
    alone, bagged = (
        average_precision_score(y[1::2], model.fit(X[::2], y[::2]).predict_proba(X[1::2])[:, 1])
        for model in (tree, smote_bagging(tree, 10))
    )
    assert bagged > alone + 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bags": "huge"}, r"bags must be one of \['full', 'growing'\]; got 'huge'"),
        ({"bags": None}, r"bags must be one of \['full', 'growing'\]; got None"),
        ({"k_neighbors": 2.5}, "k_neighbors must be a whole number >= 1; got 2.5"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0; got 0"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(frauds, parameters, message):
    with pytest.raises(ValueError, match=message):
        smote_bagging(**parameters).fit(*frauds)


def test_an_error_of_the_base_model_says_in_which_round_it_was(frauds):
    with pytest.raises(ValueError, match="max_depth") as caught:
        smote_bagging(DecisionTreeClassifier(max_depth=0)).fit(*frauds)
    assert caught.value.__notes__ == ["This happened in round 1 of 4."]


def test_missing_values_are_refused_with_what_to_do(frauds):
    X, y = frauds
    with pytest.raises(ValueError, match=r"Input X contains NaN.*Impute missing values first"):
        smote_bagging().fit(np.where(X > 3, np.nan, X), y)


def test_a_column_without_numbers_is_named_with_what_to_do(frauds):
    X, y = frauds
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(shop="s")
    with pytest.raises(ValueError, match=r"Column 'shop' of X does not hold numbers. Encode it first"):
        smote_bagging().fit(frame, y)


def test_without_imbalanced_learn_the_extra_is_named(frauds, monkeypatch):
    monkeypatch.setitem(sys.modules, "imblearn.over_sampling", None)
    with pytest.raises(ImportError, match=r"SMOTE needs imblearn.*pip install 'selfpaced\[smote\]'"):
        smote_bagging().fit(*frauds)


@pytest.mark.parametrize("again", [lambda model: model, clone], ids=["refit", "clone"])
def test_the_same_seed_gives_the_same_members(frauds, fitted, bags, again):
    X, y = frauds
    model = again(smote_bagging(bags=bags).fit(X, y)).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


def test_another_seed_gives_other_members(frauds, fitted, bags):
    X, y = frauds
    other = smote_bagging(bags=bags, random_state=1).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), fitted.predict_proba(X))


def test_threads_do_not_change_the_members(frauds, fitted, bags):
    X, y = frauds
    threaded = smote_bagging(bags=bags, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threaded.predict_proba(X), fitted.predict_proba(X))


def test_nothing_that_was_given_is_changed(frauds, bags):
    X, y = frauds
    given = X.copy(), y.copy(), np.ones(len(y))
    smote_bagging(bags=bags).fit(given[0], given[1], sample_weight=given[2])
    for one, other in zip(given, (X, y, np.ones(len(y))), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("labels", [("ok", "zfraud"), (-1, 1), (False, True)], ids=repr)
def test_labels_of_any_kind_give_the_same_model(frauds, fitted, bags, labels):
    X, y = frauds
    model = smote_bagging(bags=bags).fit(X, np.where(y == 1, labels[1], labels[0]))
    assert model.classes_.tolist() == list(labels)
    assert model.pos_label_ == labels[1]
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
