"""One turn of an under-sampling ensemble's loop."""

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
    """The rows drawn from one pool: `quota[b]` of bin b. Where all rows share one bin there are neither."""

    bins: HardnessBins | None
    quota: NDArray[np.int64] | None
    rows: Rows


@dataclass(frozen=True)
class Step(Generic[Rows]):
    """One turn of the loop: a member and what it was trained on. A warm-up has number 0; alpha is self-paced only."""

    number: int
    alpha: float | None
    samples: Sequence[Sample[Rows]]
    model: Any
