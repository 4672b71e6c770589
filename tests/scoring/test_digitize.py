import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfpaced.trees import bitvectors
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
    assert Digitizer(thresholds).grid.is_crowded
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


@pytest.fixture
def worth_halves(monkeypatch):
    monkeypatch.setattr(bitvectors, "VALUES_WORTH_HALVES", 0)


float32 = st.floats(width=32)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False) | float32.filter(lambda one: one == one), min_size=1), st.lists(float32))
def test_float32_values_have_the_numbers_that_they_have_as_float64(worth_halves, thresholds, values):
    thresholds = np.unique(thresholds)
    with np.errstate(over="ignore", under="ignore"):
        near = thresholds.astype(np.float32)
        around = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    column = np.concatenate([np.array(values, np.float32), near, *around, np.float32([0.0, -0.0])])
    expected = np.where(np.isnan(column), thresholds.size + 1, np.searchsorted(thresholds, column.astype(np.float64)))
    assert Digitizer(thresholds)(column).tolist() == expected.tolist()


def test_many_float32_values_are_numbered_by_the_halves_of_their_bits():
    digitizer = Digitizer(np.array([0.25]))
    few = digitizer(np.zeros(bitvectors.VALUES_WORTH_HALVES - 1, np.float32))
    assert "grid_of_halves" not in vars(digitizer)
    assert not few.any()
    assert not digitizer(np.zeros(bitvectors.VALUES_WORTH_HALVES, np.float32)).any()
    assert "grid_of_halves" in vars(digitizer)


def test_float32_thresholds_that_crowd_in_a_cell_are_counted_as_float64(worth_halves):
    digitizer = Digitizer(np.linspace(1, 1.001, 50))
    assert digitizer.grid_of_halves.is_crowded
    assert not digitizer.grid.is_crowded
    values = np.random.default_rng(0).uniform(0.999, 1.002, size=1000).astype(np.float32)
    assert digitizer(values).tolist() == np.searchsorted(digitizer.thresholds, values.astype(np.float64)).tolist()
