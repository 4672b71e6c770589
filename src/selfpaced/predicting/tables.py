"""Scores of the rows of tables, in files and on clusters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, pa
from selfpaced.metrics import alerts_at_threshold, aucprc, best_threshold
from selfpaced.model import Model, TrainedOn, named_among
from selfpaced.reasons import reasons_of, source_names
from selfpaced.scoring import coded_batch, over_stream
from selfpaced.storage import Place
from selfpaced.tables import DatabaseTable, InMemoryTable, NewCategories, ReadingOptions, Roles, Schema, check_names
from selfpaced.tables.files import StreamedBatch, StreamedTable
from selfpaced.tables.sources import (
    batch_of,
    check_columns,
    open_like,
    open_like_frame,
    refuse_own_source,
    refuse_taken,
    write_batches,
)
from selfpaced.thresholds import ZoneLimits, short_threshold

Floats = NDArray[np.float64]
RowsDone = Callable[[int, int | None], None]
# The rows of a file are scored in at least so many parts for each thread, but no smaller ones than this.
PARTS_FOR_A_THREAD, FEWEST_ROWS_OF_A_PART = 4, 2**14


class ScoringOptions(ReadingOptions, total=False):
    """How the rows to score are read, and a function that is called after each batch."""

    columns: Sequence[str] | None
    progress: RowsDone | None


@dataclass(frozen=True)
class Beside:
    """What is written beside the scores: so many reasons, and values that are the same for all rows."""

    reasons: int = 0
    stamp: Mapping[str, str | float | None] = field(default_factory=dict)


NOTHING = Beside()


@dataclass(frozen=True)
class TableEvaluation:
    """The quality of an ensemble on a table."""

    n_rows: int
    n_positives: int
    aucprc: float  # of the rare class; chance is n_positives / n_rows
    threshold: float  # the given threshold, or else the best one by F1 on these rows
    f1: float  # at that threshold
    precision: float
    recall: float
    best_threshold: float  # by F1 on these rows, rounded to few digits
    best_f1: float
    mean_score: float  # for a calibrated ensemble, the share of rare rows that it expects


def open_to_score(model: Model, source: Any, roles: Roles, options: ScoringOptions) -> StreamedTable:
    """A table with the features that a model was trained with, from a source or from an open table."""
    check_names(options, ScoringOptions.__optional_keys__, "A method that scores tables")
    given = {name: value for name, value in options.items() if name != "progress" and value is not None}
    names = None if model.reader.names is None else list(model.reader.names)
    if isinstance(source, StreamedTable):
        if given:
            name = next(iter(given))
            raise TableError(f"{name}= does not apply to a table that is open already. Give it to open_table instead.")
        return _reopened(source, names, roles, model.trained_on.schema)
    columns: Any = given.pop("columns", None)
    if names is not None and columns is not None:
        raise TableError(f"columns= is for a model without feature names. This one was trained with {names}. Omit it.")
    reading = cast(ReadingOptions, given)
    if model.trained_on.schema is not None:
        return open_like(source, model.trained_on.schema, roles, **reading)
    if isinstance(source, np.ndarray):
        raise TypeError("Arrays in memory, including memory maps, cannot be scored here. Call predict_proba(X).")
    table = open_like_frame(
        source, columns if names is None else names, model.trained_on.categories or {}, roles, **reading
    )
    if len(table.schema.names) != model.reader.n_features:
        raise TableError(
            f"The model was trained on {model.reader.n_features} features without names, but the files have "
            f"{len(table.schema.names)} columns, {table.schema.names}. Name the features in their order with columns=."
        )
    return table


def _reopened(table: StreamedTable, names: list[str] | None, roles: Roles, schema: Schema | None) -> StreamedTable:
    """An open table, whose rows and target are fixed. Further columns can be kept.

    Its features are read by the schema of training, if there is one: a table that was opened by itself has its own
    categories and time zones.
    """
    if table.schema.names != names:
        raise TableError(
            f"The table has the features {table.schema.names}, but the model was trained with {names}. Give the path "
            "of the table instead, so that the right columns are read."
        )
    if roles.target not in (None, table.roles.target):
        raise TableError(
            f"The table was opened with the target {table.roles.target!r}, not {roles.target!r}. Open it with "
            f"target={roles.target!r}."
        )
    if None not in (roles.pos_label, table.roles.pos_label) and roles.pos_label != table.roles.pos_label:
        raise TableError(
            f"The table was opened with pos_label={table.roles.pos_label!r}, but the model finds {roles.pos_label!r}. "
            f"Open it with pos_label={roles.pos_label!r}."
        )
    asked = replace(table.roles, keep=roles.keep)
    check_columns(table.reader, asked)
    # Time zones and categories that were fixed when this table was opened may differ from those in training.
    table = replace(table, roles=asked, schema=schema or table.schema)
    if roles.target is None or roles.pos_label == table.roles.pos_label:
        return table
    return replace(table, roles=replace(asked, pos_label=roles.pos_label), known_labels=None)


def streamed(
    model: Model, table: StreamedTable, n_jobs: int | None = None, progress: RowsDone | None = None
) -> Iterator[tuple[StreamedBatch, Floats]]:
    """Batches of a table with their probabilities, in order.

    `progress` gets the rows done and the rows to do. After the last batch, one warning counts the categories that the
    model was not trained with.
    """
    scorers = [scorer for some in model.scorers for scorer in some]
    # Models with their own threads get one batch at a time.
    threads = min([effective_n_jobs(n_jobs), *(each.threads for each in scorers if each.threads is not None)])
    most_rows = _rows_of_a_part(table, threads)

    def work(part: tuple[StreamedBatch, StreamedBatch]) -> tuple[StreamedBatch, StreamedBatch, Floats]:
        batch, rows = part
        rows.check()
        return batch, rows, model.calibrated(model.means_of(InMemoryTable(rows.features_for(scorers)), 1))

    found: list[Floats] = []
    new = NewCategories()
    parts = ((batch, rows) for batch in table.batches() for rows in replace(batch, new_categories=new).parts(most_rows))
    for batch, rows, probabilities in over_stream(work, parts, threads):
        found.append(probabilities)
        if rows.stop < batch.stop:
            continue
        yield batch, np.concatenate(found)
        found.clear()
        if progress is not None:
            progress(batch.stop, table.n_rows)
    new.warn()


def _rows_of_a_part(table: StreamedTable, threads: int) -> int:
    """A table of few batches would leave threads idle at its end, so that they share batches."""
    if threads == 1 or table.n_rows is None:
        return table.reader.batch_rows
    wanted = table.n_rows // (PARTS_FOR_A_THREAD * threads)
    return min(max(wanted, FEWEST_ROWS_OF_A_PART), table.reader.batch_rows)


def scores_of(
    model: Model, table: StreamedTable, n_jobs: int | None = None, progress: RowsDone | None = None
) -> Floats:
    """The score of every row of a table, in order."""
    column = model.trained_on.score_column
    # Not rounded: a threshold that is chosen by rounded scores is above some of the rows that round up to it.
    parts = [found[:, column].copy() for _, found in streamed(model, table, n_jobs, progress)]
    return np.concatenate(parts) if parts else np.empty(0)


def write_scores(
    model: Model,
    table: StreamedTable,
    output: Any,
    *,
    threshold: float | ZoneLimits | None = None,
    n_jobs: int | None = None,
    progress: RowsDone | None = None,
    on_scores: Callable[[Floats], None] | None = None,
    beside: Beside = NOTHING,
) -> Place | DatabaseTable:
    """Write the scores of a table to a file or a database, in the order of the rows.

    With a threshold, only alerts get reasons.
    """
    trained_on, reasons = model.trained_on, beside.reasons
    refuse_own_source(output, [path for file in table.reader.files for path in (file.path, file.data)])
    no_scores = score_columns(trained_on, np.empty((0, len(trained_on.classes))), threshold)
    no_scores |= stamped(beside.stamp, 0)
    refuse_taken(table.roles.keep, no_scores | no_reasons(reasons))

    def scored() -> Iterator[Any]:
        batch = None
        for batch, probabilities in streamed(model, table, n_jobs, progress):
            if on_scores is not None:
                on_scores(probabilities[:, trained_on.score_column])
            columns = score_columns(trained_on, probabilities, threshold) | stamped(beside.stamp, len(probabilities))
            explained = columns.get("alert", np.ones(len(probabilities), dtype=bool))
            yield batch_of(batch.kept() | columns | reason_columns(model, batch, explained, reasons))
        if batch is None:  # a file without rows has the right columns too
            kept = {name: table.column(name) for name in table.roles.keep}
            yield batch_of(kept | no_scores | no_reasons(reasons))

    return write_batches(scored(), output)


def write_decided(
    model: Model,
    table: StreamedTable,
    output: Any,
    decide: Callable[[Floats], NDArray[np.bool_]],
    n_jobs: int | None = None,
    progress: RowsDone | None = None,
    beside: Beside = NOTHING,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Write scores with alerts that `decide` computes from the scores of all rows. Return both.

    The probabilities of all rows are kept in memory. The columns beside them are read again when the alerts are known.
    """
    trained_on, reasons = model.trained_on, beside.reasons
    refuse_own_source(output, [path for file in table.reader.files for path in (file.path, file.data)])
    parts = [found for _, found in streamed(model, replace(table, roles=Roles()), n_jobs, progress)]
    probabilities = np.concatenate(parts) if parts else np.empty((0, len(trained_on.classes)))
    scores = probabilities[:, trained_on.score_column].copy()
    alerts = decide(scores)
    columns = _columns_with(trained_on, probabilities, alerts) | stamped(beside.stamp, scores.size)
    refuse_taken(table.roles.keep, columns | no_reasons(reasons))

    def with_reasons() -> Iterator[Any]:
        for batch in table.batches():
            own = {name: values[batch.start : batch.stop] for name, values in columns.items()}
            yield batch_of(batch.kept() | own | reason_columns(model, batch, own["alert"], reasons))

    def decided() -> Iterator[Any]:
        keep, start = list(table.roles.keep), 0
        if reasons and scores.size:
            yield from with_reasons()
            return
        for _, batch in table.reader.read(keep) if keep and scores.size else ():
            some = slice(start, start + batch.num_rows)
            kept = {name: batch.column(name) for name in keep}
            yield batch_of(kept | {name: values[some] for name, values in columns.items()})
            start = some.stop
        if not keep or not scores.size:
            yield batch_of({name: table.column(name) for name in keep} | columns | no_reasons(reasons))

    write_batches(decided(), output)
    return scores, alerts


def stamped(stamp: Mapping[str, str | float | None], n_rows: int) -> dict[str, Any]:
    """Columns with the same value in each row, such as the id of the model."""
    types = {name: pa.string() if isinstance(value, str) else pa.float64() for name, value in stamp.items()}
    return {name: pa.array([value] * n_rows, types[name]) for name, value in stamp.items()}


def score_columns(trained_on: TrainedOn, probabilities: Floats, threshold: float | ZoneLimits | None) -> dict[str, Any]:
    """What is written of the probabilities of some rows, by the names of the columns; alerts with a threshold."""
    scores = probabilities[:, trained_on.score_column]
    if isinstance(threshold, ZoneLimits):
        columns = _columns_with(trained_on, probabilities, scores >= threshold.lowest)
        return columns | {"zone": threshold.of(scores)}
    return _columns_with(trained_on, probabilities, None if threshold is None else scores >= threshold)


def _columns_with(trained_on: TrainedOn, probabilities: Floats, is_alert: Any) -> dict[str, Any]:
    columns = {"score": probabilities[:, trained_on.score_column]}
    if len(trained_on.classes) > 2:
        columns = {f"score_{label}": probabilities[:, number] for number, label in enumerate(trained_on.classes)}
    return columns if is_alert is None else columns | {"alert": is_alert}


def no_reasons(top: int) -> dict[str, Any]:
    """The columns of reasons, without rows."""
    return {name: pa.array([], kind()) for name, kind in _reason_types(top).items()}


def _reason_types(top: int) -> dict[str, Callable[[], Any]]:
    kinds = {"": pa.string, "_column": pa.string, "_log_odds": pa.float64}
    return {f"reason_{number}{ending}": kind for number in range(1, top + 1) for ending, kind in kinds.items()}


def reason_columns(model: Model, batch: StreamedBatch, explained: NDArray[np.bool_], top: int) -> dict[str, Any]:
    """The reasons of some rows of a batch, as sentences, columns and shares; null for all other rows."""
    if not top:
        return {}
    columns: dict[str, list[Any]] = {name: [None] * explained.size for name in _reason_types(top)}
    places = np.flatnonzero(explained)
    some = replace(batch, batch=batch.batch.take(pa.array(places)), new_categories=None)
    if places.size:
        features = some.features()
        coded = coded_batch(features)
        rows = InMemoryTable(features.to_pandas() if coded is None else coded)
        # Without names, the columns are the features in their order.
        names = dict(zip(source_names(model.reader), [column.source for column in batch.schema.columns], strict=True))
        values = {name: some.batch.column(source).to_pylist() for name, source in names.items()}
        for place, reasons in zip(places.tolist(), reasons_of(model, rows, top=top, values=values), strict=True):
            for number, reason in enumerate(reasons, start=1):
                columns[f"reason_{number}"][place] = str(reason)
                columns[f"reason_{number}_column"][place] = reason.feature
                columns[f"reason_{number}_log_odds"][place] = reason.log_odds
    return {name: pa.array(columns[name], kind()) for name, kind in _reason_types(top).items()}


def rare_rows(trained_on: TrainedOn, table: StreamedTable) -> NDArray[np.bool_]:
    """Which rows of a table have the label that the score is about. All labels must be known to the model."""
    if table.n_rows == 0:
        raise TableError("The table has no rows, so the model cannot be evaluated.")
    labels, rare, roles = table.labels(), trained_on.classes[trained_on.score_column], table.roles
    if roles.pos_label is not None:
        rare = named_among(labels.names, roles.pos_label)
    is_separated = rare in labels.names and trained_on.is_one_against_all
    check_labels(trained_on, [roles.pos_label, *roles.other_labels] if is_separated else labels.names, roles.target)
    if rare not in labels.names:
        raise TableError(
            f"The labels in column {table.roles.target!r} are {labels.names}. An evaluation needs rows with the label "
            f"{rare!r}."
        )
    is_rare: NDArray[np.bool_] = labels.codes == labels.names.index(rare)
    return is_rare


def check_labels(trained_on: TrainedOn, names: Sequence[Any], target: str | None) -> None:
    """Refuse labels of rows that the model does not know.

    For a model of one label against all others, a new label is another one of these, unless it may be the one label,
    written in another way: where no row has the one label, any new label may be.
    """
    known, label = list(trained_on.classes), trained_on.score_label
    strange = [name for name in names if name not in known]
    if trained_on.is_one_against_all:
        known = [label, *trained_on.other_labels]
        types = [(isinstance(one, bool), one) for one in known]  # True is 1, but was not a label if 1 was
        strange = [name for name in names if name != label and (isinstance(name, bool), name) not in types]
        strange = [name for name in strange if label not in names or _plain_text(name) == _plain_text(label)]
    if strange:
        raise TableError(
            f"The labels in column {target!r} are {list(names)[:20]}; the model knows {known}, and cannot tell what "
            f"{strange[:3]} means. Write the labels as they were in training."
        )


def _plain_text(label: Any) -> str:
    return str(label).strip().casefold()


def evaluation(is_positive: NDArray[np.bool_], scores: Floats, threshold: float | None = None) -> TableEvaluation:
    """The quality of scores, at a threshold or at the best one by F1."""
    last = best_threshold(is_positive, scores)
    best = short_threshold(last, scores[scores < last].max(initial=-np.inf))
    threshold = best if threshold is None else threshold
    alerts = alerts_at_threshold(is_positive, scores, threshold)
    return TableEvaluation(
        n_rows=int(scores.size),
        n_positives=int(is_positive.sum()),
        aucprc=aucprc(is_positive, scores),
        threshold=threshold,
        f1=float(alerts.f1),
        precision=float(alerts.precision),
        recall=float(alerts.recall),
        best_threshold=best,
        best_f1=float(alerts_at_threshold(is_positive, scores, best).f1),
        mean_score=float(scores.mean(dtype=np.float64)),
    )
