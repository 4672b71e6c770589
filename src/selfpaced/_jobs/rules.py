"""Rules and columns of amounts from the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.tables import StreamedTable
from selfpaced.thresholds import Rule, parse_rule, with_costs


def rule_of(text: str, amount: str | None) -> Rule:
    """A rule, checked to have what it needs before an hour of work."""
    return with_costs(parse_rule(text), None, by_amount=amount is not None)


def amounts_in(table: StreamedTable, column: str) -> NDArray[np.float64]:
    """A column of amounts; NaN for missing values."""
    values = table.column(column)
    try:
        amounts: Any = values.cast("float64")
    except (ValueError, NotImplementedError) as error:  # Arrow's errors are of these types
        raise TableError(f"The column of amounts {column!r} is {values.type}. Name a column of numbers.") from error
    return np.asarray(amounts.to_numpy(zero_copy_only=False), dtype=np.float64)
