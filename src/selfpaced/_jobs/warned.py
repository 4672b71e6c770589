"""The warnings of a fit or of scoring, kept for the output of a command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

from selfpaced.exceptions import NewCategoryWarning


@contextmanager
def counted_new_categories() -> Iterator[dict[str, int]]:
    """A dictionary that holds the number of rows with new categories at the end, by column.

    Other warnings are shown as usual.
    """
    counts: dict[str, int] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NewCategoryWarning)
        yield counts
    for one in caught:
        if isinstance(one.message, NewCategoryWarning):
            counts.update(one.message.counts)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """A list that holds all warnings at the end: each text once, whatever the user's warning filters are.

    >>> with kept_warnings() as kept:
    ...     warnings.warn("The time limit was reached.")
    >>> kept
    ['The time limit was reached.']
    """
    kept: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield kept
    # A member that did not converge fully is judged like the others.
    kept += dict.fromkeys(str(one.message) for one in caught if not issubclass(one.category, ConvergenceWarning))
