"""`selfpaced train`"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from selfpaced._jobs.leakage import Leak, leaking
from selfpaced._jobs.request import TrainRequest
from selfpaced._jobs.train import Trained, reference_of_training, train
from selfpaced._jobs.words import chance, expected, headline, origin, promise, repetition
from selfpaced.calibration import expects_the_rare_rows
from selfpaced.callbacks import Callback
from selfpaced.cli.data import check_output, data_in, what_is_done
from selfpaced.cli.engine_options import check_engine_options
from selfpaced.cli.recipes import WHAT_THEY_ARE, recipe_table, recipes_of
from selfpaced.cli.talk import Talk
from selfpaced.persistence import save_model

if TYPE_CHECKING:
    from selfpaced._jobs.cluster_train import TrainedOnCluster


# Options that need the rows, or an order of them, on this machine.
NOT_ON_A_CLUSTER = (
    "valid",
    "time_column",
    "delay",
    "positive",
    "amount",
    "drop_unlabelled",
    "out_of_core",
    "report",
    "query",
    "cache",
    "snapshot",
)


def run(options: Namespace) -> None:
    check_engine_options(options, NOT_ON_A_CLUSTER)
    if options.engine is not None:
        import_module("selfpaced.cli.cluster_train").run(options)
        return
    talk = Talk(options)
    output = check_output(options.output, [".skops"])
    page = None if options.report is None else check_output(options.report, [".html"])
    with talk.progress(what_is_done(options, "reading")) as progress:
        trained = train(request_of(options, talk.callbacks()), progress)
    _tell(talk, trained)
    reference = None if options.no_reference else reference_of_training(trained)
    save_model(trained.model, output, metrics=metrics_of(trained), reference=reference)
    talk.say(f"\nThe model is in {output}. Score rows: selfpaced predict {output} DATA -o scores.parquet")
    if page is not None:
        from selfpaced._jobs.report import report_of_training

        report_of_training(trained).save(page)
        talk.say(f"The report is in {page}.")
    recipes = [asdict(one) for one in recipes_of(trained.model)]
    written = {"model": str(output), "report": None if page is None else str(page)}
    talk.result({**written, **metrics_of(trained), "recipes": recipes})


def request_of(options: Namespace, callbacks: Sequence[Callback]) -> TrainRequest:
    """The options of a command as those of a training. Options that the command lacks have their defaults."""
    names = {field.name for field in fields(TrainRequest)}
    given = {name: value for name, value in vars(options).items() if name in names}
    return TrainRequest(data_in(options), callbacks=callbacks, **given)


def metrics_of(trained: Trained) -> dict[str, Any]:
    """The quality of the model, for its card and for scripts."""
    return {
        **_judgement_of(trained),
        "amount": None if trained.unmet else trained.request.amount,
        "dropped": {column.name: column.reason for column in trained.source.dropped},
        "n_unlabelled": trained.source.n_unlabelled,
        "not_used": trained.split.not_used,
        "repeating": {one.name: one.share for one in trained.split.repeating},
        "warnings": [*trained.split.warnings, *trained.warnings],
    }


def metrics_of_cluster(trained: TrainedOnCluster, engine: str) -> dict[str, Any]:
    """The same of a model that was trained on a cluster, where no column is dropped and no row left out."""
    nothing: dict[str, Any] = {"amount": None, "dropped": {}, "n_unlabelled": 0, "not_used": {}, "repeating": {}}
    training = {**training_of(trained.request), "engine": engine}
    return {**_judgement_of(trained), **nothing, "training": training, "warnings": trained.warnings}


def _judgement_of(trained: Trained | TrainedOnCluster) -> dict[str, Any]:
    return {
        **vars(trained.evaluation),
        **({} if trained.choice is None else trained.choice.as_facts()),
        "unmet": trained.unmet,
        "calibration": trained.model.calibration_,
        "chance": trained.evaluation.n_positives / trained.evaluation.n_rows,
        "judged_on": judged_on(trained.request),
        "suspicious": {leak.name: leak.aucprc for leak in trained.leaks},
        "training": training_of(trained.request),
        "seconds": trained.seconds,
        "phases": trained.phases | {"rounds": trained.rounds_seconds},
    }


# The options that a card keeps: `refit` trains with them again, and `suspects` finds the training rows by them.
TRAINING = ("seed", "holdout", "time_column", "delay", "group", "id", "drop_unlabelled")


def training_of(request: TrainRequest) -> dict[str, Any]:
    """How the model was trained, as its card keeps it."""
    kept = {name: getattr(request, name) for name in TRAINING}
    return kept if request.valid is None else {**kept, "valid": str(request.valid)}


def judged_on(request: TrainRequest) -> str:
    """Which rows a model is judged by, in words."""
    if request.valid is not None:
        return str(request.valid)
    share = f"{request.holdout:.0%} of the rows"
    by = f"the last {share} by {request.time_column}" if request.time_column else f"{share}"
    if request.group is not None and request.time_column:
        return f"the rows of some groups of {request.group} among {by}; the other groups are trained on"
    if request.group is not None:
        return f"{by}, whole groups of {request.group}"
    return by if request.time_column else f"{by}, drawn at random"


def _tell(talk: Talk, trained: Trained) -> None:
    source = trained.source
    talk.say(f"{source.n_rows:,} rows: {_counts(trained)}. {len(source.table.schema.columns)} features.")
    if not source.in_memory:
        why = "" if trained.request.out_of_core else "The table is too large for the memory. "
        talk.say(f"{why}The files were not loaded, but read once for each member.")
    if source.n_unlabelled:
        talk.say(f"  dropped {source.n_unlabelled:,} rows without a label")
    for column in source.dropped:
        talk.say(f"  dropped column {column.name!r}: {column.reason}")
    tell_leaks(talk, trained.leaks)
    for reason, n_rows in trained.split.not_used.items():
        talk.say(f"  not used: {n_rows:,} rows, {reason}")
    for warning in trained.split.warnings:
        talk.warn(warning)
    for one in trained.split.repeating:
        talk.warn(repetition(one))
    tell_judgement(talk, trained)


def tell_leaks(talk: Talk, leaks: Sequence[Leak]) -> None:
    """Warn of columns that nearly decide the target."""
    for leak in leaks:
        talk.warn(leaking(leak))


def tell_judgement(talk: Talk, trained: Trained | TrainedOnCluster) -> None:
    """What is unusual about the training, and what the model is worth."""
    found = trained.evaluation
    for warning in trained.warnings:
        talk.warn(warning)
    if trained.few_cases:
        talk.warn(
            f"the rarest class has only {min(trained.counts.values())} rows, so the figures below are not reliable."
        )
    if trained.learned_nothing:
        talk.warn("all rows have the same score: the model learned nothing. Try another --base, such as tree.")
    elif trained.unmet is not None:
        talk.warn(f"{trained.unmet} The threshold is the best by F1 instead.")
    talk.say()
    talk.headline(headline(found, trained.request.target, trained.model.score_label_, trained.choice))
    talk.say(
        f"Judged on {found.n_rows:,} held-out rows ({judged_on(trained.request)}), {found.n_positives:,} of them rare. "
        f"AUCPRC {found.aucprc:.3f} (chance {chance(found)}). The threshold is {found.threshold}, "
        f"{origin(trained.choice)}. Training and judging took {trained.seconds:.1f} s."
    )
    if trained.choice is not None:
        talk.say(promise(trained.choice))
    talk.say(_meaning(trained))
    if recipes := recipes_of(trained.model):
        talk.say(f"\n{WHAT_THEY_ARE}\n\n{recipe_table(recipes)}")


def _meaning(trained: Trained | TrainedOnCluster) -> str:
    """What the scores mean."""
    calibration = trained.model.calibration_
    if calibration is not None:
        judged = trained.evaluation
        found = expected(judged)
        if expects_the_rare_rows(judged.mean_score, judged.n_rows, judged.n_positives):
            return f"Scores are probabilities ({calibration} calibration): they expect {found}."
        return (
            f"Scores are calibrated ({calibration}), but not for the held-out rows: they expect {found}. The held-out "
            "rows differ from the training rows. Use the scores to rank rows. The report shows which columns differ."
        )
    few = "" if trained.request.calibration == "none" else "There are too few rare rows for a calibration. "
    return f"{few}Scores only rank rows. They are not probabilities."


def _counts(trained: Trained) -> str:
    """The number of rows of each label, or of the label to find and of all others."""
    counts = trained.counts
    if trained.source.table.roles.positive is not None and True in counts:
        return f"{counts[True]:,} of {trained.rare_label!r}, {counts[False]:,} others"
    return ", ".join(f"{count:,} of {name!r}" for name, count in counts.items())
