"""`selfpaced evaluate`"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from selfpaced.cli.predict import threshold_of
from selfpaced.cli.talk import Talk
from selfpaced.exceptions import TableError
from selfpaced.jobs.evaluate import evaluate, known_from
from selfpaced.jobs.train import rare_label
from selfpaced.jobs.words import chance, cost_in_words, expected, headline, origin, promise
from selfpaced.persistence import load_model, read_card


def run(options: Namespace) -> None:
    talk = Talk(options)
    card = read_card(options.model).metrics
    known = known_from(card)
    as_trained = options.threshold in (None, "best") and options.rule is None and card.get("threshold") is not None
    threshold = float(card["threshold"]) if as_trained else threshold_of(options.threshold, options.model)
    model = load_model(options.model)
    target = options.target or getattr(model, "target_", None)
    if target is None:
        raise TableError("Which column holds the labels? Name it: --target COL.")
    with talk.progress("scoring") as progress:
        choosing = {"rule": options.rule, "amount": options.amount, "known": known}
        judged = evaluate(model, options.data, target, threshold=threshold, progress=progress, **choosing)
    found, choice = judged.evaluation, judged.choice
    label, chosen = rare_label(model), "" if choice is None else f", {origin(choice)}"
    if as_trained and known.rule is not None:
        chosen = f", chosen by {known.rule} in training"
    talk.headline(headline(found, target, label, choice))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{chance(found)}); the alerts are those from {found.threshold} on{chosen}."
    )
    if choice is not None:
        talk.say(promise(choice))
    elif said := cost_in_words(judged, known):
        talk.say(said)
    if found.threshold != found.best_threshold:
        talk.say(
            f"F1 {found.f1:.3f}. The best threshold by F1 on these rows would be {found.best_threshold}, with F1 "
            f"{found.best_f1:.3f}."
        )
    if getattr(model, "calibrator_", None) is not None:
        talk.say(f"Its probabilities expect {expected(found)}.")
    talk.result(
        {
            **vars(found),
            "rule": str(known.rule) if as_trained and known.rule is not None else None,
            "cost": judged.cost,
            "confidence": None,
            "intervals": None,
            **({} if choice is None else choice.as_facts()),
            "chance": found.n_positives / found.n_rows,
            "calibration": _calibration(model),
        }
    )


def _calibration(model: Any) -> str | None:
    """By which method of the fit, or that it was by other rows afterwards."""
    if getattr(model, "calibrator_", None) is None:
        return None
    return getattr(model, "calibration", None) or "by rows set aside"
