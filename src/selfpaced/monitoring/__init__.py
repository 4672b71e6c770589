"""Monitoring without labels: the drift of rows since training, and estimates of the quality from probabilities."""

from selfpaced.monitoring.drift import (
    ERROR_RATE,
    SOME_DRIFT,
    Drift,
    corrected,
    counted,
    drift_since,
    drifts,
    p_value,
    psi,
)
from selfpaced.monitoring.estimates import CONFIDENCE, Arrived, Estimate, arrived, estimated
from selfpaced.monitoring.reference import FeatureReference, Reference, reference_of
from selfpaced.monitoring.watching import Alarm, Counter, Limit, Watched, alarm_texts, parse_limit, watched

__all__ = [
    "CONFIDENCE",
    "ERROR_RATE",
    "SOME_DRIFT",
    "Alarm",
    "Arrived",
    "Counter",
    "Drift",
    "Estimate",
    "FeatureReference",
    "Limit",
    "Reference",
    "Watched",
    "alarm_texts",
    "arrived",
    "corrected",
    "counted",
    "drift_since",
    "drifts",
    "estimated",
    "p_value",
    "parse_limit",
    "psi",
    "reference_of",
    "watched",
]
