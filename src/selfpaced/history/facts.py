"""Facts: the whole numbers that engines compute about earlier rows, and the features that are derived from them.

Every engine computes the same whole numbers, in arrays of any shape. Only these functions turn them into floats, one
value at a time, so a single row has the same bits as in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.history.events import NO_AMOUNT, TICKS, Ints

if TYPE_CHECKING:
    from selfpaced.history.description import History

Floats = NDArray[np.float32]

HALF = 40  # the squares of amounts are summed in two halves: their upper bits, and their 40 lower bits
MOST_AMOUNTS = 2**23 - 1


@dataclass(frozen=True)
class WindowFacts:
    """What is in the window of some rows, for one entity. Fields that a history does not use are None or empty."""

    rows: Ints
    amounts: Ints | None = None  # rows with an amount
    total: Ints | None = None  # of their units
    squares_high: Ints | None = None
    squares_low: Ints | None = None
    largest: Ints | None = None  # `NO_AMOUNT` if there is none
    distinct: Sequence[Ints] = ()  # one for each other column
    known: Ints | None = None  # rows with a known label, and how many of these are rare
    rare: Ints | None = None


@dataclass(frozen=True)
class EntityFacts:
    """What is not about a window."""

    since: Ints  # ticks since the last row; negative if there is none
    seen: Sequence[Ints] = ()  # for each other column, 1 if the pair was seen before, 0 if not, negative if unknown


def square_halves(units: Ints) -> tuple[Ints, Ints]:
    """The upper and lower bits of each square, whose product would not fit into 64 bits.

    >>> high, low = square_halves(np.array([-(2**39 + 3)]))
    >>> (int(high[0]) << HALF) + int(low[0]) == (2**39 + 3) ** 2
    True
    """
    above, below = np.abs(units) >> 20, np.abs(units) & (2**20 - 1)
    middle = 2 * above * below
    low = below * below + ((middle & (2**20 - 1)) << 20)
    return above * above + (middle >> 20) + (low >> HALF), low & (2**HALF - 1)


def window_features(history: History, facts: WindowFacts, units: Ints | None) -> list[Floats]:
    """The features of one entity and window, in the order of their names. `units` are the amounts of the rows."""
    found: list[Any] = [facts.rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        if facts.amounts is not None:
            assert units is not None
            found += _of_amounts(history, facts, units)
        found += facts.distinct
        if facts.known is not None:
            assert facts.rare is not None
            assert history.base_rate is not None
            prior = history.smoothing * history.base_rate
            found += [facts.known, facts.rare, (facts.rare + prior) / (facts.known + history.smoothing)]
    return [np.asarray(values).astype(np.float32) for values in found]


def _of_amounts(history: History, facts: WindowFacts, units: Ints) -> list[Any]:
    """Sum, mean, maximum and standard deviation, and the row's own amount divided by the mean."""
    count, total, largest = (np.asarray(each) for each in (facts.amounts, facts.total, facts.largest))
    scale = 10**history.decimals
    # Which NaN a division by 0 gives depends on the processor; NaN itself does not.
    return [
        total / scale,
        np.where(count > 0, total / (count * scale), np.nan),
        np.where(count > 0, largest / scale, np.nan),
        np.where(count > 0, np.sqrt(_variance(facts)) / scale, np.nan),
        np.where((units == NO_AMOUNT) | (total == 0), np.nan, units.astype(np.float64) * count / total),
    ]


def _variance(facts: WindowFacts) -> Any:
    """The variance of the units in the window, around the whole part of their mean so that nothing cancels."""
    count = np.asarray(facts.amounts)
    total, high, low = (np.asarray(each) for each in (facts.total, facts.squares_high, facts.squares_low))
    whole = total // np.maximum(count, 1)
    rest = total - whole * count
    # The sum of (units - whole)**2, in arithmetic modulo 2**64, and about, which says how often 2**64 is left out.
    wide = [each.astype(np.uint64) for each in (high, low, whole, total + rest)]
    exact = ((wide[0] << np.uint64(HALF)) + wide[1] - wide[2] * wide[3]).astype(np.float64)
    about = high * 2.0**HALF + low - whole.astype(np.float64) * (total + rest)
    squares = exact + np.rint((about - exact) / 2.0**64) * 2.0**64
    return (squares - rest * rest / count) / count


def entity_features(facts: EntityFacts) -> list[Floats]:
    """The features of an entity that have no window: seconds since the last row, and pairs seen before."""
    found = [np.where(facts.since < 0, np.nan, facts.since / TICKS)]
    found += [np.where(seen < 0, np.nan, seen) for seen in facts.seen]
    return [values.astype(np.float32) for values in found]
