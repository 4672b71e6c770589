"""How the ensemble learned: hardness, draws and AUCPRC, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from selfpaced.report.facts import HardnessBins, Learning, RoundFacts
from selfpaced.report.figures.svg import Axis, Frame, dot, drawing, grid, line, path, rectangle, text
from selfpaced.report.html import Html, element, joined
from selfpaced.report.words import decimals, percent, whole

WIDTH, HEIGHT, SHORT = 460, 300, 200
LEFT, RIGHT, TOP, BOTTOM = 46, 16, 28, 42
LOWEST_COUNT = 0.7  # below 1 on a logarithmic axis, so that a bin of one row can be seen
# Fifths of the range of hardness. They help the reader, and are not part of the algorithm.
ZONES = {"trivial": (0.0, 0.2), "borderline": (0.2, 0.8), "noise": (0.8, 1.0)}


def zone_shares(counts: Sequence[int]) -> dict[str, float]:
    """How the rows in bins are divided among the zones; a bin counts where its middle is.

    >>> zone_shares([60, 10, 10, 10, 10])
    {'trivial': 0.6, 'borderline': 0.3, 'noise': 0.1}
    """
    total = sum(counts) or 1
    middles = [(place + 0.5) / len(counts) for place in range(len(counts))]
    return {
        name: sum(count for count, middle in zip(counts, middles, strict=True) if low <= middle < high) / total
        for name, (low, high) in ZONES.items()
    }


def hardness_histogram(note: RoundFacts, bins: HardnessBins, most: int, n_rounds: int) -> Html:
    """Rows in each hardness bin, and how many of them were drawn. `most` is the top of the axis, for all rounds."""
    frame = _frame(most)
    powers = range(0, ceil(log10(max(most, 10))) + 1)
    ticks = {10.0**power: _short(10**power) for power in powers if 10**power <= most * 1.3}
    zones = zone_shares(bins.drawn)
    return drawing(
        f"Hardness in round {note.number} of {n_rounds}",
        "Rows drawn: " + ", ".join(f"{percent(share)} {name}" for name, share in zones.items()) + ".",
        WIDTH,
        HEIGHT,
        grid(frame, {}, ticks, "", "rows by hardness (log scale)"),
        [_bar(frame, bins, place, labelled=True) for place in range(len(bins.counts))],
        [_zone(frame, name, share) for name, share in zones.items()],
        _key(frame.x.stop - 150, "bar pool", "in the pool"),
        _key(frame.x.stop - 58, "bar other", "drawn"),
    )


def _key(x: float, class_: str, words: str) -> Html:
    return joined([rectangle(x, TOP - 23, 10, 10, class_), text(x + 15, TOP - 14, words, "axis-name")])


def hardness_thumbnail(note: RoundFacts, bins: HardnessBins, most: int) -> Html:
    frame = Frame(Axis(0, 1, 2, 138), Axis(LOWEST_COUNT, most, 78, 20, True))
    alpha = "" if note.alpha is None else f"α {alpha_text(note.alpha)}"
    return drawing(
        f"Round {note.number}",
        f"{whole(sum(bins.drawn))} rows drawn.",
        140,
        84,
        text(2, 12, f"round {note.number}", "tick strong"),
        text(138, 12, alpha, "tick", "end"),
        [_bar(frame, bins, place) for place in range(len(bins.counts))],
        line((2, 78.5), (138, 78.5), "base"),
    )


def alpha_text(alpha: float) -> str:
    """
    >>> [alpha_text(alpha) for alpha in (0.1584, 3.08, 1.6e16)]
    ['0.16', '3.1', '∞']
    """
    return "∞" if alpha > 1e6 else f"{alpha:.2g}"


def _frame(most: int) -> Frame:
    x, y = Axis(0, 1, LEFT, WIDTH - RIGHT), Axis(LOWEST_COUNT, max(most, 10), HEIGHT - BOTTOM, TOP, True)
    return Frame(x, y)


def _bar(frame: Frame, bins: HardnessBins, place: int, labelled: bool = False) -> Html:
    width = (frame.x.stop - frame.x.start) / len(bins.counts)
    left, floor_y = frame.x.start + place * width, frame.y.start
    count, drawn = bins.counts[place], bins.drawn[place]
    words = element("title", f"{whole(count)} rows, {whole(drawn)} drawn") if labelled else None
    tall, short = (frame.y(value) if value else floor_y for value in (count, drawn))
    return joined(
        [
            rectangle(left + 0.06 * width, tall, 0.88 * width, floor_y - tall, "bar pool", words),
            rectangle(left + 0.06 * width, short, 0.88 * width, floor_y - short, "bar other", words),
        ]
    )


def _zone(frame: Frame, name: str, share: float) -> Html:
    low, high = (frame.x(end) for end in ZONES[name])
    y = frame.y.start + 5
    return joined(
        [
            line((low + 2, y), (high - 2, y), f"zone {name}"),
            text((low + high) / 2, y + 16, name, "tick strong", "middle"),
            text((low + high) / 2, y + 31, f"{percent(share)} of draws", "tick", "middle"),
        ]
    )


def drawn_by_round(rounds: Sequence[tuple[RoundFacts, HardnessBins]]) -> Html:
    """Where the rows of each round were drawn from, as shares of the zones."""
    frame = Frame(Axis(0.5, len(rounds) + 0.5, LEFT, WIDTH - 74), Axis(0, 1, SHORT - BOTTOM, TOP))
    shares = [zone_shares(bins.drawn) for _, bins in rounds]
    names = [str(note.number) for note, _ in rounds]
    return drawing(
        "Where rows were drawn from",
        f"The share of trivial rows goes from {percent(shares[0]['trivial'])} to {percent(shares[-1]['trivial'])}.",
        WIDTH,
        SHORT,
        grid(frame, _numbered(names), {0.0: "0", 0.5: "50%", 1.0: "100%"}, "round", "share of the rows drawn"),
        [_stack(frame, place, share) for place, share in enumerate(shares, 1)],
        _zone_names(frame, shares[-1]),
    )


def _stack(frame: Frame, place: int, shares: dict[str, float]) -> Html:
    left, right = frame.x(place - 0.42), frame.x(place + 0.42)
    bars, below = [], 0.0
    for name, share in shares.items():
        top, bottom = frame.y(below + share), frame.y(below)
        bars.append(
            rectangle(
                left, top, right - left, bottom - top, f"bar {name}", element("title", f"{percent(share)} {name}")
            )
        )
        below += share
    return joined(bars)


def _zone_names(frame: Frame, shares: dict[str, float]) -> Html:
    """The names beside the last round, each at the height of its part, without overlaps."""
    words, below, lowest = [], 0.0, frame.y.start + 4
    for name, share in shares.items():
        y = min(frame.y(below + share / 2) + 4, lowest)
        words.append(text(frame.x.stop + 4, y, name, name))
        below, lowest = below + share, y - 15
    return joined(words)


def aucprc_by_round(learning: Learning) -> Html:
    scored = [(note.number, note.aucprc) for note in learning.rounds if note.aucprc is not None]
    scores = [score for _, score in scored]
    low, high = floor(20 * min(scores)) / 20, ceil(20 * max(scores)) / 20
    frame = Frame(Axis(0.5, len(scored) + 0.5, LEFT, WIDTH - 74), Axis(low, max(high, low + 0.05), SHORT - BOTTOM, TOP))
    points = [frame.point(place, score) for place, (_, score) in enumerate(scored, 1)]
    ticks = {value: decimals(value) for value in (low, (low + frame.y.high) / 2, frame.y.high)}
    return drawing(
        "AUCPRC by round",
        f"From {decimals(scores[0])} with one member to {decimals(scores[-1])} with all.",
        WIDTH,
        SHORT,
        grid(frame, _numbered([str(number) for number, _ in scored]), ticks, "members so far", "AUCPRC"),
        path(points, "curve case thin"),
        [
            dot(point, 3.5, "point case", element("title", decimals(score)))
            for point, score in zip(points, scores, strict=True)
        ],
        text(points[-1][0] + 9, points[-1][1] + 4, decimals(scores[-1]), "value case"),
    )


def _numbered(names: Sequence[str]) -> dict[float, str]:
    """Names of the places 1, 2, ...; if there are many, only some of them and the last."""
    step = ceil(len(names) / 12)
    return {float(place): name for place, name in enumerate(names, 1) if (len(names) - place) % step == 0}


def _short(count: int) -> str:
    """
    >>> [_short(count) for count in (10, 1000, 10_000_000)]
    ['10', '1k', '10M']
    """
    for size, letter in ((10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count // size}{letter}"
    return str(count)
