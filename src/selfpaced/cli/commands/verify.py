"""`selfpaced verify`: whether a model was trained on the rows of a file."""

from argparse import Namespace

from selfpaced.cli.opening import what_is_done
from selfpaced.cli.output import Talk
from selfpaced.cli.request import data_in
from selfpaced.exceptions import TableError, did_you_mean
from selfpaced.persistence import id_of_file, read_card
from selfpaced.tables import digest_of
from selfpaced.tables.sources import open_reader

DIFFERENT = 4


def run(options: Namespace) -> int:
    talk = Talk(options)
    card = read_card(options.model)
    known = None if card.record is None else card.record.data
    if known is None or known.digest is None:
        why = "it was saved from Python, or by an earlier version" if known is None else "it was trained on a cluster"
        raise TableError(
            f"{options.model} has no digest of its rows: {why}. Train it again with `selfpaced train`, on one machine, "
            "to have one."
        )
    data = data_in(options)
    with talk.progress(what_is_done(options, "reading")) as progress:
        reader = open_reader(data.source, {**data.reading, "progress": progress}, list)
        names = reader.column_names
        missing = [name for name in known.columns if name not in names]
        found = digest_of(reader, [name for name in known.columns if name in names])
    different = [name for name, digest in found.columns.items() if digest != known.columns[name]]
    is_near = not missing and found.n_rows == known.n_rows and found.rows == known.digest
    is_same = is_near and not different
    others = [name for name in names if name not in known.columns]
    if is_same:
        talk.headline(f"These are the rows that the model was trained on: {found.n_rows:,} rows.")
    else:
        talk.headline("These are not the rows that the model was trained on.")
    if found.n_rows != known.n_rows:
        talk.say(f"There are {found.n_rows:,} rows here; in training there were {known.n_rows:,}.")
    elif different:
        talk.say(f"These columns have other values: {', '.join(map(repr, different))}.")
        if is_near:
            talk.say(f"Their first seven digits are equal. If these are 32-bit floats: --types {different[0]}=float32")
    elif not missing and not is_same:
        talk.say("Each column has the same values, but in other rows: values have moved from row to row.")
    for name in missing:
        talk.say(f"The column {name!r} is missing.{did_you_mean(name, others)}")
    if others and not missing:
        named = ", ".join(map(repr, others))
        talk.say(f"Not compared, because they were excluded from the training or are new: {named}.")
    talk.result(
        {
            "model_id": id_of_file(options.model),
            "is_same": is_same,
            "n_rows": found.n_rows,
            "n_rows_in_training": known.n_rows,
            "different": different,
            "missing": missing,
            "not_compared": others,
        }
    )
    return 0 if is_same else DIFFERENT
