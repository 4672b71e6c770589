"""A comparison as a picture: for each method a bar with its interval, and its time."""

from __future__ import annotations

from selfpaced._jobs.compare import Compared, Comparison
from selfpaced._jobs.paired import CONFIDENCE
from selfpaced.report.figures.svg import Axis, drawing, line, rectangle, text
from selfpaced.report.html import Html, element, joined

WIDTH, LINE = 760, 28
AXIS = Axis(0.0, 1.0, start=270, stop=560)
STYLE = Html("""
text { font: 14px system-ui, sans-serif; fill: #222 } .grey { fill: #666 }
rect { fill: #9db7d5 } .best { fill: #1f5fa8 } line { stroke: #111; stroke-width: 1.5 }
.chance { stroke: #c33; stroke-dasharray: 3 3; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .grey { fill: #aaa } rect { fill: #46648a } .best { fill: #7fb2ec } line { stroke: #fff }
  .chance { stroke: #f77 }
}
""")


def drawn(comparison: Comparison) -> str:
    """An SVG file for pages and slides. It follows the light or dark mode of the page."""
    methods = [one for one in comparison.methods if one.aucprc is not None]
    height, chance = LINE * (len(methods) + 3), AXIS(comparison.chance)
    held_out = f"AUCPRC on {comparison.n_test:,} rows held out, with {CONFIDENCE:.0%} intervals"
    picture = drawing(
        f"AUCPRC of {len(methods)} methods on the same rows",
        ", ".join(f"{one.method} {one.aucprc:.3f}" for one in methods),
        WIDTH,
        height,
        element("style", STYLE),
        text(AXIS.start, 20, held_out, "grey"),
        [_bar(place, one) for place, one in enumerate(methods)],
        line((chance, LINE), (chance, height - LINE), "chance"),
        text(chance + 4, height - 10, f"chance {comparison.chance:.4f}", "grey"),
        xmlns="http://www.w3.org/2000/svg",
    )
    return f"{picture}\n"


def _bar(place: int, one: Compared) -> Html:
    assert one.aucprc is not None
    top, end = LINE * (place + 1), AXIS(one.aucprc)
    beyond = end if one.interval is None else max(end, AXIS(one.interval[1]))
    return joined(
        [
            text(AXIS.start - 10, top + 18, one.method, "name", "end"),
            rectangle(AXIS.start, top + 5, end - AXIS.start, LINE - 10, "best" if place == 0 else "bar"),
            _whisker(one, top + LINE / 2),
            text(beyond + 6, top + 18, f"{one.aucprc:.3f}", "value"),
            text(WIDTH - 10, top + 18, f"{one.seconds:.1f} s", "grey", "end"),
        ]
    )


def _whisker(one: Compared, y: float) -> Html | None:
    if one.interval is None:
        return None
    low, high = (AXIS(end) for end in one.interval)
    ends = [line((x, y - 4), (x, y + 4), "whisker-end") for x in (low, high)]
    return joined([line((low, y), (high, y), "whisker"), *ends])
