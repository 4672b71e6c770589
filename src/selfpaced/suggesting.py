"""Suggestions for names that were misspelled."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question that names the known name most like the given one, with a space before it; empty if none is.

    >>> did_you_mean("is_frud", ["amount", "is_fraud"])
    " Did you mean 'is_fraud'?"
    >>> did_you_mean("Amount", ["amount", "is_fraud"])
    " Did you mean 'amount'?"
    >>> did_you_mean("colour", ["amount", "is_fraud"])
    ''
    """
    compared = {_bare(name): name for name in map(str, known)}
    near = get_close_matches(_bare(given), compared, n=1, cutoff=0.7)
    return f" Did you mean {compared[near[0]]!r}?" if near else ""


def _bare(name: str) -> str:
    """Without upper case and without the dashes of an option, which all options have in common."""
    return name.lower().lstrip("-")
