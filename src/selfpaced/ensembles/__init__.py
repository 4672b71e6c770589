"""The scikit-learn face, one estimator a file."""

from selfpaced.ensembles.rus_boost import RUSBoostClassifier
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier
from selfpaced.ensembles.smote_bagging import SMOTEBaggingClassifier
from selfpaced.ensembles.smote_boost import SMOTEBoostClassifier

__all__ = ["RUSBoostClassifier", "SMOTEBaggingClassifier", "SMOTEBoostClassifier", "SelfPacedEnsembleClassifier"]
