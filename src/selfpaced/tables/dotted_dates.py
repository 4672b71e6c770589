"""Dates such as 31.01.2025, as much of Europe writes them: the day comes first. They are rewritten as 2025-01-31."""

from __future__ import annotations

import re
from typing import Any

DOTTED_DATE = "(?:0?[1-9]|[12][0-9]|3[01])[.](?:0?[1-9]|1[0-2])[.][0-9]{4}"
_AT_START = re.compile(f"{DOTTED_DATE}(?![0-9])")
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
    import pyarrow.compute as pc

    for pattern, replacement in _STEPS:
        texts = pc.replace_substring_regex(texts, pattern=pattern, replacement=replacement)
    return texts


def iso_date(text: str) -> str:
    """The same for one text.

    >>> iso_date("1.2.2025 23:59"), iso_date("2025-03-01")
    ('2025-02-01 23:59', '2025-03-01')
    """
    if not _AT_START.match(text):
        return text
    day, month, rest = text.split(".", 2)
    return f"{rest[:4]}-{month:0>2}-{day:0>2}{rest[4:]}"
