"""Weights of rows, wherever they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError


def refuse_negative(weights: NDArray[Any], what: str) -> None:
    n_negative = int(np.count_nonzero(weights < 0))
    if n_negative:
        raise TableError(f"{what} has {n_negative:,} negative weight(s). Weights must be at least 0.")
