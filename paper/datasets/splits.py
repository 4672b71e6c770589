"""60% of the rows for training, 20% for validation and 20% for testing: at random as in the paper, or by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from paper.datasets.dataset import Features, Labels


@dataclass(frozen=True)
class Split:
    """Three disjoint parts of a data set."""

    X_train: Features
    y_train: Labels
    X_valid: Features
    y_valid: Labels
    X_test: Features
    y_test: Labels

    def without(self, column: int) -> Split:
        """The same rows without a column."""
        parts = {name: np.delete(getattr(self, name), column, axis=1) for name in ("X_train", "X_valid", "X_test")}
        return replace(self, **parts)

    def standardised(self, columns: Sequence[int]) -> Split:
        """Some columns with the mean 0 and the deviation 1 that they have in the training part."""
        if not columns:
            return self
        chosen = list(columns)
        scaler = StandardScaler().fit(self.X_train[:, chosen])
        parts = {}
        for name in ("X_train", "X_valid", "X_test"):
            parts[name] = getattr(self, name).copy()
            parts[name][:, chosen] = scaler.transform(parts[name][:, chosen])
        return replace(self, **parts)


def random_split(X: Features, y: Labels, seed: int) -> Split:
    """Not stratified: the paper's training part of Credit Fraud has 316 or 321 positives, not always 295."""
    order = np.random.default_rng(seed).permutation(len(y))
    return _parts(X, y, order, _cuts(len(y)))


def split_in_order(X: Features, y: Labels, column: int) -> Split:
    """The rows with the lowest values of a column train, those with the highest test. Equal values stay together."""
    order = np.argsort(X[:, column], kind="stable")
    values = X[order, column]
    return _parts(X, y, order, [int(np.searchsorted(values, values[cut])) for cut in _cuts(len(y))])


def _cuts(n_rows: int) -> list[int]:
    return [round(0.6 * n_rows), round(0.8 * n_rows)]


def _parts(X: Features, y: Labels, order: NDArray[np.int64], cuts: list[int]) -> Split:
    train, valid, test = np.split(order, cuts)
    return Split(X[train], y[train], X[valid], y[valid], X[test], y[test])
