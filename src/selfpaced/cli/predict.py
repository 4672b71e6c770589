"""`selfpaced predict`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields

from selfpaced._jobs.deciding import Deciding
from selfpaced._jobs.predict import predict
from selfpaced._jobs.words import counted
from selfpaced.cli.data import data_in, scores_output, what_is_done
from selfpaced.cli.talk import Talk
from selfpaced.exceptions import TableError
from selfpaced.persistence import load_ensemble, read_card


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = scores_output(options)
    threshold = threshold_of(options.threshold, options.model)
    model = load_ensemble(options.model)
    keep = [name.strip() for name in options.keep.split(",") if name.strip()]
    with talk.progress(what_is_done(options, "scoring")) as progress:
        found = predict(
            model,
            data_in(options),
            output,
            keep=keep,
            threshold=threshold,
            deciding=deciding_of(options),
            progress=progress,
        )
    talk.say(f"The scores of {counted(found)} are in {output}.")
    decided = {name: value for name, value in vars(deciding_of(options)).items() if value is not None}
    talk.result({"output": str(output), "threshold": threshold, **decided, **vars(found)})


def deciding_of(options: Namespace) -> Deciding:
    """The options about alerts."""
    return Deciding(**{field.name: getattr(options, field.name) for field in fields(Deciding)})


def threshold_of(given: str | None, model: str) -> float | None:
    """A number, or the threshold that the model's card has."""
    if given is None:
        return None
    if given == "best":
        known = read_card(model).metrics.get("threshold")
        if known is None:
            raise TableError(f"{model} does not contain a threshold. Give a number: --threshold NUMBER.")
        return float(known)
    try:
        threshold = float(given)
    except ValueError:
        raise TableError(f"--threshold must be a number from 0 to 1, or 'best'; got {given!r}.") from None
    if not 0 <= threshold <= 1:
        raise TableError(f"--threshold must be a number from 0 to 1, or 'best'; got {given}.")
    return threshold
