"""Shares as a hundred dots."""

from __future__ import annotations

from selfpaced.report.figures.svg import dot, drawing
from selfpaced.report.html import Html

STEP = 14


def hundred_dots(title: str, share: float) -> Html:
    """Ten rows of ten dots. From the bottom left, as many are filled as the share has per cent."""
    n_filled = round(100 * share)
    dots = [
        dot((STEP * (n % 10 + 0.5), STEP * (9.5 - n // 10)), 5, "dot filled" if n < n_filled else "dot")
        for n in range(100)
    ]
    return drawing(title, f"{n_filled} of 100 dots are filled.", 10 * STEP, 10 * STEP, dots, class_="dots")
