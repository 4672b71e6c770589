"""Times of rows: dates, and numbers in a unit since 1970."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from selfpaced.exceptions import TableError
from selfpaced.tables import TIME_UNITS, checked_moments, moments_in, periods_of
from selfpaced.tables.times import as_utc, iso_date, parsed_dates, span_in, span_ticks, zone_of

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


def test_the_first_and_the_last_second_of_pythons_years_are_read():
    first, last = -62_135_596_800, 253_402_300_799
    assert checked_moments([first, last], time_unit="s").astype(str).tolist() == [
        "0001-01-01T00:00:00.000000",
        "9999-12-31T23:59:59.000000",
    ]
    for number in (first - 1, last + 1):
        with pytest.raises(TableError, match="outside of the years 1 to 9999"):
            checked_moments([number], time_unit="s")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024-01-31T23:59+01:00", datetime(2024, 1, 31, 22, 59)),
        ("31.01.2024 23:59", datetime(2024, 1, 31, 23, 59)),
        ("1.2.2024", datetime(2024, 2, 1)),
        ("2024-01-31 23:59", datetime(2024, 1, 31, 23, 59)),
        ("20240131T2359", datetime(2024, 1, 31, 23, 59)),
        (MOMENT.date(), datetime(2024, 1, 31)),
        (MOMENT, MOMENT.replace(tzinfo=None)),
    ],
)
def test_texts_and_dates_are_moments_of_utc(given, expected):
    assert checked_moments(np.array([given], dtype=object)).tolist() == [expected]


def test_bytes_are_texts():
    assert checked_moments(np.array([b"2024-01-31"])).tolist() == [datetime(2024, 1, 31)]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([[1, 2]], "times holds int64. Give dates or numbers, one for each row"),
        ([True], "times holds bool"),
        ([1.0, np.inf], "times contains infinity"),
        (["soon"], "cannot be read as times"),
        ([5, "2024-01-31"], "cannot be read as times"),
        (["2024-01-31", "2024-01-31T00:00Z"], "with a time zone and times without one"),
        (["2024-01-31", None, float("nan")], "has no time in 2 of 3 rows"),
        ([datetime(2024, 1, 31), pd.NaT, pd.NA], "has no time in 2 of 3 rows"),
    ],
)
def test_what_is_not_one_moment_for_each_row_is_refused(given, complaint):
    objects = np.array(given, dtype=object) if any(isinstance(each, str | datetime) for each in given) else given
    with pytest.raises(TableError, match=complaint):
        checked_moments(objects)


def test_nanoseconds_of_a_column_are_cut_off_and_a_missing_time_is_refused():
    assert moments_in(pa.array([SECONDS * 10**9 + 1007], pa.timestamp("ns")), "at").tolist() == [
        datetime(2024, 1, 31, 23, 59, 58, 1)
    ]
    for kind in (pa.timestamp("us"), pa.int64()):
        with pytest.raises(TableError, match="The time column 'at' has no time in 1 of 2 rows"):
            moments_in(pa.array([SECONDS, None], kind), "at")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("90min", 5400),
        ("1.5D", 129_600),
        (" 2 w ", 1_209_600),
        (np.timedelta64(36, "h"), 129_600),
        (timedelta(minutes=1.5), 90),
        ("0s", 0),
    ],
)
def test_a_duration_is_the_same_however_it_is_written(given, seconds):
    assert span_in(given, np.array([MOMENT.date()], dtype="datetime64[us]"), "delay") == np.timedelta64(seconds, "s")
    assert span_ticks(given, "delay") == seconds * 10**6


def test_a_duration_of_numbers_is_a_number():
    assert [span_in(given, np.zeros(1), "delay") for given in (7, "1.5", np.float32(2), 0)] == [7, 1.5, 2, 0]
    assert span_ticks(1.5, "delay") == 1_500_000
    for given, complaint in (
        ("2h", "such as 7200 for seconds"),
        (-1, "delay must be a duration"),
        (True, "delay must be a duration"),
        (timedelta(-1), "delay must not be negative"),
    ):
        with pytest.raises(ValueError, match=complaint):
            span_in(given, np.zeros(1), "delay")


def test_a_column_of_another_type_is_no_column_of_times():
    with pytest.raises(TableError, match="The time column 'at' is bool"):
        moments_in(pa.array([True]), "at")


@pytest.mark.parametrize(
    ("period", "expected"),
    [("hour", "2024-03-31T23"), ("day", "2024-03-31"), ("week", "2024-03-25"), ("month", "2024-03")],
)
def test_the_period_of_a_moment_is_its_beginning(period, expected):
    late = np.array(["2024-03-31T23:30"], dtype="datetime64[us]")
    assert periods_of(late, period).astype(str).tolist() == [expected]


def test_a_week_begins_on_monday_also_before_1970():
    days = np.array(["2024-03-31T23:59", "2024-04-01", "1969-12-28", "1969-12-29"], dtype="datetime64[us]")
    assert periods_of(days, "week").astype(str).tolist() == ["2024-03-25", "2024-04-01", "1969-12-22", "1969-12-29"]


def test_a_period_is_that_of_a_time_zone():
    late = np.array(["2024-03-31T23:30"], dtype="datetime64[us]")
    assert periods_of(late, "month", "Europe/Berlin").astype(str).tolist() == ["2024-04"]
    with pytest.raises(TableError, match="'Mars/Base' is not the name of a time zone"):
        periods_of(late, "day", "Mars/Base")
    with pytest.raises(ValueError, match="A period is one of hour, day, week, month; got 'year'"):
        periods_of(late, "year")


def moments(*given, kind=None):
    return pa.array(given, kind)


@pytest.mark.parametrize(
    ("column", "has_zone"),
    [
        (moments("2024-01-31T23:59:58", None), False),
        (moments("2024-01-31 23:59:58", None, kind=pa.large_string()), False),
        (moments("31.01.2024 23:59:58", None, kind=pa.string_view()).cast(pa.string()), False),
        (moments("2024-01-31T22:59:58-01:00", None), True),
        (moments("2024-01-31T22:59:58-01:00", None), False),
        (moments(SECONDS, None).cast(pa.timestamp("s")), False),
        (moments(SECONDS, None).cast(pa.timestamp("s", "Asia/Tokyo")), True),
        (moments(SECONDS * 10**9 + 7, None).cast(pa.timestamp("ns")), False),
    ],
)
def test_columns_of_moments_are_moments_of_utc(column, has_zone):
    found = as_utc(column, has_zone)
    assert found.type == pa.timestamp("us", "UTC")
    assert found.to_pylist() == [MOMENT.replace(microsecond=0), None]


def test_moments_without_a_zone_are_refused_if_those_of_the_training_had_one():
    for column in (moments("2024-01-31"), moments(SECONDS).cast(pa.timestamp("s"))):
        with pytest.raises(ValueError, match="the times have no time zone, but those in training had one"):
            as_utc(column, has_zone=True)
    assert as_utc(moments(None, kind=pa.timestamp("us")), has_zone=True).null_count == 1
    assert as_utc(moments(None, kind=pa.null()), has_zone=True).null_count == 1


@pytest.mark.parametrize("column", [moments(5), moments(True), moments("soon"), moments("2024-02-30")])
def test_other_columns_are_not_moments(column):
    with pytest.raises(ValueError, match=r"can be read as moments|Failed to parse|Expected|out of range|scalar"):
        as_utc(column, has_zone=False)


def test_texts_may_have_nine_digits_of_a_second():
    assert parsed_dates(moments("2024-01-31T23:59:58.123456789")).type == pa.timestamp("ns")
    assert parsed_dates(moments("2024-01-31T23:59:58.123456")).type == pa.timestamp("us")
    assert parsed_dates(moments("2024-01-31T23:59:58.123456789Z")).type == pa.timestamp("ns", "UTC")


def test_the_zone_of_a_column_is_its_own_or_none():
    assert zone_of(moments(SECONDS).cast(pa.timestamp("s", "Asia/Tokyo"))) == "Asia/Tokyo"
    assert zone_of(moments(SECONDS).cast(pa.timestamp("s"))) is None
    assert zone_of(moments(5)) is None


@pytest.mark.parametrize("text", ["1.1.24", "2024-01-31", "a 31.01.2024"])
def test_a_text_that_is_not_a_date_with_points_stays_as_it_is(text):
    assert iso_date(text) == text


@pytest.mark.parametrize(
    "text", ["31.01.20244", "32.01.2024", "31.13.2024", "31.01.2024123:59", "2024-01-31x23:59", "2024-01-31 25:00"]
)
def test_what_is_almost_a_date_is_refused(text):
    with pytest.raises(TableError, match="cannot be read as times"):
        checked_moments(["2024-01-31", text])
