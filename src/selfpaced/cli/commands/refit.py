"""`selfpaced refit`: train a model again on newer rows, and compare both models."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from selfpaced.cli.columns import Floats
from selfpaced.cli.commands.train import Trained, metrics_of, train
from selfpaced.cli.history import history_again
from selfpaced.cli.opening import check_output, what_is_done
from selfpaced.cli.output import Talk
from selfpaced.cli.request import TrainRequest, data_in, target_of
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc, resampled
from selfpaced.persistence import load_ensemble, read_card, save_model
from selfpaced.predicting import open_to_score, scores_of
from selfpaced.tables import Progress, Roles
from selfpaced.thresholds import CONFIDENCE, Interval, middle_of


@dataclass(frozen=True)
class Refitted:
    """The new model and the old one, compared on the same rows."""

    trained: Trained  # the new model
    old_aucprc: float  # the AUCPRC of the old model on these rows
    old_scores: Floats
    difference: float  # how much higher the AUCPRC of the new model is, with the paired 90% interval
    interval: Interval
    newest: bool  # whether the rows are the newest ones; otherwise the old model may have been trained on some of them

    @property
    def is_better(self) -> bool:
        return self.difference > 0


def refit(model: Any, metrics: Mapping[str, Any], asked: TrainRequest, progress: Progress | None = None) -> Refitted:
    """Train a model with the parameters of another on the rows of a request. Judge both on the held-out rows.

    `metrics` are those of the model's card: the rule, and how the model was trained.
    """
    schema = model.trained_on_.schema
    if schema is None:
        raise TableError("The model was not trained on a file, so its columns are not known. Fit a clone of it.")
    known = {"rule": metrics.get("rule") or "f1", "amount": metrics.get("amount")}
    request = replace(asked, columns=schema.sources, **{**known, **history_again(metrics.get("history"))})
    trained = train(request, progress, model=clone(model))
    if trained.model.trained_on_.score_label != model.trained_on_.score_label:
        raise TableError(
            f"The model finds the label {model.trained_on_.score_label!r}, but the rarest label of the new rows is "
            f"{trained.model.trained_on_.score_label!r}."
        )
    old = scores_of(model.model_, open_to_score(model.model_, trained.data.test, Roles(), {}), model.n_jobs)
    draws = resampled(trained.is_rare, {"old": old, "new": trained.scores})
    before = aucprc(trained.is_rare, old)
    interval = middle_of(draws["new"] - draws["old"])
    newest = request.time_column is not None
    return Refitted(trained, before, old, trained.evaluation.aucprc - before, interval, newest)


# What a card tells of a training that another one does not repeat.
NOT_KNOWN = ("valid", "engine")


def run(options: Namespace) -> None:
    talk = Talk(options)
    if options.if_better and options.output is None:
        raise TableError("--if-better needs a file for the new model. Name it: -o FILE.")
    output = None if options.output is None else check_output(options.output, [".skops"])
    card = read_card(options.model)
    model: Any = load_ensemble(options.model)
    training = card.metrics.get("training") or {}
    request = replace(request_of(options, training, model), callbacks=talk.callbacks())
    with talk.progress(what_is_done(options, "reading")) as progress:
        found = refit(model, card.metrics, request, progress)
    _tell(talk, found)
    writes = output is not None and (found.is_better or not options.if_better)
    if output is not None and writes:
        reference = None if card.reference is None else found.trained.reference()
        save_model(found.trained.model, output, metrics=metrics_of(found.trained), reference=reference)
        talk.say(f"The new model is in {output}.")
    elif output is not None:
        talk.say(f"The new model is not better; {output} was not written.")
    talk.result(
        {
            "model": str(output) if writes else None,
            "is_better": found.is_better,
            "old_aucprc": found.old_aucprc,
            "aucprc": found.trained.evaluation.aucprc,
            "difference": found.difference,
            "interval": list(found.interval),
            "n_rows": found.trained.evaluation.n_rows,
            "n_positives": found.trained.evaluation.n_positives,
            "newest": found.newest,
            "warnings": found.trained.warnings,
        }
    )


def request_of(options: Namespace, training: dict[str, Any], model: Any) -> TrainRequest:
    """The options of the training, from the command line and from the model's card."""
    known = {name: value for name, value in training.items() if value is not None and name not in NOT_KNOWN}
    if options.time_column not in (None, known.get("time_column")):
        known.pop("time_unit", None)  # that of another column
    typed = {name: getattr(options, name) for name in ("time_column", "time_unit", "holdout")}
    given = {**known, **{name: value for name, value in typed.items() if value is not None}}
    given["drop_unlabelled"] = options.drop_unlabelled or given.get("drop_unlabelled", False)
    pos_label = model.trained_on_.pos_label
    given["pos_label"] = None if pos_label is None else str(pos_label)
    return TrainRequest(data_in(options), target_of(options.target, model), **given)


def _tell(talk: Talk, found: Refitted) -> None:
    trained, judged = found.trained, found.trained.evaluation
    for warning in trained.warnings:
        talk.warn(warning)
    low, high = found.interval
    sure = "it contains 0, so the difference may be chance" if low <= 0 <= high else "it does not contain 0"
    talk.headline(
        f"The new model's AUCPRC is {judged.aucprc:.3f}, the old one's {found.old_aucprc:.3f}: {found.difference:+.3f}."
    )
    where = "the newest of" if found.newest else "held out at random, of"
    talk.say(
        f"Both were judged on {judged.n_rows:,} rows, {where} {trained.facts.n_rows:,}, {judged.n_positives:,} of them "
        f"rare. The {CONFIDENCE:.0%} interval of the difference is {low:+.3f} to {high:+.3f}: {sure}."
    )
    if not found.newest:
        talk.warn(
            "the rows have no column of times, so the old model may have been trained on some of the rows that it is "
            "judged by. Its figures may be too good. Name the column of times: --time-column COL."
        )
    talk.say(
        f"The new one is trained on {trained.facts.n_train:,} rows; it expects "
        f"{judged.mean_score * judged.n_rows:,.0f} rare rows here, and the old one {found.old_scores.sum():,.0f}."
    )
