"""`selfpaced evaluate`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced.cli.talk import Talk
from selfpaced.jobs.train import rare_label
from selfpaced.jobs.words import headline
from selfpaced.persistence import load_model


def run(options: Namespace) -> None:
    talk = Talk(options)
    model = load_model(options.model)
    with talk.progress("scoring") as progress:
        found = model.evaluate_table(options.data, target=options.target, progress=progress)
    label = rare_label(model)
    talk.headline(headline(found, options.target or getattr(model, "target_", None), label))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{found.n_positives / found.n_rows:.4f}); alerts above {found.threshold:.3f}, the best threshold by F1 here."
    )
    talk.result(vars(found))
