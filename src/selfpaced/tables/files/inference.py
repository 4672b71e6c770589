"""Types of the columns of text files, inferred from all values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from selfpaced.exceptions import pa, pc
from selfpaced.tables.times import DOTTED_DATE, OFFSET, date_pattern, iso_dates


@dataclass(frozen=True, eq=False)
class Form:
    """How the values of a column are written."""

    type: Any  # the Arrow type of the values
    pattern: str | None = None  # regular expression that every value matches as a whole; None if any text may be tried
    # What a comma in a number stands for: "." for a decimal comma, "" for one between thousands, or AMBIGUOUS; None if
    # numbers have no commas.
    comma: str | None = None
    # Whether points may separate thousands: 1.234 and 12.345.678, as they are written beside decimal commas.
    grouped: bool = False
    day_first: bool = False  # whether dates are written as 31.01.2025
    # Whether a value may match and still not fit the type: 2024-02-30, or a number that is too large.
    limited: bool = False

    @property
    def is_rewritten(self) -> bool:
        """Whether Arrow cannot read the values as they are written."""
        return self.comma is not None or self.day_first


AMBIGUOUS = "?"
# "007", "+49" and "0x1F" are names, not numbers: as numbers they would be other values. Spaces around a number are
# ignored, here and by Arrow.
_INTEGER = "0|-?[1-9][0-9]*"
_EXPONENT = "(?:[eE][+-]?[0-9]+)?"
_WITHOUT_FRACTION = f"-?(?:0|[1-9][0-9]*){_EXPONENT}|-?(?:[iI]nf|INF)(?:[iI]nity|INITY)?"
_THOUSANDS = "-?[1-9][0-9]{0,2}(?:,[0-9]{3})+"


def _number(mark: str) -> str:
    """The pattern of a number with any decimal mark."""
    return f"{_WITHOUT_FRACTION}|-?(?:(?:0|[1-9][0-9]*)[{mark}][0-9]*|[{mark}][0-9]+){_EXPONENT}"


def _spaced(pattern: str) -> str:
    return rf"[ \t]*(?:{pattern})[ \t]*"


@cache
def inferred_forms() -> tuple[Form, ...]:
    """The forms in order: a column has the first one that all of its values have, or else it is text."""
    return (
        Form(pa.null(), ""),  # an empty string is a missing value, so only a column without values fits
        Form(pa.bool_(), "true|True|TRUE|false|False|FALSE"),
        Form(pa.int64(), _spaced(_INTEGER), limited=True),
        Form(pa.uint64(), _spaced("0|[1-9][0-9]*"), limited=True),
        # Longer integers are identifiers most often, and floats would round them.
        Form(pa.string(), _spaced(_INTEGER)),
        Form(pa.float64(), _spaced(_WITHOUT_FRACTION)),
        # 1.234 is 1234 in a file with decimal commas, as long as no other value rules that out.
        Form(pa.float64(), _spaced(rf"{_WITHOUT_FRACTION}|-?[1-9][0-9]{{0,2}}[.][0-9]{{3}}"), grouped=True),
        Form(pa.float64(), _spaced(_number("."))),
        Form(pa.timestamp("us"), date_pattern(6), limited=True),
        Form(pa.timestamp("us", "UTC"), date_pattern(6) + OFFSET, limited=True),
        Form(pa.timestamp("us"), date_pattern(6, DOTTED_DATE), day_first=True, limited=True),
        Form(pa.timestamp("ns"), date_pattern(9), limited=True),
        Form(pa.timestamp("ns", "UTC"), date_pattern(9) + OFFSET, limited=True),
        # 170,124 is 170124 or 170.124, as long as no other value rules out the one or the other.
        Form(pa.string(), _spaced(f"{_WITHOUT_FRACTION}|{_THOUSANDS}"), AMBIGUOUS),
        comma_forms()["decimal comma"],
    )


@cache
def comma_forms() -> dict[str, Form]:
    """Numbers with commas, by the names that users give them."""
    thousands = f"{_number('.')}|{_THOUSANDS}(?:[.][0-9]*)?"
    return {
        "decimal comma": Form(pa.float64(), _spaced(_number(",")), "."),
        "thousands comma": Form(pa.float64(), _spaced(thousands), ""),
    }


def narrowed(forms: Mapping[str, Sequence[Form]], batch: Any) -> dict[str, list[Form]]:
    """Of the forms of some columns, those that all values in a batch of strings have; missing values have every form.

    The columns are matched together: a file may have thousands of them with few rows in a batch, and to compile a
    pattern takes longer than to match these.
    """
    fitting: dict[str, list[Form]] = {name: [] for name in forms}
    integers: set[str] = set()
    for form in inferred_forms():
        open_names = {name for name in forms if form in forms[name]}
        implied = set() if form.limited else integers  # 64-bit integers fit every other form that comes after them
        misfits = _misfits(form, {name: batch.column(name) for name in open_names - implied})
        for name in open_names - misfits:
            fitting[name].append(form)
        if pa.types.is_integer(form.type):
            integers |= open_names - misfits
    return fitting


def _misfits(form: Form, columns: Mapping[str, Any]) -> set[str]:
    """The columns with a value that is written in another form."""
    if not columns:
        return set()
    names = list(columns)
    rows = np.flatnonzero(~_matches(form, _joined(columns.values())))
    misfits = {names[number] for number in np.unique(rows // len(columns[names[0]]))}
    # Arrow makes an error for every value that it cannot cast, so the others are left out.
    matching = {name: column for name, column in columns.items() if name not in misfits}
    if form.limited and matching and not _can_be_cast(form, _joined(matching.values())):
        misfits |= {name for name, column in matching.items() if not _can_be_cast(form, column)}
    return misfits


def _joined(columns: Iterable[Any]) -> Any:
    return pa.concat_arrays(list(columns))


def _matches(form: Form, texts: Any) -> Any:
    return pc.match_substring_regex(texts, f"^(?:{form.pattern})$").fill_null(True).to_numpy(zero_copy_only=False)


def fits_any(forms: Sequence[Form], texts: Sequence[str | None]) -> Any:
    """Which values look like those of one of some forms; missing values do."""
    values = pa.array(texts, pa.string())
    return np.any([_matches(form, values) for form in forms], axis=0)


def _can_be_cast(form: Form, texts: Any) -> bool:
    try:
        _cast(form, texts)
    except pa.ArrowInvalid:
        return False
    return True


def _cast(form: Form, texts: Any) -> Any:
    """The values of texts in a form, in the notation that Arrow reads."""
    if form.comma is not None:
        texts = pc.replace_substring(texts, ",", form.comma)
    elif form.day_first:
        texts = iso_dates(texts)
    return pc.ascii_trim(texts, " \t").cast(form.type)  # Arrow's CSV reader trims, but its cast does not


def rewritten_values(form: Form, texts: Any) -> Any:
    """The values of a form that Arrow does not read: numbers with commas, and dates with points."""
    wrong = np.flatnonzero(~_matches(form, texts))
    if wrong.size:
        raise pa.ArrowInvalid(f"invalid value {texts[int(wrong[0])].as_py()!r}")
    return _cast(form, texts)
