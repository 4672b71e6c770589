"""`selfpaced review`: show alerts to people, and save their verdicts."""

import math
import re
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.columns import Mask
from selfpaced.cli.labels import checked_ids, ids_in, label_of, texts_of
from selfpaced.cli.opening import check_output
from selfpaced.cli.output import Talk
from selfpaced.exceptions import TableError, did_you_mean, pa, pc
from selfpaced.model import TrainedOn
from selfpaced.persistence import load_ensemble
from selfpaced.reviewing import Item, Layout, PastRows, Queue, VerdictFile, review_at
from selfpaced.tables import moments_in, plain
from selfpaced.tables.files import Needed, Reader
from selfpaced.tables.sources import open_reader

ALERT = "alert"
OF_SCORES = re.compile(r"score|score_.*|doubt|alert|zone|model_id|threshold|reason_\d+(_column|_log_odds)?")
MOST_PAST = 20
LONGEST_VALUE = 1000


def run(options: Namespace) -> None:
    talk, queue = Talk(options), open_queue(options)
    if queue is None:
        talk.say(f"{options.alerts} has no alerts, so there is nothing to review.")
        talk.result({"address": None, "output": options.output, "n_rows": 0})
        return
    try:
        _review(queue, options.port, talk)
    finally:
        queue.file.close()


def _review(queue: Queue, port: int, talk: Talk) -> None:
    file, n_rows = queue.file, len(queue.items)
    if file.removed:
        talk.warn(f"the last line of {file.path} was not complete. It was removed: {file.removed!r}")
    if queue.n_unknown:
        talk.warn(f"{file.path} has verdicts about {queue.n_unknown:,} rows that are not under review. It keeps them.")

    def started(address: str) -> None:
        done = queue.summary()["n_reviewed"]
        goes_on = f" {done:,} have a verdict already." if done else ""
        talk.say(f"{n_rows:,} rows to review, by the ids in {file.layout.id_column!r}.{goes_on} Open {address}")
        talk.say(f"Every verdict is saved in {file.path} at once. Ctrl-C ends the review.")
        talk.result({"address": address, "output": str(file.path), "n_rows": n_rows})

    with suppress(KeyboardInterrupt):  # the usual end of a review, so it is a success
        review_at(queue, port, started)
    summary = queue.summary()
    counts = ", ".join(f"{count:,} {name}" for name, count in summary["counts"].items() if count)
    talk.say(f"\n{summary['n_reviewed']:,} of {n_rows:,} rows have a verdict{f': {counts}' if counts else ''}.")
    talk.say(queue.findings())


def open_queue(options: Namespace) -> Queue | None:
    """The rows to review with the verdicts so far; None if there are no rows. Everything is checked before."""
    output = check_output(options.output, [".csv"])
    if not isinstance(output, Path):
        raise TableError(f"{output} is not on this machine. Verdicts are saved one by one, in a local file.")
    if options.audit < 0:
        raise TableError(f"--audit must be at least 0; got {options.audit}.")
    if len({one is None for one in (options.past, options.entity, options.time_column)}) > 1:
        # Without times, the row itself would be among the earlier rows, with its label.
        raise TableError(
            "--past, --entity and --time-column go together: a file of earlier rows, the column of what they belong "
            "to, and the column of their times."
        )
    trained_on = None if options.model is None else load_ensemble(options.model).trained_on_
    chosen = chosen_rows(options)
    if not chosen.ids:
        return None
    items, layout = items_of(options, chosen, trained_on), _layout(chosen.id_column, trained_on)
    facts = {
        "file": options.alerts,
        "id_column": layout.id_column,
        "score": _score_column(chosen.table.column_names),
        "target": layout.target,
        **layout.labels,
    }
    return Queue(items, VerdictFile(output, layout), facts, chosen.n_others)


def _layout(id_column: str, trained_on: TrainedOn | None) -> Layout:
    """The columns of the verdicts, with labels if the model has one for each verdict."""
    labels = None if trained_on is None else label_of(trained_on)
    if trained_on is None or trained_on.target is None or labels is None:
        return Layout(id_column)
    return Layout(id_column, trained_on.target, texts_of(labels))


@dataclass(frozen=True)
class ChosenRows:
    """The rows to review, in order."""

    id_column: str
    ids: list[str]
    table: Any
    places: NDArray[np.intp]  # in the draw: 0 for an alert, and 1, 2, ... for the other rows
    n_others: int  # the rows that are not alerts, of which some may have been drawn


def chosen_rows(options: Namespace) -> ChosenRows:
    """The alerts, from the highest score down; with an audit, alerts and other rows in random order."""
    reader = open_reader(options.alerts, {}, Needed())
    names, rng = reader.column_names, np.random.default_rng(options.seed)
    id_column = options.id or next((name for name in names if not OF_SCORES.fullmatch(name)), None)
    if id_column is None or id_column not in names:
        raise TableError(
            f"{options.alerts} has no column {id_column or 'of ids'}, so verdicts could not be matched with rows. "
            "Write the ids beside the scores: selfpaced predict --keep COL, and name them here: --id COL. Its columns "
            f"are {', '.join(map(repr, names))}."
        )
    is_alert = _alerts(reader, options)
    others = np.flatnonzero(~is_alert)
    if options.audit > others.size:
        raise TableError(f"--audit {options.audit} is more than the {others.size:,} rows that are not alerts.")
    places = np.zeros(is_alert.size, dtype=np.intp)
    drawn = rng.permutation(others)[: options.audit]  # a larger audit has the same rows, and more
    places[drawn] = 1 + np.arange(options.audit)
    wanted = is_alert | (places > 0)
    table, places = reader.part(wanted).table(names), places[wanted]
    ids = checked_ids(table.column(id_column).combine_chunks(), id_column, str(options.alerts))
    score = _score_column(names)
    if options.audit:
        order = rng.permutation(len(ids))
    elif score is not None:
        order = np.argsort(-plain(table.column(score)).to_numpy(), kind="stable")
    else:
        order = np.arange(len(ids))
    return ChosenRows(id_column, [ids[at] for at in order], table.take(order), places[order], int(others.size))


def _alerts(reader: Reader, options: Namespace) -> Mask:
    """Which rows are alerts; all, if the file does not say so."""
    if ALERT in reader.column_names:
        values = plain(reader.column(ALERT))
        if values.null_count or not (pa.types.is_boolean(values.type) or pa.types.is_integer(values.type)):
            raise TableError(f"Column {ALERT!r} of {options.alerts} must be true or false in every row.")
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
    if options.audit:
        raise TableError(
            f"{options.alerts} has no column {ALERT!r}, so --audit cannot draw from the other rows. Give all scores, "
            "as selfpaced predict --threshold best writes them."
        )
    n_rows = reader.n_rows
    assert n_rows is not None
    return np.ones(n_rows, dtype=bool)


def _score_column(names: Sequence[str]) -> str | None:
    return next((name for name in ("score", "doubt") if name in names), None)


def items_of(options: Namespace, chosen: ChosenRows, trained_on: TrainedOn | None) -> list[Item]:
    """The rows as reviewers see them. A blind review shows no scores, and none shows the labels of the target."""
    score, kept = _score_column(chosen.table.column_names), chosen.table.to_pylist()
    rows = [dict(row) for row in kept] if options.rows is None else _joined(options, chosen, kept)
    hidden = {chosen.id_column, None if trained_on is None else trained_on.target}
    shown = [name for name in rows[0] if name not in hidden and not OF_SCORES.fullmatch(name)]
    items = [
        Item(
            id,
            int(place),
            None if score is None else own[score],
            _reasons(own),
            [(name, text(row[name])) for name in shown],
        )
        for id, place, own, row in zip(chosen.ids, chosen.places, kept, rows, strict=True)
    ]
    first = (options.time_column, None if trained_on is None else trained_on.target)
    return items if options.past is None else _with_past(options, items, rows, first)


def _reasons(row: dict[str, Any]) -> list[dict[str, Any]]:
    found, number = [], 1
    while row.get(f"reason_{number}") is not None:
        ends = ("", "_column", "_log_odds")
        said, column, log_odds = (row.get(f"reason_{number}{end}") for end in ends)
        found.append({"text": str(said), "column": column, "log_odds": log_odds})
        number += 1
    return found


def _joined(options: Namespace, chosen: ChosenRows, kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The kept columns of each row, with all columns of the row of the same id in another file."""
    reader = open_reader(options.rows, {}, Needed())
    ids = ids_in(reader, chosen.id_column, options.rows)
    wanted = set(chosen.ids)
    is_wanted = np.array([id in wanted for id in ids], dtype=bool)
    found = dict(zip((id for id in ids if id in wanted), _rows(reader, is_wanted), strict=True))
    missing = [id for id in chosen.ids if id not in found]
    if missing:
        raise TableError(
            f"{len(missing):,} of {len(chosen.ids):,} rows to review are not in {options.rows}, such as "
            f"{chosen.id_column} {missing[0]}. Give the rows that were scored."
        )
    return [{**own, **found[id]} for id, own in zip(chosen.ids, kept, strict=True)]


def _rows(reader: Reader, is_wanted: Mask) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = reader.part(is_wanted).table(reader.column_names).to_pylist()
    return rows


def _with_past(
    options: Namespace, items: list[Item], rows: list[dict[str, Any]], first: Sequence[str | None]
) -> list[Item]:
    """The items with the last rows of the same entity before each row.

    `first` are the columns to begin with: the time, and the labels, which are known of earlier rows.
    """
    entity, when, reader = options.entity, options.time_column, open_reader(options.past, {}, Needed())
    for name in (entity, when):
        for where, names in ((options.past, reader.column_names), ("the rows to review", list(rows[0]))):
            if name not in names:
                raise TableError(
                    f"There is no column {name!r} in {where}.{did_you_mean(name, names)} Give all columns of the rows "
                    "under review with --rows FILE."
                )
    entities = {str(row[entity]) for row in rows if row[entity] is not None}
    keys = pc.cast(plain(reader.column(entity)), pa.string()).to_pylist()
    found = _rows(reader, np.array([key in entities for key in keys], dtype=bool))
    by_entity: dict[str, list[tuple[Any, dict[str, Any]]]] = defaultdict(list)
    for time, row in zip(_times(found, when), found, strict=True):
        by_entity[str(row[entity])].append((time, row))
    names = [name for name in reader.column_names if name != entity and not OF_SCORES.fullmatch(name)]
    columns = [*(name for name in first if name in names), *(name for name in names if name not in first)]
    complete = []
    for item, row, time in zip(items, rows, _times(rows, when), strict=True):
        last = sorted((one for one in by_entity[str(row[entity])] if one[0] < time), key=lambda one: one[0])
        texts = [[text(one[name]) for name in columns] for _, one in last[-MOST_PAST:][::-1]]
        past = PastRows(f"{entity} {text(row[entity])}", columns, texts, len(last))
        complete.append(replace(item, past=past))
    return complete


def _times(rows: list[dict[str, Any]], column: str) -> list[Any]:
    return list(moments_in(pa.array([row[column] for row in rows]), column)) if rows else []


def text(value: Any) -> str | None:
    """A value as a reviewer reads it; None if it is missing.

    >>> [text(value) for value in (1 / 3, 1234567.0, True, "web", None, float("nan"), datetime(2024, 1, 31, 23, 59))]
    ['0.333333', '1234567', 'true', 'web', None, None, '2024-01-31 23:59:00']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    said = value.isoformat() if isinstance(value, date) else str(value)
    return said if len(said) <= LONGEST_VALUE else said[:LONGEST_VALUE] + "…"
