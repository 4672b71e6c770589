"""What a fit warns of, kept to be told in a command's own way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """A list that holds, at the end, what was warned of: each text once, whatever the user's filters are.

    >>> with kept_warnings() as kept:
    ...     warnings.warn("The time limit was reached.")
    >>> kept
    ['The time limit was reached.']
    """
    kept: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield kept
    kept += dict.fromkeys(str(one.message) for one in caught if not _is_noise(one))


def _is_noise(warning: warnings.WarningMessage) -> bool:
    """A member that is not quite done is judged with the others. scikit-learn's threads clear each other's filters."""
    return issubclass(warning.category, ConvergenceWarning) or "sklearn.utils.parallel" in str(warning.message)
