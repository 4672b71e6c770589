"""Thresholds with a guarantee: a precision on other rows, with a confidence, without assumptions about the scores."""

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from selfpaced.metrics import Alerts, Number
from selfpaced.model import TrainedOn
from selfpaced.thresholds.rules import Rule, check_share, rounded_down

# A walk down the thresholds begins at the fewest alerts that can give the guarantee, others at so many times as many.
# With one walk alone, a few wrong labels among the first alerts would end it. Each walk has its share of the risk; the
# first has most, because only it can succeed where rare rows are few.
STARTS = {1: 1 / 2, 3: 1 / 6, 9: 1 / 6, 27: 1 / 6}
# An estimate of the rows that are needed goes up to so many times those that there are, by so many thresholds.
MOST_TIMES, MOST_TRIED = 1000, 500


def refuse_training_rows(rule: Rule, trained_on: TrainedOn, is_rare: NDArray[np.bool_]) -> None:
    """Refuse a guarantee on the rows that a model was trained on, by the numbers of rare rows and of all rows.

    The scores of training rows are too good, so that a promise by them would be broken.
    """
    n_rare, n_rows = trained_on.class_counts[trained_on.score_column], sum(trained_on.class_counts)
    if rule.is_guarantee and (n_rare, n_rows) == (int(is_rare.sum()), is_rare.size):
        raise ValueError(
            f"{str(rule)!r} is a guarantee, which needs rows that the model was not trained on. It was trained on "
            f"{n_rows:,} rows, {n_rare:,} of them rare, and these rows have the same numbers. Give other rows."
        )


@dataclass(frozen=True)
class PrecisionGuaranteed(Rule):
    """The threshold with the highest recall among those with at least this precision on other rows.

    Each threshold is tested against the hypothesis that its precision is too low, by the exact binomial test of Clopper
    and Pearson. A walk begins at a number of alerts that is fixed in advance and goes down the thresholds as long as
    every test rejects. It promises too much only if the test at the first threshold that is too low rejects by
    mistake. The walks of `STARTS` share the risk, 1 - confidence.
    """

    precision: float
    confidence: float
    about = ("precision", "recall")
    is_guarantee = True

    def __post_init__(self) -> None:
        check_share("precision", self.precision)
        if self.precision == 1:
            raise ValueError("A precision of 1 cannot be guaranteed by any number of rows. Give less, such as 0.99.")
        if not 0.5 <= self.confidence < 1:
            raise ValueError(
                f"The confidence of a guarantee must be from 50% to below 100%, as in {self.precision:g} with 95%; got "
                f"{100 * self.confidence:g}%."
            )

    @property
    def fewest(self) -> int:
        """The fewest alerts that can give the guarantee, if all of them are right.

        >>> PrecisionGuaranteed(0.9, 0.95).fewest
        36
        """
        return ceil(log((1 - self.confidence) * STARTS[1]) / log(self.precision))

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        kept = self._kept(np.asarray(alerts.true_positives), np.asarray(alerts.n_alerts))
        return np.where(kept, alerts.recall, np.minimum(alerts.precision - self.precision, 0) - 1)

    def _kept(self, right: NDArray[Any], n_alerts: NDArray[Any]) -> NDArray[np.bool_]:
        """At which thresholds the promise is kept. The last axis is that of thresholds, from the highest down."""
        # The probability of so many right alerts if the precision is just too low. Where the precision of these rows is
        # too low as well, it is never small, and is not computed.
        may_reject = right > self.precision * n_alerts
        by_chance = np.ones(may_reject.shape)
        k, n = right[may_reject], n_alerts[may_reject]
        by_chance[may_reject] = betainc(k, n - k + 1, self.precision)  # the tail of the binomial distribution
        kept = np.zeros(by_chance.shape, dtype=bool)
        for times, share in STARTS.items():
            begun = n_alerts >= times * self.fewest
            rejected = by_chance <= share * (1 - self.confidence)
            kept |= begun & np.logical_and.accumulate(rejected | ~begun, axis=-1)
        return kept

    def unmet(self, thresholds: NDArray[Any], alerts: Alerts) -> str | None:
        right, n_alerts = np.asarray(alerts.true_positives), np.asarray(alerts.n_alerts)
        if self._kept(right, n_alerts).any():
            return None
        return f"No threshold can give {str(self)!r} on these rows. {self._needed(thresholds, alerts)}"

    def _needed(self, thresholds: NDArray[Any], alerts: Alerts) -> str:
        """How many rows like these would give the guarantee, or why no number of them would."""
        right, n_alerts = np.asarray(alerts.true_positives), np.asarray(alerts.n_alerts)
        n_rare, n_rows = int(right[-1]), int(n_alerts[-1])
        promising = alerts.precision > self.precision
        if not promising.any():
            best = int(np.argmax(alerts.precision))
            return (
                f"The highest precision is {rounded_down(alerts.precision[best])}, at the threshold "
                f"{rounded_down(thresholds[best], 6)}, so more rows would not help. Promise a lower precision, or "
                "train a better model."
            )
        # Below the last threshold with this precision on these rows, more rows do not help.
        some = np.unique(np.linspace(0, np.flatnonzero(promising)[-1], MOST_TRIED).astype(np.intp))
        right, n_alerts = right[some], n_alerts[some]
        for times in np.geomspace(1.05, MOST_TIMES, 60):
            more = np.ceil(times * n_alerts)
            kept = np.flatnonzero(self._kept(np.floor(times * right), more))
            if kept.size:
                return (
                    f"It takes at least {self.fewest:,} alerts, all of them right, and more with false alarms. There "
                    f"are {n_rare:,} rare rows in {n_rows:,} rows. About {ceil((times - 1) * n_rare):,} more rare rows "
                    f"(in {ceil((times - 1) * n_rows):,} more rows like these) would do, with about "
                    f"{more[kept[-1]]:,.0f} alerts. Or promise a lower precision, or less confidence."
                )
        return (
            f"More than {MOST_TIMES:,} times as many rows would be needed, because no threshold has a precision far "
            "above it. Promise a lower precision."
        )

    def __str__(self) -> str:
        return f"precision>={self.precision:.15g} with {100 * self.confidence:.13g}%"
