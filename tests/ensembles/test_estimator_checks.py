"""scikit-learn's own exam, whole: no check is left out and none may fail.

`tests/contracts/test_ensembles.py` has all ensembles with their default base models. Here are others.
"""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.baselines.smote import SMOTEBaggingClassifier, SMOTEBoostClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier


@pytest.mark.parametrize(
    "estimator",
    [
        SelfPacedEnsembleClassifier(n_estimators=3, n_bins=2, hardness="cross_entropy", ratio=1.5, n_jobs=2),
        SelfPacedEnsembleClassifier(LogisticRegression(), n_estimators=2),
        SelfPacedEnsembleClassifier(RidgeClassifier(), n_estimators=2),
        SelfPacedEnsembleClassifier(HistGradientBoostingClassifier(max_iter=3), n_estimators=2),
        RUSBoostClassifier(GaussianNB(), n_estimators=3, ratio=1.5, n_jobs=2),
        SMOTEBoostClassifier(LogisticRegression(), n_estimators=3, learning_rate=0.5),
        SMOTEBaggingClassifier(RidgeClassifier(), n_estimators=3, bags="full"),
    ],
    ids=repr,
)
# The exam provokes warnings: of base models on hopeless data, and ours where ratio=1.5 wants more rows than there are.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_check_of_scikit_learn_passes(estimator):
    results = check_estimator(estimator, on_fail=None)
    not_passed = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert not_passed == {}
    assert len(results) > 50
