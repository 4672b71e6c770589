"""Labels that arrive by id: the verdicts of a review, or a table of ids and labels."""

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfpaced.cli.opening import fits_in_memory
from selfpaced.cli.output import Talk
from selfpaced.cli.request import Data
from selfpaced.exceptions import TableError, did_you_mean, pa, pc
from selfpaced.model import TrainedOn
from selfpaced.predicting import check_labels
from selfpaced.report import html
from selfpaced.reviewing import DISAGREED, outcome, read_verdicts, standing
from selfpaced.tables import is_missing, plain
from selfpaced.tables.files import Needed, Reader
from selfpaced.tables.sources import open_reader

CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def with_labels(options: Namespace, data: Data, target: str, model: Any, talk: Talk) -> Data:
    """The rows of DATA in memory, with the labels of a file in the place of those that they have."""
    column, labels = _given(options, target, model.trained_on_, talk)
    reader = open_reader(data.source, data.reading, Needed())
    names = reader.column_names
    if not fits_in_memory(reader.n_rows or 0, len(names)):
        raise TableError(f"{data} is too large for the memory, but --labels needs its rows there. Give fewer rows.")
    ids = ids_in(reader, column, str(data))
    known, n_known = [labels.get(id) for id in ids], sum(id in labels for id in ids)
    if not n_known:
        raise TableError(
            f"No id of {options.labels} is among the {len(ids):,} of column {column!r} in {data}. Give the rows that "
            "were reviewed."
        )
    if n_known < len(labels):
        talk.warn(
            f"{options.labels} has labels of {html.plural(len(labels) - n_known, 'row')} that {data} does not have."
        )
    rows = reader.table(names)
    old = plain(rows.column(target)).to_pylist() if target in names else [None] * len(ids)
    new = [before if label is None else label for label, before in zip(known, old, strict=True)]
    n_changed = sum(label is not None and label != before for label, before in zip(known, old, strict=True))
    talk.say(f"{options.labels} has labels of {html.plural(n_known, 'row')} of {data}. New or changed: {n_changed:,}.")
    if any(is_missing(label) for label in new):
        talk.warn(
            "other rows have no label. If alerts were reviewed, those with one are no random sample, so the figures "
            "below can be too good, the recall most of all. Judge the new model on rows that all have labels."
        )
    columns = dict(zip(names, rows.columns, strict=True)) | {target: pa.array(new)}
    return Data(pa.table(columns).to_reader(), {}, name=str(data))


def ids_in(reader: Reader, column: str, where: str) -> list[str]:
    """The ids of all rows, as text. Each row needs its own."""
    if column not in reader.column_names:
        raise TableError(
            f"{where} has no column {column!r} of ids.{did_you_mean(column, reader.column_names)} Name it: --id COL."
        )
    return checked_ids(reader.column(column), column, where)


def checked_ids(values: Any, column: str, where: str) -> list[str]:
    """A column as ids: whole numbers or texts in one line, each once."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise TableError(
            f"Ids are whole numbers or texts, but column {column!r} of {where} is {kind}. Name another one."
        )
    ids: list[str | None] = pc.cast(plain(values), pa.string()).to_pylist()
    if None in ids or "" in ids:
        raise TableError(f"Column {column!r} of {where} has a row without an id. Give every row its own id.")
    found = [id for id in ids if id is not None]
    name, count = Counter(found).most_common(1)[0] if found else ("", 0)
    if count > 1:
        raise TableError(
            f"The id {name!r} occurs {count:,} times in column {column!r} of {where}, so a verdict about it could mean "
            "several rows. Name a column in which each row has its own: --id COL."
        )
    broken = next((id for id in found if CONTROL.search(id)), None)
    if broken is not None:
        raise TableError(f"The id {broken!r} in column {column!r} of {where} has line breaks or control characters.")
    return found


def label_of(trained_on: TrainedOn) -> dict[str, Any] | None:
    """The label that each verdict means; None if the model knows several labels for the common rows."""
    rare, known = trained_on.score_label, trained_on.classes
    if trained_on.is_one_against_all:
        known = (rare, *trained_on.other_labels)
    others = [label for label in known if label != rare]
    return {"rare": rare, "common": others[0]} if len(others) == 1 else None


def texts_of(labels: Mapping[str, Any]) -> dict[str, str]:
    """The labels as a file of verdicts writes them. There is none for rows that a reviewer is unsure about."""
    return {"unsure": "", **{verdict: str(label) for verdict, label in labels.items()}}


def _given(options: Namespace, target: str, trained_on: TrainedOn, talk: Talk) -> tuple[str, dict[str, Any]]:
    """The column of ids, and the labels by id."""
    path = Path(options.labels)
    if not path.is_file():
        raise TableError(f"There is no file {options.labels}.")
    meaning = label_of(trained_on)
    found = read_verdicts(path, target, {} if meaning is None else texts_of(meaning)) if path.suffix == ".csv" else None
    if found is None:
        return _of_table(options, target, trained_on)
    if meaning is None:
        raise TableError(
            f"The model knows more than two labels, so the verdict 'common' does not say which one a row has. Give a "
            f"table with the columns of ids and {target!r}."
        )
    column, verdicts = found
    outcomes = {id: outcome(said.values()) for id, said in standing(verdicts).items()}
    counts = Counter(outcomes.values())
    for name, said in {"unsure": "are unsure", DISAGREED: "disagree"}.items():
        if counts[name]:
            talk.say(f"The verdicts about {html.plural(counts[name], 'row')} {said}. They change no label.")
    return options.id or column, {id: meaning[said] for id, said in outcomes.items() if said in meaning}


def _of_table(options: Namespace, target: str, trained_on: TrainedOn) -> tuple[str, dict[str, Any]]:
    if options.id is None:
        raise TableError(f"{options.labels} is not a file of verdicts. Name its column of ids: --id COL.")
    reader = open_reader(options.labels, {}, Needed())
    ids = ids_in(reader, options.id, options.labels)
    if target not in reader.column_names:
        raise TableError(f"{options.labels} has no column {target!r}. Give ids and labels.")
    values = plain(reader.column(target)).to_pylist()
    labels = {id: one for id, one in zip(ids, values, strict=True) if not is_missing(one)}
    check_labels(trained_on, list(dict.fromkeys(labels.values())), target)
    return options.id, labels
