"""Intervals of a comparison: as wide as luck is, and narrower for differences on the same rows."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from selfpaced.metrics import N_RESAMPLES, Ranking, resampled
from selfpaced.thresholds import middle_of

RNG = np.random.default_rng(0)
Y = RNG.random(2000) < 0.05
SCORES = (Y + RNG.normal(size=2000)).round(1)  # with ties


def test_a_row_that_is_drawn_several_times_counts_as_often():
    counts = RNG.poisson(1.0, 2000)
    found = Ranking(SCORES, Y).aucprc(counts.astype(float))
    assert found == pytest.approx(average_precision_score(np.repeat(Y, counts), np.repeat(SCORES, counts)))


def test_an_interval_is_as_wide_as_the_area_varies_between_sets_of_rows():
    areas = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = rng.random(2000) < 0.05
        areas.append(average_precision_score(y, y + rng.normal(size=2000)))
    low, high = middle_of(resampled(Y, {"one": SCORES})["one"])
    expected = np.diff(np.quantile(areas, [0.05, 0.95]))[0]
    assert high - low == pytest.approx(expected, rel=0.35)


def test_two_methods_that_agree_differ_by_less_than_each_varies():
    draws = resampled(Y, {"one": SCORES, "other": SCORES + 0.01 * RNG.normal(size=2000)})
    low, high = middle_of(draws["one"] - draws["other"])
    assert high - low < 0.3 * np.diff(middle_of(draws["one"]))[0]


def test_draws_without_a_rare_row_are_left_out():
    y = np.arange(50) == 0
    found = resampled(y, {"one": np.linspace(1, 0, 50)})["one"]
    assert 0 < found.size < N_RESAMPLES
    assert middle_of(found) == (1, 1)
