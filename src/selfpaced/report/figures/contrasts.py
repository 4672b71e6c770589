"""How features differ between rare and common rows."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.columns import number_text, shortened
from selfpaced.report.facts import Contrast
from selfpaced.report.figures.svg import Axis, drawing, line, rectangle, text
from selfpaced.report.html import Html, element, joined

WIDTH, NAMES = 460, 132
ROW, HEAD = 62, 14
LONGEST_NAME = 14


def contrast_strips(contrasts: Sequence[Contrast]) -> Html:
    """Two strips for each feature, from the 5% to the 95% quantile. The middle half is thick, the median is marked."""
    return drawing(
        "Features of rare and common rows",
        "; ".join(f"{one.name}: median {_median(one.cases)} against {_median(one.others)}" for one in contrasts) + ".",
        WIDTH,
        ROW * len(contrasts),
        [_pair(one, ROW * place) for place, one in enumerate(contrasts)],
    )


def _pair(one: Contrast, top: float) -> Html:
    low, high = (pick(one.cases + one.others) for pick in (min, max))
    axis = Axis(low, high, NAMES, WIDTH - 64)
    name = [shortened(one.name, LONGEST_NAME), element("title", one.name)]
    return joined(
        [
            text(NAMES - 12, top + HEAD + 12, name, "bar-name", "end"),
            _strip(axis, one.cases, top + HEAD, "case", "rare"),
            _strip(axis, one.others, top + HEAD + 17, "other", "common"),
            text(axis.start, top + HEAD + 38, number_text(low), "tick"),
            text(axis.stop, top + HEAD + 38, number_text(high), "tick", "end"),
        ]
    )


def _strip(axis: Axis, quantiles: Sequence[float], y: float, class_: str, words: str) -> Html:
    places = [axis(value) for value in quantiles]
    return joined(
        [
            line((places[0], y), (places[4], y), f"whisker {class_}"),
            rectangle(places[1], y - 5, max(places[3] - places[1], 1.0), 10, f"bar {class_}"),
            line((places[2], y - 8), (places[2], y + 8), "mark"),
            text(WIDTH, y + 4, words, class_, "end"),
        ]
    )


def _median(quantiles: Sequence[float]) -> str:
    return number_text(quantiles[2])
