"""Run the exam on new random tables until the time is over. `make exam` runs this.

Usage: python tools/exam.py [MINUTES] [--jobs N] [--tables N]

The same rows and the same model, in any form, must give the same scores; figures must be those of a second computation.
Every tenth round includes Spark, which takes far longer for a table than all else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

EXAM = "tests/exam"
ON_SPARK = [
    f"tests/cluster/test_spark.py::test_the_same_rows_on_spark_{what}"
    for what in ("train_the_model_of_the_file", "get_the_same_scores")
]
ROUNDS_WITHOUT_SPARK = 9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float, nargs="?", default=60.0, help="after which no round begins (default 60)")
    parser.add_argument("--jobs", default="auto", help="processes of the tests (default: as many as cores)")
    parser.add_argument("--tables", type=int, default=40, help="of a test in each round (default 40)")
    options = parser.parse_args()
    minutes = options.minutes
    begin, rounds = time.monotonic(), 0
    environment = os.environ | {"SELFPACED_EXAM_EXAMPLES": str(options.tables)}
    while time.monotonic() - begin < 60 * minutes:
        tests = [EXAM] if rounds % (1 + ROUNDS_WITHOUT_SPARK) else [EXAM, *ON_SPARK]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", options.jobs, "-p", "no:cacheprovider", *tests]
        code = subprocess.run(command, env=environment, check=False).returncode
        if code:
            print(f"Round {rounds + 1} found something: see above.")
            return code
        rounds += 1
        spent = (time.monotonic() - begin) / 60
        print(
            f"{rounds} rounds, up to {options.tables} tables a test, {spent:.0f} of {minutes:.0f} minutes", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
