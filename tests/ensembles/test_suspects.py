"""The rows whose labels an ensemble doubts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles.suspects import most_doubted
from selfpaced.tables import encode_labels
from selfpaced.tables.sources import open_table

TREE = DecisionTreeClassifier(min_samples_leaf=5)
KINDS = pytest.mark.parametrize(
    "kind",
    [SelfPacedEnsembleClassifier, UnderBaggingClassifier, BalanceCascadeClassifier],
    ids=lambda kind: kind.__name__,
)


@pytest.fixture(scope="module")
def flipped():
    """Transactions of which 1% have the wrong label, and which these are."""
    X, y = make_fraud(n_rows=6000, n_frauds=200, noise=0.0, random_state=0)
    wrong = np.random.default_rng(0).choice(6000, 60, replace=False)
    y[wrong] = 1 - y[wrong]
    return X, y, set(wrong.tolist())


@pytest.fixture(scope="module")
def fitted(flipped):
    X, y, _ = flipped
    return SelfPacedEnsembleClassifier(TREE, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def small(flipped):
    """An ensemble for tests that are not about what it finds."""
    X, y, _ = flipped
    return SelfPacedEnsembleClassifier(TREE, 3, random_state=0).fit(X, y)


def found(suspects, wrong):
    return len(wrong & set(suspects.rows.tolist())) / len(wrong)


@KINDS
def test_wrong_labels_are_found_among_the_training_rows(kind, flipped):
    X, y, wrong = flipped
    suspects = kind(TREE, random_state=0).fit(X, y).suspects(X, y, n=60)
    assert suspects.cross_fitted
    assert found(suspects, wrong) > 0.5  # by chance 0.01


def test_models_that_know_the_rows_by_heart_find_them_too(flipped):
    """Their own scores of the rows would tell nothing."""
    X, y, wrong = flipped
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(), random_state=0).fit(X, y)
    assert found(model.suspects(X, y, n=60), wrong) > 0.4
    assert found(model.suspects(X, y, n=60, trained_on=False), wrong) < 0.1


def test_a_calibration_is_used_where_there_is_one(flipped, fitted):
    X, y, wrong = flipped
    model = SelfPacedEnsembleClassifier(TREE, random_state=0, calibration="isotonic").fit(X, y)
    suspects = model.suspects(X, y, n=60)
    assert found(suspects, wrong) > 0.5
    assert suspects.doubts.tolist() != fitted.suspects(X, y, n=60).doubts.tolist()


def test_they_come_with_the_most_doubtful_first(flipped, fitted):
    X, y, _ = flipped
    suspects = fitted.suspects(X, y, n=10)
    assert len(suspects) == 10
    assert (np.diff(suspects.doubts) <= 0).all()
    np.testing.assert_array_equal(suspects.labels, y[suspects.rows])
    np.testing.assert_array_equal(suspects.likelier, 1 - suspects.labels)


def test_one_label_can_be_looked_at_alone(flipped, small):
    X, y, _ = flipped
    for label in (0, 1):
        assert set(small.suspects(X, y, n=15, label=label).labels.tolist()) == {label}
    with pytest.raises(ValueError, match=r"No row has the label 7\. The labels are"):
        small.suspects(X, y, label=7)


def test_other_rows_are_judged_by_the_ensemble_itself(flipped):
    X, y, wrong = flipped
    model = SelfPacedEnsembleClassifier(TREE, random_state=0).fit(X[:3000], y[:3000])
    suspects = model.suspects(X[3000:], y[3000:], n=30)
    assert not suspects.cross_fitted
    later = {row - 3000 for row in wrong if row >= 3000}
    assert found(suspects, later) > 0.5


def test_rows_in_another_order_are_not_taken_for_the_training_rows(flipped, small):
    X, y, _ = flipped
    order = np.random.default_rng(0).permutation(y.size)
    with pytest.warns(UserWarning, match="the rare rows are at other positions"):
        assert not small.suspects(X[order], y[order]).cross_fitted
    assert not small.suspects(X[order], y[order], trained_on=False).cross_fitted
    with pytest.raises(ValueError, match="These are not the rows that the ensemble was trained on"):
        small.suspects(X[order], y[order], trained_on=True)


def test_rows_with_ids_may_come_in_any_order(flipped, tmp_path):
    X, y, wrong = flipped
    frame = pd.DataFrame(X, columns=[f"V{i}" for i in range(X.shape[1])]).assign(
        label=y, number=np.arange(6000) + 10**6
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet", target="label", id_column="number")
    model = SelfPacedEnsembleClassifier(TREE, random_state=0).fit_table(table)
    mixed = frame.sample(frac=1, random_state=0)
    features = mixed.drop(columns=["label", "number"])
    suspects = model.suspects(features, mixed["label"], n=60, ids=mixed["number"], trained_on=True)
    assert found(suspects, {int(np.flatnonzero(mixed.index == row)[0]) for row in wrong}) > 0.5
    with pytest.raises(ValueError, match="These are not the rows that the ensemble was trained on"):
        model.suspects(features, mixed["label"], ids=mixed["number"] + 1)


def test_strings_and_dates_of_a_file_are_read_as_in_training(flipped, tmp_path):
    X, y, _ = flipped
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(y.size), unit="h")
    frame["word"] = np.where(X[:, 4] > 0, "web", "till")
    frame.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    base = HistGradientBoostingClassifier(max_iter=10)
    table = open_table(tmp_path / "rows.parquet", target="label")
    model = SelfPacedEnsembleClassifier(base, 3, random_state=0, calibration="sigmoid").fit_table(table)
    assert model.suspects(frame, y, trained_on=True).cross_fitted
    assert model.hardness_of(frame, y).shape == y.shape
    expected = model.predict_proba(frame)
    assert not np.array_equal(model.recalibrated(frame, y).predict_proba(frame), expected)


def test_of_several_classes_the_likelier_one_is_named():
    X, y = make_classification(
        3000, n_features=8, n_informative=6, n_classes=3, weights=[0.8, 0.15], class_sep=3.0, flip_y=0, random_state=0
    )
    labels = np.array(["calm", "odd", "rare"])[y]
    wrong = np.flatnonzero(y == 0)[:20]
    labels[wrong] = "odd"
    suspects = SelfPacedEnsembleClassifier(TREE, random_state=0).fit(X, labels).suspects(X, labels, n=20)
    assert len(set(wrong.tolist()) & set(suspects.rows.tolist())) > 10
    assert (suspects.likelier == "calm").mean() > 0.5


def test_the_smallest_probabilities_of_the_own_class_are_doubted_most():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    suspects = most_doubted(probabilities, encode_labels(np.array(["a", "a", "b", "b"])), 2, None, True)
    assert suspects.rows.tolist() == [1, 2]
    assert suspects.likelier.tolist() == ["b", "a"]
    np.testing.assert_allclose(suspects.doubts, [0.8, 0.6])


def test_training_rows_of_each_round_are_remembered(flipped, small):
    _, y, _ = flipped
    for note in small.rounds_:
        assert len(np.unique(note.ids)) == note.n_rows
        assert y[note.ids].sum() == y.sum()


def test_hardness_is_the_distance_from_the_label(flipped, small):
    X, y, _ = flipped
    scores = small.predict_proba(X)[:, 1]
    np.testing.assert_allclose(small.hardness_of(X, y), np.abs(scores - y), atol=1e-6)
    squared = SelfPacedEnsembleClassifier(TREE, 3, random_state=0, hardness="squared").fit(X, y)
    scores = squared.predict_proba(X)[:, 1]
    np.testing.assert_allclose(squared.hardness_of(X, y), (scores - y) ** 2, atol=1e-6)


@pytest.mark.parametrize("method", ["hardness_of", "suspects"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:5], y), "inconsistent numbers of samples"),
        (lambda X, y: (X, y + 5), "y has labels that the training rows do not have"),
        (lambda X, y: (X, np.where(y == 1, np.nan, 0.0)), "y contains NaN"),
        (lambda X, y: (X[:, :3], y), "expecting 20 features"),
    ],
    ids=["lengths", "unknown labels", "NaN labels", "other features"],
)
def test_rows_that_do_not_fit_are_refused(method, change, message, flipped, small):
    X, y, _ = flipped
    with pytest.raises(ValueError, match=message):
        getattr(small, method)(*change(X, y))
