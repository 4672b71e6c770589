"""Find the rare: Self-paced Ensemble for highly imbalanced classification."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfpaced.backtesting import PrequentialSplit, backtest
    from selfpaced.deciding import CostDecisionClassifier
    from selfpaced.ensembles import (
        AutoSelfPacedClassifier,
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
    from selfpaced.thresholds import choose_threshold

__version__ = "0.1.0"

__all__ = [
    "AutoSelfPacedClassifier",
    "BalanceCascadeClassifier",
    "CostDecisionClassifier",
    "EasyEnsembleClassifier",
    "PrequentialSplit",
    "RUSBoostClassifier",
    "SMOTEBaggingClassifier",
    "SMOTEBoostClassifier",
    "SelfPacedEnsembleClassifier",
    "UnderBaggingClassifier",
    "__version__",
    "backtest",
    "choose_threshold",
    "load_model",
    "open_table",
    "save_model",
]

_ROOMS = {
    "PrequentialSplit": "selfpaced.backtesting",
    "backtest": "selfpaced.backtesting",
    "CostDecisionClassifier": "selfpaced.deciding",
    "choose_threshold": "selfpaced.thresholds",
    "load_model": "selfpaced.persistence",
    "open_table": "selfpaced.tables",
    "save_model": "selfpaced.persistence",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that the command line does not wait for scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'selfpaced' has no attribute {name!r}")
    return getattr(import_module(_ROOMS.get(name, "selfpaced.ensembles")), name)


def __dir__() -> list[str]:
    return __all__
