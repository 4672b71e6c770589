"""One round of an under-sampling ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms.pool import HardnessBins

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
