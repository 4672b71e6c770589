"""The ways to weigh recipes that the benchmark compares, on made-up scores."""

import numpy as np
import pytest

from blends.weightings import DEFAULT, dropped, weightings
from selfpaced.ensembles.auto.judging import Labelled, blend_weights


@pytest.fixture
def rows():
    return Labelled((np.arange(300) % 10 == 0).astype(int), np.ones(300), ranked=[1])


@pytest.fixture
def honest(rows):
    """Log-odds of a good recipe, of a middling one, and of one that knows nothing."""
    noise = np.random.default_rng(0).normal(size=(3, 300))
    scores = [signal * rows.classes + each for signal, each in zip([2.0, 1.0, 0.0], noise, strict=True)]
    return [np.stack([-each, each], axis=1) for each in scores]


def test_the_weighting_that_is_called_the_default_is_the_one_of_the_library(honest, rows):
    np.testing.assert_allclose(weightings(honest, rows, seed=3)[DEFAULT], blend_weights(honest, rows, seed=3))


def test_all_ways_give_weights_that_add_up_to_one(honest, rows):
    for way, weights in weightings(honest, rows, seed=3).items():
        assert weights.sum() == pytest.approx(1), way


def test_the_best_single_recipe_has_all_the_weight(honest, rows):
    assert weightings(honest, rows, seed=3)["best single"].tolist() == [1, 0, 0]


def test_shrunk_weights_are_closer_to_equal_ones(honest, rows):
    ways = weightings(honest, rows, seed=3)
    assert np.ptp(ways["both, shrunk by n / (n + 50)"]) < np.ptp(ways[DEFAULT])


def test_small_weights_are_dropped_and_the_others_grow():
    assert dropped(np.array([0.04, 0.48, 0.48])).tolist() == [0, 0.5, 0.5]
