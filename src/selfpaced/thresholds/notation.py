"""The notation of rules: one line of text, which Python, the command line and the report read in the same way."""

import re
from collections.abc import Callable
from difflib import get_close_matches

from selfpaced.exceptions import UnknownRuleError
from selfpaced.metrics import MEASURES
from selfpaced.tables import PERIODS
from selfpaced.thresholds.costs import Costs
from selfpaced.thresholds.guarantees import PrecisionGuaranteed
from selfpaced.thresholds.rules import (
    AlertsAtMost,
    AlertsPerPeriod,
    Best,
    LowestCost,
    PrecisionAtLeast,
    RecallAtLeast,
    Rule,
)
from selfpaced.thresholds.zones import ZONES, Zones

# Short names of measures. "gmean" is what imbalanced-learn calls so.
SHORT = {"gmean": "sensitivity_specificity_gmean"}
WRITTEN = {
    "f1": "the best F1; likewise mcc, gmean (imbalanced-learn's, of sensitivity and specificity), "
    "sensitivity_specificity_gmean, precision_recall_gmean (the paper's)",
    "precision>=0.9": "the highest recall with at least this precision",
    "precision>=0.9 with 95%": "the same with a guarantee: on other rows like these, with this confidence",
    "recall>=0.8": "the highest precision with at least this recall",
    "alerts<=50/10000": "at most 50 alerts in 10,000 rows; alerts<=50 for at most 50 in all rows",
    "alerts<=200/day": "at most 200 alerts on every day of the rows; likewise hour, week, month",
    "cost=5:100": "the lowest cost, if a false alarm costs 5 and a missed case 100; cost=5 if a missed case costs its "
    "own amount; cost if costs are given elsewhere",
    ZONES: "zones from the highest scores down, each with its rule",
}
SIGNS = {"precision": ">=", "recall": ">=", "alerts": "<=", "cost": "="}
BEST = ("f1", "mcc", "gmean")


def parse_rule(rule: str | Rule) -> Rule:
    """A rule from its text. An object that is already a rule is returned unchanged.

    Parameters
    ----------
    rule : str or Rule
        The text, as for `choose_threshold`.

    Returns
    -------
    Rule
        The rule.

    Raises
    ------
    UnknownRuleError
        If the text is not a rule. The message names a similar rule if there is one.

    See Also
    --------
    selfpaced.choose_threshold : Chooses a threshold by a rule.

    Examples
    --------
    >>> parse_rule("precision >= 0.9"), parse_rule("alerts<=50/10000")
    (PrecisionAtLeast(precision=0.9), AlertsAtMost(alerts=50.0, per=10000.0))
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str) and _has_zones(rule):
        return _zones(rule)
    if isinstance(rule, str):
        text = re.sub(r"\s", "", rule).lower()
        for pattern, make in _PATTERNS.items():
            if found := re.fullmatch(pattern, text):
                return make(*found.groups())
    meant = _meant(text) if isinstance(rule, str) else None
    hint = "" if meant is None else f" Did you mean {meant!r}?"
    quotes = " In a shell, put a rule with > or < in quotes." if rule in ("precision", "recall", "alerts") else ""
    listed = f"The rules are {', '.join([*BEST, *list(WRITTEN)[1:]])}."
    raise UnknownRuleError(f"{rule!r} is not a rule for a threshold.{hint}{quotes}", listed)


def _meant(text: str) -> str | None:
    """The rule that is most similar to a text, with the numbers of the text.

    >>> _meant("precision>0.95"), _meant("recal>=0.7"), _meant("g_mean"), _meant("best")
    ('precision>=0.95', 'recall>=0.7', 'gmean', None)
    """
    name, number = re.fullmatch(r"([^\d<>=:.]*)[<>=:]*(.*)", text).groups()  # type: ignore[union-attr]
    for known in get_close_matches(name, SIGNS):
        rule = f"{known}{SIGNS[known]}{number}"
        if any(re.fullmatch(pattern, rule) for pattern in _PATTERNS):
            return rule.replace("with", " with ")
    return next(iter(get_close_matches(text, [*BEST, *WRITTEN])), None)


NAMED = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*:(?P<rule>.*)")
LAST = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*")


def _has_zones(text: str) -> bool:
    first = NAMED.match(text)
    return "," in text or (first is not None and first["name"].lower() not in SIGNS)


def _zones(text: str) -> Zones:
    """
    >>> str(_zones("block: precision >= 0.95,review:alerts<=50/day, pass"))
    'block: precision>=0.95, review: alerts<=50/day, pass'
    """
    *parts, last = text.split(",")
    found, rest = [NAMED.fullmatch(part) for part in parts], LAST.fullmatch(last)
    if not parts or rest is None or not all(found):
        raise UnknownRuleError(
            f"{text!r} does not name zones. Write a name and a rule for each zone, from the highest scores down, and a "
            f"name for the rest of the rows at the end, such as '{ZONES}'.",
            "",
        )
    return Zones(tuple((one["name"], parse_rule(one["rule"])) for one in found if one is not None), rest["name"])


def _cost(false_alarm: str | None, missed: str | None) -> Rule:
    if false_alarm is None:
        return LowestCost()
    if missed is None:
        return LowestCost(Costs.of(float(false_alarm), by_amount=True))
    return LowestCost(Costs.of((float(false_alarm), float(missed))))


_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
_PATTERNS: dict[str, Callable[..., Rule]] = {
    f"({'|'.join([*MEASURES, *SHORT])})": lambda name: Best(SHORT.get(name) or name),
    f"precision>={_NUMBER}": lambda share: PrecisionAtLeast(float(share)),
    f"precision>={_NUMBER}with{_NUMBER}%": lambda share, percent: PrecisionGuaranteed(
        float(share), float(percent) / 100
    ),
    f"recall>={_NUMBER}": lambda share: RecallAtLeast(float(share)),
    f"alerts<={_NUMBER}(?:/{_NUMBER})?": lambda n, per: AlertsAtMost(float(n), None if per is None else float(per)),
    f"alerts<={_NUMBER}/({'|'.join(PERIODS)})": lambda n, period: AlertsPerPeriod(float(n), period),
    f"cost(?:={_NUMBER}(?::{_NUMBER})?)?": _cost,
}
