"""Weights of rows, wherever they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.rows import Rows


def refuse_weightless(rows: Rows, name: Any) -> None:
    """Refuse a class whose rows all have a weight of 0."""
    weights = rows.metadata.get("sample_weight")
    if weights is not None and len(weights) and not np.any(weights):
        raise TableError(f"All rows of the class {name!r} have a weight of 0. Give some of them a positive weight.")


def refuse_bad(weights: NDArray[Any], what: str) -> None:
    """Refuse weights that are missing, infinite or negative."""
    n_bad = int(np.count_nonzero(~np.isfinite(weights)))
    if n_bad:
        raise TableError(f"{what} has {n_bad:,} weight(s) that are NaN or infinite. Every row needs a finite weight.")
    n_negative = int(np.count_nonzero(weights < 0))
    if n_negative:
        raise TableError(f"{what} has {n_negative:,} negative weight(s). Weights must be at least 0.")
