"""Find the rare: Self-paced Ensemble for highly imbalanced classification."""

from selfpaced.ensembles import (
    RUSBoostClassifier,
    SelfPacedEnsembleClassifier,
)

__version__ = "0.1.0"

__all__ = [
    "RUSBoostClassifier",
    "SelfPacedEnsembleClassifier",
    "__version__",
]
