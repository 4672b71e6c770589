"""Thresholds with few digits."""

import numpy as np
import pytest

from selfpaced.thresholds import short_threshold
from selfpaced.thresholds.sweep import silent_threshold


@pytest.mark.parametrize("score", [0.0, 1e-50, 1e-7, 0.25, 1.0, 98, -3.5, 1e300, -1e300])
def test_short_thresholds_are_reached_and_silent_ones_are_not(score):
    assert short_threshold(score) <= score < silent_threshold(score)
    assert short_threshold(score, np.nextafter(score, -np.inf)) == score
    assert len(str(short_threshold(score))) <= 10
    assert short_threshold(0.0) == 0
