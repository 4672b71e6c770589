"""`selfpaced monitor`: check new rows for drift, and estimate the quality of a model without labels."""

from argparse import Namespace
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import monitoring
from selfpaced.cli import ALARM, OK
from selfpaced.cli.columns import Floats
from selfpaced.cli.history import labels_in, rows_to_score
from selfpaced.cli.opening import check_output, what_is_done
from selfpaced.cli.output import Talk, counted_new_categories, records
from selfpaced.cli.request import Data, times_in
from selfpaced.exceptions import TableError
from selfpaced.monitoring import SOME_DRIFT, Alarm, Counter, PeriodFigures, Reference
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import RowsDone, open_to_score, streamed
from selfpaced.report import DRIFT_COLUMNS, PERIOD_COLUMNS, monitor_page
from selfpaced.storage import write_whole
from selfpaced.tables import Roles, periods_of, plain, zone_of
from selfpaced.tables.files import StreamedBatch, StreamedTable

MOST_PERIODS = 1000


@dataclass(frozen=True)
class Monitored:
    reference: Reference  # with the threshold of the alerts
    whole: PeriodFigures
    periods: dict[str, PeriodFigures]  # the figures of each period, by its name, in the order of time
    alarms: list[Alarm]  # the limits that all rows or a period exceeded
    is_calibrated: bool


def monitor(
    model: Any, reference: Reference | None, data: Data, options: Namespace, progress: RowsDone | None
) -> Monitored:
    """Score the rows of a file, and compare them with those of the reference."""
    limits = [monitoring.parse_limit(text) for text in options.alarm]
    if reference is None:
        raise TableError(
            "The model file has no reference, which monitoring compares rows with. Train the model again without "
            "--no-reference, or save it with save_model(..., reference=make_reference(X, scores))."
        )
    if options.threshold is not None:  # its share of alerts among the rows of the reference is not known
        reference = replace(reference, threshold=options.threshold, alert_share=None)
    along = (options.time_column, options.time_unit, options.timezone)
    if (options.by is not None and options.time_column is None) or (options.by is None and any(along)):
        raise TableError("Periods need the times of the rows. Name their column: --by day --time-column COL.")
    also = dict.fromkeys(name for name in (options.time_column, options.target) if name)
    table = open_to_score(model.model_, data.source, Roles(keep=tuple(also)), data.reading)
    names, period_of = _periods(table, options)
    counters = _counters(model, reference, max(len(names), 1))
    with counted_new_categories():  # the counters have them by period
        scores = _scored(model, table, counters, period_of, progress)
    if not scores.size:
        raise TableError("The table has no rows to monitor.")
    known = None
    if options.target is not None:
        labels = labels_in(table.column(options.target), model.trained_on_, options.target)
        known = labels == 1, ~np.isnan(labels)
    calibrated = model.calibrator_ is not None
    whole = monitoring.measure_period(reference, counters, scores, known, calibrated)
    periods = {}
    for place, name in enumerate(names):
        own = period_of == place
        of_period = None if known is None else (known[0][own], known[1][own])
        periods[name] = monitoring.measure_period(reference, counters, scores[own], of_period, calibrated, place)
    # With periods, a limit of the number of alerts is one for each period.
    found = [limit.passed_by(whole) for limit in limits if not (periods and limit.name == "alerts")]
    found += [limit.passed_by(one, name) for name, one in periods.items() for limit in limits]
    return Monitored(reference, whole, periods, [alarm for alarm in found if alarm is not None], calibrated)


def _periods(table: StreamedTable, options: Namespace) -> tuple[list[str], NDArray[np.intp]]:
    """The names of the periods, and the number of each row's; without periods, no names and 0."""
    assert table.n_rows is not None
    if options.by is None:
        return [], np.zeros(table.n_rows, dtype=np.intp)
    moments = times_in(table, options.time_column, options.time_unit)
    zone = options.timezone or zone_of(table.column(options.time_column))
    names, numbers = np.unique(periods_of(moments, options.by, zone), return_inverse=True)
    if names.size > MOST_PERIODS:
        raise TableError(f"There are {names.size:,} periods, more than {MOST_PERIODS:,}. Choose longer ones with --by.")
    return [str(name).replace("T", " ") for name in names], numbers.astype(np.intp)


def _counters(model: Any, reference: Reference, n_periods: int) -> dict[str, Counter]:
    schema = model.trained_on_.schema
    known = model.trained_on_.categories or {}
    if schema is not None:
        known = {one.name: one.categories for one in schema.columns if one.categories is not None}
    return {
        feature.name: Counter(feature, n_periods, frozenset(known[feature.name]) if feature.name in known else None)
        for feature in reference.features
    }


def _scored(
    model: Any,
    table: StreamedTable,
    counters: dict[str, Counter],
    period_of: NDArray[np.intp],
    progress: RowsDone | None,
) -> Floats:
    """The scores of all rows. Their values are counted in the same pass."""
    parts = []
    for batch, probabilities in streamed(model.model_, table, model.n_jobs, progress):
        parts.append(probabilities[:, model.trained_on_.score_column].copy())
        periods = period_of[batch.start : batch.stop]
        features = batch.features()
        for name, counter in counters.items():
            counter.add(_values(batch, features, name), periods)
    return np.concatenate(parts) if parts else np.empty(0)


def _values(batch: StreamedBatch, features: Any, name: str) -> Any:
    """A feature as the reference counts it: strings as they are in the table, including unknown categories."""
    column = next((one for one in batch.schema.columns if one.name == name), None)
    if column is None:
        raise TableError(
            f"The reference in the model file has a column {name!r}, which is not a feature of the model. Make the "
            "reference of the features that the model reads."
        )
    if column.categories is not None:
        return plain(batch.batch.column(column.source)).to_pylist()
    return np.asarray(features.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)


MOST_COLUMNS = 10


def run(options: Namespace) -> int:
    talk = Talk(options)
    page = None if options.html is None else check_output(options.html, [".html"])
    card, model = read_card(options.model), load_ensemble(options.model)
    with talk.progress(what_is_done(options, "scoring")) as progress:
        data = rows_to_score(options, model, card.metrics)
        found = monitor(model, card.reference, data, options, progress)
    _tell(talk, found)
    if page is not None:
        write_whole(page, monitor_page(found.whole, found.periods, found.reference, found.alarms))
        talk.say(f"The report is in {page}.")
    talk.result(
        {
            "n_rows": found.whole.n_rows,
            "reference": {"n_rows": found.reference.n_rows, "n_counted": found.reference.n_counted},
            "threshold": found.reference.threshold,
            "alarms": [asdict(one) for one in found.alarms],
            "all": asdict(found.whole),
            "periods": {name: asdict(one) for name, one in found.periods.items()},
            "html": None if page is None else str(page),
        }
    )
    for text in monitoring.alarm_texts(found.alarms):
        talk.warn(f"alarm: {text}")
    return ALARM if found.alarms else OK


def _tell(talk: Talk, found: Monitored) -> None:
    whole = found.whole
    drifted, n_columns = [one for one in whole.drifts if one.is_large], len(whole.drifts)
    named = ", ".join(f"{one.name!r}" for one in drifted[:5])
    n_real = sum(one.is_real for one in whole.drifts)
    have = "has" if len(drifted) == 1 else "have"
    said = f"{len(drifted)} of {n_columns} columns {have} drifted: {named}." if drifted else ""
    alarms = monitoring.alarm_texts(found.alarms)
    if alarms and not drifted:
        said = f"{len(alarms)} {'limit was' if len(alarms) == 1 else 'limits were'} exceeded: {'; '.join(alarms)}."
    talk.headline(said or f"None of {n_columns} columns has drifted much.")
    talk.say(
        f"Drifted columns have a stability index (PSI) of {SOME_DRIFT} or more; {n_real} of {n_columns} moved more "
        "than chance explains."
    )
    talk.say(
        f"{whole.n_rows:,} rows, compared with {found.reference.n_rows:,} held-out rows of the training"
        f"{_counted(found.reference)}. {_estimate(whole)}"
    )
    if not found.is_calibrated:
        talk.say("The scores of this model are not probabilities, so nothing can be estimated without labels.")
    if whole.labelled is not None:
        talk.say(_arrived(whole))
    columns = ([] if whole.score_drift is None else [whole.score_drift]) + list(whole.drifts[:MOST_COLUMNS])
    talk.say(f"\n{records(DRIFT_COLUMNS, columns)}\n")
    if found.periods:
        talk.say(records(PERIOD_COLUMNS, found.periods) + "\n")


def _counted(reference: Reference) -> str:
    """Which rows of the reference have been counted column by column, if not all."""
    if reference.n_counted == reference.n_rows:
        return ""
    return f" (their scores; and their columns in a sample of {reference.n_counted:,} rows)"


def _estimate(one: PeriodFigures) -> str:
    alerts = "" if one.n_alerts is None else f"{one.n_alerts:,} alerts. "
    estimate = one.estimate
    if estimate is None:
        return alerts
    between = f"{estimate.expected_interval.low:,.0f} to {estimate.expected_interval.high:,.0f}"
    parts = [f"{estimate.expected:,.0f} rare rows ({between})"]
    for name in ("precision", "recall", "aucprc"):
        value = getattr(estimate, name)
        if value is not None:
            parts.append(f"{'AUCPRC' if name == 'aucprc' else name} {value:.2f}")
    return f"{alerts}If the probabilities are still right, expect {', '.join(parts)}."


def _arrived(one: PeriodFigures) -> str:
    found = one.labelled
    assert found is not None
    low, high = found.expected_interval.low, found.expected_interval.high
    said = "more or fewer than expected" if found.is_surprising else "as expected"
    parts = [f"Of {found.n_known:,} rows with a label {found.found:,} are rare, {said}: {found.expected:,.1f} "
             f"({low:,.0f} to {high:,.0f})"]  # fmt: skip
    for name in ("precision", "recall"):
        value, interval = getattr(found, name), getattr(found, f"{name}_interval")
        if value is not None and interval is not None:
            parts.append(f"{name} {value:.2f} ({interval.low:.2f} to {interval.high:.2f})")
    return "; ".join(parts) + "."
