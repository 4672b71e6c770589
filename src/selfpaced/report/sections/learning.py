"""How the ensemble learned."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Facts, HardnessBins, Learning, RoundFacts
from selfpaced.report.figures import aucprc_by_round, drawn_by_round, hardness_histogram, hardness_thumbnail
from selfpaced.report.figures.rounds import alpha_text, zone_shares
from selfpaced.report.html import Html, element, table
from selfpaced.report.sections.parts import columns, figure, label, paragraph, section, unfolding
from selfpaced.report.words import decimals, percent, whole

MOST_HISTOGRAMS = 24
MOST_THUMBNAILS = 12
Binned = list[tuple[RoundFacts, HardnessBins]]


def learning(facts: Facts) -> Html | None:
    learned = facts.learning
    if learned is None:
        return None
    binned = [(note, note.bins) for note in learned.rounds if note.bins is not None and len(note.bins.counts) > 1]
    scored = any(note.aucprc is not None for note in learned.rounds)
    return section(
        "learning",
        "How the ensemble learned",
        _hardness(learned, binned) if binned else None,
        columns(
            figure("Where rows were drawn from", drawn_by_round(binned), _DRAWN) if binned else None,
            figure("AUCPRC by round", aucprc_by_round(learned), f"Measured on {learned.scored_on}.")
            if scored
            else None,
        ),
        unfolding("All rounds in figures", _rounds_table(learned)),
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
        figure(
            f"Round {note.number} of {n_rounds}",
            hardness_histogram(note, bins, most, n_rounds),
            _what_happened(note, bins),
            data_frame=place,
            hidden=place > 0,
        )
        for place, (note, bins) in enumerate(shown)
    ]
    return columns(
        element("div", _slider(len(shown)), element("div", frames, class_="frames")),
        element(
            "div",
            paragraph(
                "Hardness is how wrong the ensemble so far is about a row of the class ",
                label(str(learned.drawn_class)),
                ". Every round sorts these rows into bins by hardness and draws from each: early rounds let every bin "
                "contribute the same hardness, late rounds the same number of rows (α grows). So few of the many "
                "trivial rows are drawn, and borderline rows gain weight without over-sampling noise.",
            ),
            element("h3", "All rounds at a glance" if len(binned) <= MOST_THUMBNAILS else "Some rounds at a glance"),
            element(
                "div",
                [hardness_thumbnail(note, bins, most) for note, bins in evenly(binned, MOST_THUMBNAILS)],
                class_="thumbnails",
            ),
            class_="prose",
        ),
    )


def evenly(rounds: Binned, most: int) -> Binned:
    """A limited number of rounds, including the first and the last."""
    if len(rounds) <= most:
        return rounds
    return [rounds[round(place * (len(rounds) - 1) / (most - 1))] for place in range(most)]


def _slider(n_frames: int) -> Html:
    return element(
        "div",
        element("label", "Round", for_="round"),
        element("input", type="range", id="round", min=0, max=n_frames - 1, step=1, value=0, autocomplete="off"),
        class_="slider",
    )


def _what_happened(note: RoundFacts, bins: HardnessBins) -> str:
    pool, drawn = zone_shares(bins.counts), zone_shares(bins.drawn)
    alpha = "" if note.alpha is None else f"α = {alpha_text(note.alpha)}. "
    return (
        f"{alpha}{whole(sum(bins.drawn))} of {whole(sum(bins.counts))} rows were drawn. Borderline rows are "
        f"{percent(pool['borderline'])} of the pool and {percent(drawn['borderline'])} of the draw."
    )


def _rounds_table(learned: Learning) -> Html:
    return table(
        ["Round", "α", "Rows trained on", "Mean hardness", "Trivial", "Borderline", "Noise", "AUCPRC"],
        [_round_row(note) for note in learned.rounds],
        numbers=range(1, 8),
    )


def _round_row(note: RoundFacts) -> Sequence[str]:
    bins = note.bins if note.bins is not None and len(note.bins.counts) > 1 else None
    zones = ["", "", ""] if bins is None else [percent(share) for share in zone_shares(bins.drawn).values()]
    return [
        f"{note.number}" if note.number else "warm-up",
        "" if note.alpha is None else alpha_text(note.alpha),
        whole(note.n_rows),
        "" if bins is None else _mean_hardness(bins),
        *zones,
        "" if note.aucprc is None else decimals(note.aucprc),
    ]


def _mean_hardness(bins: HardnessBins) -> str:
    total = sum(count * mean for count, mean in zip(bins.counts, bins.mean_hardness, strict=True) if mean is not None)
    return decimals(total / max(1, sum(bins.counts)), 4)
