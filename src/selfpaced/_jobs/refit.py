"""Training a model again on newer rows, and comparing it with the old model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from selfpaced._jobs.paired import Interval, resampled
from selfpaced._jobs.request import TrainRequest
from selfpaced._jobs.splitting import split_for
from selfpaced._jobs.train import Trained, check_enough, fitted_and_judged, open_for
from selfpaced.ensembles.table_scoring import open_to_score, scores_of
from selfpaced.ensembles.timing import Stopwatch
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc
from selfpaced.tables import Roles
from selfpaced.tables.conversion import Progress


@dataclass(frozen=True)
class Refitted:
    """The new model and the old one, compared on the same rows.

    Attributes
    ----------
    trained : Trained
        The new model.
    old_aucprc, old_expected
        The AUCPRC of the old model on these rows, and the number of rare rows that it expects.
    difference, interval
        How much higher the AUCPRC of the new model is, with the paired 90% interval.
    newest : bool
        Whether the rows are the newest ones; otherwise the old model may have been trained on some of them.
    """

    trained: Trained
    old_aucprc: float
    old_scores: NDArray[np.float64]
    difference: float
    interval: Interval
    newest: bool

    @property
    def is_better(self) -> bool:
        return self.difference > 0


def refit(model: Any, metrics: Mapping[str, Any], asked: TrainRequest, progress: Progress | None = None) -> Refitted:
    """Train a model with the parameters of another on the rows of a request. Judge both on the held-out rows.

    `metrics` are those of the model's card: the rule, and how the model was trained.
    """
    stopwatch = Stopwatch()
    schema = model.trained_on_.schema
    if schema is None:
        raise TableError("The model was not trained on a file, so its columns are not known. Fit a clone of it.")
    request = replace(asked, columns=schema.sources, rule=metrics.get("rule") or "f1", amount=metrics.get("amount"))
    with stopwatch.running("opening"):
        source = open_for(request, progress)
        check_enough(source.labels, request.target)
        split = split_for(request, source)
    trained = fitted_and_judged(request, source, split, clone(model), stopwatch)
    if trained.model.trained_on_.score_label != model.trained_on_.score_label:
        raise TableError(
            f"The model finds the label {model.trained_on_.score_label!r}, but the rarest label of the new rows is "
            f"{trained.model.trained_on_.score_label!r}."
        )
    old = scores_of(model, open_to_score(model, split.test, Roles(), {}))
    draws = resampled(trained.is_rare, {"old": old, "new": trained.scores})
    before = aucprc(trained.is_rare, old)
    return Refitted(
        trained,
        before,
        old,
        trained.evaluation.aucprc - before,
        draws["new"].difference_to(draws["old"]),
        request.time_column is not None,
    )
