"""Pacing: how the self-paced factor alpha grows from round to round."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

Pacing = Callable[[int, int], float]


def tangent(round_number: int, n_rounds: int) -> float:
    """alpha = tan(i * pi / 2n): slow at first, without limit in the last round.

    >>> [round(tangent(i, 4), 3) for i in (1, 2, 3)]
    [0.414, 1.0, 2.414]
    """
    return math.tan(round_number * math.pi / (2 * n_rounds))


@dataclass(frozen=True)
class CheckedPacing:
    """A user's schedule, whose results are checked."""

    schedule: Callable[[int, int], object]

    def __call__(self, round_number: int, n_rounds: int) -> float:
        alpha = self.schedule(round_number, n_rounds)
        if not isinstance(alpha, Real) or not float(alpha) >= 0:
            raise ValueError(
                f"The pacing function must return a number >= 0, but returned {alpha!r} "
                f"for round {round_number} of {n_rounds}."
            )
        return float(alpha)


PACING: dict[str, Pacing] = {"tan": tangent}


def pacing_named(pacing: str | Callable[[int, int], object]) -> Pacing:
    """A schedule, by name or from a function of (round, number of rounds)."""
    if isinstance(pacing, str) and pacing in PACING:
        return PACING[pacing]
    if callable(pacing):
        return CheckedPacing(pacing)
    raise ValueError(
        f"pacing must be one of {sorted(PACING)} or a function of (round, number of rounds); got {pacing!r}."
    )
