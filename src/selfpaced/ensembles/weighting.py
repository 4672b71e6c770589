"""Weighting: the weight of a drawn row in the fit of a member, by the number of rows that it stands for.

Members that see as many common rows as rare rows learn equal shares of the classes. With weights by the number of rows
that each drawn row stands for, a member learns the true shares, and easy rows count more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms.hardness import Hardness
from selfpaced.algorithms.outlook import Outlook
from selfpaced.algorithms.pool import HardnessBins, MajorityPool
from selfpaced.calibration import PriorCorrection
from selfpaced.pools.rows import Rows
from selfpaced.scoring.rebalanced import Rebalanced


@dataclass(frozen=True)
class Weighting:
    """How drawn rows are weighted.

    Attributes
    ----------
    power : float
        A drawn row that stands for n rows has the weight n ** power.
    uniform_share : float, default=0.0
        The share of the rows that are drawn at random from the whole class, so that no bin is missed.
    rebalances : bool, default=False
        Whether hardness is computed from probabilities that are mapped back to equal shares of the classes.
    """

    power: float
    uniform_share: float = 0.0
    rebalances: bool = False

    def weights_of(self, drawn: Rows) -> NDArray[np.float64]:
        """The weights of drawn rows."""
        assert drawn.stands_for is not None  # every pool sets it
        weights: NDArray[np.float64] = drawn.stands_for**self.power
        return weights

    def applied_to(self, drawn: Rows) -> Rows:
        """Drawn rows with their weights."""
        return drawn.weighted(self.weights_of(drawn))

    def applied_to_pools(self, pools: Sequence[MajorityPool[Rows]], counts: Sequence[int]) -> list[MajorityPool[Rows]]:
        """Pools that map the probabilities of models back to equal shares of the classes before they score."""
        if not self.rebalances:
            return list(pools)
        correction = PriorCorrection(1 / np.asarray(counts, dtype=np.float64))
        return [RebalancingPool(pool, correction) for pool in pools]


# In the paper all rows have the same weight. Inverse weights restore the true shares of the classes, so that hardness
# would be close to 0 for nearly all rows, but the bins divide 0 to 1. benchmarks/recipes.py compares them.
WEIGHTING: dict[str, Weighting] = {
    "sqrt": Weighting(0.5),
    "inverse": Weighting(1.0, uniform_share=0.3, rebalances=True),
}


def weighting_named(name: Any) -> Weighting | None:
    """The weighting by its name; None for equal weights, as in the paper."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in WEIGHTING:
        raise ValueError(f"weighting must be None or one of {sorted(WEIGHTING)}; got {name!r}.")
    return WEIGHTING[name]


class RebalancingPool:
    """A pool that scores by probabilities at equal shares of the classes."""

    def __init__(self, pool: MajorityPool[Rows], correction: PriorCorrection) -> None:
        self._pool = pool
        self._correction = correction

    @property
    def n_rows(self) -> int:
        return self._pool.n_rows

    def score(self, model: Any) -> None:
        self._pool.score(Rebalanced(model, self._correction))

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        return self._pool.cut(hardness, n_bins, outlook)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        return self._pool.draw(quota, round_number)

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        self._pool.keep_hardest(n_rows, round_number)
