"""Histories of entities in commands: rows to score with their past, and whether a history helps."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from selfpaced.cli.opening import HistoryTrial, fits_in_memory, reader_with_history
from selfpaced.cli.request import Data, HistoryRequest, data_in
from selfpaced.exceptions import TableError
from selfpaced.history import History
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


# How the rows before those to score are given.
PAST = ("past", "state", "no_past")


def rows_to_score(options: Namespace, model: Any, metrics: Mapping[str, Any]) -> Data:
    """The rows of a command for a model, with the features of their history if the model was trained with one.

    `metrics` are those of the model's card.
    """
    data, facts = data_in(options), metrics.get("history")
    given = [name for name in PAST if getattr(options, name, None)]
    if facts is None:
        if given:
            raise TableError(
                f"--{given[0].replace('_', '-')} is for a model with a history, but this one was trained without "
                "--history. Omit the option."
            )
        return data
    history = History.from_dict(facts)
    if not given:
        named = ", ".join("+".join(each) if isinstance(each, tuple) else each for each in history.entities)
        raise TableError(
            f"The model uses what each {named} did before, so it needs earlier rows. Name them: --past FILE, or "
            "--state FOLDER. If there are none, say so: --no-past."
        )
    past = Data(options.past, data.reading) if given == ["past"] else None
    return Data(_described(history, model.trained_on_, data, past), {})


def _described(history: History, trained_on: TrainedOn, data: Data, past: Data | None) -> StreamedTable:
    """The rows of some data with the features of a history. They see each other and those of the past."""
    assert trained_on.schema is not None  # a model with a history in its card was trained by a command
    raw = Schema(tuple(one for one in trained_on.schema.columns if one.source not in history.feature_names))
    reader, before = reader_like(data.source, raw, Needed(), data.reading), None
    if fits_in_memory(reader.n_rows or 0, len(reader.column_names) + len(history.feature_names)):
        reader = reader.loaded(reader.column_names)
    if past is not None:
        types = {name: kind for name, kind in (past.reading.get("types") or {}).items() if name in history.columns}
        needed = Needed([*history.columns, *([trained_on.target] if trained_on.target else [])])
        before = open_reader(past.source, {"types": types} if types else {}, needed)
    target = trained_on.target
    for one in (reader, before) if history.delay is not None else ():
        if one is not None and target in one.column_names:
            _check_labels(trained_on, one, target)
    labels = (None, None) if history.delay is None else (target, trained_on.score_label)
    described = reader_with_history(history, reader, labels, before)
    roles = Roles(target if target in reader.column_names else None, trained_on.pos_label)
    return StreamedTable(described, trained_on.schema, roles)


def _check_labels(trained_on: TrainedOn, reader: Reader, target: str) -> None:
    """Refuse labels that the model does not know. Rows without a label are fine."""
    values = plain(reader.column(target)).unique().to_pylist()
    check_labels(trained_on, [name for name in values if not is_missing(name)], target)
