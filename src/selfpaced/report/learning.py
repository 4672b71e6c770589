"""How the ensemble learned, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np

from selfpaced.callbacks import BinNotes
from selfpaced.report import html
from selfpaced.report.about import eval_scores_of, rounds_of
from selfpaced.report.html import Axis, Frame, Html, decimals, percent, whole

MOST_BINS_SHOWN = 40


@dataclass(frozen=True)
class HardnessHistogram:
    """The hardness bins of the class that most rows are drawn from. The mean of an empty bin is None."""

    counts: tuple[int, ...]
    drawn: tuple[int, ...]
    mean_hardness: tuple[float | None, ...]

    @property
    def mean(self) -> float:
        """The mean hardness of all rows."""
        means = zip(self.counts, self.mean_hardness, strict=True)
        return sum(count * mean for count, mean in means if mean is not None) / max(1, sum(self.counts))

    @property
    def zones(self) -> dict[str, float]:
        """The shares of the zones among the rows drawn."""
        return zone_shares(self.drawn)


@dataclass(frozen=True)
class RoundFacts:
    number: int
    alpha: float | None
    n_rows: int
    aucprc: float | None
    bins: HardnessHistogram | None

    @property
    def binned(self) -> HardnessHistogram | None:
        """The bins, if there are several."""
        return self.bins if self.bins is not None and len(self.bins.counts) > 1 else None


@dataclass(frozen=True)
class Learning:
    """The rounds. `drawn_class` is the label of the rows in the bins; `scored_on` names the rows of the AUCPRC."""

    rounds: tuple[RoundFacts, ...]
    drawn_class: str | None
    scored_on: str


def learning_facts(model: Any, stage_scores: Sequence[float] | None) -> Learning | None:
    """The rounds of an ensemble with the AUCPRC after each member; None if nothing is known.

    `stage_scores` are measured on the rows of the report. Without them the report shows the scores on the eval_set.
    """
    notes = rounds_of(model)
    scores = list(stage_scores or eval_scores_of(model))
    if not notes and not scores:
        return None
    bins = notes[-1].bins if notes else {}
    drawn_class = max(bins, key=lambda label: bins[label].counts.sum(), default=None)  # most rows are drawn from it
    n_warm_ups = sum(note.number == 0 for note in notes)
    by_round: list[float | None] = [None] * n_warm_ups + scores
    rounds = tuple(
        RoundFacts(
            note.number,
            note.alpha,
            note.n_rows,
            by_round[place] if place < len(by_round) else None,
            _bins(note.bins.get(drawn_class)),
        )
        for place, note in enumerate(notes)
    )
    label = None if drawn_class is None else str(drawn_class)
    return Learning(rounds, label, "these rows" if stage_scores else "the eval_set of the fit")


def _bins(notes: BinNotes | None) -> HardnessHistogram | None:
    """At most 40 bins, neighbours taken together where there are more."""
    if notes is None:
        return None
    starts = np.unique(np.linspace(0, notes.counts.size, MOST_BINS_SHOWN, endpoint=False).astype(np.intp))
    counts, drawn = (np.add.reduceat(values, starts) for values in (notes.counts, notes.quota))
    total = np.add.reduceat(np.where(notes.counts > 0, notes.counts * np.nan_to_num(notes.mean_hardness), 0.0), starts)
    means = [round(float(of_bin / count), 6) if count else None for of_bin, count in zip(total, counts, strict=True)]
    return HardnessHistogram(tuple(counts.tolist()), tuple(drawn.tolist()), tuple(means))


HEIGHT, SHORT = 300, 200
BESIDE = 74  # the space for texts on the right
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


def hardness_histogram(note: RoundFacts, bins: HardnessHistogram, most: int, n_rounds: int) -> Html:
    """Rows in each hardness bin, and how many of them were drawn. `most` is the top of the axis, for all rounds."""
    frame = Frame.of((0, 1), (LOWEST_COUNT, max(most, 10)), HEIGHT, log="y")
    powers = range(0, ceil(log10(max(most, 10))) + 1)
    ticks = {10.0**power: _short(10**power) for power in powers if 10**power <= most * 1.3}
    keys = {frame.x.stop - 165: ("pool", "in the pool"), frame.x.stop - 58: ("other", "drawn")}
    return frame.drawing(
        f"Hardness in round {note.number} of {n_rounds}",
        "Rows drawn: " + ", ".join(f"{percent(share)} {name}" for name, share in bins.zones.items()) + ".",
        html.grid(frame, {}, ticks, "", "rows by hardness (log scale)"),
        [_bar(frame, bins, place, labelled=True) for place in range(len(bins.counts))],
        [_zone(frame, name, share) for name, share in bins.zones.items()],
        [html.rectangle(x, 5, 10, 10, f"bar {class_}") for x, (class_, _) in keys.items()],
        [html.text(x + 15, 14, words, "axis-name") for x, (_, words) in keys.items()],
    )


def hardness_thumbnail(note: RoundFacts, bins: HardnessHistogram, most: int) -> Html:
    frame = Frame(Axis(0, 1, 2, 138), Axis(LOWEST_COUNT, most, 78, 20, True), 84)
    alpha = "" if note.alpha is None else f"α {alpha_text(note.alpha)}"
    return html.drawing(
        f"Round {note.number}",
        f"{whole(sum(bins.drawn))} rows drawn.",
        140,
        frame.height,
        html.text(2, 12, f"round {note.number}", "tick strong"),
        html.text(138, 12, alpha, "tick", "end"),
        [_bar(frame, bins, place) for place in range(len(bins.counts))],
        html.line((2, 78.5), (138, 78.5), "base"),
    )


def alpha_text(alpha: float) -> str:
    """
    >>> [alpha_text(alpha) for alpha in (0.1584, 3.08, 1.6e16)]
    ['0.16', '3.1', '∞']
    """
    return "∞" if alpha > 1e6 else f"{alpha:.2g}"


def _bar(frame: Frame, bins: HardnessHistogram, place: int, labelled: bool = False) -> Html:
    width = (frame.x.stop - frame.x.start) / len(bins.counts)
    left, floor_y = frame.x.start + place * width, frame.y.start
    count, drawn = bins.counts[place], bins.drawn[place]
    words = html.element("title", f"{whole(count)} rows, {whole(drawn)} drawn") if labelled else None
    tall, short = (frame.y(value) if value else floor_y for value in (count, drawn))
    return html.joined(
        html.rectangle(left + 0.06 * width, tall, 0.88 * width, floor_y - tall, "bar pool", words),
        html.rectangle(left + 0.06 * width, short, 0.88 * width, floor_y - short, "bar other", words),
    )


def _zone(frame: Frame, name: str, share: float) -> Html:
    low, high = (frame.x(end) for end in ZONES[name])
    y = frame.y.start + 5
    return html.joined(
        html.line((low + 2, y), (high - 2, y), f"zone {name}"),
        html.text((low + high) / 2, y + 16, name, "tick strong", "middle"),
        html.text((low + high) / 2, y + 31, f"{percent(share)} of draws", "tick", "middle"),
    )


def drawn_by_round(rounds: Sequence[tuple[RoundFacts, HardnessHistogram]]) -> Html:
    """Where the rows of each round were drawn from, as shares of the zones."""
    frame = Frame.of((0.5, len(rounds) + 0.5), (0, 1), SHORT, right=BESIDE)
    shares = [bins.zones for _, bins in rounds]
    names = _numbered([str(note.number) for note, _ in rounds])
    return frame.drawing(
        "Where rows were drawn from",
        f"The share of trivial rows goes from {percent(shares[0]['trivial'])} to {percent(shares[-1]['trivial'])}.",
        html.grid(frame, names, {0.0: "0", 0.5: "50%", 1.0: "100%"}, "round", "share of the rows drawn"),
        [_stack(frame, place, share) for place, share in enumerate(shares, 1)],
        _zone_names(frame, shares[-1]),
    )


def _stack(frame: Frame, place: int, shares: dict[str, float]) -> Html:
    left, right = frame.x(place - 0.42), frame.x(place + 0.42)
    bars, below = [], 0.0
    for name, share in shares.items():
        top, bottom = frame.y(below + share), frame.y(below)
        words = html.element("title", f"{percent(share)} {name}")
        bars.append(html.rectangle(left, top, right - left, bottom - top, f"bar {name}", words))
        below += share
    return html.joined(bars)


def _zone_names(frame: Frame, shares: dict[str, float]) -> Html:
    """The names beside the last round, each at the height of its part, without overlaps."""
    words, below, lowest = [], 0.0, frame.y.start + 4
    for name, share in shares.items():
        y = min(frame.y(below + share / 2) + 4, lowest)
        words.append(html.text(frame.x.stop + 4, y, name, name))
        below, lowest = below + share, y - 15
    return html.joined(words)


def aucprc_by_round(learning: Learning) -> Html:
    scored = {str(note.number): note.aucprc for note in learning.rounds if note.aucprc is not None}
    scores = list(scored.values())
    low, high = floor(20 * min(scores)) / 20, ceil(20 * max(scores)) / 20
    frame = Frame.of((0.5, len(scores) + 0.5), (low, max(high, low + 0.05)), SHORT, right=BESIDE)
    points = [frame.point(place, score) for place, score in enumerate(scores, 1)]
    ticks = {value: decimals(value) for value in (low, (low + frame.y.high) / 2, frame.y.high)}
    dots = zip(points, scores, strict=True)
    return frame.drawing(
        "AUCPRC by round",
        f"From {decimals(scores[0])} with one member to {decimals(scores[-1])} with all.",
        html.grid(frame, _numbered(list(scored)), ticks, "members so far", "AUCPRC"),
        html.path(points, "curve case thin"),
        [html.dot(point, 3.5, "point case", html.element("title", decimals(score))) for point, score in dots],
        html.text(points[-1][0] + 9, points[-1][1] + 4, decimals(scores[-1]), "value case"),
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


MOST_HISTOGRAMS = 24
MOST_THUMBNAILS = 12
Binned = list[tuple[RoundFacts, HardnessHistogram]]
ROUND_COLUMNS: html.Columns = {
    "Round": ("number", lambda number: str(number) if number else "warm-up"),
    "α": ("alpha", alpha_text),
    "Rows trained on": ("n_rows", whole),
    "Mean hardness": ("binned.mean", lambda mean: decimals(mean, 4)),
    "Trivial": ("binned.zones", lambda zones: percent(zones["trivial"])),
    "Borderline": ("binned.zones", lambda zones: percent(zones["borderline"])),
    "Noise": ("binned.zones", lambda zones: percent(zones["noise"])),
    "AUCPRC": ("aucprc", decimals),
}


def learning(learned: Learning) -> html.Section:
    binned = [(note, note.binned) for note in learned.rounds if note.binned is not None]
    is_scored = any(note.aucprc is not None for note in learned.rounds)
    scored_on = f"Measured on {learned.scored_on}."
    return html.section(
        "learning",
        "Learning",
        "How the ensemble learned",
        _hardness(learned, binned) if binned else None,
        html.columns(
            html.figure("Where rows were drawn from", drawn_by_round(binned), _DRAWN) if binned else None,
            html.figure("AUCPRC by round", aucprc_by_round(learned), scored_on) if is_scored else None,
        ),
        html.unfolding("All rounds in figures", html.records(ROUND_COLUMNS, learned.rounds)),
    )


_DRAWN = (
    "Without self-pacing the shares would be those of the pool. Trivial, borderline and noise are fifths of the range "
    "of hardness (the lowest, the middle three, the highest). They help the reader, and are not part of the algorithm."
)


def _hardness(learned: Learning, binned: Binned) -> Html:
    shown = evenly(binned, MOST_HISTOGRAMS)
    most = max(max(bins.counts) for _, bins in binned)
    n_rounds = learned.rounds[-1].number
    frames = [
        html.figure(
            f"Round {note.number} of {n_rounds}",
            hardness_histogram(note, bins, most, n_rounds),
            _what_happened(note, bins),
            data_frame=place,
            hidden=place > 0,
        )
        for place, (note, bins) in enumerate(shown)
    ]
    slider = (html.element("label", "Round", for_="round"), html.slider("round", len(shown), 0))
    few = evenly(binned, MOST_THUMBNAILS)
    return html.columns(
        html.element("div", html.element("div", slider, class_="slider"), html.element("div", frames, class_="frames")),
        html.prose(
            html.paragraph(
                "Hardness is how wrong the ensemble so far is about a row of the class ",
                html.label(str(learned.drawn_class)),
                ". Every round sorts these rows into bins by hardness and draws from each: early rounds let every bin "
                "contribute the same hardness, late rounds the same number of rows (α grows). So few of the many "
                "trivial rows are drawn, and borderline rows gain weight without over-sampling noise.",
            ),
            html.element("h3", "All rounds at a glance" if len(few) == len(binned) else "Some rounds at a glance"),
            html.element("div", [hardness_thumbnail(note, bins, most) for note, bins in few], class_="thumbnails"),
        ),
    )


def evenly(rounds: Binned, most: int) -> Binned:
    """A limited number of rounds, including the first and the last."""
    if len(rounds) <= most:
        return rounds
    return [rounds[round(place * (len(rounds) - 1) / (most - 1))] for place in range(most)]


def _what_happened(note: RoundFacts, bins: HardnessHistogram) -> str:
    pool, drawn = zone_shares(bins.counts), bins.zones
    alpha = "" if note.alpha is None else f"α = {alpha_text(note.alpha)}. "
    return (
        f"{alpha}{whole(sum(bins.drawn))} of {whole(sum(bins.counts))} rows were drawn. Borderline rows are "
        f"{percent(pool['borderline'])} of the pool and {percent(drawn['borderline'])} of the draw."
    )
