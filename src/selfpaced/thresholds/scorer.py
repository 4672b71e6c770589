"""A rule as a scorer of scikit-learn, for `TunedThresholdClassifierCV`."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from selfpaced.metrics import alerts_of_labels
from selfpaced.thresholds.choosing import with_costs
from selfpaced.thresholds.rules import AlertsAtMost, Rule, parse_rule

# scikit-learn takes the lowest of equally good thresholds, but most rules take the highest. This bonus is smaller than
# real differences of values, and large enough for one row among a hundred thousand to count.
TRACE = 1e-10


def threshold_scorer(rule: str | Rule = "f1", *, costs: Any = None, pos_label: Any = None) -> Any:
    """A scorer for scikit-learn that is highest where a rule is met best, and below 0 where its condition is not met.

    The rules are those of `choose_threshold`, except rules with amounts and budgets for all rows: a scorer sees only
    some rows at a time, and no amounts.

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
        If the rule is a budget of alerts in all rows, or needs amounts.

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
