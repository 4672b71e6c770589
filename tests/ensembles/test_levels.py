"""The level of scores."""

import numpy as np
import pytest
from scipy.special import expit

from selfpaced.calibration import fit_calibrator
from selfpaced.ensembles.auto.judging import difference_of_levels, shifted
from selfpaced.model import log_odds


def of(log_odds):
    return np.column_stack([1 - expit(log_odds), expit(log_odds)])


@pytest.fixture
def copies():
    """Scores whose calibration is the sigmoid of the log-odds less 3, and labels that it fits."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=5000)
    return of(scores), (rng.random(5000) < expit(scores - 3)).astype(int)


@pytest.mark.parametrize("method", ["isotonic", "beta", "sigmoid"])
@pytest.mark.parametrize("difference", [-1.0, 0.0, 0.5])
def test_the_difference_is_what_all_scores_were_shifted_by(copies, method, difference):
    scores, y = copies
    calibrator = fit_calibrator(method, scores, y, np.ones(5000), 1)
    found = difference_of_levels(scores, shifted(scores, difference), calibrator, np.ones(5000))
    assert found == pytest.approx(difference, abs=0.01)


def test_rows_without_weight_do_not_count(copies):
    scores, y = copies
    calibrator = fit_calibrator("sigmoid", scores, y, np.ones(5000), 1)
    other = np.where(np.arange(5000)[:, None] < 100, of(np.full(5000, 9.0)), shifted(scores, 0.5))
    assert difference_of_levels(scores, other, calibrator, np.arange(5000) >= 100) == pytest.approx(0.5, abs=0.01)


def test_one_probability_for_all_rows_has_no_level(copies):
    scores, _ = copies
    flat = fit_calibrator("isotonic", scores, np.arange(5000) % 2, np.ones(5000), 1)
    same = of(np.zeros(5000))
    assert difference_of_levels(same, same, lambda given: flat(same), np.ones(5000)) == 0


def test_a_shift_adds_to_the_log_odds(copies):
    scores, _ = copies
    np.testing.assert_allclose(log_odds(shifted(scores, 1.5)[:, 1]), log_odds(scores[:, 1]) + 1.5)
    np.testing.assert_allclose(shifted(scores, 1.5).sum(axis=1), 1)
