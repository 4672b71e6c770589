"""Under-bagging and BalanceCascade on the same pools as Algorithm 1."""

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


def balance_cascade(
    pools: Sequence[MajorityPool[Rows]], n_draw: int, fit: Callable[[Sequence[Rows]], Any], n_models: int
) -> Iterator[Step[Rows]]:
    """Yield f_1, ..., f_n, each trained on rows drawn at random from those that earlier rounds kept.

    Every round keeps the same share of a pool, its hardest rows for the ensemble so far, so that the last member
    finds exactly as many rows as it draws.
    """
    sizes = [pool.n_rows for pool in pools]
    for i in range(1, n_models + 1):
        samples = [Sample(None, None, pool.draw([n_draw], i)) for pool in pools]
        model = fit([sample.rows for sample in samples])
        yield Step(i, None, samples, model)
        if i < n_models:
            for pool, size in zip(pools, sizes, strict=True):
                pool.score(model)
                pool.keep_hardest(rows_left(size, n_draw, i, n_models), i)


def rows_left(n_rows: int, n_draw: int, round_number: int, n_models: int) -> int:
    """Rows kept after a round: from `n_rows` down to `n_draw` before the last, each round by the same factor.

    >>> [rows_left(10_000, 100, i, 5) for i in range(5)]
    [10000, 3162, 1000, 316, 100]
    """
    if n_draw >= n_rows:
        return n_rows
    share: float = (n_draw / n_rows) ** (round_number / (n_models - 1))
    return round(n_rows * share)
