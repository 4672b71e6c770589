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
from selfpaced.thresholds.decisions import CostDecisionClassifier, Decision, parse_decision
from selfpaced.thresholds.rules import WRITTEN, LowestCost, Rule, best_rows, parse_rule
from selfpaced.thresholds.sweep import CONFIDENCE, Interval, Sweep, middle_of, share_interval, short_threshold, sweep_of

__all__ = ["CostDecisionClassifier", "ThresholdChoice", "choose_threshold", "parse_rule", "threshold_scorer"]
