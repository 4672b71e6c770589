"""Histories of entities in commands: rows to score with their past, and whether a history helps."""

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.cli.columns import Floats
from selfpaced.cli.opening import HistoryTrial, fits_in_memory, reader_with_history
from selfpaced.cli.output import Talk
from selfpaced.cli.request import Data, HistoryRequest, data_in
from selfpaced.exceptions import TableError
from selfpaced.history import History, HistoryState, Learned, beside, read_events
from selfpaced.model import TrainedOn
from selfpaced.predicting import check_labels
from selfpaced.tables import Roles, Schema, is_missing, plain
from selfpaced.tables.files import Needed, Reader, StreamedTable
from selfpaced.tables.sources import open_reader, reader_like


def trials_in_words(trials: Sequence[HistoryTrial], history: History | None) -> list[str]:
    """What was found by trying a history, and what is used of it; nothing if it was not tried."""
    if not trials:
        return []
    figures = ", ".join(f"{one.name} {one.aucprc:.3f}" for one in trials)
    used = "is not used" if history is None else "is used" + ("" if history.delay else " without labels")
    errors = ", ".join(f"{one.standard_error:.3f}" for one in trials[1:])
    return [
        f"History of {', '.join(trials[0].entities)}, tried on the last rows of those to train on (AUCPRC): {figures}. "
        f"Standard errors of the differences: {errors}. The history {used}."
    ]


def with_features_of(some: History | None, whole: History, table: StreamedTable) -> StreamedTable:
    """A table with those features of a history that another one has, and with all its other features."""
    left_out = {*whole.feature_names} - {*(() if some is None else some.feature_names)}
    columns = tuple(one for one in table.schema.columns if one.source not in left_out)
    return replace(table, schema=Schema(columns))


def history_again(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of another training with the history of a model's card. The base rate is that of the new rows."""
    if facts is None:
        return {}
    known = History.from_dict(facts)
    asked = HistoryRequest(known.entities, known.windows, known.delay)
    return {"history": asked, "amount": known.amount_column}


def rows_to_score(options: Namespace, model: Any, metrics: Mapping[str, Any]) -> Data:
    """The rows of a command for a model, with the features of their history if the model was trained with one.

    `metrics` are those of the model's card.
    """
    data, history = data_in(options), _history_of(options, metrics)
    if history is None:
        return data
    trained_on, past = model.trained_on_, getattr(options, "past", None)
    reader = _reader_of(data, history, trained_on)
    before = None if past is None else _past_of(Data(past, data.reading), history, trained_on)
    labels = (None, None) if history.delay is None else (trained_on.target, trained_on.score_label)
    return _opened(reader_with_history(history, reader, labels, before), trained_on)


@contextmanager
def rows_to_score_with_state(options: Namespace, model: Any, metrics: Mapping[str, Any], talk: Talk) -> Iterator[Data]:
    """The rows of a command with the features that a state gives. At the end of the block they become a part of it.

    A state that does not exist is made of the past. Labels that have arrived are learned first.
    """
    data, history, trained_on = data_in(options), _history_of(options, metrics), model.trained_on_
    assert history is not None
    reader = _reader_of(data, history, trained_on)
    rows = reader.table(reader.column_names)
    with _state(options, data, history, trained_on) as state:
        if options.learn is not None:
            learned = _learn(options.learn, state, trained_on)
            talk.say(f"Learned {learned.n_learned:,} labels; {learned.n_unknown:,} are of rows that it does not have.")
        _refuse_known(rows, state)
        yield _opened(reader.holding(beside(rows, state.features(rows))), trained_on)
        labels = _labels_of(rows, history, trained_on)
        talk.say(f"Added {state.update(rows, labels):,} rows to the state in {options.state}.")


def _history_of(options: Namespace, metrics: Mapping[str, Any]) -> History | None:
    """The history of a model. Options about the past are refused for a model without one, and needed for others."""
    facts = metrics.get("history")
    given = [f"--{name.replace('_', '-')}" for name in ("past", "state", "no_past") if getattr(options, name, None)]
    if facts is None:
        if given:
            raise TableError(
                f"{given[0]} is for a model with a history, but this one was trained without --history. Omit it."
            )
        return None
    history = History.from_dict(facts)
    if not given:
        named = ", ".join("+".join(each) if isinstance(each, tuple) else each for each in history.entities)
        raise TableError(
            f"The model uses what each {named} did before, so it needs earlier rows. Name them: --past FILE, or "
            "--state FOLDER. If there are none, say so: --no-past."
        )
    return history


def _reader_of(data: Data, history: History, trained_on: TrainedOn) -> Reader:
    """All columns of some rows, in memory if they fit, read as the model was trained."""
    assert trained_on.schema is not None  # a model with a history in its card was trained by a command
    raw = Schema(tuple(one for one in trained_on.schema.columns if one.source not in history.feature_names))
    reader = reader_like(data.source, raw, Needed(), data.reading)
    if history.delay is not None and trained_on.target in reader.column_names:
        labels_in(reader.column(trained_on.target), trained_on, trained_on.target)
    is_small = fits_in_memory(reader.n_rows or 0, len(reader.column_names) + len(history.feature_names))
    return reader.loaded(reader.column_names) if is_small else reader


def _past_of(
    data: Data, history: History, trained_on: TrainedOn, also: Sequence[str] = (), needs_labels: bool = True
) -> Reader:
    types = {name: kind for name, kind in (data.reading.get("types") or {}).items() if name in history.columns}
    target = [trained_on.target] if history.delay is not None and trained_on.target else []
    reader = open_reader(data.source, {"types": types} if types else {}, Needed([*history.columns, *target, *also]))
    if needs_labels and target and trained_on.target not in reader.column_names:
        raise TableError(
            f"{data} has no column {trained_on.target!r}, but the history counts rows whose labels are known. Add the "
            "column, and leave it empty where a label is not known."
        )
    if trained_on.target in reader.column_names:
        labels_in(reader.column(trained_on.target), trained_on, trained_on.target)
    return reader


def _opened(reader: Reader, trained_on: TrainedOn) -> Data:
    target = trained_on.target if trained_on.target in reader.column_names else None
    assert trained_on.schema is not None
    return Data(StreamedTable(reader, trained_on.schema, Roles(target, trained_on.pos_label)), {})


def _state(options: Namespace, data: Data, history: History, trained_on: TrainedOn) -> HistoryState:
    """The state in a folder. If there is none, one is made of the past, or without rows."""
    exists = Path(options.state).is_dir()
    if exists and (options.past or options.no_past or options.id):
        raise TableError(f"There is a state in {options.state} already. Omit --past, --no-past and --id.")
    if exists:
        return HistoryState.open(options.state, history)
    if not (options.past or options.no_past):
        raise TableError(
            f"There is no state in {options.state}. Make it of earlier rows with --past FILE, or with --no-past."
        )
    also = [options.id] if options.id else []
    source = data if options.past is None else Data(options.past, data.reading)
    reader = _past_of(source, history, trained_on, also, needs_labels=options.past is not None)
    rows = reader.table(reader.column_names)
    rows = rows if options.past else rows.slice(0, 0)
    labels = _labels_of(rows, history, trained_on)
    return history.state(rows, labels, id_column=options.id, folder=options.state)


def _learn(path: str, state: HistoryState, trained_on: TrainedOn) -> Learned:
    if state.id_column is None or trained_on.target is None:
        raise TableError("--learn needs a state with ids of the rows. Make it with --id COL.")
    reader = open_reader(path, {}, Needed([state.id_column, trained_on.target]))
    for name in (state.id_column, trained_on.target):
        if name not in reader.column_names:
            raise TableError(f"{path} has no column {name!r}. Give the ids of rows and their labels.")
    rows = reader.table([state.id_column, trained_on.target])
    return state.learn(
        rows.column(state.id_column), labels_in(rows.column(trained_on.target), trained_on, trained_on.target)
    )


def _refuse_known(rows: Any, state: HistoryState) -> None:
    """Refuse rows that the state has already: they would be counted twice."""
    if state.id_column is not None:
        n_known = int(state.has(rows).sum())
        if n_known:
            raise TableError(
                f"The state already has {n_known:,} of {len(rows):,} rows, by their {state.id_column!r}, so they would "
                "be counted twice. Score new rows."
            )
    elif state.last_time is not None and len(rows):
        first = read_events(state.history, rows).times.min()
        if first <= state.last_tick:
            raise TableError(
                f"The first of these rows is not after {state.last_time}, the last row of the state, which may have "
                "them already. Score later rows, or make a state with ids of the rows: --id COL."
            )


def _labels_of(rows: Any, history: History, trained_on: TrainedOn) -> Any:
    """The labels of some rows, if they have any; None if the history uses no labels."""
    if history.delay is None:
        return None
    if trained_on.target not in rows.column_names:
        return np.full(len(rows), np.nan)
    return labels_in(rows.column(trained_on.target), trained_on, trained_on.target)


def labels_in(column: Any, trained_on: TrainedOn, target: str | None) -> Floats:
    """1 for rare rows, 0 for others, NaN for rows without a label. Labels that the model does not know are refused."""
    labels = plain(column).to_pylist()
    check_labels(trained_on, [label for label in dict.fromkeys(labels) if not is_missing(label)], target)
    return np.array([np.nan if is_missing(one) else one == trained_on.score_label for one in labels], dtype=np.float64)
