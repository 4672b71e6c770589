"""Hardness: the error of the ensemble so far on a row.

A hardness function takes the *doubt* of each row: the probability that the ensemble gives to the classes the row does
not belong to. For two classes and a majority row (y = 0) that is the paper's F(x), so |F(x) - y| is the doubt itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Doubts are kept at this distance from 0 and 1 before their logarithm is taken.
EPSILON = np.finfo(np.float32).eps


def absolute_error(doubt: Floats) -> Floats:
    """|F(x) - y|"""
    return doubt


def squared_error(doubt: Floats) -> Floats:
    """(F(x) - y)^2, the Brier score of a row."""
    return doubt * doubt


def cross_entropy(doubt: Floats) -> Floats:
    """-log of the probability of the row's own class, finite because doubts are kept away from 0 and 1."""
    return -np.log(1 - np.clip(doubt, EPSILON, 1 - EPSILON))


def largest_observed(largest: float) -> float:
    return largest


def largest_observed_but_at_least_one(largest: float) -> float:
    return max(1.0, largest)


@dataclass(frozen=True)
class Hardness:
    """A hardness function and the range [0, top] that is divided into bins."""

    function: Callable[[Floats], Floats]  # from doubts to hardness, row by row
    # Gives the top from the largest hardness observed; None if the top is always 1.
    top_from_largest: Callable[[float], float] | None = None

    def __call__(self, doubt: Floats) -> Floats:
        return self.function(doubt)


@dataclass(frozen=True)
class CheckedFunction:
    """A user's hardness function, whose results are checked."""

    function: Callable[[Floats], object]

    def __call__(self, doubt: Floats) -> Floats:
        hardness = np.asarray(self.function(doubt), dtype=np.float32)
        if hardness.shape != doubt.shape:
            raise ValueError(
                f"The hardness function must return one number per row: it got {doubt.shape[0]} probabilities and "
                f"returned an array of shape {hardness.shape}."
            )
        wrong = np.flatnonzero(~((hardness >= 0) & np.isfinite(hardness)))
        if wrong.size:
            raise ValueError(
                f"The hardness function must return finite numbers >= 0, but returned {hardness[wrong[0]]} for the "
                f"probability {doubt[wrong[0]]}. It is called with probabilities from 0 to 1, both included."
            )
        return hardness


HARDNESS: dict[str, Hardness] = {
    "absolute": Hardness(absolute_error),
    "squared": Hardness(squared_error),
    "cross_entropy": Hardness(cross_entropy, largest_observed),
}


def hardness_named(hardness: str | Callable[[Floats], object]) -> Hardness:
    """A hardness, by name or from a function of probabilities.

    The bins of a user's function divide [0, 1] if its values are within it, and otherwise [0, largest observed].

    >>> hardness_named("squared")(np.float32([0, 0.5, 1])).tolist()
    [0.0, 0.25, 1.0]
    """
    if isinstance(hardness, str) and hardness in HARDNESS:
        return HARDNESS[hardness]
    if callable(hardness):
        return Hardness(CheckedFunction(hardness), largest_observed_but_at_least_one)
    raise ValueError(f"hardness must be one of {sorted(HARDNESS)} or a function of probabilities; got {hardness!r}.")
