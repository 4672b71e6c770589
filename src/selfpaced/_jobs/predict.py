"""Scoring the rows of a file, and counting the alerts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.data import data_of
from selfpaced._jobs.deciding import Deciding
from selfpaced._jobs.warned import counted_new_categories
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.table_scoring import ScoringOptions, open_to_score, write_decided
from selfpaced.remote_files import Place
from selfpaced.tables import DatabaseTable, Roles
from selfpaced.tables.opening_rows import check_columns


@dataclass(frozen=True)
class Predicted:
    """The numbers of rows, alerts and expected rare rows that were written.

    Attributes
    ----------
    n_alerts : int | None
        The number of alerts; None without a threshold.
    n_expected : float | None
        The sum of the probabilities of the rare class; None if scores are not probabilities.
    new_categories : Mapping[str, int] | None, default=None
        The number of rows with categories that the model was not trained with, by column; None if they are not counted.
    """

    n_rows: int
    n_alerts: int | None
    n_expected: float | None
    new_categories: Mapping[str, int] | None = None


def predict(
    model: AveragingEnsemble,
    source: Any,
    output: Place | DatabaseTable,
    *,
    keep: Sequence[str] = (),
    threshold: float | None = None,
    deciding: Deciding | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Predicted:
    """Write the scores, and count rows and alerts in the same pass."""
    if deciding is not None:
        deciding.check(model)
    with counted_new_categories() as new:
        if deciding is not None and deciding.is_asked_for:
            found = _decided(model, source, output, (keep, threshold, deciding), progress)
        else:
            found = _by_threshold(model, source, output, (keep, threshold), progress)
    return replace(found, new_categories=new)


def _by_threshold(
    model: AveragingEnsemble,
    source: Any,
    output: Place | DatabaseTable,
    how: tuple[Sequence[str], float | None],
    progress: Callable[[int, int | None], None] | None,
) -> Predicted:
    """Write the scores, with alerts at a threshold if there is one."""
    keep, threshold = how
    n_rows, n_alerts, total = 0, 0, 0.0

    def count(scores: NDArray[np.float64]) -> None:
        nonlocal n_rows, n_alerts, total
        n_rows += scores.size
        n_alerts += 0 if threshold is None else int((scores >= threshold).sum())
        total += float(scores.sum())

    data = data_of(source)
    reading: ScoringOptions = {**data.reading, "progress": progress}
    model.predict_table(data.source, output, keep=keep, threshold=threshold, on_scores=count, **reading)
    is_calibrated = model.calibrator_ is not None
    return Predicted(n_rows, None if threshold is None else n_alerts, total if is_calibrated else None)


def _decided(
    model: AveragingEnsemble,
    source: Any,
    output: Place | DatabaseTable,
    how: tuple[Sequence[str], float | None, Deciding],
    progress: Callable[[int, int | None], None] | None,
) -> Predicted:
    """Write the scores with alerts that can only be decided when the scores of all rows are known."""
    keep, threshold, deciding = how
    data = data_of(source)
    table = open_to_score(model, data.source, Roles(keep=tuple(deciding.columns())), data.reading)
    written = replace(table, roles=Roles(keep=tuple(keep)))
    check_columns(written.reader, written.roles)
    scores, alerts = write_decided(
        model, written, output, lambda scores: deciding.alerts(scores, table, threshold), progress
    )
    expected = None if model.calibrator_ is None else float(scores.sum())
    return Predicted(int(scores.size), int(alerts.sum()), expected)
