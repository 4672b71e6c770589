"""`selfpaced evaluate`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced.cli.predict import threshold_of
from selfpaced.cli.talk import Talk
from selfpaced.jobs.evaluate import evaluate
from selfpaced.jobs.train import rare_label
from selfpaced.jobs.words import chance, headline
from selfpaced.persistence import load_model, read_card


def run(options: Namespace) -> None:
    talk = Talk(options)
    known = read_card(options.model).metrics.get("threshold")
    threshold = threshold_of(options.threshold, options.model) if options.threshold or known is None else known
    model = load_model(options.model)
    with talk.progress("scoring") as progress:
        found, best = evaluate(model, options.data, options.target, threshold, progress)
    label = rare_label(model)
    talk.headline(headline(found, options.target or getattr(model, "target_", None), label))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{chance(found)}); the alerts are those from {found.threshold:.3f} on."
    )
    if threshold is not None:
        talk.say(
            f"With the threshold that is best by F1 on these rows, {best.threshold:.3f}: precision "
            f"{best.precision:.2f}, recall {best.recall:.2f}."
        )
    talk.result(vars(found) | {"best_threshold_here": best.threshold})
