"""`selfpaced compare`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from selfpaced._jobs.compare import Compared, compare
from selfpaced._jobs.methods import CHOSEN
from selfpaced._jobs.paired import CONFIDENCE, Interval
from selfpaced._jobs.picture import drawn
from selfpaced.cli.data import check_output
from selfpaced.cli.talk import Talk, table
from selfpaced.cli.train import request_of
from selfpaced.report.columns import shortened
from selfpaced.whole_files import write_whole

HEADER = [
    "",
    "AUCPRC",
    f"{CONFIDENCE:.0%} interval",
    f"to {CHOSEN}",
    f"{CONFIDENCE:.0%} interval",
    "seconds",
    "trained on",
]

LONGEST_REASON = 120


def run(options: Namespace) -> None:
    talk = Talk(options)
    picture = None if options.picture is None else check_output(options.picture, [".svg"])

    def tell(one: Compared) -> None:
        talk.say(_line(one))
        for warning in one.warnings:
            talk.warn(f"{one.method}: {warning}")

    comparison = compare(request_of(options, []), tell)
    talk.say(
        f"\nTrained on {comparison.n_train:,} rows, judged on {comparison.n_test:,} others; chance is "
        f"{comparison.chance:.4f}. Best first. Intervals are over random draws of the test rows, the same for all "
        f"methods. A difference to {CHOSEN} whose interval contains 0 may be chance.\n"
    )
    talk.say(table([_row(one) for one in comparison.methods if one.aucprc is not None], header=HEADER))
    if picture is not None:
        write_whole(picture, drawn(comparison))
        talk.say(f"\nThe picture is in {picture}.")
    talk.result(asdict(comparison))


def _line(one: Compared) -> str:
    if one.aucprc is None:
        return f"{one.method}: failed. {shortened(one.failure or '', LONGEST_REASON)}"
    return f"{one.method}: AUCPRC {one.aucprc:.3f} in {one.seconds:.1f} s"


def _row(one: Compared) -> list[str]:
    return [
        one.method,
        f"{one.aucprc:.3f}",
        _between(one.interval, ""),
        "" if one.ahead is None else f"{one.ahead:+.3f}",
        _between(one.ahead_interval, "+"),
        f"{one.seconds:.1f}",
        f"{one.n_rows:,}",
    ]


def _between(interval: Interval | None, sign: str) -> str:
    return "" if interval is None else " to ".join(f"{end:{sign}.3f}" for end in interval)
