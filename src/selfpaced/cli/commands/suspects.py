"""`selfpaced suspects`: list the rows whose labels are doubtful."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import numpy as np

from selfpaced.cli.history import rows_to_score
from selfpaced.cli.opening import check_output, labelled_rows
from selfpaced.cli.output import Talk, table
from selfpaced.cli.request import Data, target_of
from selfpaced.cli.splitting import trained_rows
from selfpaced.ensembles import DoubtingEnsemble, suspects_in_table
from selfpaced.exceptions import TableError
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import open_to_score
from selfpaced.tables import Roles, plain
from selfpaced.tables.sources import batch_of, write_batches


def find_suspects(
    model: Any, data: Data, options: Namespace, training: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Score the rows of a file by models that have not seen them. Return the rows with the most doubtful labels.

    They are columns by name: the row, the columns to keep, the label, the likelier label and the doubt. Beside them is
    whether the model was trained on these rows, which the options of the training in the model's card show.
    """
    if not isinstance(model, DoubtingEnsemble):
        raise TableError(
            f"A {type(model).__name__} does not keep its training rows, which suspects need. Use a model of selfpaced "
            "that under-samples, such as SelfPacedEnsembleClassifier."
        )
    if options.n < 1:
        raise TableError(f"--n must be at least 1; got {options.n}.")
    trained_on, target = model.trained_on_, target_of(options.target, model)
    also = (training.get("time_column"), trained_on.group, *options.keep)
    keep = tuple(dict.fromkeys(name for name in also if name is not None))
    table = open_to_score(model.model_, data.source, Roles(target, trained_on.pos_label, keep=keep), data.reading)
    names = _names(trained_on)
    label = None if options.label is None else _label(options.label, names)
    labelled = labelled_rows(table.reader, target)
    with_labels = table.part(labelled)
    rows = trained_rows(with_labels, target, training)
    found = suspects_in_table(model, with_labels, rows, options.n, label)
    places = np.flatnonzero(labelled)[found.rows]
    columns = {
        "row": places,
        **{name: table.column(name).take(places) for name in options.keep},
        "label": plain(table.column(target).take(places)),
        "likelier": np.array([names[one] for one in found.likelier.tolist()]),
        "doubt": found.doubts,
    }
    return columns, found.cross_fitted


def _names(trained_on: Any) -> dict[Any, Any]:
    """The labels as a person writes them, by those of the model: it may know one label and all others."""
    if not trained_on.is_one_against_all:
        return {label: label for label in trained_on.classes}
    return {True: trained_on.score_label, False: f"not {trained_on.score_label}"}


def _label(written: str, names: Mapping[Any, Any]) -> Any:
    found = [label for label, name in names.items() if str(name) == written]
    if not found:
        raise TableError(f"The model does not know the label {written!r}. Its labels are {list(names.values())}.")
    return found[0]


MOST_SHOWN = 20


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = None if options.output is None else check_output(options.output, [".csv", ".parquet"])
    metrics, model = read_card(options.model).metrics, load_ensemble(options.model)
    data = rows_to_score(Namespace(**vars(options), no_past=metrics.get("history") is not None), model, metrics)
    columns, cross_fitted = find_suspects(model, data, options, metrics.get("training") or {})
    if cross_fitted:
        talk.say("The model was trained on these rows. Each was judged by models that had not seen it.")
    else:
        talk.warn(
            "by its card, the model was not trained on these rows. If it was trained on some of them, their doubts "
            "are too small."
        )
    values = {name: one.to_pylist() if hasattr(one, "to_pylist") else one.tolist() for name, one in columns.items()}
    shown = zip(*(some[:MOST_SHOWN] for some in values.values()), strict=True)
    rows = [[f"{row:,}", *map(_short, others), f"{doubt:.4f}"] for row, *others, doubt in shown]
    talk.say(table(rows, header=list(values), text=()))
    if output is not None:
        write_batches([batch_of(columns)], output)
        talk.say(
            f"The {len(values['row']):,} rows are in {output}. Correct the labels and train again: selfpaced refit"
        )
    named = {"row": "rows", "label": "labels", "doubt": "doubts"}
    talk.result(
        {
            "output": None if output is None else str(output),
            "cross_fitted": cross_fitted,
            **{named.get(name, name): some for name, some in values.items()},
        }
    )


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
