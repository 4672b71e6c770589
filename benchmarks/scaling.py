"""Claim: what a fit does beside training its members grows no faster than the rows, near the cost of reading them.

    python benchmarks/scaling.py [--largest 8000000] [--repeats 3]

Measured: seconds of a fit with trees of depth 10 on float32 rows, against the size of the majority (with a fixed number
of frauds), the number of members and the number of threads. The floor beside it is what no implementation can save:
reading all rows once a round, measured as a sum over them, and training the members.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import matplotlib

matplotlib.use("Agg")  # a picture is saved, no window is wanted

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from record import RESULTS, save, significant, versions_of
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from text_table import text_table

Features = NDArray[np.float32]
Labels = NDArray[np.int64]

N_FEATURES = 30
N_FRAUDS = 4_000
DEPTH = 10
MEMBERS = (5, 10, 20, 40)
THREADS = (1, 2)
USUAL_MEMBERS = 10
USUAL_THREADS = 2
ROWS_READ_AT_ONCE = 2**16
READABLE_SECONDS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
LINEAR_WITHIN_NOISE = 1.05
PACKAGES = ("selfpaced", "scikit-learn", "numpy")


@dataclass(frozen=True)
class Point:
    """One setting with what was measured there, in seconds."""

    n_majority: int
    members: int
    threads: int
    fit: float
    base_fits: float
    reading: float

    @property
    def rest(self) -> float:
        return self.fit - self.base_fits

    @property
    def floor(self) -> float:
        return self.reading + self.base_fits


def make_rows(n_majority: int) -> tuple[Features, Labels]:
    X, y = make_fraud(n_majority + N_FRAUDS, N_FRAUDS, n_features=N_FEATURES, random_state=0)
    return X.astype(np.float32), y


def first_rows(X: Features, y: Labels, n_majority: int) -> tuple[Features, Labels]:
    """All frauds and the first honest rows: one distribution and one minority at every size."""
    chosen = np.sort(np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:n_majority]]))
    return X[chosen], y[chosen]


def seconds_of(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def read_once(X: Features, threads: int) -> None:
    starts = range(0, len(X), ROWS_READ_AT_ONCE)
    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(lambda start: X[start : start + ROWS_READ_AT_ONCE].sum(), starts))


def measure_once(X: Features, y: Labels, members: int, threads: int) -> Point:
    model = SelfPacedEnsembleClassifier(
        DecisionTreeClassifier(max_depth=DEPTH), members, n_jobs=threads, random_state=0
    )
    seconds = seconds_of(lambda: model.fit(X, y))
    base_fits = sum(note.seconds_fitting for note in model.rounds_)
    reading = members * seconds_of(lambda: read_once(X, threads))
    return Point(int((y == 0).sum()), members, threads, seconds, base_fits, reading)


def measure(X: Features, y: Labels, members: int, threads: int, repeats: int) -> Point:
    """The run of median length, whole: parts of different runs would not add up."""
    points = [measure_once(X, y, members, threads) for _ in range(repeats)]
    middle = sorted(points, key=lambda point: point.fit)[(repeats - 1) // 2]
    print(f"|N| = {middle.n_majority:,}, {members} members, {threads} threads: {middle.fit:.2f} s", flush=True)
    return middle


def by_majority(X: Features, y: Labels, repeats: int) -> list[Point]:
    largest = int((y == 0).sum())
    sizes = [largest // divisor for divisor in (16, 8, 4, 2, 1)]
    return [measure(*first_rows(X, y, size), USUAL_MEMBERS, USUAL_THREADS, repeats) for size in sizes]


def growth_exponent(points: list[Point]) -> float:
    """The slope of seconds over rows, both as logarithms: 1 is linear."""
    rows = np.log([point.n_majority for point in points])
    seconds = np.log([point.rest for point in points])
    return float(np.polyfit(rows, seconds, 1)[0])


def in_words(exponent: float) -> str:
    return "linear or better" if exponent <= LINEAR_WITHIN_NOISE else "WORSE THAN LINEAR"


def as_table(points: list[Point]) -> str:
    header = ["|N|", "members", "threads", "fit s", "base fits s", "rest s", "floor s", "fit / floor"]
    rows = [
        [
            f"{point.n_majority:,}",
            str(point.members),
            str(point.threads),
            *(f"{value:.2f}" for value in (point.fit, point.base_fits, point.rest, point.floor)),
            f"{point.fit / point.floor:.2f}",
        ]
        for point in points
    ]
    return text_table(header, rows, words=0)


def as_json(point: Point) -> dict[str, Any]:
    return {name: significant(value) if isinstance(value, float) else value for name, value in asdict(point).items()}


def draw_lines(axes: Axes, xs: list[int], points: list[Point]) -> None:
    axes.plot(xs, [point.fit for point in points], "o-", label="whole fit")
    axes.plot(xs, [point.rest for point in points], "s-", label="without base fits")
    axes.plot(xs, [point.floor for point in points], "--", color="grey", label="floor: reading + base fits")
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)


def draw_sizes(axes: Axes, points: list[Point]) -> None:
    draw_lines(axes, [point.n_majority for point in points], points)
    axes.set(xscale="log", yscale="log", xlabel="majority rows |N|", title=f"{USUAL_MEMBERS} members")
    axes.set_xticks([point.n_majority for point in points], [f"{point.n_majority / 1e6:g}M" for point in points])
    axes.set_yticks(READABLE_SECONDS, [f"{seconds:g}" for seconds in READABLE_SECONDS])
    axes.minorticks_off()


def draw_members(axes: Axes, points: list[Point]) -> None:
    draw_lines(axes, [point.members for point in points], points)
    axes.set(xlabel="members", ylim=(0, None), title=f"{points[0].n_majority / 1e6:g}M majority rows")
    axes.set_xticks([point.members for point in points])


def draw_threads(axes: Axes, points: list[Point]) -> None:
    names = [f"{point.threads}" for point in points]
    base_fits = [point.base_fits for point in points]
    axes.bar(names, base_fits, width=0.5, color="lightgrey", label="base fits")
    rest = [point.rest for point in points]
    axes.bar(names, rest, width=0.5, bottom=base_fits, color="tab:orange", label="without base fits")
    axes.set_axisbelow(True)
    axes.set(xlabel="threads", ylabel="seconds", title=f"{points[0].n_majority / 1e6:g}M majority rows")
    axes.grid(axis="y", alpha=0.3)


def save_picture(measured: dict[str, list[Point]], exponent: float) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    draw_sizes(left, measured["majority"])
    draw_members(middle, measured["members"])
    draw_threads(right, measured["threads"])
    left.legend()
    right.legend(loc="lower center")
    figure.suptitle(f"Beside training members, a fit grows like |N|$^{{{exponent:.2f}}}$ (1 is linear)")
    figure.savefig(RESULTS / "scaling.png", dpi=110)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=8_000_000, help="majority rows of the largest table")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


def measure_all(largest: int, repeats: int) -> dict[str, list[Point]]:
    print(f"generating {largest + N_FRAUDS:,} rows", flush=True)
    X, y = make_rows(largest)
    sizes = by_majority(X, y, repeats)
    X, y = first_rows(X, y, largest // 4)
    members = [measure(X, y, count, USUAL_THREADS, repeats) for count in MEMBERS]
    threads = [measure(X, y, USUAL_MEMBERS, count, repeats) for count in THREADS]
    return {"majority": sizes, "members": members, "threads": threads}


def report(measured: dict[str, list[Point]], exponent: float) -> None:
    for points in measured.values():
        print(f"\n{as_table(points)}")
    print(f"\nwithout base fits, seconds grow like |N|^{exponent:.2f}: {in_words(exponent)}")


def main() -> None:
    options = arguments()
    measured = measure_all(options.largest, options.repeats)
    exponent = growth_exponent(measured["majority"])
    report(measured, exponent)
    parameters = vars(options) | {"frauds": N_FRAUDS, "features": N_FEATURES, "depth": DEPTH, "dtype": "float32"}
    result = {"parameters": parameters, "growth_exponent": significant(exponent, 3)}
    result |= {name: [as_json(point) for point in points] for name, points in measured.items()}
    print(save("scaling", result, versions_of(PACKAGES)))
    save_picture(measured, exponent)


if __name__ == "__main__":
    main()
