"""`selfpaced suspects`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced._jobs.suspects import SuspectsRequest, find_suspects, write_suspects
from selfpaced.cli.data import check_output, data_in
from selfpaced.cli.talk import Talk, table
from selfpaced.persistence import load_ensemble, read_card

MOST_SHOWN = 20


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = None if options.output is None else check_output(options.output, [".csv", ".parquet"])
    training = read_card(options.model).metrics.get("training") or {}
    keep = tuple(name.strip() for name in options.keep.split(",") if name.strip())
    request = SuspectsRequest(options.target, training, options.n, options.label, keep)
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
