"""Run the exam "the same rows, the same scores" on new tables until the time is over. `make exam` runs this."""

from __future__ import annotations

import os
import subprocess
import sys
import time

TABLES_A_ROUND = 40
EXAM = "tests/exam/test_same_rows_same_scores.py"


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    begin, rounds = time.monotonic(), 0
    environment = os.environ | {"SELFPACED_EXAM_EXAMPLES": str(TABLES_A_ROUND)}
    while time.monotonic() - begin < 60 * minutes:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "-p", "no:cacheprovider", EXAM]
        code = subprocess.run(command, env=environment, check=False).returncode
        if code:
            print(f"Round {rounds + 1} found something: see above.")
            return code
        rounds += 1
        spent = (time.monotonic() - begin) / 60
        print(
            f"{rounds} rounds of {TABLES_A_ROUND} tables for each form, {spent:.0f} of {minutes:.0f} minutes",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
