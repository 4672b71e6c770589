"""`selfpaced train --engine`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from selfpaced._jobs.cluster_train import TrainedOnCluster, train_on_cluster
from selfpaced.cli.data import check_output
from selfpaced.cli.engine_options import engine_of
from selfpaced.cli.recipes import recipes_of
from selfpaced.cli.round_lines import RoundLines
from selfpaced.cli.talk import Talk
from selfpaced.cli.train import metrics_of_cluster, request_of, tell_judgement, tell_leaks
from selfpaced.persistence import save_model


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".skops"])
    request = request_of(options, [] if options.quiet or options.json else [RoundLines()])
    trained = train_on_cluster(request, engine_of(options), keeps_reference=not options.no_reference)
    _tell(talk, trained)
    metrics = metrics_of_cluster(trained, options.engine)
    save_model(trained.model, output, metrics=metrics, reference=trained.reference)
    talk.say(f"\nThe model is in {output}. Score rows: selfpaced predict {output} DATA -o scores --engine ...")
    recipes = [asdict(one) for one in recipes_of(trained.model)]
    talk.result({"model": str(output), "report": None, **metrics, "recipes": recipes})


def _tell(talk: Talk, trained: TrainedOnCluster) -> None:
    counts = ", ".join(f"{count:,} of {name!r}" for name, count in trained.counts.items())
    assert trained.table.schema is not None
    talk.say(f"{sum(trained.counts.values()):,} rows: {counts}. {len(trained.table.schema.columns)} features.")
    tell_leaks(talk, trained.leaks)
    tell_judgement(talk, trained)
