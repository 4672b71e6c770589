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
from selfpaced.thresholds.rules import WRITTEN, LowestCost, Rule, best_rows, parse_rule
from selfpaced.thresholds.sweep import CONFIDENCE, Interval, Sweep, middle_of, share_interval, short_threshold, sweep_of

__all__ = [
    "CONFIDENCE",
    "CostDecisionClassifier",
    "Costs",
    "Decision",
    "Interval",
    "LowestCost",
    "Rule",
    "Sweep",
    "ThresholdChoice",
    "WRITTEN",
    "amounts_of",
    "best_rows",
    "choice_from",
    "choose_threshold",
    "cost_text",
    "headline",
    "headline_parts",
    "middle_of",
    "numbers_of",
    "of_hundred",
    "parse_decision",
    "parse_rule",
    "rows_where",
    "share_interval",
    "short_threshold",
    "sweep_of",
    "threshold_scorer",
    "with_costs",
]
