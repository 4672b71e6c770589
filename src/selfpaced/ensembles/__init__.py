"""The scikit-learn face, one estimator a file."""

from selfpaced.ensembles.balance_cascade import BalanceCascadeClassifier
from selfpaced.ensembles.easy_ensemble import EasyEnsembleClassifier
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier
from selfpaced.ensembles.under_bagging import UnderBaggingClassifier

__all__ = [
    "BalanceCascadeClassifier",
    "EasyEnsembleClassifier",
    "SelfPacedEnsembleClassifier",
    "UnderBaggingClassifier",
]
