"""Dates and times: read from text and columns, and the day, week or month that a moment belongs to."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, pa, pc

Moments = NDArray[Any]  # numbers, or datetime64 in microseconds

PERIODS = ("hour", "day", "week", "month")
# Units of times that are given as numbers since 1970 in UTC, each with its number in a second.
TIME_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
FIRST_SECOND, AFTER_LAST_SECOND = -62_135_596_800, 253_402_300_800  # of the years 1 to 9999, which Python's dates have


def are_dates(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def are_strings(kind: Any) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def moments_in(column: Any, name: str, time_unit: str | None = None) -> Moments:
    """The moment of each row, from a column of Arrow: as datetime64 of UTC if they are dates, or else numbers.

    With a unit, numbers are times since 1970 in UTC.
    """
    kind = column.type
    if are_dates(kind):
        moments = column.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        moments = column.to_numpy(zero_copy_only=False)
    else:
        raise TableError(
            f"The time column {name!r} is {kind}. Write times as dates such as 2024-01-31 23:59 or 31.01.2024 23:59, "
            "all with a time zone or all without, or as numbers."
        )
    return checked_moments(moments, f"The time column {name!r}", time_unit)


def numbers_of(moments: Moments) -> NDArray[np.float64]:
    """Moments as numbers in the same order."""
    return np.asarray(moments.view(np.int64) if moments.dtype.kind == "M" else moments, dtype=np.float64)


def checked_moments(given: Any, where: str = "times", time_unit: str | None = None) -> Moments:
    """Moments as numbers or as datetime64. Missing ones are refused. `where` is the name of the times in errors.

    With a unit of `TIME_UNITS`, numbers are times since 1970 in UTC, to the microsecond.

    >>> checked_moments(["2024-01-31", "2024-02-01T12:00"]).tolist()[1].hour
    12
    >>> str(checked_moments([1706659200000], time_unit="ms")[0])
    '2024-01-31T00:00:00.000000'
    """
    values = np.asarray(given)
    if values.dtype.kind in "OSU":
        values = _as_dates(values, where)
    if values.dtype.kind not in "iufM" or values.ndim != 1:
        raise TableError(f"{where} holds {values.dtype}. Give dates or numbers, one for each row.")
    n_missing = int((values != values).sum())  # NaN, and NaT
    if n_missing:
        raise TableError(
            f"{where} has no time in {n_missing:,} of {values.size:,} rows. Every row needs a time to be split by: "
            "drop these rows, or fill in their times."
        )
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise TableError(f"{where} contains infinity. Every row needs a time to be split by.")
    if time_unit is not None:
        return _since_1970(values, where, time_unit)
    return values.astype("datetime64[us]") if values.dtype.kind == "M" else values


def _since_1970(values: NDArray[Any], where: str, unit: str) -> Moments:
    """Numbers in a unit as datetime64 of UTC. Fractions of a microsecond are rounded, nanoseconds cut off."""
    if unit not in TIME_UNITS:
        raise ValueError(f"time_unit must be one of {', '.join(TIME_UNITS)}; got {unit!r}.")
    if values.dtype.kind == "M":
        raise TableError(f"{where} holds times already, not numbers: omit the time unit {unit!r}.")
    seconds = values.astype(np.float64) / TIME_UNITS[unit]
    outside = np.flatnonzero((seconds < FIRST_SECOND) | (seconds >= AFTER_LAST_SECOND))
    if outside.size:
        raise TableError(
            f"{where} has the value {values[outside[0]]}, which is outside of the years 1 to 9999 if its unit is "
            f"{unit!r}. Give another time unit: {', '.join(TIME_UNITS)}."
        )
    whole = np.floor(values) if values.dtype.kind == "f" else values
    if unit == "ns":
        microseconds = (whole // 1000).astype(np.int64)
    else:
        each = 10**6 // TIME_UNITS[unit]
        # Whole units and the rest apart: their product as floats would not be exact.
        rest = np.rint((values - whole).astype(np.float64) * each).astype(np.int64)
        microseconds = whole.astype(np.int64) * each + rest
    return np.asarray(microseconds.view("datetime64[us]"))


def _as_dates(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Texts or Python's dates as datetime64 of UTC. Some with a zone and some without are refused."""
    texts = values.astype(str) if values.dtype.kind == "S" else values
    missing = np.array([is_missing(value) for value in texts.tolist()], dtype=bool)
    try:
        moments = [moment_of(value) for value in texts[~missing].tolist()]
    except ValueError as error:
        raise TableError(f"{where} cannot be read as times: {error}") from error
    if len({moment.tzinfo is None for moment in moments}) > 1:
        raise TableError(
            f"{where} has times with a time zone and times without one, which cannot be compared. Give all of them a "
            "zone, or none."
        )
    dates = np.full(values.size, np.datetime64("NaT"), dtype="datetime64[us]")
    dates[~missing] = [moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment for moment in moments]
    return dates


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or NaT or NA of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA raises it
        return True


def moment_of(value: Any) -> datetime:
    """A date, a time or a text such as 2024-01-31T23:59+01:00 or 31.01.2024 23:59, with its time zone if it has one.

    >>> moment_of("31.01.2024 23:59"), moment_of(date(2024, 1, 31))
    (datetime.datetime(2024, 1, 31, 23, 59), datetime.datetime(2024, 1, 31, 0, 0))
    """
    if isinstance(value, str):
        text = iso_date(value)
        if text[10:11].strip("T ") and text[4:5] == "-":  # Python takes any character between a date and its time
            raise ValueError(f"{value!r} is not a date or time.")
        return datetime.fromisoformat(text)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r} is not a date or time.")
    return value


def as_utc(array: Any, has_zone: bool) -> Any:
    """A column of Arrow of dates, times or texts of them as moments in microseconds of UTC.

    Times without a time zone are UTC, but refused if those in training had one. What is not a moment is a ValueError.
    """
    if are_strings(array.type):
        array = parsed_dates(array)
    if not (are_dates(array.type) or pa.types.is_null(array.type)):
        raise ValueError(
            "only dates, times and text such as 2024-01-31 23:59 or 31.01.2024 23:59 can be read as moments."
        )
    zone = getattr(array.type, "tz", None)
    if has_zone and zone is None and array.null_count < len(array):
        raise ValueError("the times have no time zone, but those in training had one. Give them a time zone.")
    # Nanoseconds are cut off; units too coarse for the year are refused.
    moments = array.cast(pa.timestamp("us", zone and "UTC"), safe=getattr(array.type, "unit", "s") != "ns")
    return moments if zone else pc.assume_timezone(moments, "UTC")


def parsed_dates(strings: Any) -> Any:
    """Text as times: with an offset such as -05:00, or without; with up to nine digits of a second."""
    strings = iso_dates(strings)
    for unit, zone in product(("us", "ns"), (None, "UTC")):  # texts have an offset if the type has a zone
        with suppress(pa.ArrowInvalid):
            return strings.cast(pa.timestamp(unit, zone))
    return strings.cast(pa.timestamp("us"))  # raises an error that shows the wrong value


def zone_of(column: Any) -> str | None:
    """The time zone of a column of Arrow; None if it has none, or holds no moments."""
    return getattr(column.type, "tz", None)


def periods_of(moments: Moments, period: str, zone: str | None = None) -> NDArray[Any]:
    """The hour, day, week (its Monday) or month of each moment, as a datetime64 of its beginning in a time zone.

    >>> late = np.array(["2024-03-31T23:30"], dtype="datetime64[us]")
    >>> str(periods_of(late, "day")[0]), str(periods_of(late, "day", "Europe/Berlin")[0])
    ('2024-03-31', '2024-04-01')
    """
    if period not in PERIODS:
        raise ValueError(f"A period is one of {', '.join(PERIODS)}; got {period!r}.")
    if moments.dtype.kind != "M":
        raise TableError(
            f"The times are numbers, so the {period} of a row is not known. Give a column of dates, or say which unit "
            f"of time since 1970 the numbers have: {', '.join(TIME_UNITS)} (--time-unit on the command line)."
        )
    local = moments if zone is None else _in_zone(moments, zone)
    if period == "week":
        days = local.astype("datetime64[D]")
        since_monday = (days.astype(np.int64) + 3) % 7  # day 0 of 1970 was a Thursday
        return np.asarray(days - since_monday.astype("timedelta64[D]"))
    return local.astype(f"datetime64[{ {'hour': 'h', 'day': 'D', 'month': 'M'}[period] }]")


def _in_zone(moments: Moments, zone: str) -> Moments:
    """The local times of a zone at some moments of UTC."""
    try:
        local = pc.local_timestamp(pa.array(moments).cast(pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us", zone)))
    except pa.ArrowException as error:
        raise TableError(
            f"{zone!r} is not the name of a time zone: {error}. Give a name such as 'Europe/Berlin'."
        ) from error
    return np.asarray(local.to_numpy(zero_copy_only=False))


SPAN_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def span_in(given: Any, moments: Any, name: str) -> Any:
    """A duration in the unit of some moments: a timedelta64 for dates, a number for numbers. Errors call it `name`.

    >>> dates = np.array(["2024-01-31"], dtype="datetime64[us]")
    >>> span_in("36h", dates, "delay"), span_in("1.5", np.array([0.0]), "delay")
    (np.timedelta64(129600000000,'us'), 1.5)
    """
    number, unit = span_parts(given, name)
    if not number >= 0:
        raise ValueError(f"{name} must not be negative; got {given!r}.")
    if moments.dtype.kind == "M":
        if unit not in SPAN_UNITS:
            raise ValueError(
                f"{name} {given!r} has no unit, but the times are dates. Write it with one of {', '.join(SPAN_UNITS)}, "
                "as 7d or 12h."
            )
        return np.timedelta64(span_ticks(given, name), "us")
    if unit:
        raise ValueError(
            f"{name} {given!r} has a unit, but the times are numbers. Give a number in the unit of the column, such "
            f"as {round(number * SPAN_UNITS.get(unit, 1))} for seconds."
        )
    return number


def span_ticks(given: Any, name: str) -> int:
    """A duration in microseconds, or a number in millionths.

    >>> span_ticks("90min", "window"), span_ticks(1.5, "window")
    (5400000000, 1500000)
    """
    number, unit = span_parts(given, name)
    return round(number * SPAN_UNITS.get(unit, 1) * 1_000_000)


def span_parts(given: Any, name: str) -> tuple[float, str]:
    """The number and the unit of a duration; the unit of a plain number is empty."""
    if hasattr(given, "total_seconds"):
        return float(given.total_seconds()), "s"
    if isinstance(given, np.timedelta64):
        return float(given / np.timedelta64(1, "s")), "s"
    found = SPAN.fullmatch(str(given).strip())
    unit = "" if found is None else found[2].lower()
    if found is None or isinstance(given, bool) or (unit and unit not in SPAN_UNITS):
        raise ValueError(f"{name} must be a duration such as 7d, 12h or 90min, or a number; got {given!r}.")
    return float(found[1]), unit


DOTTED_DATE = "(?:0?[1-9]|[12][0-9]|3[01])[.](?:0?[1-9]|1[0-2])[.][0-9]{4}"
ISO_DATE = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
OFFSET = "(?:Z|[+-][0-9]{2}:?[0-9]{2})"


def date_pattern(n_digits: int, day: str = ISO_DATE) -> str:
    """The pattern of a date, alone or with a time that has up to so many digits of a second."""
    return (
        f"(?:{day})"
        rf"(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{{1,{n_digits}}})?)?)?"
    )


# One step after the other: the day and the month get two digits, then the parts change places.
_STEPS = (
    ("^([0-9])[.]([0-9]{1,2}[.][0-9]{4})", r"0\1.\2"),
    ("^([0-9]{2})[.]([0-9])[.]([0-9]{4})", r"\1.0\2.\3"),
    ("^([0-9]{2})[.]([0-9]{2})[.]([0-9]{4})", r"\3-\2-\1"),
)


def iso_dates(texts: Any) -> Any:
    """An Arrow array of texts, with the dotted dates at their starts rewritten. Other texts stay as they are.

    >>> import pyarrow as pa
    >>> iso_dates(pa.array(["31.01.2025", "1.2.2025 23:59", "2025-03-01", None])).to_pylist()
    ['2025-01-31', '2025-02-01 23:59', '2025-03-01', None]
    """
    for pattern, replacement in _STEPS:
        texts = pc.replace_substring_regex(texts, pattern=pattern, replacement=replacement)
    return texts


def iso_date(text: str) -> str:
    """The same for one text.

    >>> iso_date("1.2.2025 23:59"), iso_date("2025-03-01")
    ('2025-02-01 23:59', '2025-03-01')
    """
    for pattern, replacement in _STEPS:
        text = re.sub(pattern, replacement, text)
    return text
