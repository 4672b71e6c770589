"""Validation in the order of time, with a delay of the labels."""

from selfpaced.backtesting.rolling import (
    Budget,
    FoldResult,
    FoldSkippedError,
    JudgedRows,
    Reached,
    backtest,
    has_probabilities,
    reached,
    roll,
)
from selfpaced.backtesting.splitter import Fold, Rolling, RollingTimeSplit, span_in

__all__ = [
    "Budget",
    "Fold",
    "FoldResult",
    "JudgedRows",
    "Reached",
    "Rolling",
    "RollingTimeSplit",
    "backtest",
    "has_probabilities",
    "reached",
    "span_in",
]
