"""What probabilities promise without labels, and what labels say that have arrived."""

import numpy as np
import pytest

from selfpaced.metrics import aucprc
from selfpaced.monitoring.quality import estimate_quality, measure_quality


@pytest.fixture(scope="module")
def drawn():
    """Many rows whose labels are drawn by their probabilities: these are true."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.05, 2, size=200_000)
    return p, rng.random(p.size) < p


def test_estimates_are_right_if_probabilities_are_true(drawn):
    p, y = drawn
    found = estimate_quality(p, threshold=0.3)
    alerts = p >= 0.3
    assert found.expected == pytest.approx(y.sum(), rel=0.03)
    assert found.precision == pytest.approx(y[alerts].mean(), abs=0.01)
    assert found.recall == pytest.approx(y[alerts].sum() / y.sum(), abs=0.01)
    assert found.aucprc == pytest.approx(aucprc(y, p), abs=0.01)
    assert found.n_alerts == alerts.sum()


def test_the_interval_holds_the_number_of_rare_rows_as_often_as_it_says():
    rng = np.random.default_rng(1)
    p = rng.beta(0.1, 3, size=500)
    interval = estimate_quality(p).expected_interval
    counts = (rng.random((2000, p.size)) < p).sum(axis=1)
    assert 0.88 <= np.mean((counts >= interval.low) & (counts <= interval.high)) <= 0.97


def test_labels_that_have_arrived_are_compared_with_what_was_expected_of_them(drawn):
    p, y = drawn
    as_expected = measure_quality(y, p, 0.3)
    assert not as_expected.is_surprising
    assert as_expected.precision_interval.low < as_expected.precision < as_expected.precision_interval.high
    assert measure_quality(y | (np.arange(y.size) % 50 == 0), p, 0.3).is_surprising
    assert measure_quality(np.zeros(y.size, dtype=bool), p, 0.3).is_surprising


def test_without_a_threshold_or_rare_rows_there_is_less_to_say():
    p = np.full(10, 0.01)
    assert estimate_quality(p).precision is None
    found = measure_quality(np.zeros(10, dtype=bool), p)
    assert (found.aucprc, found.precision, found.recall) == (None, None, None)
    assert estimate_quality(np.zeros(3), 0.5).recall is None


@pytest.mark.parametrize(
    ("probabilities", "complaint"),
    [
        ([0.2, 1.5], "must be between 0 and 1; got numbers from 0.2 to 1.5"),
        ([-0.1, 0.5], "must be between 0 and 1; got numbers from -0.1 to 0.5"),
        ([0.1, np.nan], "probabilities contains NaN"),
        ([[0.1, 0.9], [0.2, 0.8]], "1d array"),
    ],
)
def test_numbers_that_are_not_probabilities_estimate_nothing(probabilities, complaint):
    with pytest.raises(ValueError, match=complaint):
        estimate_quality(probabilities, 0.5)
