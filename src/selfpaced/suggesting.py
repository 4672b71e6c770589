"""Suggestions for names that were misspelled."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question with the known name that is most similar to the given one, after a space; empty if none is similar.

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
    """A name in lower case and without the dashes of an option."""
    return name.lower().lstrip("-")
