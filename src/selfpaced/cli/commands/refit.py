"""`selfpaced refit`: train a model again on newer rows, and compare both models."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sklearn.base import clone

from selfpaced.cli.columns import Floats
from selfpaced.cli.commands.train import Trained, metrics_of, record_of, train
from selfpaced.cli.goals import GoalReached, Judged, check_goal, compared
from selfpaced.cli.history import history_again
from selfpaced.cli.labels import with_labels
from selfpaced.cli.opening import check_output, what_is_done
from selfpaced.cli.output import Talk
from selfpaced.cli.request import TrainRequest, amounts_in, data_in, rule_of, target_of, times_in
from selfpaced.exceptions import TableError
from selfpaced.persistence import ModelCard, Promotion, id_of_file, load_ensemble, read_card, save_model
from selfpaced.predicting import open_to_score, scores_of
from selfpaced.tables import Progress, Roles, zone_of
from selfpaced.thresholds import CONFIDENCE, cost_text


@dataclass(frozen=True)
class Refitted:
    """The new model and the old one, compared on the same rows."""

    trained: Trained  # the new model
    old_scores: Floats
    by_aucprc: GoalReached
    by_goal: GoalReached  # what the new model must be better by
    newest: bool  # whether the rows are the newest ones; otherwise the old model may have been trained on some of them

    @property
    def is_better(self) -> bool:
        return self.by_goal.gain > 0


def refit(
    model: Any, metrics: Mapping[str, Any], asked: TrainRequest, progress: Progress | None = None, goal: str = "aucprc"
) -> Refitted:
    """Train a model with the parameters of another on the rows of a request. Judge both on the held-out rows.

    `metrics` are those of the model's card: the rule, and how the model was trained.
    """
    schema = model.trained_on_.schema
    columns = model.model_.reader.names if schema is None else schema.sources
    if columns is None:
        raise TableError("The model was trained without names of columns. Fit a clone of it in Python.")
    known = {"rule": metrics.get("rule") or "f1", "amount": metrics.get("amount")}
    request = replace(asked, columns=columns, **{**known, **history_again(metrics.get("history"))})
    rule = rule_of(request.rule, request.cost_column)
    check_goal(goal, rule, request.time_column is not None)
    trained = train(request, progress, model=clone(model))
    if trained.model.trained_on_.score_label != model.trained_on_.score_label:
        raise TableError(
            f"The model finds the label {model.trained_on_.score_label!r}, but the rarest label of the new rows is "
            f"{trained.model.trained_on_.score_label!r}."
        )
    old = scores_of(model.model_, open_to_score(model.model_, trained.data.test, Roles(), {}), model.n_jobs)
    test, column, when = trained.data.test, request.time_column, dict[str, Any]()
    if column is not None:
        when = {"times": times_in(test, column, request.time_unit), "zone": zone_of(test.column(column))}
    judged = Judged(trained.is_rare, old, trained.scores, rule, amounts_in(test, request.cost_column), **when)
    by_aucprc = compared("aucprc", judged)
    by_goal = by_aucprc if goal == "aucprc" else compared(goal, judged)
    return Refitted(trained, old, by_aucprc, by_goal, column is not None)


# What a card tells of a training that another one does not repeat.
NOT_KNOWN = ("valid", "engine")


def run(options: Namespace) -> None:
    talk = Talk(options)
    goal = options.if_better
    if goal is not None and options.output is None:
        raise TableError("--if-better needs a file for the new model. Name it: -o FILE.")
    if options.id is not None and options.labels is None:
        raise TableError("--id is for labels that arrive by id. Name their file: --labels FILE.")
    output = None if options.output is None else check_output(options.output, [".skops"])
    card = read_card(options.model)
    model: Any = load_ensemble(options.model)
    training = card.metrics.get("training") or {}
    request = replace(request_of(options, training, model), callbacks=talk.callbacks())
    if options.labels is not None:
        request = replace(request, source=with_labels(options, request.source, request.target, model, talk))
    with talk.progress(what_is_done(options, "reading")) as progress:
        found = refit(model, card.metrics, request, progress, goal or "aucprc")
    _tell(talk, found)
    writes = output is not None and (found.is_better or goal is None)
    if output is not None and writes:
        reference = None if card.reference is None else found.trained.reference()
        record = record_of(found.trained, options, _promotions(options, card, found))
        metrics = metrics_of(found.trained)
        save_model(found.trained.model, output, metrics=metrics, reference=reference, record=record)
        talk.say(f"The new model is in {output}.")
    elif output is not None:
        talk.say(f"The new model is not better{'' if goal == 'aucprc' else f' by {goal}'}; {output} was not written.")
    talk.result(
        {
            "model": str(output) if writes else None,
            "is_better": found.is_better,
            "old_aucprc": found.by_aucprc.old,
            "aucprc": found.by_aucprc.new,
            "difference": found.by_aucprc.gain,
            "interval": list(found.by_aucprc.interval),
            "goal": asdict(found.by_goal) | {"interval": list(found.by_goal.interval)},
            "n_rows": found.trained.evaluation.n_rows,
            "n_positives": found.trained.evaluation.n_positives,
            "newest": found.newest,
            "warnings": found.trained.warnings,
        }
    )


def _promotions(options: Namespace, card: ModelCard, found: Refitted) -> list[Promotion]:
    """The models that were replaced so far, and the one that is replaced now, whether or not it had to be better."""
    by, n_rows = found.by_goal, found.trained.evaluation.n_rows
    figures = (by.goal, by.old, by.new, *by.interval, n_rows, options.if_better is not None)
    last = Promotion(id_of_file(options.model), card.created_at, *figures)
    return [*(() if card.record is None else card.record.promotions), last]


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
    low, high = found.by_aucprc.interval
    sure = "it contains 0, so the difference may be chance" if low <= 0 <= high else "it does not contain 0"
    talk.headline(
        f"The new model's AUCPRC is {judged.aucprc:.3f}, the old one's {found.by_aucprc.old:.3f}: "
        f"{found.by_aucprc.gain:+.3f}."
    )
    where = "the newest of" if found.newest else "held out at random, of"
    talk.say(
        f"Both were judged on {judged.n_rows:,} rows, {where} {trained.facts.n_rows:,}, {judged.n_positives:,} of them "
        f"rare. The {CONFIDENCE:.0%} interval of the difference is {low:+.3f} to {high:+.3f}: {sure}."
    )
    if found.by_goal.goal != "aucprc":
        talk.say(_by_goal(found.by_goal))
    if not found.newest:
        talk.warn(
            "the rows have no column of times, so the old model may have been trained on some of the rows that it is "
            "judged by. Its figures may be too good. Name the column of times: --time-column COL."
        )
    talk.say(
        f"The new one is trained on {trained.facts.n_train:,} rows; it expects "
        f"{judged.mean_score * judged.n_rows:,.0f} rare rows here, and the old one {found.old_scores.sum():,.0f}."
    )


def _by_goal(by: GoalReached) -> str:
    """The comparison by another goal than the AUCPRC, in a sentence."""
    low, high = by.interval
    if by.goal == "cost":
        figures = f"costs {cost_text(by.new)} and the old one {cost_text(by.old)}: it saves {cost_text(by.gain)}"
        ends = f"{cost_text(low)} to {cost_text(high)}"
    else:
        figures = f"has {by.goal} of {by.new:.3f} and the old one of {by.old:.3f}: {by.gain:+.3f}"
        ends = f"{low:+.3f} to {high:+.3f}"
    return f"The new model {figures} ({CONFIDENCE:.0%} interval, paired: {ends})."
