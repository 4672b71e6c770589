"""Curves: precision and recall, ROC, calibration."""

from __future__ import annotations

from math import floor, log10
from typing import Any

from selfpaced.report.facts import Calibration, Curve, Ranking, ScoreBin, Thresholds
from selfpaced.report.figures.svg import Axis, Frame, Point, area, dot, drawing, grid, line, path, text
from selfpaced.report.html import Html, element, joined
from selfpaced.report.words import decimals, percent, whole

WIDTH, HEIGHT = 460, 330
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 28, 42
SHARES = {0.0: "0", 0.25: "25%", 0.5: "50%", 0.75: "75%", 1.0: "100%"}


def _unit_frame() -> Frame:
    return Frame(Axis(0, 1, LEFT, WIDTH - RIGHT), Axis(0, 1, HEIGHT - BOTTOM, TOP))


def _scale(frame: Frame) -> dict[str, Any]:
    """Where 0 and 1 are, for the script that moves the marker."""
    return {"data_x0": frame.x(0), "data_x1": frame.x(1), "data_y0": frame.y(0), "data_y1": frame.y(1)}


def _marker(frame: Frame, x: float, y: float) -> Html:
    at = frame.point(x, y)
    return joined(
        [
            line((at[0], frame.y.start), at, "drop drop-x"),
            line((frame.x.start, at[1]), at, "drop drop-y"),
            dot(at, 6, "marker"),
        ]
    )


def _headed(frame: Frame, words: str) -> Html:
    return text(frame.x.stop, frame.y.stop - 14, words, "value case", "end")


def precision_recall_curve(ranking: Ranking, thresholds: Thresholds) -> Html:
    """The curve with the area AUCPRC, the level of chance, and the suggested threshold."""
    frame = _unit_frame()
    corners = _steps(ranking.precision_recall, frame)
    alerts = thresholds.alerts(thresholds.suggested)
    chance_y = frame.y(ranking.chance)
    return drawing(
        "Precision and recall",
        f"The area under the curve is {decimals(ranking.aucprc)}; chance would be {percent(ranking.chance)}.",
        WIDTH,
        HEIGHT,
        area(corners, frame.y.start, "area case"),
        grid(
            frame, SHARES, SHARES, "recall: share of all rare rows found", "precision: share of alerts that are right"
        ),
        line((frame.x.start, chance_y), (frame.x.stop, chance_y), "chance"),
        text(frame.x.start + 6, chance_y - 6, f"chance: {percent(ranking.chance)}", "aside"),
        path(corners, "curve case"),
        _headed(frame, f"AUCPRC {decimals(ranking.aucprc)}"),
        _marker(frame, float(alerts.recall), float(alerts.precision)),
        id="precision-recall",
        **_scale(frame),
    )


def _steps(curve: Curve, frame: Frame) -> list[Point]:
    """Average precision is the area under steps, not under slanted lines between the points."""
    corners = [frame.point(0, curve.y[0])]
    for x, y in zip(curve.x, curve.y, strict=True):
        corners += [(corners[-1][0], frame.y(y)), frame.point(x, y)]
    return corners


def roc_curve(ranking: Ranking, thresholds: Thresholds) -> Html:
    frame = _unit_frame()
    points = [frame.point(x, y) for x, y in zip(ranking.roc.x, ranking.roc.y, strict=True)]
    alerts = thresholds.alerts(thresholds.suggested)
    return drawing(
        "ROC curve",
        f"The area under the ROC curve is {decimals(ranking.auroc)}; chance would be 0.5.",
        WIDTH,
        HEIGHT,
        area(points, frame.y.start, "area case"),
        grid(frame, SHARES, SHARES, "false alarms: share of all common rows", "recall: share of all rare rows found"),
        line(frame.point(0, 0), frame.point(1, 1), "chance"),
        text(frame.x(0.62), frame.y(0.5), "chance", "aside"),
        path(points, "curve case"),
        _headed(frame, f"AUROC {decimals(ranking.auroc)}"),
        _marker(frame, 1 - float(alerts.specificity), float(alerts.recall)),
        id="roc",
        **_scale(frame),
    )


def calibration_curve(calibration: Calibration) -> Html:
    """Mean scores against shares of rare rows, both on logarithmic axes."""
    lowest = _lowest_power(calibration)
    frame = Frame(Axis(10**lowest, 1, LEFT + 12, WIDTH - RIGHT, True), Axis(10**lowest, 1, HEIGHT - BOTTOM, TOP, True))
    ticks = {10.0**power: _power_text(power) for power in range(lowest, 1)}
    ordered = [frame.point(one.mean_score, one.share) for one in calibration.bins]
    return drawing(
        "Scores and true shares",
        f"{len(calibration.bins)} groups of rows with similar scores: the mean score is "
        f"{percent(calibration.mean_score)}, the Brier score {decimals(calibration.brier, 5)}.",
        WIDTH,
        HEIGHT,
        grid(frame, ticks, ticks, "mean score of a group of rows", "share of rare rows in the group"),
        line(frame.point(10**lowest, 10**lowest), frame.point(1, 1), "chance"),
        text(frame.x(10 ** (lowest * 0.55)) - 8, frame.y(10 ** (lowest * 0.55)) - 8, "calibrated", "aside", "end"),
        path(ordered, "curve case thin"),
        [_score_bin(frame, one) for one in calibration.bins],
    )


def _score_bin(frame: Frame, one: ScoreBin) -> Html:
    whisker = [frame.point(one.mean_score, end) for end in (one.interval.low, one.interval.high)]
    words = f"{whole(one.n_rows)} rows: mean score {percent(one.mean_score)}, {percent(one.share)} rare"
    at = frame.point(one.mean_score, one.share)
    return joined(
        [
            line(whisker[0], whisker[1], "whisker case"),
            dot(at, 4.5, "point case" if one.share else "point case hollow", element("title", words)),
        ]
    )


def _lowest_power(calibration: Calibration) -> int:
    """The power of ten below all scores and shares that are not 0, from -1 to -6."""
    values = [value for one in calibration.bins for value in (one.mean_score, one.share) if value > 0]
    return max(-6, min(-1, floor(log10(min(values, default=0.1)))))


def _power_text(power: int) -> str:
    """
    >>> [_power_text(power) for power in (0, -2, -4)]
    ['100%', '1%', '0.01%']
    """
    return f"{10.0 ** (power + 2):.{max(0, -power - 2)}f}%"
