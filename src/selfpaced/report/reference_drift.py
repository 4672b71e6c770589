"""The drift of columns since the reference that a model file keeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from selfpaced.monitoring import FeatureReference, counted
from selfpaced.report.columns import Values
from selfpaced.report.facts import Drift

Counts = NDArray[np.int64]


def drift_since_reference(feature: FeatureReference, now: Values) -> Drift | None:
    """Like `drift_between` for two columns, but only the bins of the earlier column are known.

    None without values to compare, or if only one of the two holds numbers.
    """
    if now.are_numbers != (feature.kind == "number"):
        return None
    before, after = feature.all_counts, counted(feature, now.values if now.are_numbers else list(now.values))
    if now.are_numbers:
        before, after = before[:-1], after[:-1]
    if not before.sum() or not after.sum():
        return None
    scale = float(np.sqrt(1 / before.sum() + 1 / after.sum()))
    return _of_numbers(before, after, scale) if now.are_numbers else _of_categories(before, after, scale)


def _of_numbers(before: Counts, after: Counts, scale: float) -> Drift:
    """The largest difference at the ends of the bins, which equal columns exceed less than 1 time in 20."""
    shares = [np.cumsum(each) / each.sum() for each in (before, after)]
    return Drift(float(np.abs(shares[0] - shares[1]).max()), min(1.0, 1.36 * scale))


def _of_categories(before: Counts, after: Counts, scale: float) -> Drift:
    """The total variation distance. Missing values are one category. All unnamed categories together are one, too."""
    shares = [each / each.sum() for each in (before, after)]
    both = (before + after) / (before.sum() + after.sum())
    expected = 0.5 * float(np.sum(np.sqrt(2 / np.pi * both * (1 - both)))) * scale
    chance = expected + float(np.sqrt(np.log(20) / 2)) * scale  # McDiarmid's bound, as for two columns
    return Drift(float(np.abs(shares[0] - shares[1]).sum() / 2), min(1.0, chance))
