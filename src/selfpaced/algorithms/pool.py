"""`Pool`: the protocol through which an under-sampling ensemble uses a majority class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms.hardness import Hardness
from selfpaced.algorithms.outlook import Outlook

Rows_co = TypeVar("Rows_co", covariant=True)


@dataclass(frozen=True)
class HardnessBins:
    """The majority rows of one class, sorted into bins by hardness.

    Attributes
    ----------
    counts : NDArray[np.int64]
        Rows in each bin.
    mean_hardness : NDArray[np.float64]
        Their mean hardness, h_l of Algorithm 1; NaN in an empty bin.
    """

    counts: NDArray[np.int64]
    mean_hardness: NDArray[np.float64]


class MajorityPool(Protocol[Rows_co]):
    """The rows of one larger class: in memory, in files, or on a cluster.

    The protocol defines results, not how they are computed: a pool may delay `score` and do it together with `cut` in
    one pass. For the same rows and the same seed every pool gives the same results, bit for bit.
    """

    @property
    def n_rows(self) -> int:
        """The number of rows of the class, without those that `keep_hardest` dropped."""

    def score(self, model: Any) -> None:
        """Add one more model to the running mean F_i."""

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        """Sort the rows into bins by their hardness for F_i. Before the first cut all rows are in one bin.

        `outlook` describes the draw that follows, so that a pool can keep the rows that may be drawn.
        """

    def draw(self, quota: Sequence[int], round_number: int) -> Rows_co:
        """Give `quota[b]` rows of every bin b, none twice, sorted by row id."""

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        """Keep the hardest rows for F_i, and drop all others. Among equally hard rows, those with the smallest keys.

        The rows that are kept are in one bin.
        """
