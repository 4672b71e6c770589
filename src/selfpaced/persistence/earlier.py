"""Models from files that were written before `trained_on_` was kept."""

from __future__ import annotations

from typing import Any

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.trained_on import record_of
from selfpaced.tables import ClassCounts, Roles


def bring_up_to_date(model: AveragingEnsemble) -> None:
    """Add the attributes that every fit sets now, from those that an earlier version set."""
    state: dict[str, Any] = model.__dict__
    roles = Roles(state.pop("target_", None), state.pop("positive_", None))
    labels = ClassCounts(model.classes_, model.class_counts_)
    model.trained_on_ = record_of(labels, roles, state.pop("schema_", None), model.estimators_)
    model.calibrator_ = state.get("calibrator_")
    model.calibration_ = None if model.calibrator_ is None else model.get_params(deep=False).get("calibration")
