"""The calibration of a fitted ensemble by rows that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from selfpaced.calibration import FITTED_MAPS, Calibrator, fit_calibrator
from selfpaced.ensembles.averaged import rows_in_memory, scoring_of
from selfpaced.ensembles.checks import check_known_labels, check_present, warn_of_few_rows
from selfpaced.ensembles.metadata import check_weights


def calibrator_by(model: Any, X: Any, y: Any, method: str, sample_weight: Any) -> Calibrator:
    """The map from the scores of a model to probabilities that are true for rows with labels."""
    if method not in FITTED_MAPS:
        raise ValueError(f"method must be one of {sorted(FITTED_MAPS)}; got {method!r}.")
    table = rows_in_memory(model, X)
    labels = check_known_labels(y, X, model.classes_)
    for number in range(labels.classes.size):
        check_present(labels, number, "y", "calibrated by")
    means = scoring_of(model).means(table)
    if (means == means[0]).all():
        raise ValueError("All rows get the same score from the ensemble: there is nothing to calibrate.")
    weights = np.ones(labels.codes.size) if sample_weight is None else check_weights(sample_weight, labels)
    warn_of_few_rows(labels, stacklevel=4)
    minority = model.trained_on_.minority_number
    return fit_calibrator(method, means, labels.codes, weights.astype(np.float64), minority)
