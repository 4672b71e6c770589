"""Horizontal bar charts: the importance of features, the drift of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfpaced.report.columns import shortened
from selfpaced.report.facts import Drift, Importances
from selfpaced.report.figures.svg import Axis, drawing, line, rectangle, text
from selfpaced.report.html import Html, element, joined
from selfpaced.report.words import decimals

WIDTH, NAMES, VALUES, VALUES_WITH_ERRORS = 460, 170, 52, 104
ROW = 21
LONGEST_NAME = 19


@dataclass(frozen=True)
class _Bar:
    name: str
    value: float
    class_: str
    mark: float | None = None
    error: float | None = None

    @property
    def figure(self) -> str:
        """The value as it is written, with its error if that is known."""
        is_known = self.error is not None and self.error == self.error
        return decimals(self.value) + (f" ± {decimals(self.error or 0.0)}" if is_known else "")


def importance_bars(importances: Importances) -> Html:
    errors = importances.errors or (None,) * len(importances.names)
    found = zip(importances.names, importances.values, errors, strict=True)
    bars = [_Bar(name, value, "bar other", error=error) for name, value, error in found]
    return _drawn("Most important features", f"By {importances.method}; {bars[0].name} comes first.", bars)


def drift_bars(drifts: Mapping[str, Drift]) -> Html:
    """The drift of each column, with a mark at the drift that chance alone exceeds 1 time in 20."""
    bars = [
        _Bar(name, drift.distance, "bar case" if drift.is_real else "bar quiet", drift.chance)
        for name, drift in drifts.items()
    ]
    return _drawn("Drift since training", f"{bars[0].name} has the largest drift.", bars)


def psi_bars(indices: Mapping[str, tuple[float, bool]]) -> Html:
    """The stability index of each column. Large ones are in colour."""
    bars = [_Bar(name, psi, "bar case" if is_large else "bar quiet") for name, (psi, is_large) in indices.items()]
    said = f"{bars[0].name} has the largest index." if bars else "There are no columns."
    return _drawn("Population stability index", said, bars)


def _drawn(title: str, description: str, bars: Sequence[_Bar]) -> Html:
    longest = max([bar.value for bar in bars] + [bar.mark or 0.0 for bar in bars], default=1.0)
    beside = VALUES if all(bar.error is None for bar in bars) else VALUES_WITH_ERRORS
    axis = Axis(0.0, longest or 1.0, NAMES, WIDTH - beside)
    rows = [_row(bar, axis, ROW * place) for place, bar in enumerate(bars)]
    return drawing(title, description, WIDTH, ROW * len(bars), rows)


def _row(bar: _Bar, axis: Axis, top: float) -> Html:
    end = axis(max(bar.value, 0.0))
    beyond = end if bar.mark is None else max(end, axis(bar.mark))
    mark = None if bar.mark is None else line((axis(bar.mark), top + 2), (axis(bar.mark), top + ROW - 3), "mark")
    name = shortened(bar.name, LONGEST_NAME)
    return joined(
        [
            text(NAMES - 8, top + 15, [name, element("title", bar.name)], "bar-name", "end"),
            rectangle(axis.start, top + 4, end - axis.start, ROW - 8, bar.class_),
            mark,
            text(beyond + 6, top + 15, bar.figure, "tick"),
        ]
    )
