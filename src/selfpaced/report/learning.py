"""How the ensemble learned, round by round."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np

from selfpaced.callbacks import BinNotes
from selfpaced.report import html
from selfpaced.report.about import eval_scores_of, rounds_of
from selfpaced.report.course import course_figure
from selfpaced.report.html import Frame, Html, decimals, percent, whole

MOST_BINS_SHOWN = 40


@dataclass(frozen=True)
class HardnessHistogram:
    """The hardness bins of the class that most rows are drawn from. The mean of an empty bin is None."""

    counts: tuple[int, ...]
    drawn: tuple[int, ...]
    mean_hardness: tuple[float | None, ...]

    @property
    def zones(self) -> dict[str, float]:
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


HEIGHT = 300
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
        [_bar(frame, bins, place) for place in range(len(bins.counts))],
        [_zone(frame, name, share) for name, share in bins.zones.items()],
        [html.rectangle(x, 5, 10, 10, f"bar {class_}") for x, (class_, _) in keys.items()],
        [html.text(x + 15, 14, words, "axis-name") for x, (_, words) in keys.items()],
    )


def alpha_text(alpha: float) -> str:
    """
    >>> [alpha_text(alpha) for alpha in (0.1584, 3.08, 1.6e16)]
    ['0.16', '3.1', '∞']
    """
    return "∞" if alpha > 1e6 else f"{alpha:.2g}"


def _bar(frame: Frame, bins: HardnessHistogram, place: int) -> Html:
    width = (frame.x.stop - frame.x.start) / len(bins.counts)
    left, floor_y = frame.x.start + place * width, frame.y.start
    count, drawn = bins.counts[place], bins.drawn[place]
    words = html.element("title", f"{whole(count)} rows, {whole(drawn)} drawn")
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
ROUND_COLUMNS: html.Columns = {
    "Round": ("number", lambda number: str(number) if number else "warm-up"),
    "α": ("alpha", alpha_text),
    "Rows trained on": ("n_rows", whole),
    "Trivial": ("binned.zones", lambda zones: percent(zones["trivial"])),
    "Borderline": ("binned.zones", lambda zones: percent(zones["borderline"])),
    "Noise": ("binned.zones", lambda zones: percent(zones["noise"])),
    "AUCPRC": ("aucprc", decimals),
}


def learning(learned: Learning) -> html.Section:
    binned = [(note, note.binned) for note in learned.rounds if note.binned is not None]
    zones = {zone: [bins.zones[zone] for _, bins in binned] for zone in ZONES}
    scored = {str(note.number): note.aucprc for note in learned.rounds if note.aucprc is not None}
    low, high = floor(20 * min(scored.values(), default=0)) / 20, ceil(20 * max(scored.values(), default=1)) / 20
    by_member, scored_on = {"AUCPRC": list(scored.values())}, f"Measured on {learned.scored_on}."
    return html.section(
        "learning",
        "Learning",
        "How the ensemble learned",
        _hardness(learned, binned) if binned else None,
        html.columns(
            course_figure("Where rows were drawn from", [str(note.number) for note, _ in binned], zones, _DRAWN, 1.0),
            course_figure("AUCPRC by round", list(scored), by_member, scored_on, max(high, low + 0.05), low),
        ),
        html.unfolding("All rounds in figures", html.records(ROUND_COLUMNS, learned.rounds)),
    )


_DRAWN = (
    "The shares of the rows that each round drew. Without self-pacing they would be those of the pool. Trivial, "
    "borderline and noise are fifths of the range of hardness (the lowest, the middle three, the highest). They help "
    "the reader, and are not part of the algorithm."
)


def _hardness(learned: Learning, binned: Sequence[tuple[RoundFacts, HardnessHistogram]]) -> Html:
    """The histograms of some rounds, among them the first and the last, one of which the slider shows."""
    places = sorted({round(place) for place in np.linspace(0, len(binned) - 1, MOST_HISTOGRAMS)})
    most = max(max(bins.counts) for _, bins in binned)
    n_rounds = learned.rounds[-1].number
    frames = [
        html.figure(
            f"Round {note.number} of {n_rounds}",
            hardness_histogram(note, bins, most, n_rounds),
            _what_happened(note, bins),
            data_frame=number,
            hidden=number > 0,
        )
        for number, (note, bins) in enumerate(binned[place] for place in places)
    ]
    ends = {"min": 0, "max": len(frames) - 1, "step": 1, "value": 0}
    slider = html.element("input", type="range", id="round", **ends, autocomplete="off")
    label = html.element("label", "Round", for_="round")
    return html.columns(
        html.element(
            "div", html.element("div", label, slider, class_="slider"), html.element("div", frames, class_="frames")
        ),
        html.prose(
            html.paragraph(
                "Hardness is how wrong the ensemble so far is about a row of the class ",
                html.label(str(learned.drawn_class)),
                ". Every round sorts these rows into bins by hardness and draws from each: early rounds let every bin "
                "contribute the same hardness, late rounds the same number of rows (α grows). So few of the many "
                "trivial rows are drawn, and borderline rows gain weight without over-sampling noise.",
            )
        ),
    )


def _what_happened(note: RoundFacts, bins: HardnessHistogram) -> str:
    pool, drawn = zone_shares(bins.counts), bins.zones
    alpha = "" if note.alpha is None else f"α = {alpha_text(note.alpha)}. "
    return (
        f"{alpha}{whole(sum(bins.drawn))} of {whole(sum(bins.counts))} rows were drawn. Borderline rows are "
        f"{percent(pool['borderline'])} of the pool and {percent(drawn['borderline'])} of the draw."
    )
