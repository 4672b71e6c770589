"""The model that a request asks for, before it is trained."""

from __future__ import annotations

from selfpaced._jobs.request import AUTO, TrainRequest
from selfpaced.bases import Columns, base_model
from selfpaced.ensembles import AutoSelfPacedClassifier, SelfPacedEnsembleClassifier

N_MEMBERS, N_BINS = 10, 20

Trainable = AutoSelfPacedClassifier | SelfPacedEnsembleClassifier


def model_for(request: TrainRequest, columns: Columns, calibration: str | None) -> Trainable:
    """A blend of recipes, or one ensemble of the kind of members that was asked for."""
    if request.base == AUTO:
        return auto_model(request, calibration)
    return SelfPacedEnsembleClassifier(
        base_model(request.base, columns),
        N_MEMBERS if request.members is None else request.members,
        n_bins=N_BINS if request.bins is None else request.bins,
        n_jobs=request.n_jobs,
        random_state=request.seed,
        callbacks=list(request.callbacks),
        calibration=calibration,
    )


def auto_model(request: TrainRequest, calibration: str | None) -> AutoSelfPacedClassifier:
    return AutoSelfPacedClassifier(
        time_limit=request.time_limit,
        calibration=calibration,
        n_jobs=request.n_jobs,
        random_state=request.seed,
        callbacks=list(request.callbacks),
    )
