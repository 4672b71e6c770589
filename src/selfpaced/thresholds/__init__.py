"""Thresholds that a rule chooses, with intervals of the figures to expect."""

from selfpaced.thresholds.capacity import best_rows
from selfpaced.thresholds.choosing import ThresholdChoice, choice_from, choose_threshold, with_costs
from selfpaced.thresholds.costs import Costs, amounts_of, cost_text, costs_of
from selfpaced.thresholds.decisions import Decision, parse_decision
from selfpaced.thresholds.intervals import Interval
from selfpaced.thresholds.rules import (
    AlertsAtMost,
    Best,
    LowestCost,
    PrecisionAtLeast,
    RecallAtLeast,
    Rule,
    parse_rule,
)
from selfpaced.thresholds.scorer import rule_score, threshold_scorer
from selfpaced.thresholds.sweep import Sweep, sweep_from, sweep_of

__all__ = [
    "AlertsAtMost",
    "Best",
    "Costs",
    "Decision",
    "Interval",
    "LowestCost",
    "PrecisionAtLeast",
    "RecallAtLeast",
    "Rule",
    "Sweep",
    "ThresholdChoice",
    "amounts_of",
    "best_rows",
    "choice_from",
    "choose_threshold",
    "cost_text",
    "costs_of",
    "parse_decision",
    "parse_rule",
    "rule_score",
    "sweep_from",
    "sweep_of",
    "threshold_scorer",
    "with_costs",
]
