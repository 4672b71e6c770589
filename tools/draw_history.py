"""Draw `docs/images/history.svg`: what a row may see. `make pictures` runs this.

The figures below the drawing are features of the drawn rows, so that picture and library cannot differ.

Usage: python tools/draw_history.py [FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from selfpaced.history import History

FILE = Path(__file__).parents[1] / "docs" / "images" / "history.svg"
NOW = pd.Timestamp("2025-03-20 12:00")
# Days before and after the row, and whether it is a fraud.
ROWS = [
    *[(-15.6, 0), (-13.1, 0), (-12.0, 1), (-10.2, 1), (-8.1, 0)],
    *[(-6.0, 1), (-4.4, 0), (-3.0, 1), (-1.3, 0)],
    *[(0.0, 1), (0.0, 0), (1.3, 1)],
]
ROW = 9  # the one that is described; the next has the same instant, and the last comes later
WINDOW, DELAY = 7, 7  # days
WIDTH, HEIGHT, LEFT, DAY = 900, 386, 52, 44
TOP, BOTTOM = 116, 240  # of the two lines of rows
INK, GREY, BLUE, RED = "#22303c", "#66707a", "#2f6db5", "#c0392b"
SEEN, KNOWN = "#dbe8f7", "#f7e6c8"


def x_of(day: float) -> float:
    return LEFT + (day + 16.5) * DAY


def text(x: float, y: float, words: str, *, color: str = INK, anchor: str = "start", weight: int = 400) -> str:
    look = f'fill="{color}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {look}>{words}</text>'


def band(first: float, last: float, y: float, color: str, words: str) -> Iterator[str]:
    """A window: a coloured field with its name above."""
    x, width = x_of(first), (last - first) * DAY
    yield f'<rect x="{x:.0f}" y="{y - 26}" width="{width:.0f}" height="52" rx="6" fill="{color}"/>'
    yield text(x + width / 2, y - 34, words, anchor="middle", weight=600)


def mark(day: float, y: float, kind: str) -> str:
    """A payment: a circle, a diamond if it is known to be a fraud, a ring if nothing of it is seen."""
    x = x_of(day)
    if kind == "fraud":
        return f'<path d="M{x:.0f} {y - 10}l10 10l-10 10l-10 -10z" fill="{RED}"/>'
    if kind == "unknown":
        ring = f'<circle cx="{x:.0f}" cy="{y}" r="9" fill="#ffffff" stroke="{GREY}" stroke-width="1.5"/>'
        return ring + text(x, y + 5, "?", color=GREY, anchor="middle")
    look = f'fill="{BLUE}"' if kind == "row" else f'fill="#ffffff" stroke="{GREY}" stroke-dasharray="3 2"'
    return f'<circle cx="{x:.0f}" cy="{y}" r="8" {look}/>'


def lines() -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    yield ' font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="15" role="img">'
    yield "<title>What a row may see of the earlier rows of its terminal</title>"
    # A background of its own: the picture is read on light and on dark pages.
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>'
    yield text(24, 32, "Payments at one terminal, in the order of time", weight=700)
    now = x_of(0)
    yield f'<path d="M{now:.0f} 56V{BOTTOM + 40}" stroke="{INK}" stroke-width="1.5" stroke-dasharray="5 4"/>'
    yield text(now, 50, "the row to describe, at t", anchor="middle", weight=600)
    yield from band(-WINDOW, 0, TOP, SEEN, "rows: window 7d, t itself excluded")
    yield from band(-WINDOW - DELAY, -DELAY, BOTTOM, KNOWN, "labels: window 7d, which ends a delay of 7d before t")
    for y in (TOP, BOTTOM):
        yield f'<path d="M{LEFT - 20} {y}H{WIDTH - 24}" stroke="{GREY}" stroke-width="1"/>'
    for number, (day, is_fraud) in enumerate(ROWS):
        if number == ROW + 1:  # of the same instant: drawn beside, because both would be one mark
            yield mark(day, TOP + 40, "hidden")
            yield text(now - 16, TOP + 45, "a row of the same instant is not seen", color=GREY, anchor="end")
            continue
        if number == ROW:
            yield f'<circle cx="{now:.0f}" cy="{TOP}" r="10" fill="{INK}"/>'
            yield f'<circle cx="{now:.0f}" cy="{BOTTOM}" r="10" fill="{INK}"/>'
            continue
        yield mark(day, TOP, "row" if -WINDOW <= day < 0 else "hidden")
        is_known = -WINDOW - DELAY <= day <= -DELAY
        label = "fraud" if is_fraud else "row"
        yield mark(day, BOTTOM, label if is_known else "unknown" if -DELAY < day < 0 else "hidden")
    yield text(x_of(ROWS[-1][0]), TOP - 18, "later", color=GREY, anchor="middle")
    yield text(x_of(-3.5), BOTTOM + 30, "delay 7d: labels not known yet", color=GREY, anchor="middle")
    for x, kind, words in ((500, "row", "seen"), (590, "fraud", "known fraud"), (740, "hidden", "not seen")):
        yield mark((x - LEFT) / DAY - 16.5, 346, kind) + text(x + 16, 351, words)
    yield from figures()
    yield "</svg>"


def figures() -> Iterator[str]:
    """The features of the row in the middle, by the library."""
    frame = pd.DataFrame({"when": [NOW + pd.Timedelta(days=day) for day, _ in ROWS], "terminal": 1})
    history = History("when", "terminal", windows=["7d"], delay="7d", base_rate=0.01)
    row = history.features(frame, [is_fraud for _, is_fraud in ROWS]).iloc[ROW]
    share = f"({row['terminal_rare_7d']:.0f} + 10 · 0.01) / ({row['terminal_known_7d']:.0f} + 10)"
    shown = [
        f"terminal_rows_7d  = {row['terminal_rows_7d']:.0f}",
        f"terminal_known_7d = {row['terminal_known_7d']:.0f}",
        f"terminal_rare_7d  = {row['terminal_rare_7d']:.0f}",
        f"terminal_share_7d = {share} = {row['terminal_share_7d']:.2f}",
    ]
    yield '<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" style="white-space: pre">'
    yield from (text(24, 312 + 19 * number, words) for number, words in enumerate(shown))
    yield "</g>"


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    file.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    print(f"{file} is drawn")


if __name__ == "__main__":
    main()
