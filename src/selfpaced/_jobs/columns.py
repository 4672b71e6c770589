"""Which columns of a table cannot be features, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from selfpaced.tables.look import ColumnProfile
from selfpaced.tables.schema import MOST_CATEGORIES

# customerId is an id; paid and valid are not.
NAME_OF_AN_ID = re.compile(r"(?i:(^|[_\s.-])(id|ids|uuid|guid|key|index|rownum|row|unnamed: 0)$)|[a-z](Id|ID)$")
# Names of what several rows may belong to.
NAME_OF_AN_ENTITY = re.compile(
    r"(?i)(^|[_\s.-])(account|card|client|customer|cc|device|iban|member|merchant|patient|person|terminal|user)"
    r"[_\s.-]?(id|key|name|no|nr|num|number)?$"
)
NAME_OF_AN_ENTITY_IN_GERMAN = re.compile(
    r"(?i)(kunden|konto|karten|vertrags|patienten|geräte|geraete|händler|haendler|versicherten)[_\s.-]?(id|nr|nummer)$"
)
FEWEST_ENTITIES = 20
# Strings of which at least every second is new are names or free text.
MOSTLY_NEW = 0.5
FEWEST_ROWS_TO_JUDGE = 50
READABLE = re.compile(
    r"^(u?int\d+|float|double|halffloat|bool|null|decimal|date|timestamp|string|large_string|string_view)"
)


@dataclass(frozen=True)
class Dropped:
    """A column that is dropped from the features, and the reason."""

    name: str
    reason: str


def dropped_columns(profiles: Sequence[ColumnProfile]) -> list[Dropped]:
    """
    >>> profile = ColumnProfile("tx_id", "int64", 100, 0, 100, 1, 100, repeats=False, rises=True)
    >>> dropped_columns([profile])
    [Dropped(name='tx_id', reason='an identifier: every value differs')]
    """
    reasons = {profile.name: _reason(profile) for profile in profiles}
    return [Dropped(name, reason) for name, reason in reasons.items() if reason is not None]


def _reason(profile: ColumnProfile) -> str | None:
    if not READABLE.match(profile.type):
        return f"{profile.type}, which models cannot read"
    if profile.n_missing == profile.n_rows:
        return "all values are missing"
    if _is_constant(profile):
        return "the same value in every row"
    if profile.n_rows < FEWEST_ROWS_TO_JUDGE:
        return None
    return _reason_of_strings(profile) if "string" in profile.type else _reason_of_numbers(profile)


def _is_constant(profile: ColumnProfile) -> bool:
    if profile.n_missing:
        return False  # that a value is missing may be informative
    if profile.smallest is None:
        return profile.n_distinct == 1
    return bool(profile.smallest == profile.largest)


def _reason_of_strings(profile: ColumnProfile) -> str | None:
    n_filled = profile.n_rows - profile.n_missing
    if profile.n_distinct <= min(MOST_CATEGORIES, MOSTLY_NEW * n_filled):
        return None
    if profile.not_numbers:
        others = ", ".join(map(repr, profile.not_numbers))
        return f"most values are numbers, but not {others}. Write numbers as 1234.56, and leave missing values empty"
    if not profile.repeats:
        return "an identifier or free text: every value differs"
    if profile.n_distinct > MOST_CATEGORIES:
        return f"names, codes or free text: more than {MOST_CATEGORIES:,} different values"
    return f"names or free text: {profile.n_distinct:,} different values in {n_filled:,} rows"


def _reason_of_numbers(profile: ColumnProfile) -> str | None:
    is_whole = "int" in profile.type
    if is_whole and not profile.repeats and not profile.n_missing:
        if NAME_OF_AN_ID.search(profile.name):
            return "an identifier: every value differs"
        if profile.rises:
            return "a row number: each value is larger than the one before"
    return None


def entities(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Columns that look like what several rows belong to, such as a card or a customer.

    >>> entities([ColumnProfile("card_id", "int64", 100, 0, 30, 1, 30, repeats=True, rises=False)])
    ['card_id']
    """
    return [each.name for each in profiles if _looks_like_an_entity(each)]


def _looks_like_an_entity(profile: ColumnProfile) -> bool:
    patterns = (NAME_OF_AN_ID, NAME_OF_AN_ENTITY, NAME_OF_AN_ENTITY_IN_GERMAN)
    named = any(pattern.search(profile.name) for pattern in patterns)
    kind = "int" in profile.type or "string" in profile.type
    return bool(named and kind and profile.repeats and profile.n_distinct >= FEWEST_ENTITIES)
