"""Thresholds that a rule chooses, with intervals of the figures to expect."""

from selfpaced.thresholds.choosing import (
    ThresholdChoice,
    choice_from,
    choose_threshold,
    headline,
    headline_parts,
    of_hundred,
    rows_where,
    threshold_scorer,
    with_costs,
)
from selfpaced.thresholds.costs import Costs, amounts_of, cost_text
from selfpaced.thresholds.decisions import CostDecisionClassifier, Decision, numbers_of, parse_decision
from selfpaced.thresholds.intervals import CONFIDENCE, Interval, middle_of, share_interval
from selfpaced.thresholds.rules import (
    WRITTEN,
    AlertsAtMost,
    Best,
    LowestCost,
    PrecisionAtLeast,
    RecallAtLeast,
    Rule,
    best_rows,
    parse_rule,
)
from selfpaced.thresholds.sweep import Sweep, short_threshold, sweep_of

__all__ = [
    "AlertsAtMost",
    "Best",
    "CostDecisionClassifier",
    "LowestCost",
    "PrecisionAtLeast",
    "RecallAtLeast",
    "Rule",
    "ThresholdChoice",
    "choose_threshold",
    "parse_rule",
    "threshold_scorer",
]
