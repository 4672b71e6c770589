"""Choosing a threshold by a rule, also inside scikit-learn's searches."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from selfpaced.exceptions import UnreachableRuleError
from selfpaced.metrics import Alerts, alerts_of_labels, as_bools
from selfpaced.tables import checked_moments, periods_of
from selfpaced.thresholds.costs import Costs, amounts_of, cost_text
from selfpaced.thresholds.guarantees import PrecisionGuaranteed
from selfpaced.thresholds.notation import parse_rule
from selfpaced.thresholds.rules import AlertsAtMost, AlertsPerPeriod, LowestCost, Rule
from selfpaced.thresholds.sweep import CONFIDENCE, FIGURES, Interval, Sweep, intervals_of, sweep_of
from selfpaced.thresholds.zones import ZoneFigures, ZoneLimits, Zones, limits_of


def headline(precision: float, recall: float, rows: str = "rare rows") -> str:
    """
    >>> headline(0.874, 0.79, rows_where("1", "is_fraud"))
    'Of 100 alerts, 87 are right; it finds 79% of all rows where is_fraud is 1.'
    """
    return "".join(headline_parts(precision, recall, rows))


def headline_parts(precision: float, recall: float, rows: str = "rare rows") -> tuple[str, ...]:
    """The headline in parts. Every second part is emphasised."""
    right = of_hundred(precision)
    verb = "is" if right in ("1", "fewer than 1") else "are"
    return "Of 100 alerts, ", right, f" {verb} right; it finds ", f"{of_hundred(recall)}%", f" of all {rows}."


def rows_where(label: str, target: str | None) -> str:
    """
    >>> rows_where("1", "is_fraud"), rows_where("'fraud'", None)
    ('rows where is_fraud is 1', "rows of the class 'fraud'")
    """
    return f"rows where {target} is {label}" if target else f"rows of the class {label}"


def of_hundred(share: float) -> str:
    """
    >>> [of_hundred(share) for share in (0, 0.001, 0.874, 0.999, 1)]
    ['0', 'fewer than 1', '87', 'more than 99', '100']
    """
    # Halves are rounded to even numbers: 0.5 of 100 to none, 99.5 to all.
    if 0 < share <= 0.005:
        return "fewer than 1"
    return "more than 99" if 0.995 <= share < 1 else f"{100 * share:.0f}"


SAID = {"f1": "F1", "mcc": "MCC"}
FEWEST_DRAWS = 100  # with fewer, an interval may miss its own figure
USUAL = ("precision", "recall", "f1", "mcc")


@dataclass(frozen=True)
class ThresholdChoice:
    """A threshold, its figures on the rows that it was chosen on, and intervals for other rows.

    Attributes
    ----------
    threshold : float
        Rows at or above the threshold are alerts. It has as few digits as are needed to separate the last alert from
        the next row, so it can be copied as it is printed. If no alert is best, it is above the highest score.
    rule : Rule
        The rule that chose the threshold.
    alerts : Alerts
        Counts on the rows that the threshold was chosen on.
    cost : float or None
        The cost of all these rows, if the rule is about costs.
    confidence : float
        The confidence of the intervals.
    intervals : dict of str to Interval
        The interval of each figure: "precision", "recall", "alert_share", "f1", "mcc", both G-means, and "cost".
    zones : ZoneLimits or None
        The lowest score of each zone, if the rule has zones. `zones.of(scores)` gives the zones of other rows.
        `threshold` is then the lowest score of any zone but the last.
    zone_figures : tuple of ZoneFigures
        The rows and the rare rows of each zone.
    """

    threshold: float
    rule: Rule
    alerts: Alerts
    cost: float | None
    confidence: float
    intervals: dict[str, Interval] = field(repr=False)
    zones: ZoneLimits | None = None
    zone_figures: tuple[ZoneFigures, ...] = ()

    @property
    def precision(self) -> float:
        """The share of alerts that are rare rows."""
        return self.value("precision")

    @property
    def recall(self) -> float:
        """The share of rare rows that are alerts."""
        return self.value("recall")

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.value("f1")

    @property
    def mcc(self) -> float:
        """Matthews' correlation of alerts and labels."""
        return self.value("mcc")

    @property
    def alert_share(self) -> float:
        """Alerts per row; times 10,000 it is alerts per 10,000 rows."""
        return self.value("alert_share")

    def value(self, name: str) -> float:
        """A figure by its name, on the rows that the threshold was chosen on.

        Parameters
        ----------
        name : str
            A key of `intervals`.

        Returns
        -------
        float
            The figure.
        """
        if name == "cost" and self.cost is not None:
            return self.cost
        return float(FIGURES[name](self.alerts))

    def said(self, *names: str) -> str:
        """Some figures with their intervals, as text.

        Parameters
        ----------
        *names : str
            Keys of `intervals`; by default those that the rule is about.

        Returns
        -------
        str
            The text, such as "recall 0.24 (0.16 to 0.31)".
        """
        return ", ".join(self._said(name) for name in names or self.rule.promises())

    def _said(self, name: str) -> str:
        low, high = self.intervals[name]
        if name == "alert_share":
            n_rows = self.alerts.n_rows
            alerts = "1 alert" if self.alerts.n_alerts == 1 else f"{self.alerts.n_alerts:,} alerts"
            return f"{alerts} in {n_rows:,} rows ({low * n_rows:,.0f} to {high * n_rows:,.0f})"
        if name == "cost":
            return f"a cost of {cost_text(self.value(name))} ({cost_text(low)} to {cost_text(high)})"
        return f"{SAID.get(name, name)} {self.value(name):.2f} ({low:.2f} to {high:.2f})"

    def as_facts(self) -> dict[str, Any]:
        """The choice as data for JSON.

        Returns
        -------
        dict
            Threshold, rule, cost, confidence, intervals and zones.
        """
        figures = None if self.zones is None else self.zones.as_facts()
        for facts, own in zip(figures or (), self.zone_figures, strict=False):
            facts |= own.as_facts()
        return {
            "threshold": self.threshold,
            "rule": str(self.rule),
            "cost": self.cost,
            "confidence": self.confidence,
            "intervals": {name: list(one) for name, one in self.intervals.items()},
            "zones": figures,
        }

    def __str__(self) -> str:
        promised = (name for name in self.rule.promises() if name not in ("alert_share", "cost"))
        measures = dict.fromkeys([*promised, *USUAL])
        lines = [
            f"threshold {self.threshold} by {self.rule}: {self.said('alert_share')}",
            self.said(*measures) if self.alerts.n_alerts else "best choice: no alerts",
            *([] if self.cost is None else [self.said("cost")]),
            *zone_lines(self.zones, self.zone_figures),
            f"(in brackets: {self.confidence:.0%} intervals for other rows of the same kind)",
        ]
        return "\n".join(lines)


def zone_lines(limits: ZoneLimits | None, figures: tuple[ZoneFigures, ...]) -> list[str]:
    """The figures of each zone, as text."""
    if limits is None:
        return []
    edges = [*(f"from {threshold}" for threshold in limits.thresholds), f"below {limits.lowest}"]
    return [
        f"{one.name} ({edge}): {one.n_rows:,} rows, {one.n_rare:,} of them rare"
        + ("" if one.precision is None else f", precision {one.precision:.2g}")
        + f" ({one.interval.low:.2g} to {one.interval.high:.2g})"
        + ("" if one.recall is None else f", {one.recall:.0%} of all rare rows")
        for one, edge in zip(figures, edges, strict=True)
    ]


def choose_threshold(
    y_true: ArrayLike,
    scores: ArrayLike,
    rule: str | Rule = "f1",
    *,
    costs: Any = None,
    amounts: ArrayLike | None = None,
    times: ArrayLike | None = None,
    timezone: str | None = None,
    pos_label: Any = None,
    n_bootstrap: int = 1000,
    confidence: float = CONFIDENCE,
    random_state: int | np.random.Generator | None = 0,
) -> ThresholdChoice:
    """The threshold that a rule chooses on rows that the model was not trained on.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels. With more than two classes, the rare class is compared with the rest.
    scores : array-like of shape (n_rows,)
        Scores of the rare class.
    rule : str or Rule, default="f1"
        The text of a rule, or one of `selfpaced.thresholds.rules`:

        - "f1", "mcc", "gmean": the best threshold by a measure. "gmean" is imbalanced-learn's G-mean, of sensitivity
          and specificity ("sensitivity_specificity_gmean"); "precision_recall_gmean" is the paper's.
        - "precision>=0.9": the threshold with the highest recall among those with this precision.
        - "precision>=0.9 with 95%": the same with a guarantee. With a confidence of 95% in the choice, the precision on
          many other rows like these is at least 0.9. The scores must be of rows that the model was not trained on.
        - "recall>=0.8": the threshold with the highest precision among those with this recall.
        - "alerts<=50/10000": as many alerts as possible, but at most 50 in 10,000 rows. "alerts<=50" means at most 50
          in all of these rows.
        - "alerts<=200/day": as many alerts as possible, but at most 200 on every day of these rows, by `times`;
          likewise hour, week and month.
        - "cost": the lowest total cost, by `costs` or `amounts`. With "cost=5:100" a false alarm costs 5 and a missed
          case 100. With "cost=5" a missed case costs its amount. To raise no alerts may be best.
        - "block: precision>=0.95, review: alerts<=50/day, pass": zones with names of your own, from the highest scores
          down. Each has one of the rules about precision, recall or alerts; the last zone has none. A precision and a
          number of alerts are those of the zone alone, a recall that of the zone and all above it. Only the first zone
          can have a guarantee.

        Rows with equal scores are all alerts, or none of them is. Among equally good thresholds the highest is taken.
    costs : tuple of (float, float), matrix or float, default=None
        The costs of a false alarm and of a missed case, such as (5, 100); or a matrix in the order of scikit-learn's
        confusion matrix, [[no alert needed, false alarm], [missed, found]]. With amounts, give only the cost of a false
        alarm, or a matrix with 0 for missed.
    amounts : array-like of shape (n_rows,), default=None
        The cost of missing each row, such as the amount of a transaction. Only the amounts of rare rows are used.
    times : array-like of shape (n_rows,), default=None
        The time of each row, for rules such as "alerts<=200/day".
    timezone : str, default=None
        The time zone of the days, such as "Europe/Berlin"; by default UTC.
    pos_label : label, default=None
        The label of the rare class. By default 1, if the labels are 0 and 1, -1 and 1, or booleans. For other labels
        it must be given.
    n_bootstrap : int, default=1000
        The number of draws for the intervals, at least 100.
    confidence : float, default=0.9
        The confidence of the intervals.
    random_state : int, Generator or None, default=0
        The seed of the draws.

    Returns
    -------
    ThresholdChoice
        The threshold, its alerts and figures, and an interval for each figure.

    Raises
    ------
    UnreachableRuleError
        If no threshold meets the rule on these rows. The message says what can be reached. For a guarantee it says how
        many more rows it would take.

    See Also
    --------
    selfpaced.thresholds.threshold_scorer : A rule as a scorer of scikit-learn.

    Notes
    -----
    An interval is about the figures on many other rows of the same kind, not on the next hundred. It allows for the
    chance in these rows and for the choice of the threshold on them. It does not allow for changes with time.
    `benchmarks/thresholds.py` measures how often a 90% interval contains the true value: in 84% to 96% of all choices.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1], [9900, 100])
    >>> scores = np.random.default_rng(0).normal(2.5 * y)
    >>> choice = choose_threshold(y, scores, "precision>=0.8")
    >>> print(choice)
    threshold 3.07 by precision>=0.8: 30 alerts in 10,000 rows (22 to 40)
    precision 0.80 (0.63 to 0.90), recall 0.24 (0.16 to 0.31), F1 0.37 (0.27 to 0.46), MCC 0.44 (0.33 to 0.51)
    (in brackets: 90% intervals for other rows of the same kind)
    """
    rule = with_costs(parse_rule(rule), costs, amounts is not None)
    is_positive, values = as_bools(y_true, scores, pos_label)
    periods = periods_for(rule, times, is_positive.size, timezone)
    sweep = sweep_of(is_positive, values, None if amounts is None else amounts_of(amounts, is_positive), periods)
    if sweep.thresholds.size == 1:
        raise UnreachableRuleError(
            f"All {sweep.n_rows:,} scores are {sweep.thresholds[0]:g}, so no threshold can separate rows. Check "
            "whether the model has learned anything."
        )
    return choice_from(sweep, rule, n_bootstrap, confidence, random_state)


def period_of(rule: Rule) -> str | None:
    """The kind of period that a rule counts alerts in; None if it counts all rows.

    >>> period_of(parse_rule("block: precision>=0.9, review: alerts<=50/day, pass")), period_of(parse_rule("f1"))
    ('day', None)
    """
    rules = [one for _, one in rule.named] if isinstance(rule, Zones) else [rule]
    periods = list(dict.fromkeys(one.period for one in rules if isinstance(one, AlertsPerPeriod)))
    if len(periods) > 1:
        raise ValueError(f"The zones of {str(rule)!r} count alerts by {' and by '.join(periods)}. Use one period.")
    return periods[0] if periods else None


def periods_for(rule: Rule, times: Any, n_rows: int, timezone: str | None = None) -> Any:
    """The period of each row, for a rule that counts alerts by period. Times that no rule uses are refused."""
    period = period_of(rule)
    if period is None:
        if times is not None or timezone is not None:
            raise ValueError(f"The rule {str(rule)!r} does not use times. Use a rule such as 'alerts<=200/day'.")
        return None
    if times is None:
        raise ValueError(
            f"The rule {str(rule)!r} needs the times of the rows: times= in Python, --time-column COL on the command "
            "line."
        )
    moments = checked_moments(times)
    if moments.size != n_rows:
        raise ValueError(f"times must have a value for each row: there are {n_rows:,} rows and {moments.size:,} times.")
    return periods_of(moments, period, timezone)


def choice_from(
    sweep: Sweep,
    rule: Rule,
    n_bootstrap: int = 1000,
    confidence: float = CONFIDENCE,
    random_state: int | np.random.Generator | None = 0,
) -> ThresholdChoice:
    """The same for rows that have been counted. The rule has its costs."""
    if n_bootstrap < FEWEST_DRAWS or not 0 < confidence < 1:
        raise ValueError(
            f"n_bootstrap must be at least {FEWEST_DRAWS}, and confidence must be between 0 and 1; got {n_bootstrap} "
            f"and {confidence}."
        )
    if isinstance(rule, Zones):
        return _zoned(sweep, rule, n_bootstrap, confidence, random_state)
    sweep, rule = sweep.with_silence() if rule.may_be_silent else sweep, rule.settled(sweep)
    unmet = rule.unmet(sweep.thresholds, sweep.alerts)
    if unmet is not None:
        raise UnreachableRuleError(unmet)
    place = int(rule.best(sweep.alerts, sweep.lost))
    alerts, lost, costs = sweep.at(place), sweep.lost, rule.costs
    return ThresholdChoice(
        threshold=sweep.short(place),
        rule=rule,
        alerts=alerts,
        cost=None if costs is None else float(costs.total(alerts, None if lost is None else lost[place])),
        confidence=confidence,
        intervals=intervals_of(sweep, place, rule, n_bootstrap, confidence, np.random.default_rng(random_state)),
    )


def _zoned(sweep: Sweep, zones: Zones, n_bootstrap: int, confidence: float, random_state: Any) -> ThresholdChoice:
    """The thresholds of all zones, and the figures of all alerts: the rows of all zones but the last."""
    places = zones.places(sweep)
    limits = limits_of(zones, sweep, places)
    every = replace(sweep, amounts=None)
    # The same threshold as one choice: that of as many alerts as all zones have.
    alike = choice_from(every, AlertsAtMost(every.at(places[-1]).n_alerts), n_bootstrap, confidence, random_state)
    ends = [*(every.at(place) for place in places), every.at(every.thresholds.size - 1)]
    rows, rare = (np.diff([getattr(one, name) for one in ends], prepend=0) for name in ("n_alerts", "true_positives"))
    figures = zip(limits.names, rows.tolist(), rare.tolist(), strict=True)
    own = tuple(ZoneFigures(*each, every.n_positives) for each in figures)
    return replace(alike, threshold=limits.lowest, rule=zones, zones=limits, zone_figures=own)


def with_costs(rule: Rule, costs: Any, by_amount: bool) -> Rule:
    """The rule with the given costs. Costs that the rule does not use are refused."""
    if not isinstance(rule, LowestCost):
        if costs is not None or by_amount:
            raise ValueError(
                f"The rule {str(rule)!r} does not use costs or amounts. Use the rule 'cost', or omit them."
            )
        return rule
    if rule.costs is not None and costs is not None:
        raise ValueError(f"The rule {str(rule)!r} already has costs. Omit costs={costs!r}, or use the rule 'cost'.")
    if rule.costs is None:
        if costs is None:
            what = "the cost of a false alarm" if by_amount else "the costs of a false alarm and of a missed case"
            raise ValueError(f"The rule 'cost' needs {what}, such as {'cost=5' if by_amount else 'cost=5:100'}.")
        return replace(rule, costs=Costs.of(costs, by_amount))
    if by_amount:
        return replace(rule, costs=rule.costs.by_amount())
    if rule.costs.missed is None:
        raise ValueError(
            f"The rule {str(rule)!r} needs amounts, the cost of each missed case (--amount COL on the command line). "
            "Or give both costs, such as cost=5:100."
        )
    return rule


# scikit-learn takes the lowest of equally good thresholds, but most rules take the highest. This bonus is smaller than
# real differences of values, and large enough for one row among a hundred thousand to count.
TRACE = 1e-10


def threshold_scorer(rule: str | Rule = "f1", *, costs: Any = None, pos_label: Any = None) -> Any:
    """A scorer for scikit-learn that is highest where a rule is met best, and below 0 where its condition is not met.

    The rules are those of `choose_threshold`, except rules with amounts, budgets for all rows or for periods,
    guarantees and zones: a scorer sees only some rows and one threshold at a time, and no amounts.

    Parameters
    ----------
    rule : str or Rule, default="f1"
        The rule.
    costs : tuple of (float, float) or matrix, default=None
        The costs, for the rule "cost".
    pos_label : label, default=None
        The label of the rare class, as for `choose_threshold`.

    Returns
    -------
    callable
        A scorer for `TunedThresholdClassifierCV` and other tools of scikit-learn.

    Raises
    ------
    ValueError
        If the rule is a budget of alerts in all rows or in periods, needs amounts, is a guarantee or has zones.

    See Also
    --------
    selfpaced.choose_threshold : Chooses a threshold with intervals.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes a threshold by cross-validation.

    Examples
    --------
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_fraud
    >>> from sklearn.model_selection import TunedThresholdClassifierCV
    >>> X, y = make_fraud(n_rows=4000, n_frauds=80, random_state=0)
    >>> model = SelfPacedEnsembleClassifier(n_estimators=3, random_state=0)
    >>> tuned = TunedThresholdClassifierCV(model, scoring=threshold_scorer("precision>=0.8"), cv=3).fit(X, y)
    >>> bool(0 < tuned.best_threshold_ < 1)
    True
    """
    rule = with_costs(parse_rule(rule), costs, by_amount=False)
    if isinstance(rule, Zones | PrecisionGuaranteed | AlertsPerPeriod):
        raise ValueError(
            f"A scorer sees one threshold and a part of the rows at a time, which is not enough for {str(rule)!r}. Use "
            "choose_threshold on rows that the model was not trained on."
        )
    if isinstance(rule, AlertsAtMost) and rule.per is None:
        raise ValueError(
            f"{rule} counts alerts in all rows, but a scorer sees only some. Give the number of rows: {rule}/10000."
        )
    return make_scorer(rule_score, rule=rule, pos_label=pos_label)


def rule_score(y_true: ArrayLike, y_pred: ArrayLike, *, rule: Rule, pos_label: Any = None) -> float:
    """The value of a rule for predicted labels, with a small bonus for those that the rule prefers among equals."""
    alerts = alerts_of_labels(y_true, y_pred, pos_label=pos_label)
    trace = TRACE * float(alerts.alert_share)
    return float(rule.value(alerts)) + (trace if rule.prefers_more else -trace)
