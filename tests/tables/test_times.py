"""Times of rows: dates, and numbers in a unit since 1970."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from selfpaced.exceptions import TableError
from selfpaced.tables import TIME_UNITS, checked_moments, moments_in, periods_of

MOMENT = datetime(2024, 1, 31, 23, 59, 58, 123456, tzinfo=UTC)
SECONDS = 1_706_745_598
MICROSECONDS = SECONDS * 10**6 + 123_456
EXACT = {"s": SECONDS, "ms": SECONDS * 1000 + 123, "us": MICROSECONDS, "ns": MICROSECONDS * 1000 + 789}


def exactly(number: int, unit: str) -> np.datetime64:
    """The moment by Python's own whole numbers."""
    return np.datetime64(number * 10**6 // TIME_UNITS[unit], "us")


@pytest.mark.parametrize("unit", TIME_UNITS)
def test_whole_numbers_in_a_unit_are_exact_moments(unit):
    found = moments_in(pa.array([EXACT[unit], -EXACT[unit], 0]), "at", unit)
    assert found.dtype == "datetime64[us]"
    assert found.tolist() == [exactly(number, unit).item() for number in (EXACT[unit], -EXACT[unit], 0)]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_a_fraction_is_kept_to_the_microsecond(unit):
    start = datetime(1970, 1, 1, tzinfo=UTC)
    given = [(MOMENT - start) / timedelta(seconds=1) * TIME_UNITS[unit], -0.000001 * TIME_UNITS[unit]]
    expected = [MOMENT.replace(tzinfo=None), datetime(1969, 12, 31, 23, 59, 59, 999999)]
    assert checked_moments(np.array(given), time_unit=unit).tolist() == expected


def test_nanoseconds_beyond_the_range_of_int64_are_read():
    given = np.array([2**63 + 2**60], dtype=np.uint64)
    assert checked_moments(given, time_unit="ns")[0] == exactly(2**63 + 2**60, "ns")
    assert checked_moments(given.astype(float), time_unit="ns")[0] == exactly(2**63 + 2**60, "ns")


def test_numbers_in_a_unit_have_days_and_months():
    moments = moments_in(pa.array([SECONDS, SECONDS + 2]), "at", "s")
    assert periods_of(moments, "month").astype(str).tolist() == ["2024-01", "2024-02"]


def test_without_a_unit_numbers_stay_numbers_and_their_day_is_refused_with_the_option():
    moments = moments_in(pa.array([SECONDS]), "at")
    assert moments.tolist() == [SECONDS]
    with pytest.raises(TableError, match="--time-unit"):
        periods_of(moments, "day")


@pytest.mark.parametrize("times", [pa.array([MOMENT]), pa.array([MOMENT.date()])])
def test_a_unit_for_a_column_of_times_is_refused(times):
    with pytest.raises(TableError, match="The time column 'at' holds times already, not numbers: omit the time unit"):
        moments_in(times, "at", "s")


def test_numbers_of_another_unit_are_refused_with_the_value():
    with pytest.raises(TableError, match="1706745598000, which is outside of the years 1 to 9999 if its unit is 's'"):
        checked_moments([SECONDS, SECONDS * 1000], time_unit="s")


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="time_unit must be one of s, ms, us, ns; got 'minutes'"):
        checked_moments([1], time_unit="minutes")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_number_is_refused_with_a_unit_too(missing):
    with pytest.raises(TableError, match="has no time in 1 of 2 rows"):
        moments_in(pa.array([SECONDS, missing]), "at", "s")
