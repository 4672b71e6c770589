"""SHAP values of any model, by permutations of the features.

A feature of a row is either present, or replaced by those of the background. SHAP permutes 0s and 1s that mark the
present features, so features may be of any type, including missing values and categories.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from selfpaced.tables import InMemoryTable, polars_as_arrow

Floats = NDArray[np.float64]
# Each is done forwards and backwards. For a model without interactions of three features two are enough.
N_PERMUTATIONS = 10
SEED = 0


class Mixing:
    """Rows that have some features of an explained row, and the others of each row of the background."""

    def __init__(self, explained: InMemoryTable, background: InMemoryTable) -> None:
        self._rows, self._others = _plain(explained), _plain(background)
        self.n_rows, self.n_features = self._rows.shape

    @property
    def explained(self) -> NDArray[Any]:
        """The values of the rows that are explained."""
        return np.asarray(self._rows)

    def mixed(self, number: int, present: NDArray[np.bool_]) -> InMemoryTable:
        """All rows of the background for each row of `present`, with the present features of an explained row."""
        n_others = len(self._others)
        places, is_own = np.tile(np.arange(n_others), len(present)), np.repeat(present, n_others, axis=0)
        if isinstance(self._rows, np.ndarray):
            return InMemoryTable(np.where(is_own, self._rows[number], self._others[places]))
        others = self._others.take(places).reset_index(drop=True)
        own = self._rows.take(np.full(len(places), number)).reset_index(drop=True)
        return InMemoryTable(others.where(~is_own, own).astype(others.dtypes))

    def means(self, number: int, present: NDArray[np.bool_], score: Callable[[InMemoryTable], Floats]) -> Floats:
        """The mean score over the background, a row for each row of `present`, a column for each class."""
        scores = score(self.mixed(number, present))
        mean: Floats = scores.reshape(len(present), len(self._others), -1).mean(axis=1)
        return mean


def values_by_permutations(
    shap: Any, mixing: Mixing, score: Callable[[InMemoryTable], Floats]
) -> tuple[Floats, Floats]:
    """Values (row, feature, class) and base values (row, class) of a score."""
    absent, present = np.zeros((1, mixing.n_features)), np.ones((1, mixing.n_features))
    values, base = [], []
    for number in range(mixing.n_rows):

        def of_row(some: Floats, number: int = number) -> Floats:
            return mixing.means(number, some == 1, score)

        explainer = shap.PermutationExplainer(of_row, shap.maskers.Independent(absent), seed=SEED)
        at_once = 2 * mixing.n_features + 1  # all of one permutation
        explanation = explainer(present, max_evals=N_PERMUTATIONS * at_once, batch_size=at_once, silent=True)
        values.append(explanation.values[0])
        base.append(explanation.base_values[0])
    return np.array(values), np.array(base)


def _plain(table: InMemoryTable) -> Any:
    """All rows as an array or as a pandas frame."""
    features = polars_as_arrow(table.span(0, table.n_rows))
    features = InMemoryTable(features).take(np.arange(table.n_rows))
    return features.toarray() if sparse.issparse(features) else features
