"""Monitoring without labels: the drift of rows since training, and estimates of the quality from probabilities."""

from selfpaced.monitoring.drift import (
    ERROR_RATE,
    SOME_DRIFT,
    Counter,
    Drift,
    count_values,
    drift_of_counts,
    measure_drift,
    p_value,
    psi,
)
from selfpaced.monitoring.quality import (
    Alarm,
    Estimate,
    Limit,
    PeriodFigures,
    alarm_texts,
    estimate_quality,
    figure_at,
    measure_period,
    parse_limit,
)
from selfpaced.monitoring.reference import FeatureReference, Reference, feature_reference, make_reference, values_of

__all__ = ["Drift", "Estimate", "FeatureReference", "Reference", "estimate_quality", "make_reference", "measure_drift"]
