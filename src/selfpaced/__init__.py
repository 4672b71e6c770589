"""Find the rare: Self-paced Ensemble for highly imbalanced classification."""

from selfpaced.ensembles import (
    RUSBoostClassifier,
    SelfPacedEnsembleClassifier,
    SMOTEBaggingClassifier,
    SMOTEBoostClassifier,
)

__version__ = "0.1.0"

__all__ = [
    "RUSBoostClassifier",
    "SMOTEBaggingClassifier",
    "SMOTEBoostClassifier",
    "SelfPacedEnsembleClassifier",
    "__version__",
]
