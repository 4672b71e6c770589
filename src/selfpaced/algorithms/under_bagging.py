"""Under-bagging: every member on a random part of the majority (Barandela, Valdovinos, Sánchez 2003)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from selfpaced.algorithms.pool import MajorityPool, Sample, Step

Rows = TypeVar("Rows")


def under_bagging(
    pools: Sequence[MajorityPool[Rows]], n_draw: int, fit: Callable[[Sequence[Rows]], Any], n_models: int
) -> Iterator[Step[Rows]]:
    """Yield f_1, ..., f_n. Members do not depend on each other, so the majority is never scored."""
    for i in range(1, n_models + 1):
        samples = [Sample(None, None, pool.draw([n_draw], i)) for pool in pools]
        yield Step(i, None, samples, fit([sample.rows for sample in samples]))
