"""The recall of alerts, estimated from verdicts about alerts and about a random sample of the other rows."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from selfpaced.thresholds import CONFIDENCE, Interval


@dataclass(frozen=True)
class Reviewed:
    """Some rows, of which a random part was looked at."""

    n_rows: int
    n_judged: int
    n_rare: int  # of those with a verdict
    n_unclear: int = 0  # looked at without a verdict; these are not a random part, so bounds allow for both

    @property
    def is_complete(self) -> bool:
        return self.n_judged == self.n_rows

    @property
    def estimate(self) -> float:
        """The number of rare rows among all, by their share among those with a verdict."""
        return self.n_rows * self.n_rare / self.n_judged if self.n_judged else 0.0

    def bounds(self, confidence: float) -> Interval:
        """The exact interval of the number of rare rows among all: Clopper-Pearson's, for draws without replacement.

        It holds all numbers of rare rows for which a draw like this one, or a more extreme one, is not too unlikely.

        >>> Reviewed(1020, 20, 0).bounds(0.9), Reviewed(20, 17, 5, n_unclear=3).bounds(0.9)
        (Interval(low=0.0, high=140.0), Interval(low=5.0, high=8.0))
        """
        from scipy.stats import hypergeom  # here, because this import takes half a second

        side, most = (1 - confidence) / 2, self.n_rows - (self.n_judged - self.n_rare)
        possible, size, n_rare = range(self.n_rare, most + 1), self.n_judged + self.n_unclear, self.n_rare
        # Both probabilities change in one direction with the number of rare rows.
        low = bisect_left(possible, side, key=lambda n: hypergeom.sf(n_rare - 1, self.n_rows, n, size))
        n_rare += self.n_unclear
        high = bisect_right(possible, -side, key=lambda n: -hypergeom.cdf(n_rare, self.n_rows, n, size))
        return Interval(float(possible[low]), float(possible[high - 1]))


@dataclass(frozen=True)
class RecallEstimate:
    """The share of all rare rows that are alerts, with its interval, and what it rests on."""

    alerts: Reviewed
    others: Reviewed
    recall: float | None  # None if no rare row is known, or none of those that were drawn is rare
    interval: Interval
    confidence: float

    def __str__(self) -> str:
        """
        >>> print(estimate_recall(Reviewed(50, 50, 40), Reviewed(10_000, 1000, 2)))
        40 of 50 alerts with a verdict are rare, and 2 of 1,000 rows that were drawn at random from the 10,000 others. \
So the estimated recall is 67%, with a 90% interval from 40% to 91%.
        """
        alerts, others = self.alerts, self.others
        said = f"{alerts.n_rare:,} of {alerts.n_judged:,} alerts with a verdict are rare"
        if not others.n_judged + others.n_unclear:
            return f"{said}."
        said += f", and {others.n_rare:,} of {others.n_judged:,} rows that were drawn at random from the "
        said += f"{others.n_rows:,} others."
        if n_unclear := alerts.n_unclear + others.n_unclear:
            said += f" {n_unclear:,} more without a clear verdict may be rare or common: the interval allows for both."
        low, high = (f"{100 * one:.3g}%" if one < 0.01 else f"{100 * one:.0f}%" for one in self.interval)
        interval = f"a {self.confidence:.0%} interval from {low} to {high}"
        if self.recall is None:
            return f"{said} That is too little to estimate the recall: it has {interval}. Draw more rows: --audit N."
        return f"{said} So the estimated recall is {100 * self.recall:.0f}%, with {interval}."


def estimate_recall(alerts: Reviewed, others: Reviewed, confidence: float = CONFIDENCE) -> RecallEstimate:
    """The recall, where every verdict stands for as many rows as its part of the table has for each verdict.

    If both parts have rows without a verdict, each part's interval has half of the error, so that both hold together.
    """
    uncertain = sum(not part.is_complete for part in (alerts, others))
    each = 1 - (1 - confidence) / max(1, uncertain)
    found, missed = alerts.bounds(each), others.bounds(each)
    total = alerts.estimate + others.estimate
    low = found.low / (found.low + missed.high) if found.low + missed.high else 0.0
    high = found.high / (found.high + missed.low) if found.high + missed.low else 1.0
    is_known = total > 0 and (others.n_rare > 0 or others.is_complete)
    recall = alerts.estimate / total if is_known else None
    return RecallEstimate(alerts, others, recall, Interval(low, high), confidence)
