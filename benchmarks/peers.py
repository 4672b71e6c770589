"""Claim: a fit takes a fraction of the time and memory that the authors' package and imbalanced-ensemble take.

    python benchmarks/peers.py [--rows 2000000] [--large-rows 8000000] [--frame-rows 500000] [--repeats 3]
        [--as-installed] [--quick] [--only CASE]

Every package runs in processes of its own (`peer_worker.py`) on the same generated rows, with as many threads as there
are cores. The peers live in environments that are made in `.bench/` at the first run. Packages take turns, so that a
busy minute of the machine hits all of them; the ratios count, not the seconds. Only a whole run is saved.

The authors' package needs numpy 1.26, whose sort with AVX-512 is some 25 times slower than without it on labels that
are nearly all alike, and sorts the labels dozens of times in a fit. No ratio shall rest on that accident, so its
processes run without AVX-512 in numpy, unless `--as-installed` is given.

The case "frame" has categories and missing values (`payment_table.py`). A package that takes no such rows is noted with
its error; ours is compared with LightGBM's own predictions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from fraud_tables import frauds_among, write_table
from payment_table import write_payment_table
from peer_environments import REQUIREMENTS, interpreter_of, variables_of
from peer_worker import N_BINS, N_CORES, N_MEMBERS
from record import save, significant, versions_of
from text_table import text_table

OURS = "selfpaced"
AUTHORS = "self-paced-ensemble"
OTHER = "imbalanced-ensemble"
PACKAGES = (OURS, AUTHORS, OTHER)
WORKER = Path(__file__).parent / "peer_worker.py"
QUICK_ROWS = 100_000
QUICK_LARGE_ROWS = 200_000
QUICK_FRAME_ROWS = 20_000

Run = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One workload. `most_repeats` bounds what is slow in the peers."""

    title: str
    members: str
    table: str
    options: tuple[str, ...]
    our_options: tuple[str, ...]
    most_repeats: int


CASES = {
    "trees": Case("depth-10 trees, float64", "trees", "medium", ("--predict",), (), 9),
    "large": Case("depth-10 trees, float32", "trees", "large", (), (), 2),
    "lightgbm": Case("LightGBM 50 rounds, float64", "lightgbm", "medium", (), ("--floor",), 2),
    "frame": Case("LightGBM 50 rounds, frame with categories", "lightgbm", "frame", ("--predict",), ("--floor",), 2),
}


@dataclass(frozen=True)
class Comparison:
    """How many times as much a peer takes as we do; the target is against the authors' package."""

    title: str
    case: str
    measure: str
    at_least: float


COMPARISONS = (
    Comparison("whole fit", "trees", "fit_seconds", 2.5),
    Comparison("fit without the base models' own fits", "trees", "rest_seconds", 8),
    Comparison("predict_proba", "trees", "predict_seconds", 12),
    Comparison("memory above the data during fit", "trees", "peak_bytes", 8),
    Comparison("whole fit", "large", "fit_seconds", 4),
    Comparison("whole fit", "lightgbm", "fit_seconds", 2),
)


@dataclass(frozen=True)
class Limit:
    """A share that our own package must stay below."""

    title: str
    case: str
    measure: str
    relative_to: str
    at_most: float


LIMITS = (
    Limit("memory above the data / the data's bytes", "trees", "peak_bytes", "data_bytes", 0.12),
    Limit("whole fit / base fits and LightGBM's predictions", "lightgbm", "fit_seconds", "floor_seconds", 1.2),
    Limit("whole fit / base fits and LightGBM's predictions", "frame", "fit_seconds", "floor_seconds", 1.5),
)


class Results:
    """The runs of every (case, package), and what went wrong in those that have none."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str], list[Run]] = {}
        self.errors: dict[tuple[str, str], str] = {}

    def middle(self, case: str, package: str, measure: str) -> float | None:
        values = [run[measure] for run in self.runs.get((case, package), []) if measure in run]
        return median(values) if values else None

    def ratio(self, comparison: Comparison, peer: str) -> float | None:
        theirs = self.middle(comparison.case, peer, comparison.measure)
        ours = self.middle(comparison.case, OURS, comparison.measure)
        return theirs / ours if theirs and ours else None

    def share(self, limit: Limit) -> float | None:
        """The median over the runs: numerator and denominator of a run saw the machine in the same mood."""
        runs = self.runs.get((limit.case, OURS), [])
        return median(run[limit.measure] / run[limit.relative_to] for run in runs) if runs else None


def run_case(name: str, folder: Path, options: argparse.Namespace, results: Results) -> None:
    """All packages in turn, then all again. A package that failed is not asked twice."""
    for number in range(min(options.repeats, CASES[name].most_repeats)):
        for package in PACKAGES:
            if (name, package) not in results.errors:
                _run_once(name, package, folder, number, options.as_installed, results)


def _run_once(name: str, package: str, folder: Path, number: int, as_installed: bool, results: Results) -> None:
    try:
        run = measured(CASES[name], package, folder, as_installed)
    except subprocess.CalledProcessError as error:
        results.errors[name, package] = last_line(error.stderr)
        print(f"{name}, run {number + 1}: {package} FAILED: {results.errors[name, package]}", flush=True)
    else:
        results.runs.setdefault((name, package), []).append(run)
        print(f"{name}, run {number + 1}: {package} fit in {run['fit_seconds']:.2f} s", flush=True)


def measured(case: Case, package: str, folder: Path, as_installed: bool) -> Run:
    options = case.options + (case.our_options if package == OURS else ())
    command: list[str | Path] = [interpreter_of(package), WORKER, package, case.members, folder / case.table, *options]
    variables = os.environ | ({} if as_installed else variables_of(package))
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    run: Run = json.loads(last_line(done.stdout))
    return run


def last_line(text: str | None) -> str:
    return (text or "").strip().rpartition("\n")[2] or "no message"


def seconds_table(results: Results) -> str:
    header = ["case", "package", "runs", "fit s", "base fits s", "rest s", "predict s", "memory MB"]
    rows = [_seconds_row(case, package, results) for case, package in (results.runs | results.errors)]
    return text_table(header, rows, words=2)


def _seconds_row(case: str, package: str, results: Results) -> list[str]:
    def cell(measure: str, unit: float = 1.0) -> str:
        value = results.middle(case, package, measure)
        return "" if value is None else f"{value / unit:.2f}" if unit == 1 else f"{value / unit:.0f}"

    measures = [cell(name) for name in ("fit_seconds", "base_fit_seconds", "rest_seconds", "predict_seconds")]
    return [case, package, str(len(results.runs.get((case, package), []))), *measures, cell("peak_bytes", 1e6)]


def verdicts(results: Results, cases: list[str]) -> list[dict[str, Any]]:
    """Every target with what was measured; None where a package gave no number."""
    compared = [
        _verdict(claim, results.ratio(claim, AUTHORS), claim.at_least, float.__ge__, results.ratio(claim, OTHER))
        for claim in COMPARISONS
        if claim.case in cases
    ]
    limited = [
        _verdict(claim, results.share(claim), claim.at_most, float.__le__, None)
        for claim in LIMITS
        if claim.case in cases
    ]
    return compared + limited


def _verdict(
    claim: Comparison | Limit, value: float | None, target: float, holds: Callable[[float, float], bool], other: Any
) -> dict[str, Any]:
    return {
        "case": claim.case,
        "claim": claim.title,
        "kind": type(claim).__name__.lower(),
        "measured": None if value is None else significant(value, 3),
        "target": target,
        "met": None if value is None else bool(holds(float(value), float(target))),
        "imbalanced_ensemble": None if other is None else significant(other, 3),
    }


def verdict_table(found: list[dict[str, Any]]) -> str:
    words = {True: "met", False: "MISSED", None: "not measured"}
    rows = [
        [
            f"{verdict['case']}: {verdict['claim']}" + (", authors' / ours" if verdict["kind"] == "comparison" else ""),
            _number(verdict["measured"]),
            (">= " if verdict["kind"] == "comparison" else "<= ") + f"{verdict['target']:g}",
            words[verdict["met"]],
            _number(verdict["imbalanced_ensemble"]),
        ]
        for verdict in found
    ]
    return text_table(["claim", "measured", "target", "", "imbalanced-ensemble"], rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def as_json(results: Results) -> dict[str, Any]:
    runs = [
        {"case": case, "package": package}
        | {name: significant(value) for name, value in run.items() if name != "versions"}
        for (case, package), repeated in results.runs.items()
        for run in repeated
    ]
    errors = [{"case": case, "package": package, "error": text} for (case, package), text in results.errors.items()]
    return {"runs": runs, "errors": errors}


def versions_used(results: Results) -> dict[str, Any]:
    """By package, as each worker found them in its environment."""
    found = {package: runs[0]["versions"] for (_, package), runs in results.runs.items()}
    return versions_of([]) | found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--large-rows", type=int, default=8_000_000)
    parser.add_argument("--frame-rows", type=int, default=500_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--as-installed", action="store_true", help="leave numpy 1.26 its slow sort of labels")
    parser.add_argument("--quick", action="store_true", help="small tables, to try the script")
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    if options.quick:
        options.rows, options.large_rows, options.frame_rows = QUICK_ROWS, QUICK_LARGE_ROWS, QUICK_FRAME_ROWS
    return options


def write_tables(folder: Path, cases: list[str], options: argparse.Namespace) -> None:
    write = {
        "medium": lambda folder: write_table(folder, options.rows, "float64"),
        "large": lambda folder: write_table(folder, options.large_rows, "float32"),
        "frame": lambda folder: write_payment_table(folder, options.frame_rows),
    }
    for table in sorted({CASES[case].table for case in cases}):
        print(f"generating the {table} table", flush=True)
        write[table](folder / table)


def run_cases(cases: list[str], options: argparse.Namespace) -> Results:
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), cases, options)
        for case in cases:
            run_case(case, Path(folder), options, results)
    return results


def parameters(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "rows": options.rows,
        "large_rows": options.large_rows,
        "frame_rows": options.frame_rows,
        "as_installed": options.as_installed,
        "frauds": frauds_among(options.rows),
        "large_frauds": frauds_among(options.large_rows),
        "members": N_MEMBERS,
        "bins": N_BINS,
        "cases": {name: case.title for name, case in CASES.items()},
        "peers": REQUIREMENTS,
    }


def report(results: Results, found: list[dict[str, Any]]) -> None:
    print(f"\nmedians, {N_CORES} cores, {N_MEMBERS} members\n{seconds_table(results)}\n\n{verdict_table(found)}")
    for (case, package), error in results.errors.items():
        print(f"{package} failed in the case {case}: {error}")


def main() -> None:
    options = arguments()
    cases = [options.only] if options.only else list(CASES)
    results = run_cases(cases, options)
    found = verdicts(results, cases)
    report(results, found)
    if not (options.only or options.quick):
        result = {"parameters": parameters(options), "claims": found} | as_json(results)
        print(save("peers", result, versions_used(results)))


if __name__ == "__main__":
    main()
