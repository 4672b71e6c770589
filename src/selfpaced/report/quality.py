"""Ranking and calibration on the held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import expects_the_rare_rows
from selfpaced.metrics import Alerts, area_of
from selfpaced.report import html
from selfpaced.report.html import Frame, Html, Point, decimals, percent, whole
from selfpaced.thresholds import Interval, Sweep, middle_of, share_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    x: tuple[float, ...]
    y: tuple[float, ...]

    @classmethod
    def of(cls, x: Floats, y: Floats) -> Self:
        places = spread(MOST_POINTS, x, y)
        return cls(tuple(x[places].round(5).tolist()), tuple(y[places].round(5).tolist()))


@dataclass(frozen=True)
class RankingFacts:
    """The quality of the ranking. Random scores have the AUCPRC `chance`, the share of cases, and an AUROC of 0.5.

    With too few cases for a bootstrap there is no interval.
    """

    aucprc: float
    aucprc_interval: Interval | None
    auroc: float
    chance: float
    precision_recall: Curve
    roc: Curve


@dataclass(frozen=True)
class ScoreBin:
    """Rows with similar scores: their mean score against the share of cases among them."""

    n_rows: int
    mean_score: float
    share: float
    interval: Interval


@dataclass(frozen=True)
class Calibration:
    bins: tuple[ScoreBin, ...]
    brier: float
    brier_of_prevalence: float
    mean_score: float
    calibration_error: float


def spread(n_points: int, *coordinates: Floats) -> NDArray[np.intp]:
    """Places of at most `n_points` points of a line, both ends among them, at even steps along its length.

    A line with most of its points in one corner keeps its shape: every point is within one step of a chosen one.

    >>> spread(4, np.array([0.0, 0.1, 0.2, 1.0, 1.1])).tolist()
    [0, 3, 4]
    """
    length = np.zeros(coordinates[0].size)
    for values in coordinates:
        steps = np.diff(values)
        length[1:] += np.abs(steps, out=steps)
    np.cumsum(length, out=length)
    places = np.searchsorted(length, np.linspace(0, length[-1], n_points - 1))
    return np.unique([*places.tolist(), length.size - 1])


MOST_POINTS = 400
RESAMPLES = 200
FEWEST_CASES = 20  # with fewer, all may be found, and the interval would have no width
MOST_STEPS = 5000  # of the curve that is resampled


def ranking_facts(sweep: Sweep) -> RankingFacts:
    finds = sweep.finds
    found, alarms = sweep.found[finds], sweep.false_alarms[finds]
    alarms_before = np.where(finds > 0, sweep.false_alarms[finds - 1], 0)
    above = np.sum(np.diff(found, prepend=0) * (alarms + alarms_before.astype(np.float64))) / 2
    return RankingFacts(
        aucprc=area_of(found, found + alarms),
        aucprc_interval=aucprc_interval(sweep),
        auroc=float(1 - above / (float(sweep.n_positives) * sweep.n_negatives)),
        chance=sweep.n_positives / sweep.n_rows,
        precision_recall=Curve.of(sweep.recall, sweep.precision),
        roc=Curve.of(*(np.concatenate([[0.0], rate]) for rate in (sweep.false_alarm_rate, sweep.recall))),
    )


def aucprc_interval(sweep: Sweep, n_steps: int = MOST_STEPS) -> Interval | None:
    """The middle 90% of the AUCPRC of rows drawn again with replacement; None with too few rare rows.

    Between two rare rows only the number of common rows matters. Both numbers are drawn from Poisson distributions, so
    that a draw takes as many steps as there are rare rows, at most `n_steps`.
    """
    if sweep.n_positives < FEWEST_CASES:
        return None
    steps = sweep.finds
    steps = steps[np.unique(np.linspace(0, steps.size - 1, min(steps.size, n_steps)).astype(np.intp))]
    cases, others = (np.diff(total[steps], prepend=0) for total in (sweep.found, sweep.false_alarms))
    rng = np.random.default_rng(0)
    areas = []
    for _ in range(RESAMPLES):
        found, false_alarms = np.cumsum(rng.poisson(cases)), np.cumsum(rng.poisson(others))
        areas.append(area_of(found, found + false_alarms) if found[-1] else 0.0)
    return middle_of(areas)


MOST_BINS = 12


def calibration_facts(sweep: Sweep) -> Calibration | None:
    """Brier score and bins of similar scores; None if some scores are outside 0 to 1.

    Bins have equal weight, and both classes have the same total weight. With one rare row in a thousand, nearly all
    bins of equal size would have no rare row. Rows with the same score are in the same bin.
    """
    if sweep.thresholds[0] > 1 or sweep.thresholds[-1] < 0:
        return None
    n_rows, bins, brier = sweep.n_rows, [], 0.0
    for start, stop in pairwise([0, *_edges(sweep), sweep.thresholds.size]):
        if start < stop:
            cases, others = (
                np.diff(total[start:stop], prepend=total[start - 1] if start else 0)
                for total in (sweep.found, sweep.false_alarms)
            )
            scores, n, hits = sweep.thresholds[start:stop], int(cases.sum() + others.sum()), int(cases.sum())
            brier += float(np.sum(cases * (1 - scores) ** 2 + others * scores**2))
            mean = float(np.sum(scores * (cases + others)) / n)
            bins.append(ScoreBin(n, mean, hits / n, share_interval(hits, n)))
    prevalence = sweep.n_positives / n_rows
    return Calibration(
        bins=tuple(reversed(bins)),
        brier=brier / n_rows,
        brier_of_prevalence=prevalence * (1 - prevalence),
        mean_score=sum(one.n_rows * one.mean_score for one in bins) / n_rows,
        calibration_error=sum(one.n_rows * abs(one.mean_score - one.share) for one in bins) / n_rows,
    )


def _edges(sweep: Sweep) -> list[int]:
    """The first positions of the bins after the first one. A score is in the bin that half of its weight reaches."""
    reached = sweep.recall
    reached += sweep.false_alarm_rate
    reached[1:] += reached[:-1].copy()
    edges: list[int] = np.searchsorted(reached, 4 * np.arange(1, MOST_BINS) / MOST_BINS).tolist()
    return edges


UNIT = Frame.of((0, 1), (0, 1))
SHARES = {0.0: "0", 0.25: "25%", 0.5: "50%", 0.75: "75%", 1.0: "100%"}


def precision_recall_curve(ranking: RankingFacts, alerts: Alerts) -> Html:
    """The curve with the area AUCPRC, the level of chance, and the alerts at the suggested threshold."""
    chance_y = UNIT.y(ranking.chance)
    return _drawn(
        ("Precision and recall", "precision-recall"),
        f"The area under the curve is {decimals(ranking.aucprc)}; chance would be {percent(ranking.chance)}.",
        _steps(ranking.precision_recall),
        ("recall: share of all rare rows found", "precision: share of alerts that are right"),
        [
            html.line((UNIT.x.start, chance_y), (UNIT.x.stop, chance_y), "chance"),
            html.text(UNIT.x.start + 6, chance_y - 6, f"chance: {percent(ranking.chance)}", "aside"),
        ],
        f"AUCPRC {decimals(ranking.aucprc)}",
        UNIT.point(float(alerts.recall), float(alerts.precision)),
    )


def roc_curve(ranking: RankingFacts, alerts: Alerts) -> Html:
    return _drawn(
        ("ROC curve", "roc"),
        f"The area under the ROC curve is {decimals(ranking.auroc)}; chance would be 0.5.",
        [UNIT.point(x, y) for x, y in zip(ranking.roc.x, ranking.roc.y, strict=True)],
        ("false alarms: share of all common rows", "recall: share of all rare rows found"),
        [
            html.line(UNIT.point(0, 0), UNIT.point(1, 1), "chance"),
            html.text(UNIT.x(0.62), UNIT.y(0.5), "chance", "aside"),
        ],
        f"AUROC {decimals(ranking.auroc)}",
        UNIT.point(1 - float(alerts.specificity), float(alerts.recall)),
    )


def _drawn(
    names: tuple[str, str], said: str, points: list[Point], axes: tuple[str, str], chance: Any, area: str, at: Point
) -> Html:
    """A curve of two shares with its title and id. The script moves the marker by the places of 0 and 1."""
    x, y = UNIT.x, UNIT.y
    return UNIT.drawing(
        names[0],
        said,
        html.area(points, y.start, "area case"),
        html.grid(UNIT, SHARES, SHARES, *axes),
        chance,
        html.path(points, "curve case"),
        html.text(x.stop, y.stop - 14, area, "value case", "end"),
        html.line((at[0], y.start), at, "drop drop-x"),
        html.line((x.start, at[1]), at, "drop drop-y"),
        html.dot(at, 6, "marker"),
        id=names[1],
        **{"data_x0": x(0), "data_x1": x(1), "data_y0": y(0), "data_y1": y(1)},
    )


def _steps(curve: Curve) -> list[Point]:
    """Average precision is the area under steps, not under slanted lines between the points."""
    corners = [UNIT.point(0, curve.y[0])]
    for x, y in zip(curve.x, curve.y, strict=True):
        corners += [(corners[-1][0], UNIT.y(y)), UNIT.point(x, y)]
    return corners


def calibration_curve(calibration: Calibration) -> Html:
    """Mean scores against shares of rare rows, both on logarithmic axes."""
    values = [value for one in calibration.bins for value in (one.mean_score, one.share) if value > 0]
    lowest = max(-6, min(-1, floor(log10(min(values, default=0.1)))))  # the power of ten below all of them
    frame = Frame.of((10**lowest, 1), (10**lowest, 1), left=56, log="xy")
    ticks = {10.0**power: _power_text(power) for power in range(lowest, 1)}
    ordered = [frame.point(one.mean_score, one.share) for one in calibration.bins]
    beside_the_line = frame.point(10 ** (lowest * 0.55), 10 ** (lowest * 0.55))
    return frame.drawing(
        "Scores and true shares",
        f"{len(calibration.bins)} groups of rows with similar scores: the mean score is "
        f"{percent(calibration.mean_score)}, the Brier score {decimals(calibration.brier, 5)}.",
        html.grid(frame, ticks, ticks, "mean score of a group of rows", "share of rare rows in the group"),
        html.line(frame.point(10**lowest, 10**lowest), frame.point(1, 1), "chance"),
        html.text(beside_the_line[0] - 8, beside_the_line[1] - 8, "calibrated", "aside", "end"),
        html.path(ordered, "curve case thin"),
        [_score_bin(frame, one) for one in calibration.bins],
    )


def _score_bin(frame: Frame, one: ScoreBin) -> Html:
    whisker = [frame.point(one.mean_score, end) for end in (one.interval.low, one.interval.high)]
    words = f"{whole(one.n_rows)} rows: mean score {percent(one.mean_score)}, {percent(one.share)} rare"
    at = frame.point(one.mean_score, one.share)
    return html.joined(
        html.line(whisker[0], whisker[1], "whisker case"),
        html.dot(at, 4.5, "point case" if one.share else "point case hollow", html.element("title", words)),
    )


def _power_text(power: int) -> str:
    """
    >>> [_power_text(power) for power in (0, -2, -4)]
    ['100%', '1%', '0.01%']
    """
    return f"{10.0 ** (power + 2):.{max(0, -power - 2)}f}%"


def ranking(ranked: RankingFacts, alerts: Alerts) -> html.Section:
    """The section about the ranking, with the alerts at the suggested threshold."""
    interval, n_cases = ranked.aucprc_interval, alerts.true_positives + alerts.false_negatives
    n_others = alerts.false_positives + alerts.true_negatives
    uncertainty = (
        "There are too few rare rows for an interval. Evaluate the model on more rows."
        if interval is None
        else f"Its 90% interval of {decimals(interval.low)} to {decimals(interval.high)} is from a bootstrap of the "
        "rows. It covers the chance in these rows, not later changes of the data."
    )
    return html.section(
        "ranking",
        "Ranking",
        "How well it ranks",
        html.columns(
            html.figure(
                "ROC curve",
                roc_curve(ranked, alerts),
                "The dot is the threshold chosen above. A small step to the right is many false alarms.",
            ),
            html.prose(
                html.paragraph(
                    f"A rare row scores higher than a common one with probability {percent(ranked.auroc)} (AUROC). "
                    "The AUROC is high whenever most rows are easy. Here false alarms for only 1% of the common rows "
                    f"are {n_others / 100 / n_cases:,.1f} times as many as the rare rows."
                ),
                html.paragraph(
                    f"The AUCPRC of {decimals(ranked.aucprc)} is the mean precision over all levels of recall. "
                    f"Random scores reach {percent(ranked.chance)}, the share of rare rows: "
                    f"this is {ranked.aucprc / ranked.chance:,.0f} times as much."
                ),
                html.paragraph(uncertainty),
            ),
        ),
    )


def calibration(found: Calibration, n_rows: int, n_cases: int, calibrated_by: str | None) -> html.Section:
    """The section about probabilities. `calibrated_by` is the method of the model's calibration, if it has one."""
    return html.section(
        "calibration",
        "Probability",
        "Can a score be read as a probability?",
        html.columns(
            html.figure(
                "Calibration",
                calibration_curve(found),
                "Groups of rows by score, with 90% intervals. A hollow dot is a group without rare rows.",
            ),
            html.prose(
                html.paragraph(*_verdict(found, n_rows, n_cases, calibrated_by)),
                html.paragraph(
                    f"The Brier score, the mean squared error of the scores, is {decimals(found.brier, 5)}. If every "
                    f"row had the share of rare rows as its score, it would be {decimals(found.brier_of_prevalence, 5)}"
                    ". Among rows with similar scores, the score and the share of rare rows differ on average by "
                    f"{decimals(100 * found.calibration_error, 2)} percentage points."
                ),
            ),
        ),
    )


def _exception(bins: Sequence[ScoreBin]) -> str:
    """A sentence on the groups that expect far too many or too few rare rows: by a quarter, and by more than chance."""
    wrong: dict[bool, tuple[float, str]] = {}
    for one in bins:
        expected, found = one.n_rows * one.mean_score, one.n_rows * one.share
        error, is_high = abs(expected - found), expected > found
        if error > max(found / 4, 3 * max(expected, found, 1.0) ** 0.5, wrong.get(is_high, (0.0,))[0]):
            rows = f"among the {one.n_rows:,} rows whose mean score is {percent(one.mean_score)}"
            wrong[is_high] = error, f"{rows}, {expected:,.0f} rare rows are expected and {found:,.0f} are found"
    return f"But not for all scores: {'; '.join(text for _, text in wrong.values())}." if wrong else ""


def _verdict(found: Calibration, n_rows: int, n_cases: int, calibrated_by: str | None) -> Sequence[Any]:
    """Whether scores are probabilities, and what to do if they are not."""
    scores = f"The mean score is {percent(found.mean_score)}, the share of rare rows {percent(n_cases / n_rows)}. "
    recalibrate = html.code("model.recalibrated(X, y)")
    if expects_the_rare_rows(found.mean_score, n_rows, n_cases):
        return html.strong("On average, yes. "), scores, _exception(found.bins)
    if calibrated_by is not None:
        why = (
            f"The scores were calibrated on the training rows ({calibrated_by}), which is inaccurate with few rare "
            "rows. With many, these rows differ: the share of rare rows has changed, or columns have drifted, such as "
            "a date that moves on. Use the scores to rank rows. Train or calibrate on recent rows with labels: "
        )
        return html.strong("Not on these rows. "), scores, why, recalibrate, "."
    why = (
        "Members that are trained on balanced rows rank well, but their scores overstate the risk. "
        if found.mean_score > n_cases / n_rows
        else "The scores understate the risk. "
    )
    advice = (
        "Use the scores to rank rows and to compare with a threshold. Calibrate them to read them as probabilities: "
    )
    how = html.code("calibration='isotonic'"), " at training or ", recalibrate, " on held-out rows."
    return html.strong("No. "), scores, why, advice, *how
