"""The tables of `massive.py`, and its model of costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from text_table import text_table

Facts = dict[str, Any]
FITS = ("streamed", "files", "spark")
# Other methods beside our own fits, as the table of them calls them.
OTHERS = {"lightgbm": "LightGBM", "xgboost": "XGBoost, external memory", "xgboost_spark": "XGBoost, Spark"}
COMPARED = {"files": "selfpaced, files", "spark": "selfpaced, Spark", **OTHERS}
GIGABYTE = 2**30
PROJECTED_ROWS, PROJECTED_ROUNDS, CORES = 10**11, 10, (100, 1000)


def power(n_rows: int) -> str:
    """
    >>> power(10**8), power(3 * 10**6)
    ('10^8', '3x10^6')
    """
    digits = len(str(n_rows)) - 1
    factor = n_rows // 10**digits
    return f"10^{digits}" if factor == 1 else f"{factor}x10^{digits}"


def fit_cpu(one: Facts) -> float:
    """The processor seconds of training a member."""
    return median(each["cpu_fitting"] for each in one["rounds"])


def first_cpu(one: Facts) -> float:
    """The processor seconds before the first round: labels, and the pass that collects the rare rows."""
    return float(one["labels"] + one["rounds"][0]["cpu"] - one["rounds"][0]["cpu_fitting"])


def round_cpus(one: Facts) -> list[float]:
    """The processor seconds of every round but the fits of members."""
    return [each["cpu"] - each["cpu_fitting"] for each in one["rounds"][1:]]


@dataclass(frozen=True)
class CostModel:
    """Processor seconds of the first pass and of a round, as straight lines over the number of rows; of a member."""

    first: tuple[float, float]
    round: tuple[float, float]
    member: float

    @classmethod
    def fitted(cls, measured: Sequence[Facts]) -> CostModel:
        rounds = [(one["rows"], cpu) for one in measured for cpu in round_cpus(one)]
        firsts = [(one["rows"], first_cpu(one)) for one in measured]
        return cls(_line(firsts), _line(rounds), median(map(fit_cpu, measured)))

    def __call__(self, n_rows: float, n_rounds: int) -> float:
        first, each = (start + slope * n_rows for start, slope in (self.first, self.round))
        return first + n_rounds * each + (n_rounds + 1) * self.member


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Start and slope with the smallest relative errors; neither is negative."""
    rows, cpu = np.array(points, dtype=float).T
    slope, start = np.polyfit(rows, cpu, 1, w=1 / cpu)
    return (float(start), float(slope)) if start >= 0 else (0.0, float(np.mean(cpu / rows)))


def lines_of(measured: Sequence[Facts]) -> dict[str, list[str]]:
    """All tables that something has been measured for, as lines."""
    fits = [one for one in measured if one["kind"] in FITS]
    others = [one for one in measured if one["kind"] in OTHERS]
    here = [one for one in fits if one["kind"] != "spark"]
    tables = {
        "costs": _costs(here),
        "floors": _floors([one for one in here if "floor" in one]),
        "accuracy": _accuracy(fits),
        "model": "\n\n".join(
            filter(None, [_model([one for one in here if one["kind"] == kind]) for kind in ("streamed", "files")])
        ),
        "spark": _spark([one for one in fits if one["kind"] == "spark"]),
        "others": _others(measured) if others else "",
    }
    return {name: text.splitlines() for name, text in tables.items() if text}


def with_lines(page: str, lines: Mapping[str, Sequence[str]]) -> str:
    """A page whose blocks of text after a mark such as `<!-- costs -->` show the table of this name."""

    def block(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n```text\n" + "".join(f"{line}\n" for line in lines.get(found[1], ())) + "```\n"

    return re.sub(r"<!-- (\w+) -->\n```text\n.*?^```\n", block, page, flags=re.S | re.M)


def _costs(fits: Sequence[Facts]) -> str:
    header = ["", "rows", "rounds", "s a round", "first pass", "round", "member", "peak GB", "GB read"]
    rows = []
    for one in fits:
        per_row = [1e6 * cpu / one["rows"] for cpu in (first_cpu(one), median(round_cpus(one)))]
        seconds = median(each["seconds"] for each in one["rounds"][1:])
        rows.append(
            [one["kind"], power(one["rows"]), str(len(one["rounds"]) - 1), f"{seconds:.1f}"]
            + [f"{each:.3f} us" for each in per_row]
            + [f"{fit_cpu(one):.2f} s", f"{one['peak_gb']:.2f}", f"{one['bytes'] / GIGABYTE:.2f}"]
        )
    return text_table(header, rows) if rows else ""


def _floors(fits: Sequence[Facts]) -> str:
    header = ["", "rows", "reading a row", "scoring a row by LightGBM", "fit / reading", "fit / reading and scoring"]
    rows = []
    for one in fits:
        n_rounds = len(one["rounds"]) - 1
        reading = one["floor"]["cpu"] / one["floor"]["rows"]
        members = sum(each["cpu_fitting"] for each in one["rounds"])
        floor = (n_rounds + 1) * one["rows"] * reading + members
        with_scores = floor + n_rounds * one["rows"] * one["cpu_of_lightgbm"]
        rows.append(
            [one["kind"], power(one["rows"]), *(f"{1e6 * cost:.3f} us" for cost in (reading, one["cpu_of_lightgbm"]))]
            + [f"{one['cpu'] / each:.2f}" for each in (floor, with_scores)]
        )
    return text_table(header, rows) if rows else ""


def _accuracy(fits: Sequence[Facts]) -> str:
    """The same rows give the same members, so one line stands for all kinds of fits."""
    longest: dict[int, list[float]] = {}
    for one in filter(lambda one: one["aucprc"], fits):
        known = longest.get(one["rows"], [])
        longest[one["rows"]] = max(known, one["aucprc"], key=len)
    shown = (1, 2, 3, 10)
    rows = [
        [power(n_rows), *(f"{values[n - 1]:.4f}" if n <= len(values) else "" for n in shown)]
        for n_rows, values in sorted(longest.items())
    ]
    return text_table(["rows", *(f"{n} member{'s' * (n > 1)}" for n in shown)], rows) if rows else ""


def _model(fits: Sequence[Facts]) -> str:
    if len(fits) < 3:
        return ""
    *smaller, largest = sorted(fits, key=lambda one: one["rows"])
    model, n_rounds = CostModel.fitted(smaller), len(largest["rounds"]) - 1
    predicted = model(largest["rows"], n_rounds)
    every = CostModel.fitted(fits)
    lines = [
        f"{largest['kind']}, fitted to {', '.join(power(one['rows']) for one in smaller)} rows, in processor seconds:",
        f"  first pass  {model.first[0]:.2f} + {1e6 * model.first[1]:.3f} us x rows",
        f"  round       {model.round[0]:.2f} + {1e6 * model.round[1]:.3f} us x rows",
        f"  member      {model.member:.2f}",
        f"{power(largest['rows'])} rows, {n_rounds} round(s): {predicted:,.0f} s predicted, {largest['cpu']:,.0f} s "
        f"measured, an error of {predicted / largest['cpu'] - 1:+.0%}",
        _spread(fits),
        f"{power(PROJECTED_ROWS)} rows, {PROJECTED_ROUNDS} rounds, by all sizes: "
        f"{every(PROJECTED_ROWS, PROJECTED_ROUNDS) / 3600:,.0f} hours of one core"
        + "".join(f", {_hours(every, cores):.1f} hours of {cores}" for cores in CORES),
    ]
    return "\n".join(filter(None, lines))


def _spread(fits: Sequence[Facts]) -> str:
    """How far the cost of a round is from constant for each row."""
    per_row = {power(one["rows"]): median(round_cpus(one)) / one["rows"] for one in fits if one["rows"] >= 10**7}
    if len(per_row) < 2:
        return ""
    spread = max(per_row.values()) / min(per_row.values()) - 1
    costs = " and ".join(f"{1e6 * cost:.3f} us a row at {size}" for size, cost in per_row.items())
    return f"a round costs {costs}: at most {spread:.0%} more at one size than at another"


def _hours(model: CostModel, cores: int) -> float:
    """Rows are shared by all cores; members are trained by one."""
    members = (PROJECTED_ROUNDS + 1) * model.member
    return ((model(PROJECTED_ROWS, PROJECTED_ROUNDS) - members) / cores + members) / 3600


def _spark(fits: Sequence[Facts]) -> str:
    header = ["Spark", "rounds", "cpu s", "cpu a row and pass", "s a round"]
    rows = []
    for one in fits:
        passes = len(one["rounds"])
        seconds = median(each["seconds"] for each in one["rounds"][1:])
        cost = f"{1e6 * one['cpu'] / passes / one['rows']:.2f} us"
        rows.append([power(one["rows"]), str(passes - 1), f"{one['cpu']:.0f}", cost, f"{seconds:.1f}"])
    lines = [text_table(header, rows)] if rows else []
    if len({one["rows"] for one in fits}) > 1:
        points = [(one["rows"], one["cpu"] / len(one["rounds"])) for one in fits]
        start, slope = _line(points)
        lines.append(f"a pass takes {start:.1f} processor seconds + {1e6 * slope:.2f} us x rows")
    return "\n".join(lines)


def _others(measured: Sequence[Facts]) -> str:
    """Fits of all members and trees, by the name of the method, and what stopped those that did not end."""
    rows = []
    for kind, name in COMPARED.items():
        for one in measured:
            if one["kind"] != kind or len(one.get("rounds", [])) not in (0, PROJECTED_ROUNDS + 1):
                continue
            figures = [f"{one['cpu']:.0f}", f"{one['peak_gb']:.2f}", f"{one['aucprc'][-1]:.4f}"] if "cpu" in one else []
            rows.append([name, power(one["rows"]), *(figures or ["", "", ""]), one.get("stopped", "")])
    return text_table(["", "rows", "cpu s", "peak GB", "AUCPRC", "stopped"], rows)
