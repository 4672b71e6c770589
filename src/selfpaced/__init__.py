"""Find the rare: Self-paced Ensemble for highly imbalanced classification."""

from selfpaced.ensembles import SelfPacedEnsembleClassifier

__version__ = "0.1.0"

__all__ = ["SelfPacedEnsembleClassifier", "__version__"]
