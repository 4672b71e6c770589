import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfpaced.trees import bitvectors as digitize
from selfpaced.trees.bitvectors import Digitizer

numbers = st.floats(-1e307, 1e307)


@given(st.lists(numbers, min_size=1, max_size=40, unique=True), st.lists(numbers | st.just(float("nan")), max_size=40))
def test_numbers_are_those_of_a_binary_search_with_nan_last(thresholds, values):
    thresholds = np.unique(thresholds)
    values = np.array([*values, *thresholds, *np.nextafter(thresholds, np.inf), *np.nextafter(thresholds, -np.inf)])
    expected = np.where(np.isnan(values), thresholds.size + 1, np.searchsorted(thresholds, values))
    assert Digitizer(thresholds)(values).tolist() == expected.tolist()


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=200, unique=True), st.floats(1e-6, 1e6))
def test_values_close_to_thresholds_fall_on_the_right_side(steps, scale):
    thresholds = np.unique(np.array(steps) * scale)
    close = np.concatenate([thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)])
    assert Digitizer(thresholds)(close).tolist() == np.searchsorted(thresholds, close).tolist()


def test_thresholds_crowded_in_a_cell_are_searched():
    thresholds = np.r_[np.linspace(0, 1e-9, 50), 1e6]
    assert len(Digitizer(thresholds)._own) > digitize.MOST_IN_A_CELL
    values = np.random.default_rng(0).uniform(-1e-9, 2e-9, size=1000)
    assert Digitizer(thresholds)(values).tolist() == np.searchsorted(thresholds, values).tolist()


def test_the_column_is_left_as_it_is():
    column = np.array([1.0, np.nan, 3.0])
    Digitizer(np.array([2.0]))(column)
    np.testing.assert_array_equal(column, [1, np.nan, 3])


@pytest.mark.parametrize(
    "thresholds", [[0.0], [-1e308, 1e308], [1e-300, 2e-300], [-1e-35, 1e-35, 5.0], [np.inf], [1.0, 2.0, np.inf]]
)
def test_extreme_thresholds_are_no_trouble(thresholds):
    thresholds = np.array(thresholds)
    values = np.r_[thresholds, -np.inf, -1.7e308, 1.7e308, np.inf, 0.0, 1.0, -1.0]
    assert Digitizer(thresholds)(values).tolist() == np.searchsorted(thresholds, values).tolist()
