"""Thresholds that a rule chooses, with intervals of the figures to expect."""

from selfpaced.thresholds.choosing import (
    ThresholdChoice,
    choice_from,
    choose_threshold,
    headline,
    headline_parts,
    of_hundred,
    period_of,
    periods_for,
    rows_where,
    threshold_scorer,
    with_costs,
    zone_lines,
)
from selfpaced.thresholds.costs import Costs, amounts_of, cost_text
from selfpaced.thresholds.decisions import CostDecisionClassifier, Decision, parse_decision
from selfpaced.thresholds.guarantees import PrecisionGuaranteed, refuse_training_rows
from selfpaced.thresholds.notation import WRITTEN, parse_rule
from selfpaced.thresholds.rules import AlertsPerPeriod, LowestCost, Rule, best_rows
from selfpaced.thresholds.sweep import CONFIDENCE, Interval, Sweep, middle_of, share_interval, short_threshold, sweep_of
from selfpaced.thresholds.zones import ZoneFigures, ZoneLimits, Zones

__all__ = [
    "CostDecisionClassifier",
    "ThresholdChoice",
    "ZoneLimits",
    "choose_threshold",
    "parse_rule",
    "threshold_scorer",
]
