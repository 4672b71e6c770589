"""Drawings from facts, as inline SVG."""

from selfpaced.report.figures.bars import drift_bars, importance_bars
from selfpaced.report.figures.contrasts import contrast_strips
from selfpaced.report.figures.curves import calibration_curve, precision_recall_curve, roc_curve
from selfpaced.report.figures.dots import hundred_dots
from selfpaced.report.figures.recipes import recipe_dots
from selfpaced.report.figures.rounds import aucprc_by_round, drawn_by_round, hardness_histogram, hardness_thumbnail

__all__ = [
    "aucprc_by_round",
    "calibration_curve",
    "contrast_strips",
    "drawn_by_round",
    "drift_bars",
    "hardness_histogram",
    "hardness_thumbnail",
    "hundred_dots",
    "importance_bars",
    "precision_recall_curve",
    "recipe_dots",
    "roc_curve",
]
