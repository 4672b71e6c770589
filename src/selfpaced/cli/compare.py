"""`selfpaced compare`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from selfpaced._jobs.compare import Compared, compare
from selfpaced._jobs.picture import drawn
from selfpaced.cli.data import check_output
from selfpaced.cli.talk import Talk, table
from selfpaced.cli.train import request_of
from selfpaced.whole_files import write_whole


def run(options: Namespace) -> None:
    talk = Talk(options)
    picture = None if options.picture is None else check_output(options.picture, [".svg"])
    comparison = compare(request_of(options, []), lambda one: talk.say(_line(one)))
    talk.say(
        f"\nTrained on {comparison.n_train:,} rows, judged on {comparison.n_test:,} others; chance is "
        f"{comparison.chance:.4f}. Best first:\n"
    )
    rows = [
        [one.method, f"{one.aucprc:.3f}", f"{one.seconds:.1f}", f"{one.n_rows:,}"]
        for one in comparison.methods
        if one.aucprc is not None
    ]
    talk.say(table(rows, header=["", "AUCPRC", "seconds", "rows trained on"]))
    if picture is not None:
        write_whole(picture, drawn(comparison))
        talk.say(f"\nThe picture is in {picture}.")
    talk.result(asdict(comparison))


def _line(one: Compared) -> str:
    if one.aucprc is None:
        return f"{one.method}: not possible here. {one.failure}"
    return f"{one.method}: AUCPRC {one.aucprc:.3f} in {one.seconds:.1f} s"
