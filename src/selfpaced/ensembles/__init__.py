"""The scikit-learn estimators, one in each file, and what can be done with a fitted one."""

from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.balance_cascade import BalanceCascadeClassifier
from selfpaced.ensembles.easy_ensemble import EasyEnsembleClassifier
from selfpaced.ensembles.rus_boost import RUSBoostClassifier
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier
from selfpaced.ensembles.smote_bagging import SMOTEBaggingClassifier
from selfpaced.ensembles.smote_boost import SMOTEBoostClassifier
from selfpaced.ensembles.under_bagging import UnderBaggingClassifier

__all__ = [
    "AutoSelfPacedClassifier",
    "BalanceCascadeClassifier",
    "EasyEnsembleClassifier",
    "RUSBoostClassifier",
    "SMOTEBaggingClassifier",
    "SMOTEBoostClassifier",
    "SelfPacedEnsembleClassifier",
    "UnderBaggingClassifier",
]
