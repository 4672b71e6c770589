"""What common rows are like, column by column: the typical row, and the values that are usual."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from selfpaced import tables

# Numbers between these quantiles are usual.
LOWEST, HIGHEST = 0.05, 0.95
# Categories whose shares are kept. Those of others are below the smallest one of these.
MOST_CATEGORIES = 100
# With fewer rows that have a value, its share is hardly known: a limit is given instead, which holds in 95% of cases.
FEWEST, CONFIDENCE = 5, 0.95
# Rows that are looked at. More would not change the quantiles by much.
MOST_ROWS = 10_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class UsualValues:
    """The values of a column in common rows. A fit keeps them for every feature."""

    missing: float  # the share of missing values
    # Numbers, and dates as seconds since 1970: the median, and quantiles; None for a column without any.
    median: float | None = None
    low: float | None = None
    high: float | None = None
    shares: Mapping[str, float] | None = None  # of the most frequent categories, by their text; None for numbers
    is_date: bool = False
    n_rows: int = MOST_ROWS  # that were looked at

    @property
    def typical(self) -> Any:
        """The value of the typical row: the most frequent category or the median; None if most values are missing."""
        if self.missing > 0.5:
            return None
        return self.median if self.shares is None else next(iter(self.shares), None)

    def describe(self, value: Any) -> str:
        """What is usual, beside a value of the column.

        >>> UsualValues(0.0, 30.0, 12.0, 95.25).describe(812.4)
        'usual 12 to 95.25'
        >>> UsualValues(0.0, shares={"CH": 0.9, "DE": 0.099}, n_rows=200).describe("XY")
        'in less than 1.5% of common rows'
        """
        if value is None:
            return f"missing in {_percent(self.missing, self.n_rows)} of common rows"
        if self.shares is not None:
            others = min(self.shares.values()) if len(self.shares) == MOST_CATEGORIES else 0.0
            return f"in {_percent(self.shares.get(str(value), others), self.n_rows)} of common rows"
        if self.low is None or self.high is None:
            return "usually missing"
        if self.is_date:
            days = 86400 * np.floor(np.array([self.low, self.high]) / 86400)
            low, high = days if days[1] > days[0] else (self.low, self.high)
            return f"usual {as_date(low)} to {as_date(high)}"
        if self.low == self.high:
            return f"usual {as_text(self.low, 4)}"
        return f"usual {as_text(self.low, 4)} to {as_text(self.high, 4)}"


def _percent(share: float, n_rows: int) -> str:
    """The share of some rows among all that are like them, or what it is less than if very few have the value.

    >>> _percent(0.0, 150), _percent(0.0, 10_000), _percent(1 / 150, 150), _percent(0.0025, 10_000), _percent(0.25, 150)
    ('less than 2%', 'less than 0.03%', 'less than 3.1%', '0.25%', '25%')
    """
    count = round(share * n_rows)
    if count < min(FEWEST, n_rows):
        return f"less than {100 * betaincinv(count + 1, n_rows - count, CONFIDENCE):.2g}%"
    return f"{100 * share:.2g}%" if share < 0.995 else f"{share:.0%}"


def as_text(value: Any, digits: int = 6) -> str:
    """A value of a row in a sentence.

    >>> as_text(812.4), as_text(3.0), as_text(1234567.0), as_text(None), as_text("CH"), as_text(0.000123)
    ('812.4', '3', '1234567', 'missing', 'CH', '0.000123')
    """
    if value is None:
        return "missing"
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:.{digits}g}"


def as_date(seconds: float) -> str:
    """
    >>> as_date(86400.0), as_date(90061.0)
    ('1970-01-02', '1970-01-02 01:01')
    """
    moment = EPOCH + timedelta(seconds=float(seconds))
    return moment.strftime("%Y-%m-%d" if seconds % 86400 == 0 else "%Y-%m-%d %H:%M")


def usual_values(features: Any, positions: NDArray[np.integer]) -> tuple[UsualValues, ...]:
    """What some rows of an array or a frame are like, for each column."""
    step = -(-positions.size // MOST_ROWS)
    features = tables.InMemoryTable(features).take(positions[::step])
    return tuple(_usual(column) for _, column in tables.kind_of(features).columns(features))


def _usual(column: tables.ColumnReader) -> UsualValues:
    if column.is_number or column.is_date:
        numbers = np.asarray(column.floats(), dtype=np.float64)
        own = numbers[~np.isnan(numbers)]
        missing = 1 - own.size / max(1, numbers.size)
        if not own.size:
            return UsualValues(missing, is_date=column.is_date, n_rows=numbers.size)
        # Values that occur, so that codes and flags stay what they are.
        low, median, high = np.quantile(own, [LOWEST, 0.5, HIGHEST], method="inverted_cdf").tolist()
        return UsualValues(missing, median, low, high, is_date=column.is_date, n_rows=numbers.size)
    texts = column.texts()
    counts = Counter(text for text in texts if text is not None)
    n_known = counts.total()
    # In the order of their counts, and by name where these are equal: the order of rows does not matter.
    frequent = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MOST_CATEGORIES]
    shares = {text: count / len(texts) for text, count in frequent}
    return UsualValues(1 - n_known / max(1, len(texts)), shares=shares, n_rows=len(texts))
