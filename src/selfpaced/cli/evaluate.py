"""`selfpaced evaluate`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced._jobs.evaluate import Judging, evaluate, known_from
from selfpaced._jobs.warned import counted_new_categories
from selfpaced._jobs.words import chance, cost_in_words, expected, headline, origin, promise
from selfpaced.cli.data import data_in, what_is_done
from selfpaced.cli.predict import threshold_of
from selfpaced.cli.talk import Talk
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.persistence import load_ensemble, read_card


def run(options: Namespace) -> None:
    talk = Talk(options)
    card = read_card(options.model).metrics
    known = known_from(card)
    as_trained = options.threshold in (None, "best") and options.rule is None and card.get("threshold") is not None
    threshold = float(card["threshold"]) if as_trained else threshold_of(options.threshold, options.model)
    model = load_ensemble(options.model)
    target = options.target or model.trained_on_.target
    if target is None:
        raise TableError("The column of labels is not known. Name it: --target COL.")
    with talk.progress(what_is_done(options, "scoring")) as progress, counted_new_categories() as new:
        judging = Judging(threshold, options.rule, options.amount, known)
        judged = evaluate(model, data_in(options), target, judging, progress)
    found, choice = judged.evaluation, judged.choice
    if new:
        talk.warn(str(NewCategoryWarning(new, found.n_rows)))
    label, chosen = model.score_label_, "" if choice is None else f", {origin(choice)}"
    if as_trained and known.rule is not None:
        chosen = f", chosen by {known.rule} in training"
    talk.headline(headline(found, target, label, choice))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{chance(found)}). The threshold is {found.threshold}{chosen}."
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
    if model.calibration_ is not None:
        talk.say(f"The probabilities expect {expected(found)}.")
    talk.result(
        {
            **vars(found),
            "rule": str(known.rule) if as_trained and known.rule is not None else None,
            "cost": judged.cost,
            "confidence": None,
            "intervals": None,
            **({} if choice is None else choice.as_facts()),
            "chance": found.n_positives / found.n_rows,
            "calibration": model.calibration_,
            "new_categories": new,
        }
    )
