"""Find the rare: Self-paced Ensemble for highly imbalanced classification."""

from selfpaced.ensembles import (
    BalanceCascadeClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
    SelfPacedEnsembleClassifier,
    SMOTEBaggingClassifier,
    SMOTEBoostClassifier,
    UnderBaggingClassifier,
)
from selfpaced.persistence import load_model, save_model
from selfpaced.tables import open_table

__version__ = "0.1.0"

__all__ = [
    "BalanceCascadeClassifier",
    "EasyEnsembleClassifier",
    "RUSBoostClassifier",
    "SMOTEBaggingClassifier",
    "SMOTEBoostClassifier",
    "SelfPacedEnsembleClassifier",
    "UnderBaggingClassifier",
    "__version__",
    "load_model",
    "open_table",
    "save_model",
]
