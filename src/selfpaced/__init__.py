"""Find the rare: Self-paced Ensemble for highly imbalanced classification."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfpaced.backtesting import RollingTimeSplit, backtest
    from selfpaced.ensembles import (
        BalanceCascadeClassifier,
        SelfPacedEnsembleClassifier,
        SingleModelClassifier,
        UnderBaggingClassifier,
        adopt,
    )
    from selfpaced.ensembles.auto import AutoSelfPacedClassifier
    from selfpaced.persistence import load_model, save_model
    from selfpaced.tables import DatabaseTable
    from selfpaced.tables.sources import open_table
    from selfpaced.thresholds import CostDecisionClassifier, choose_threshold

__version__ = "0.1.0"

__all__ = [
    "AutoSelfPacedClassifier",
    "BalanceCascadeClassifier",
    "CostDecisionClassifier",
    "DatabaseTable",
    "RollingTimeSplit",
    "SelfPacedEnsembleClassifier",
    "SingleModelClassifier",
    "UnderBaggingClassifier",
    "__version__",
    "adopt",
    "backtest",
    "choose_threshold",
    "load_model",
    "open_table",
    "save_model",
]

_PACKAGES = {
    "AutoSelfPacedClassifier": "selfpaced.ensembles.auto",
    "CostDecisionClassifier": "selfpaced.thresholds",
    "DatabaseTable": "selfpaced.tables",
    "RollingTimeSplit": "selfpaced.backtesting",
    "backtest": "selfpaced.backtesting",
    "choose_threshold": "selfpaced.thresholds",
    "load_model": "selfpaced.persistence",
    "open_table": "selfpaced.tables.sources",
    "save_model": "selfpaced.persistence",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that the command line does not wait for scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'selfpaced' has no attribute {name!r}")
    return getattr(import_module(_PACKAGES.get(name, "selfpaced.ensembles")), name)


def __dir__() -> list[str]:
    return __all__
