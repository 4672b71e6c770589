"""The command line: parse, call one public function, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code. 130 after Ctrl-C, as shells do."""
    parser = argparse.ArgumentParser(
        prog="selfpaced", description="Find the rare: classification of imbalanced tables."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="compare Self-paced Ensemble with what one would do otherwise")
    demo.add_argument("--seed", type=int, default=0, help="seed of the generated data and of all models (default: 0)")
    options = parser.parse_args(arguments)
    try:
        from selfpaced.cli.demo import run_demo  # here, because --help need not wait for scikit-learn

        run_demo(options.seed)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    return 0
