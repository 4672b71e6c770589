"""Other ensembles of the paper's comparison: EasyEnsemble, RUSBoost, SMOTEBoost and SMOTEBagging."""

from selfpaced.baselines.easy_ensemble import EasyEnsembleClassifier
from selfpaced.baselines.rus_boost import RUSBoostClassifier
from selfpaced.baselines.smote_bagging import SMOTEBaggingClassifier
from selfpaced.baselines.smote_boost import SMOTEBoostClassifier

__all__ = ["EasyEnsembleClassifier", "RUSBoostClassifier", "SMOTEBaggingClassifier", "SMOTEBoostClassifier"]
