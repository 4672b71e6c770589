"""Rows with the history of their entities: `--history` in training, `--past` and `--state` afterwards."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.request import Data, HistoryRequest, TrainRequest, data_in
from selfpaced.exceptions import TableError, pa
from selfpaced.history import History
from selfpaced.model import TrainedOn, named_among
from selfpaced.predicting import check_labels
from selfpaced.tables import Labels, Moments, Roles, Schema, are_numbers, is_missing, moments_in, plain, span_in
from selfpaced.tables.files import Needed, Reader, StreamedTable
from selfpaced.tables.sources import open_reader, reader_like

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
# Amounts are rounded to so many decimals at most.
MOST_DECIMALS = 6


def with_history(
    request: TrainRequest,
    reader: Reader,
    entities: Sequence[str],
    is_rare: Floats,
    first_test: Callable[[Moments], Any] | None,
) -> tuple[Reader, History]:
    """The rows of a training with the features of their history, in memory, and the description of these features.

    `entities` are those of a table for which none were named. `is_rare` is NaN for rows without a label. The base rate
    is that of the rows whose labels are known when the rows to judge by begin.
    """
    asked = request.history
    assert asked is not None
    assert request.time_column is not None
    chosen = asked.entities or tuple(entities)
    if not chosen:
        raise TableError(
            "--history auto found no column that several rows belong to, such as a card or a customer. Name such "
            "columns: --history customer,terminal."
        )
    history = History(
        request.time_column,
        chosen,
        amount_column=request.amount,
        windows=asked.windows,
        delay=asked.delay,
        decimals=2 if request.amount is None else _decimals(reader.column(request.amount), request.amount),
        time_unit=request.time_unit,
    )
    if history.delay is not None:
        moments = moments_in(reader.column(history.time_column), history.time_column, history.time_unit)
        first = (first_test or partial(first_held_out, share=request.holdout))(moments)
        history = history.with_base_rate(is_rare[moments + span_in(history.delay, moments, "--delay") <= first])
    rows = _rows(reader, reader.column_names)
    return reader.holding(history.add(rows, None if history.delay is None else is_rare)), history


@dataclass(frozen=True)
class HistoryTrial:
    """How good a model is with some features of a history, or without."""

    name: str
    aucprc: float
    standard_error: float  # of the difference from the best one before
    entities: tuple[str, ...] = ()


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


def first_held_out(moments: Moments, share: float) -> Any:
    """When the last rows begin, which are so large a share of all."""
    position = math.ceil((1 - share) * (moments.size - 1))
    return np.partition(moments, position)[position]


def _rows(reader: Reader, names: Sequence[str]) -> Any:
    return pa.Table.from_batches([batch for _, batch in reader.read(names)])


def _decimals(column: Any, name: str) -> int:
    """How many decimals amounts are written with, so that rounding loses nothing.

    >>> _decimals(pa.array([12.5, None, 3.25]), "amount")
    2
    """
    if not are_numbers(column.type):
        raise TableError(f"The column of amounts {name!r} is {column.type}. Name a column of numbers.")
    amounts = column.drop_null().cast("float64", safe=False).to_numpy(zero_copy_only=False)
    amounts = amounts[np.isfinite(amounts)]
    for decimals in range(MOST_DECIMALS):
        units = amounts * 10.0**decimals
        if np.allclose(units, np.rint(units), rtol=1e-12, atol=1e-6):
            return decimals
    return MOST_DECIMALS


def rare_or_unknown(labels: Labels, labelled: Mask, pos_label: Any) -> Floats:
    """1 for rare rows, 0 for others, and NaN for rows without a label."""
    rare = named_among(labels.names, labels.score_label(pos_label))
    found = np.full(labelled.size, np.nan)
    found[labelled] = labels.codes == labels.names.index(rare)
    return found


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
    return Data(described(history, model, data, past), {})


def described(history: History, model: Any, data: Data, past: Data | None) -> StreamedTable:
    """The rows of some data with the features of a history, in memory. They see each other and those of the past."""
    trained_on = model.trained_on_
    raw = Schema(tuple(one for one in trained_on.schema.columns if one.source not in history.feature_names))
    reader = reader_like(data.source, raw, Needed(), data.reading)
    rows = _rows(reader, reader.column_names)
    earlier = earlier_labels = None
    if past is not None:
        types = {name: kind for name, kind in (past.reading.get("types") or {}).items() if name in history.columns}
        needed = Needed([*history.columns, *([trained_on.target] if trained_on.target else [])])
        before = open_reader(past.source, {"types": types} if types else {}, needed)
        earlier = _rows(before, before.column_names)
        earlier_labels = _labels(history, trained_on, earlier)
    labels = _labels(history, trained_on, rows)
    table = history.add(rows, labels, past=earlier, past_y=earlier_labels)
    roles = Roles(trained_on.target if trained_on.target in rows.column_names else None, trained_on.pos_label)
    return StreamedTable(reader.holding(table), trained_on.schema, roles)


def _labels(history: History, trained_on: TrainedOn, rows: Any) -> Floats | None:
    """The labels of rows as the history takes them, NaN where there is none; None if it uses no labels."""
    if history.delay is None:
        return None
    if trained_on.target not in rows.column_names:
        return np.full(len(rows), np.nan)
    labels = plain(rows.column(trained_on.target)).to_pylist()
    names = [name for name in dict.fromkeys(labels) if not is_missing(name)]
    check_labels(trained_on, names, trained_on.target)
    return np.array([np.nan if is_missing(one) else one == trained_on.score_label for one in labels], dtype=np.float64)
