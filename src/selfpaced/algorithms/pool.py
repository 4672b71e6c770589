"""The questions that an under-sampling ensemble asks the majority class."""

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
    counts : rows in each bin.
    mean_hardness : their mean hardness, h_l of Algorithm 1; NaN in an empty bin.
    """

    counts: NDArray[np.int64]
    mean_hardness: NDArray[np.float64]


class MajorityPool(Protocol[Rows_co]):
    """The rows of one larger class, wherever they live: in memory, in files, on a cluster.

    The protocol fixes what is answered, not how: a pool may put off `score` and do it together with `cut` in one pass.
    For the same rows and the same seed every pool gives the same answers, bit for bit.
    """

    @property
    def n_rows(self) -> int:
        """How many rows the class has, less those let go by `keep_hardest`."""

    def score(self, model: Any) -> None:
        """Fold one more model into the running mean F_i."""

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        """Sort the rows into bins by how hard they are for F_i. Before the first cut all rows share one bin.

        The outlook on the draw that follows lets a pool keep the rows that may be drawn while it has them at hand.
        """

    def draw(self, quota: Sequence[int], round_number: int) -> Rows_co:
        """Give `quota[b]` rows of every bin b, none twice, sorted by row id."""

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        """Let all rows go but those that F_i does worst on. Of equals, those stay whose keys are smallest.

        The rows that stay share one bin.
        """
