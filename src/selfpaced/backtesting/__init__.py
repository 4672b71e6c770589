"""Validation in the order of time, with a delay of the labels."""

from selfpaced.backtesting.durations import span_in
from selfpaced.backtesting.measures import Budget, JudgedRows, Reached, reached
from selfpaced.backtesting.rolling import FoldResult, backtest, has_probabilities, result_of
from selfpaced.backtesting.splitter import Fold, PrequentialSplit, Rolling

__all__ = [
    "Budget",
    "Fold",
    "FoldResult",
    "JudgedRows",
    "PrequentialSplit",
    "Reached",
    "Rolling",
    "backtest",
    "has_probabilities",
    "reached",
    "result_of",
    "span_in",
]
