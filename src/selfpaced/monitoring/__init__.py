"""Monitoring without labels: the drift of rows since training, and estimates of the quality from probabilities."""

from selfpaced.monitoring.drift import (
    ERROR_RATE,
    SOME_DRIFT,
    Counter,
    Drift,
    FeatureReference,
    Reference,
    count_values,
    drift_of_counts,
    feature_reference,
    make_reference,
    measure_drift,
    p_value,
    psi,
    values_of,
)
from selfpaced.monitoring.quality import (
    Alarm,
    Estimate,
    PeriodFigures,
    alarm_texts,
    estimate_quality,
    figure_at,
    measure_period,
    parse_limit,
)

__all__ = ["Drift", "Estimate", "Reference", "estimate_quality", "make_reference", "measure_drift"]
