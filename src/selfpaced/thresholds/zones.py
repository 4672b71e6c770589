"""Zones: several thresholds at once, such as one to block at and one to review at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import UnreachableRuleError
from selfpaced.metrics import Alerts, Number
from selfpaced.thresholds.guarantees import PrecisionGuaranteed
from selfpaced.thresholds.rules import AlertsAtMost, AlertsPerPeriod, PrecisionAtLeast, RecallAtLeast, Rule
from selfpaced.thresholds.sweep import CONFIDENCE, Interval, Sweep, share_interval

ZONES = "block: precision>=0.95, review: alerts<=50/day, pass"
RULES_OF_ZONES = (PrecisionAtLeast, PrecisionGuaranteed, RecallAtLeast, AlertsAtMost, AlertsPerPeriod)


@dataclass(frozen=True)
class Zones(Rule):
    """Zones from the highest scores down, each with its rule; the rest of the rows are in the last zone.

    A precision and a number of alerts are those of the zone alone. A recall is that of the zone and those above it.
    """

    named: tuple[tuple[str, Rule], ...]
    rest: str
    about = ("alert_share", "precision", "recall")

    def __post_init__(self) -> None:
        names = [*(name for name, _ in self.named), self.rest]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"The zone {twice[0]!r} exists twice in {str(self)!r}. Give every zone its own name.")
        for place, (name, rule) in enumerate(self.named):
            if not isinstance(rule, RULES_OF_ZONES):
                raise ValueError(
                    f"The zone {name!r} cannot have the rule {rule}, which chooses one threshold for all rows. Zones "
                    "have rules about precision, recall or alerts."
                )
            if place and isinstance(rule, PrecisionGuaranteed):
                raise ValueError(
                    f"Only the first zone can have a guarantee; got {rule} for {name!r}. The rows of {name!r} depend "
                    "on the threshold above it, which is chosen on the same rows."
                )

    @property
    def is_guarantee(self) -> bool:  # type: ignore[override]
        return self.named[0][1].is_guarantee

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        raise ValueError(f"The zones {str(self)!r} have several thresholds. Use choose_threshold.")

    def __str__(self) -> str:
        return ", ".join([*(f"{name}: {rule}" for name, rule in self.named), self.rest])

    def places(self, sweep: Sweep) -> list[int]:
        """The place of the lowest threshold of each zone but the last."""
        places: list[int] = []
        for name, rule in self.named:
            above = places[-1] if places else -1
            left = sweep.below(above)
            own = None if left is None else _among_the_rest(rule, sweep, above)
            if left is None or own is None:
                raise UnreachableRuleError(
                    f"The zone {name!r} would be empty: the zones above it already meet {str(rule)!r} or have all "
                    "rows. Omit it, or change the rules above it."
                )
            own = own.settled(left)
            unmet = own.unmet(left.thresholds, left.alerts)
            if unmet is not None:
                raise UnreachableRuleError(f"Zone {name!r}: {unmet}")
            places.append(above + 1 + int(own.best(left.alerts)))
        return places


def _among_the_rest(rule: Rule, sweep: Sweep, above: int) -> Rule | None:
    """A rule of all rows as one of the rows below a threshold; None if the rows above it already meet the rule."""
    if isinstance(rule, AlertsAtMost) and rule.per is not None:
        return AlertsAtMost(rule.alerts * sweep.n_rows / rule.per)
    if isinstance(rule, RecallAtLeast) and above >= 0:
        found = int(sweep.found[above])
        wanted = ceil(rule.recall * sweep.n_positives - 1e-9) - found
        return RecallAtLeast(wanted / (sweep.n_positives - found)) if wanted > 0 else None
    return rule


@dataclass(frozen=True)
class ZoneFigures:
    """The rows of a zone, and those of them that are rare."""

    name: str
    n_rows: int
    n_rare: int
    of_all_rare: int  # rare rows in all zones

    @property
    def precision(self) -> float | None:
        """The share of the rows of the zone that are rare."""
        return self.n_rare / self.n_rows if self.n_rows else None

    @property
    def recall(self) -> float | None:
        """The share of all rare rows that are in the zone."""
        return self.n_rare / self.of_all_rare if self.of_all_rare else None

    @property
    def interval(self) -> Interval:
        """Wilson's interval of the precision. It does not allow for the choice of the thresholds."""
        return share_interval(self.n_rare, self.n_rows, CONFIDENCE)

    def as_facts(self) -> dict[str, Any]:
        own = {"name": self.name, "n_rows": self.n_rows, "n_rare": self.n_rare}
        return {**own, "precision": self.precision, "recall": self.recall, "precision_interval": list(self.interval)}


@dataclass(frozen=True)
class ZoneLimits:
    """The lowest score of each zone, from the highest zone down, and the name of the zone of all lower scores.

    Parameters
    ----------
    names : tuple of str
        The names of the zones.
    thresholds : tuple of float
        The lowest score of each zone but the last, from the highest down.

    Examples
    --------
    >>> limits = ZoneLimits(("block", "review", "pass"), (0.9, 0.3))
    >>> limits.of([0.95, 0.3, 0.1]).tolist()
    ['block', 'review', 'pass']
    """

    names: tuple[str, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        falls = all(higher > lower for higher, lower in zip(self.thresholds, self.thresholds[1:], strict=False))
        if len(self.names) != len(self.thresholds) + 1 or len(self.names) < 2 or not falls:
            raise ValueError(
                f"Zones need a threshold each, from the highest down, but for the last zone; got the zones "
                f"{list(self.names)} and the thresholds {list(self.thresholds)}."
            )

    @classmethod
    def from_facts(cls, facts: Sequence[Mapping[str, Any]] | None) -> Self | None:
        """The limits in a model's card.

        Parameters
        ----------
        facts : sequence of dict, or None
            The zones as `as_facts` gives them, from the highest scores down.

        Returns
        -------
        ZoneLimits or None
            The limits; None if there are no zones.
        """
        if not facts:
            return None
        return cls(tuple(str(one["name"]) for one in facts), tuple(float(one["threshold"]) for one in facts[:-1]))

    @property
    def lowest(self) -> float:
        """The lowest score of an alert: of a row that is not in the last zone."""
        return self.thresholds[-1]

    def of(self, scores: Any) -> NDArray[Any]:
        """The names of the zones of some scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            Scores of the rare class.

        Returns
        -------
        ndarray of str, of shape (n_rows,)
            The name of each row's zone.
        """
        return np.asarray(self.names)[self._numbers(scores)]

    def _numbers(self, scores: Any) -> NDArray[np.intp]:
        """The number of the zone of each score, from the highest zone on."""
        return np.asarray((np.asarray(scores)[:, None] < np.array(self.thresholds)).sum(axis=1), dtype=np.intp)

    def figures(self, is_rare: NDArray[np.bool_], scores: Any) -> tuple[ZoneFigures, ...]:
        """The figures of each zone, on rows with labels.

        Parameters
        ----------
        is_rare : ndarray of bool, of shape (n_rows,)
            Whether each row is of the rare class.
        scores : array-like of shape (n_rows,)
            Scores of the rare class.

        Returns
        -------
        tuple of ZoneFigures
            The rows, the rare rows, the precision and the recall of each zone.
        """
        numbers, n_zones = self._numbers(scores), len(self.names)
        rows, rare = (np.bincount(some, minlength=n_zones).tolist() for some in (numbers, numbers[is_rare]))
        n_rare = int(np.sum(is_rare))
        return tuple(ZoneFigures(*each, n_rare) for each in zip(self.names, rows, rare, strict=True))

    def as_facts(self) -> list[dict[str, Any]]:
        """The limits as data for JSON.

        Returns
        -------
        list of dict
            The name and the lowest score of each zone; None for the last.
        """
        pairs = zip(self.names, [*self.thresholds, None], strict=True)
        return [{"name": name, "threshold": threshold} for name, threshold in pairs]


def limits_of(zones: Zones, sweep: Sweep, places: Sequence[int]) -> ZoneLimits:
    return ZoneLimits((*(name for name, _ in zones.named), zones.rest), tuple(sweep.short(place) for place in places))
