"""Thresholds that a rule chooses, with intervals of the figures to expect."""

from selfpaced.thresholds.choosing import (
    ThresholdChoice,
    choice_from,
    choose_threshold,
    headline,
    headline_parts,
    of_hundred,
    rows_where,
    rule_score,
    threshold_scorer,
    with_costs,
)
from selfpaced.thresholds.costs import Costs, amounts_of, cost_text, costs_of
from selfpaced.thresholds.decisions import CostDecisionClassifier, Decision, parse_decision
from selfpaced.thresholds.intervals import Interval
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
from selfpaced.thresholds.sweep import Sweep, short_threshold, sweep_from, sweep_of

__all__ = [
    "AlertsAtMost",
    "Best",
    "CostDecisionClassifier",
    "Costs",
    "Decision",
    "Interval",
    "LowestCost",
    "PrecisionAtLeast",
    "RecallAtLeast",
    "Rule",
    "Sweep",
    "ThresholdChoice",
    "WRITTEN",
    "amounts_of",
    "best_rows",
    "choice_from",
    "choose_threshold",
    "cost_text",
    "costs_of",
    "headline",
    "headline_parts",
    "of_hundred",
    "parse_decision",
    "parse_rule",
    "rows_where",
    "rule_score",
    "short_threshold",
    "sweep_from",
    "sweep_of",
    "threshold_scorer",
    "with_costs",
]
