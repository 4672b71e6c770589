"""A comparison as a picture: a bar for each method, with its time beside it."""

from __future__ import annotations

from html import escape

from selfpaced.jobs.compare import Compared, Comparison

WIDTH, NAME_WIDTH, BAR_WIDTH, LINE = 720, 240, 300, 28
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #222 } .grey { fill: #666 }
rect { fill: #9db7d5 } .best { fill: #1f5fa8 } line { stroke: #c33; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .grey { fill: #aaa } rect { fill: #46648a } .best { fill: #7fb2ec }
}
"""


def drawn(comparison: Comparison) -> str:
    """One SVG file, for a page or a slide, light or dark."""
    methods = [one for one in comparison.methods if one.aucprc is not None]
    height = LINE * (len(methods) + 3)
    chance = NAME_WIDTH + BAR_WIDTH * comparison.chance
    bars = "".join(_bar(place, one) for place, one in enumerate(methods))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>AUCPRC of {len(methods)} methods on the same rows</title><style>{STYLE}</style>"
        f'<text x="{NAME_WIDTH}" y="20" class="grey">AUCPRC on {comparison.n_test:,} rows held out</text>{bars}'
        f'<line x1="{chance:.1f}" x2="{chance:.1f}" y1="{LINE}" y2="{height - LINE}"/>'
        f'<text x="{chance + 4:.1f}" y="{height - 10}" class="grey">chance {comparison.chance:.4f}</text></svg>\n'
    )


def _bar(place: int, one: Compared) -> str:
    assert one.aucprc is not None
    top = LINE * (place + 1)
    kind = ' class="best"' if place == 0 else ""
    end = NAME_WIDTH + BAR_WIDTH * one.aucprc
    return (
        f'<text x="{NAME_WIDTH - 10}" y="{top + 18}" text-anchor="end">{escape(one.method)}</text>'
        f'<rect x="{NAME_WIDTH}" y="{top + 5}" width="{BAR_WIDTH * one.aucprc:.1f}" height="{LINE - 10}"{kind}/>'
        f'<text x="{end + 6:.1f}" y="{top + 18}">{one.aucprc:.3f}</text>'
        f'<text x="{WIDTH - 10}" y="{top + 18}" text-anchor="end" class="grey">{one.seconds:.1f} s</text>'
    )
