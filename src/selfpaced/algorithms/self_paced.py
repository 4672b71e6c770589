"""Self-paced Ensemble: Algorithm 1 of Liu et al., ICDE 2020. "Line" in the comments is a line of that algorithm."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms.allocation import allocate, with_uniform_share
from selfpaced.algorithms.hardness import Hardness
from selfpaced.algorithms.pacing import Pacing
from selfpaced.algorithms.pool import HardnessBins, MajorityPool, Outlook, Sample, Step

Rows = TypeVar("Rows")


def self_paced(
    pools: Sequence[MajorityPool[Rows]],
    n_draw: int,
    fit: Callable[[Sequence[Rows]], Any],
    hardness: Hardness,
    pacing: Pacing,
    n_models: int,
    n_bins: int,
    uniform_share: float = 0.0,
) -> Iterator[Step[Rows]]:
    """Yield f_0, f_1, ..., f_n of Algorithm 1. f_0 is the warm-up: it scores, and is not a member of the ensemble.

    The paper has one pool, the majority class. With more classes, every class except the smallest has its own pool.
    The paper draws all rows by hardness. Here a share of them can be drawn at random from the whole class.
    """
    samples = [Sample(None, None, pool.draw([n_draw], 0)) for pool in pools]
    model = fit([sample.rows for sample in samples])  # line 2: f_0
    yield Step(0, None, samples, model)
    for i in range(1, n_models + 1):  # line 3
        alpha = pacing(i, n_models)  # line 7
        outlook = Outlook(i, n_draw, alpha, uniform_share)
        samples = [_under_sample(pool, model, outlook, hardness, n_bins) for pool in pools]  # lines 4-9
        model = fit([sample.rows for sample in samples])  # line 10: f_i
        yield Step(i, alpha, samples, model)


def _under_sample(
    pool: MajorityPool[Rows], model: Any, outlook: Outlook, hardness: Hardness, n_bins: int
) -> Sample[Rows]:
    pool.score(model)  # line 4: F_i
    bins = pool.cut(hardness, n_bins, outlook)  # lines 5-6: B_l, h_l
    quota = quota_of(bins, outlook)  # lines 8-9: how many of each bin
    return Sample(bins, quota, pool.draw(quota.tolist(), outlook.round_number))  # line 9: which


def quota_of(bins: HardnessBins, outlook: Outlook) -> NDArray[np.int64]:
    """How many rows of each bin are drawn."""
    weight = 1 / (bins.mean_hardness + outlook.alpha)  # line 8: p_l
    if outlook.uniform_share:
        weight = with_uniform_share(weight, bins.counts, outlook.uniform_share)
    return allocate(weight, bins.counts, outlook.n_draw)  # line 9
