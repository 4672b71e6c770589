"""Credit Fraud end to end: 284,807 real transactions, 492 frauds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier


@pytest.fixture(scope="module")
def split(credit_fraud_path):
    frame = pd.read_parquet(credit_fraud_path)
    X, y = frame.drop(columns="Class"), frame["Class"]
    return train_test_split(X, y, train_size=0.6, stratify=y, random_state=0)


def aucprc(split, **parameters):
    X, X_test, y, y_test = split
    base = DecisionTreeClassifier(max_depth=10)
    model = SelfPacedEnsembleClassifier(base, random_state=0, n_jobs=2, **parameters).fit(X, y)
    return average_precision_score(y_test, model.predict_proba(X_test)[:, 1])


def test_drawing_by_hardness_is_clearly_above_random_under_bagging(split):
    assert aucprc(split) > aucprc(split, n_bins=1) + 0.2


def test_the_frame_gives_the_members_of_its_array(split):
    X, _, y, _ = split
    models = [
        SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5), 3, random_state=0).fit(rows, y)
        for rows in (X, X.to_numpy(dtype=np.float64))
    ]
    for one, other in zip(*(model.estimators_ for model in models), strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)


@pytest.mark.slow
def test_probabilities_add_up_to_the_frauds_there_are_and_rank_as_the_scores_do(credit_fraud_path):
    """On average over splits: the number of frauds that one split expects is luck to some 6%."""
    frame = pd.read_parquet(credit_fraud_path)
    X, y = frame.drop(columns="Class").to_numpy(dtype=np.float64), frame["Class"].to_numpy()
    ratios = []
    for seed in range(4):
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.7, stratify=y, random_state=seed)
        plain, calibrated = (
            SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=10), random_state=seed, calibration=how)
            .fit(X_train, y_train)
            .predict_proba(X_test)[:, 1]
            for how in (None, "isotonic")
        )
        ratios.append(calibrated.mean() / y_test.mean())
        # Scores that differ by less than 1e-12 are the same mean of members, added up in another order.
        ranking = average_precision_score(y_test, plain.round(12))
        assert average_precision_score(y_test, calibrated.round(16)) == pytest.approx(ranking)
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
