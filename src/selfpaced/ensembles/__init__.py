"""The scikit-learn face, one estimator a file."""

from selfpaced.ensembles.rus_boost import RUSBoostClassifier
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier

__all__ = ["RUSBoostClassifier", "SelfPacedEnsembleClassifier"]
