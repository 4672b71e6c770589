"""Validation in the order of time, with a delay of the labels."""

from selfpaced.backtesting.rolling import Budget, FoldResult, JudgedRows, SkipFoldError, backtest, run_backtest
from selfpaced.backtesting.splitter import Fold, RollingTimeSplit

__all__ = ["RollingTimeSplit", "backtest"]
