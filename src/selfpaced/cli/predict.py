"""`selfpaced predict`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields

from selfpaced._jobs.deciding import Deciding
from selfpaced._jobs.predict import predict
from selfpaced._jobs.words import counted
from selfpaced.cli.data import data_in, scores_output, what_is_done
from selfpaced.cli.engine_options import check_engine_options, engine_of
from selfpaced.cli.talk import Talk
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.persistence import load_ensemble, read_card

# Options that need all rows, or a database, on this machine.
NOT_ON_A_CLUSTER = (
    "decide",
    "top",
    "per",
    "time_column",
    "timezone",
    "group",
    "table",
    "query",
    "cache",
    "snapshot",
)


def run(options: Namespace) -> None:
    check_engine_options(options, NOT_ON_A_CLUSTER)
    talk = Talk(options)
    if options.engine is not None:
        _run_on_cluster(options, talk)
        return
    output = scores_output(options)
    threshold = threshold_of(options.threshold, options.model)
    model = load_ensemble(options.model)
    keep = kept_columns(options)
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
    if found.new_categories:
        talk.warn(str(NewCategoryWarning(found.new_categories, found.n_rows)))
    talk.say(f"The scores of {counted(found)} are in {output}.")
    decided = {name: value for name, value in vars(deciding_of(options)).items() if value is not None}
    talk.result({"output": str(output), "threshold": threshold, **decided, **vars(found)})


def _run_on_cluster(options: Namespace, talk: Talk) -> None:
    """Scores as a folder of Parquet files: each machine writes its own."""
    from selfpaced._jobs.cluster_predict import Scoring, predict_on_cluster

    if options.if_exists != "fail":
        raise TableError("--if-exists is for a database; on a cluster scores are written to Parquet files.")
    threshold = threshold_of(options.threshold, options.model)
    model, scoring = load_ensemble(options.model), Scoring(kept_columns(options), threshold)
    found = predict_on_cluster(model, engine_of(options), options.data, options.output, scoring)
    talk.say(f"The scores of {counted(found)} are in the files of {options.output}.")
    talk.result({"output": options.output, "threshold": threshold, **vars(found)})


def kept_columns(options: Namespace) -> list[str]:
    """The columns to put beside the scores."""
    return [name.strip() for name in options.keep.split(",") if name.strip()]


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
