"""`selfpaced suspects`: list the rows whose labels are doubtful."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.commands.predict import kept_columns
from selfpaced.cli.opening import check_output, labelled_rows
from selfpaced.cli.output import Talk, table
from selfpaced.cli.request import TrainRequest, data_in, data_of, target_of
from selfpaced.cli.splitting import rows_to_train_on
from selfpaced.ensembles import DoubtingEnsemble, Suspects, suspects_in_table
from selfpaced.exceptions import TableError
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import open_to_score
from selfpaced.tables import Roles
from selfpaced.tables.files import StreamedTable
from selfpaced.tables.sources import batch_of, write_batches


@dataclass(frozen=True)
class SuspectsRequest:
    """The options of a search for doubtful labels."""

    target: str | None
    # The training options in the model's card. They show whether these are the rows of the training.
    training: Mapping[str, Any]
    n: int = 20  # the number of rows, and their label as the user typed it
    label: str | None = None
    keep: tuple[str, ...] = ()  # columns with names of the rows


@dataclass(frozen=True)
class Found:
    """The suspects, and the columns that name them."""

    suspects: Suspects
    kept: dict[str, Any]


def find_suspects(model: Any, source: Any, request: SuspectsRequest) -> Found:
    """Score the rows of a file by models that have not seen them. Return the rows with the most doubtful labels."""
    if not isinstance(model, DoubtingEnsemble):
        raise TableError(
            f"A {type(model).__name__} does not keep its training rows, which suspects need. Use a model of selfpaced "
            "that under-samples, such as SelfPacedEnsembleClassifier."
        )
    trained_on = model.trained_on_
    target = target_of(request.target, model)
    if request.n < 1:
        raise TableError(f"--n must be at least 1; got {request.n}.")
    data, training = data_of(source), request.training
    also = (training.get("time_column"), trained_on.group, *request.keep)
    keep = tuple(dict.fromkeys(name for name in also if name is not None))
    table = open_to_score(model.model_, data.source, Roles(target, trained_on.pos_label, keep=keep), data.reading)
    label = None if request.label is None else _label(request.label, model.classes_.tolist())
    labelled = labelled_rows(table.reader, target)
    with_labels = table.part(labelled)
    rows = _trained_on(with_labels, target, training)
    suspects = suspects_in_table(model, with_labels, rows, request.n, label)
    suspects = replace(suspects, rows=np.flatnonzero(labelled)[suspects.rows])
    kept = {name: table.column(name).take(np.asarray(suspects.rows)) for name in request.keep}
    return Found(suspects, kept)


def write_suspects(found: Found, output: Any) -> Any:
    """Write the suspects to a file, the most doubtful first."""
    own = found.suspects
    columns = {"row": own.rows, **found.kept, "label": own.labels, "likelier": own.likelier, "doubt": own.doubts}
    return write_batches([batch_of(columns)], output)


def _label(written: str, known: list[Any]) -> Any:
    found = [name for name in known if str(name) == written]
    if not found:
        raise TableError(f"The model does not know the label {written!r}. Its labels are {known}.")
    return found[0]


def _trained_on(table: StreamedTable, target: str, training: Mapping[str, Any]) -> NDArray[np.bool_] | None:
    """The rows that the model was trained on, if these are the rows of its training, split as they were then."""
    names = ("seed", "holdout", "time_column", "delay", "group", "valid")
    known = {name: training[name] for name in names if training.get(name) is not None}
    if not training or training.get("engine") is not None:  # a cluster holds out other rows than are held out here
        return None
    asked = TrainRequest(None, target, **known)
    try:
        return rows_to_train_on(asked, table)
    except (TableError, ValueError):  # other rows cannot always be split in this way
        return None


MOST_SHOWN = 20


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = None if options.output is None else check_output(options.output, [".csv", ".parquet"])
    training = read_card(options.model).metrics.get("training") or {}
    request = SuspectsRequest(options.target, training, options.n, options.label, tuple(kept_columns(options)))
    found = find_suspects(load_ensemble(options.model), data_in(options), request)
    own, kept = found.suspects, {name: column.to_pylist() for name, column in found.kept.items()}
    if own.cross_fitted:
        talk.say("The model was trained on these rows. Each was judged by models that had not seen it.")
    else:
        talk.warn(
            "by its card, the model was not trained on these rows. If it was trained on some of them, their doubts "
            "are too small."
        )
    rows = [
        [f"{own.rows[place]:,}", *(_short(values[place]) for values in kept.values()), str(own.labels[place]),
         str(own.likelier[place]), f"{own.doubts[place]:.4f}"]
        for place in range(min(len(own), MOST_SHOWN))
    ]  # fmt: skip
    talk.say(table(rows, header=["row", *kept, "label", "likelier", "doubt"], text=()))
    if output is not None:
        write_suspects(found, output)
        talk.say(f"The {len(own):,} rows are in {output}. Correct the labels and train again: selfpaced refit")
    talk.result(
        {
            "output": None if output is None else str(output),
            "cross_fitted": own.cross_fitted,
            "rows": own.rows.tolist(),
            **kept,
            "labels": own.labels.tolist(),
            "likelier": own.likelier.tolist(),
            "doubts": own.doubts.tolist(),
        }
    )


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
