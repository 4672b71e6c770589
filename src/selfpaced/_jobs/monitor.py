"""Monitoring of the rows that a model scores in service, without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.data import data_of
from selfpaced._jobs.warned import counted_new_categories
from selfpaced.ensembles.averaged import RowsDone, scoring_of
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.table_scoring import open_to_score
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Alarm, Counter, Limit, Reference, Watched, watched
from selfpaced.tables import Roles, StreamedTable
from selfpaced.tables.batch import StreamedBatch
from selfpaced.tables.moments import moments_in, periods_of, zone_of
from selfpaced.tables.schema import plain

MOST_PERIODS = 1000


@dataclass(frozen=True)
class MonitorRequest:
    """The options of monitoring.

    Attributes
    ----------
    by, time_column, timezone : str | None, default=None
        The periods that get their own figures, besides those of all rows. None without `by`.
    target : str | None, default=None
        The column of labels that are known already. Values of other rows are missing.
    threshold : float | None, default=None
        The lowest score of an alert; by default the model's own threshold.
    limits : Sequence[Limit]
        The limits that raise an alarm.
    """

    by: str | None = None
    time_column: str | None = None
    timezone: str | None = None
    target: str | None = None
    threshold: float | None = None
    limits: Sequence[Limit] = ()


@dataclass(frozen=True)
class Monitored:
    """The results of monitoring.

    Attributes
    ----------
    periods : dict[str, Watched]
        The figures of each period, by its name, in the order of time.
    alarms : list[Alarm]
        The limits that all rows or a period exceeded.
    """

    reference: Reference
    threshold: float | None
    whole: Watched
    periods: dict[str, Watched]
    alarms: list[Alarm]
    is_calibrated: bool


def monitor(
    model: AveragingEnsemble,
    reference: Reference | None,
    source: Any,
    request: MonitorRequest,
    progress: RowsDone | None = None,
) -> Monitored:
    """Score the rows of a file, and compare them with those of the reference."""
    if reference is None:
        raise TableError(
            "The model file has no reference, which monitoring compares rows with. Train the model again without "
            "--no-reference, or save it with save_model(..., reference=reference_of(X, scores))."
        )
    if request.threshold is not None:
        reference = _at_threshold(reference, request.threshold)
    if (request.by is None) != (request.time_column is None):
        raise TableError("Periods need the times of the rows. Name their column: --by day --time-column COL.")
    data = data_of(source)
    table = open_to_score(model, data.source, Roles(keep=_also(request)), data.reading)
    names, period_of = _periods(table, request)
    counters = _counters(model, reference, len(names))
    with counted_new_categories():  # the counters have them by period
        scores = _scored(model, table, counters, period_of, progress)
    if not scores.size:
        raise TableError("The table has no rows to monitor.")
    known = None if request.target is None else _labels(model, table, request.target)
    calibrated = model.calibrator_ is not None
    whole = watched(reference, counters, scores, known, calibrated)
    periods = {}
    for place, name in enumerate(names if request.by is not None else ()):
        own = period_of == place
        labels = None if known is None else (known[0][own], known[1][own])
        periods[name] = watched(reference, counters, scores[own], labels, calibrated, place)
    return Monitored(
        reference, reference.threshold, whole, periods, _alarms(request.limits, whole, periods), calibrated
    )


def _also(request: MonitorRequest) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (request.time_column, request.target) if name is not None))


def _at_threshold(reference: Reference, threshold: float) -> Reference:
    """The reference with another threshold. Its share of alerts is not known."""
    return replace(reference, threshold=threshold, alert_share=None)


def _periods(table: StreamedTable, request: MonitorRequest) -> tuple[list[str], NDArray[np.intp]]:
    """The names of the periods, and the number of each row's."""
    assert table.n_rows is not None
    if request.by is None or request.time_column is None:
        return ["all"], np.zeros(table.n_rows, dtype=np.intp)
    column = table.column(request.time_column)
    moments = moments_in(column, request.time_column)
    names, numbers = np.unique(
        periods_of(moments, request.by, request.timezone or zone_of(column)), return_inverse=True
    )
    if names.size > MOST_PERIODS:
        raise TableError(f"There are {names.size:,} periods, more than {MOST_PERIODS:,}. Choose longer ones with --by.")
    return [str(name).replace("T", " ") for name in names], numbers.astype(np.intp)


def _counters(model: AveragingEnsemble, reference: Reference, n_periods: int) -> dict[str, Counter]:
    schema = model.trained_on_.schema
    known = {} if schema is None else {one.name: one.categories for one in schema.columns}
    return {
        feature.name: Counter(
            feature, n_periods, None if known.get(feature.name) is None else frozenset(known[feature.name] or ())
        )
        for feature in reference.features
    }


def _scored(
    model: AveragingEnsemble,
    table: StreamedTable,
    counters: dict[str, Counter],
    period_of: NDArray[np.intp],
    progress: RowsDone | None,
) -> NDArray[np.float64]:
    """The scores of all rows. Their values are counted in the same pass."""
    parts = []
    for batch, probabilities in scoring_of(model).streamed(table, progress):
        parts.append(probabilities[:, model.trained_on_.score_column].copy())
        periods = period_of[batch.start : batch.stop]
        features = batch.features()
        for name, counter in counters.items():
            counter.add(_values(batch, features, name), periods)
    return np.concatenate(parts) if parts else np.empty(0)


def _values(batch: StreamedBatch, features: Any, name: str) -> Any:
    """A feature as the reference counts it: strings as they are in the table, including unknown categories."""
    column = next(one for one in batch.schema.columns if one.name == name)
    if column.categories is not None:
        return plain(batch.batch.column(column.source)).to_pylist()
    return np.asarray(features.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)


def _labels(model: AveragingEnsemble, table: StreamedTable, target: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows are rare, and which rows have a label. Labels that the model does not know are refused."""
    trained_on = model.trained_on_
    labels = plain(table.column(target)).to_pylist()
    is_known = np.array([label is not None and label == label for label in labels], dtype=bool)
    names = [*trained_on.classes, trained_on.score_label]
    strange = [label for label in dict.fromkeys(labels) if label is not None and label == label and label not in names]
    if strange and not trained_on.is_one_against_all:
        raise TableError(
            f"Column {target!r} has labels that the model does not know, such as {strange[:3]}. The model knows "
            f"{list(trained_on.classes)}."
        )
    is_rare = np.array([label == trained_on.score_label for label in labels], dtype=bool)
    return is_rare & is_known, is_known


def _alarms(limits: Sequence[Limit], whole: Watched, periods: dict[str, Watched]) -> list[Alarm]:
    """The limits that all rows exceed, and the limits of counts and shares that a period exceeds."""
    found = [limit.passed_by(whole) for limit in limits if not (periods and limit.name == "alerts")]
    for name, one in periods.items():
        found += [limit.passed_by(one, name) for limit in limits]
    return [alarm for alarm in found if alarm is not None]
