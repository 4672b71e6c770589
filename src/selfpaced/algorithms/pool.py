"""`MajorityPool`: the protocol of a majority class, and what an algorithm and a pool say to each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.algorithms.allocation import proportional_shares
from selfpaced.algorithms.hardness import Hardness


@dataclass(frozen=True)
class Outlook:
    """The draw that follows a cut: `n_draw` rows in round `round_number`, bins weighted by 1 / (h + alpha).

    A share of the draw may be uniform over all rows, whatever their bins.
    """

    round_number: int
    n_draw: int
    alpha: float
    uniform_share: float = 0.0

    def most_drawn(self, edges: ArrayLike, counts: ArrayLike, n_rows: int) -> NDArray[np.int64]:
        """The largest possible quota of each bin, whatever the remaining rows are.

        `edges` are the bounds of the bins, one more than there are bins. `counts` are the rows seen so far, of `n_rows`
        in all. The mean hardness of a bin is between its edges, so its weight is bounded. The quotas of other bins can
        only grow with their rows. So the quota of a bin is largest if its own weight is the largest possible, all other
        weights are the smallest possible, and the other bins get no further rows.

        >>> Outlook(1, n_draw=100, alpha=0.5).most_drawn([0, 0.5, 1], counts=[1000, 1000], n_rows=2000).tolist()
        [76, 51]
        >>> Outlook(1, n_draw=100, alpha=0.5).most_drawn([0, 0.5, 1], counts=[1000, 10], n_rows=2000).tolist()
        [91, 51]
        """
        bounds = np.asarray(edges, dtype=np.float64)
        seen = np.asarray(counts, dtype=np.int64)
        with np.errstate(divide="ignore"):
            largest, smallest = 1 / (bounds[:-1] + self.alpha), 1 / (bounds[1:] + self.alpha)
        if self.uniform_share:
            if not np.isfinite(largest).all():
                return np.full(seen.size, self.n_draw)
            if not largest.any():  # in the limit of an infinite alpha all bins weigh the same
                largest = smallest = np.ones(seen.size)
            # What the uniform share adds to the weight of a bin, for each of its rows.
            odds = self.uniform_share / (1 - self.uniform_share) / max(n_rows, 1)
            largest, smallest = (
                largest + odds * largest.sum() * (seen + n_rows - seen.sum()),
                smallest + odds * smallest[seen > 0].sum() * seen,
            )
        return np.array([self._most_of(number, largest[number], smallest, seen) for number in range(seen.size)])

    def _most_of(self, number: int, weight: float, others: NDArray[np.float64], seen: NDArray[np.int64]) -> int:
        if np.isinf(weight):
            return self.n_draw
        weights, room = others.copy(), seen.copy()
        weights[number], room[number] = weight, self.n_draw
        share = proportional_shares(weights, room, min(self.n_draw, int(room.sum())))[number]
        # Rounding gives a bin at most one row more than its share.
        return min(self.n_draw, int(share) + 1)


Rows_co = TypeVar("Rows_co", covariant=True)


@dataclass(frozen=True)
class HardnessBins:
    """The majority rows of one class, sorted into bins by hardness."""

    counts: NDArray[np.int64]  # rows in each bin
    mean_hardness: NDArray[np.float64]  # of these rows, h_l of Algorithm 1; NaN in an empty bin


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


Rows = TypeVar("Rows")


@dataclass(frozen=True)
class Sample(Generic[Rows]):
    """The rows drawn from one pool: `quota[b]` of bin b. If all rows are in one bin, bins and quota are None."""

    bins: HardnessBins | None
    quota: NDArray[np.int64] | None
    rows: Rows


@dataclass(frozen=True)
class Step(Generic[Rows]):
    """One round: a member and its training rows. A warm-up has number 0. Only self-paced rounds have alpha."""

    number: int
    alpha: float | None
    samples: Sequence[Sample[Rows]]
    model: Any
