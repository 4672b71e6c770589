"""The type of a column of text, from all of its values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Flag, auto
from typing import Any

import numpy as np

from selfpaced.tables.files import import_arrow


class Seen(Flag):
    """What has been seen among the values of a column."""

    NOTHING = 0
    WHOLE = auto()  # a whole number of 64 bits
    LONG = auto()  # a whole number that is longer
    REAL = auto()  # a number with a point or an exponent
    TRUTH = auto()  # true, false
    DATE = auto()  # 2024-01-31, with or without 23:59:59.999
    MOMENT = auto()  # the same with a time and its zone: Z, +02:00
    WORD = auto()  # anything else


def _up_to(limit: str) -> str:
    """A pattern for the numbers of as many digits as a limit that do not exceed it.

    >>> _up_to("512")
    '512|[1-4][0-9]{2}|5[0-0][0-9]{1}|51[0-1][0-9]{0}'
    """
    smaller = [
        f"{limit[:place]}[{int(place == 0)}-{int(digit) - 1}][0-9]{{{len(limit) - place - 1}}}"
        for place, digit in enumerate(limit)
        if int(digit) > int(place == 0)
    ]
    return "|".join([limit, *smaller])


# A number that begins with a needless zero is none: "007" is a name, and 7 would be another one. The same holds for
# "+49" and "0x1F". Spaces around a number are no part of it, neither here nor in Arrow's converters.
_WHOLE = f"0|-?([1-9][0-9]{{0,17}}|{_up_to(str(2**63 - 1))})|{-(2**63)}"
_LONG = "-?[1-9][0-9]*"
_REAL = r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|-?([iI]nf|INF)([iI]nity|INITY)?"
_DATE = (
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
)
_QUESTIONS = (
    (Seen.WHOLE, rf"^[ \t]*({_WHOLE})[ \t]*$"),
    (Seen.LONG, rf"^[ \t]*({_LONG})[ \t]*$"),
    (Seen.REAL, rf"^[ \t]*({_REAL})[ \t]*$"),
    (Seen.TRUTH, "^(true|True|TRUE|false|False|FALSE)$"),
    (Seen.DATE, f"^{_DATE}$"),
    (Seen.MOMENT, f"^{_DATE}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})$"),
    (Seen.WORD, ""),
)
_ALONE = {Seen.NOTHING: "null", Seen.TRUTH: "bool", Seen.WHOLE: "int64"}
DATES = {Seen.DATE: None, Seen.MOMENT: "UTC"}


def look(columns: Sequence[Any]) -> list[Seen]:
    """What is among the values of some columns, Arrow arrays of strings; gaps do not count.

    The columns are asked together: a file may have thousands of them with few rows a block, and to get a pattern ready
    takes longer than to match these.
    """
    import pyarrow.compute as pc

    pa = import_arrow()
    seen = [Seen.NOTHING] * len(columns)
    filled = [column.drop_null() for column in columns]
    rest = pa.concat_arrays([pa.array([], pa.string()), *filled])
    owner = np.repeat(np.arange(len(columns)), [len(column) for column in filled])
    for kind, pattern in _QUESTIONS:
        hit = pc.match_substring_regex(rest, pattern).to_numpy(zero_copy_only=False).astype(bool)
        for number in np.flatnonzero(np.bincount(owner[hit], minlength=len(columns))):
            seen[number] |= kind
            if kind in DATES and not _are_days(rest.filter(pa.array(hit & (owner == number))), DATES[kind]):
                seen[number] |= Seen.WORD
        rest, owner = rest.filter(pa.array(~hit)), owner[~hit]
    return seen


def _are_days(dates: Any, zone: str | None) -> bool:
    """Whether there are such days: a month of 30 has no 31st."""
    pa = import_arrow()
    try:
        dates.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        return False
    return True


def decide(seen: Seen) -> Any:
    """The Arrow type that holds all values of a column and changes none.

    Long whole numbers are most often ids, and floats would round them: they stay text, unless numbers with a point are
    among them, which are measured, and nobody's id.
    """
    pa = import_arrow()
    if seen in DATES:
        return pa.timestamp("us", DATES[seen])
    if seen in _ALONE:
        return pa.type_for_alias(_ALONE[seen])
    if seen & (Seen.WORD | Seen.TRUTH | Seen.DATE | Seen.MOMENT) or Seen.REAL not in seen:
        return pa.string()
    return pa.float64()
