"""Other ensembles of the paper's comparison: EasyEnsemble, RUSBoost, SMOTEBoost and SMOTEBagging."""

from selfpaced.baselines.smote import SMOTEBaggingClassifier, SMOTEBoostClassifier
from selfpaced.baselines.under_sampling import EasyEnsembleClassifier, RUSBoostClassifier

__all__ = ["EasyEnsembleClassifier", "RUSBoostClassifier", "SMOTEBaggingClassifier", "SMOTEBoostClassifier"]
