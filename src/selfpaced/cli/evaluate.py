"""`selfpaced evaluate`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced.cli.predict import threshold_of
from selfpaced.cli.talk import Talk
from selfpaced.exceptions import TableError
from selfpaced.jobs.evaluate import evaluate
from selfpaced.jobs.train import rare_label
from selfpaced.jobs.words import chance, expected, headline, origin, promise
from selfpaced.persistence import load_model, read_card


def run(options: Namespace) -> None:
    talk = Talk(options)
    known = read_card(options.model).metrics.get("threshold")
    threshold = threshold_of(options.threshold, options.model) if options.threshold or known is None else known
    model = load_model(options.model)
    target = options.target or getattr(model, "target_", None)
    if target is None:
        raise TableError("Which column holds the labels? Name it: --target COL.")
    with talk.progress("scoring") as progress:
        choosing = {"rule": options.rule, "amount": options.amount}
        judged = evaluate(model, options.data, target, threshold=threshold, progress=progress, **choosing)
    found, choice = judged.evaluation, judged.choice
    label, chosen = rare_label(model), "" if choice is None else f", {origin(choice)}"
    talk.headline(headline(found, target, label, choice))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{chance(found)}); the alerts are those from {found.threshold} on{chosen}."
    )
    if choice is not None:
        talk.say(promise(choice))
    if threshold is not None:
        talk.say(
            f"F1 {found.f1:.3f}. The best threshold by F1 on these rows would be {found.best_threshold}, with F1 "
            f"{found.best_f1:.3f}."
        )
    if getattr(model, "calibrator_", None) is not None:
        talk.say(f"Its probabilities expect {expected(found)}.")
    talk.result({**vars(found), **({} if choice is None else choice.as_facts())})
