"""The threshold that a report suggests: a given number, or the choice of a rule on its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report.facts import CONFIDENCE, Chosen, Promise
from selfpaced.report.tally import Tally
from selfpaced.thresholds import LowestCost, Rule, amounts_of, choice_from, parse_rule, sweep_from, with_costs


@dataclass(frozen=True)
class Suggestion:
    """A threshold, the first costs in the explorer, and the rule that chose the threshold, if any."""

    threshold: float
    costs: tuple[float, float] | None
    chosen: Chosen | None = None


def suggested(
    counts: Tally,
    is_case: NDArray[np.bool_],
    scores: NDArray[Any],
    threshold: float | str | Rule | None,
    costs: Any,
    amounts: Any,
) -> Suggestion:
    """The threshold to suggest. Costs that the rule does not use only go to the explorer."""
    if threshold is not None and not isinstance(threshold, str | Rule):
        if amounts is not None:
            raise ValueError("amounts need a threshold that is chosen by costs, such as threshold='cost=5'.")
        return Suggestion(threshold, costs)
    rule = parse_rule("f1" if threshold is None else threshold)
    rule = with_costs(rule, costs if isinstance(rule, LowestCost) else None, amounts is not None)
    own = None if amounts is None else amounts_of(amounts, is_case)
    sweep = sweep_from(counts.scores, counts.alerts, is_case, scores, own)
    choice = choice_from(sweep, rule, confidence=CONFIDENCE)
    promises = [Promise(name, choice.value(name), choice.intervals[name]) for name in rule.promises()]
    precision, recall = choice.intervals["precision"], choice.intervals["recall"]
    chosen = Chosen(str(rule), choice.confidence, tuple(promises), precision, recall, by_amount=own is not None)
    return Suggestion(choice.threshold, _explorers(rule, own) or costs, chosen)


def _explorers(rule: Rule, amounts: NDArray[np.float64] | None) -> tuple[float, float] | None:
    """The extra cost of a wrong row over a right one, by the rule. A missed rare row costs the mean amount."""
    if not isinstance(rule, LowestCost) or rule.costs is None:
        return None
    missed = float(np.mean(amounts)) if rule.costs.missed is None and amounts is not None else rule.costs.missed
    assert missed is not None
    return rule.costs.false_alarm - rule.costs.left_alone, max(0.0, missed - rule.costs.hit)
