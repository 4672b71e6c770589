"""Possible leakage: a feature that nearly decides the target alone may not be known when the model is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A warning names a column whose tree reaches at least this AUCPRC on held-out rows.
NEARLY_DECIDES = 0.85
# If more rows than this share are rare, a high AUCPRC is easy to reach and means little.
MOST_POSITIVES = 0.5
LEAVES = 8
FEWEST_POSITIVES = 10


@dataclass(frozen=True)
class Leak:
    """A column that nearly decides the target, and the AUCPRC that it reaches alone."""

    name: str
    aucprc: float


def find_leaks(frame: Any, is_rare: NDArray[np.bool_], seed: int) -> list[Leak]:
    """Try each column alone: train a small tree on half of the rows and judge it on the other half."""
    from sklearn.metrics import average_precision_score
    from sklearn.tree import DecisionTreeClassifier

    order = np.random.default_rng(seed).permutation(len(frame))
    order = order[np.argsort(is_rare[order], kind="stable")]
    one, other = order[::2], order[1::2]
    if min(is_rare[one].sum(), is_rare[other].sum()) < FEWEST_POSITIVES or is_rare.mean() > MOST_POSITIVES:
        return []
    leaks = []
    for name in frame.columns:
        column = _numbers(frame[name]).reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, class_weight="balanced", random_state=seed)
        scores = tree.fit(column[one], is_rare[one]).predict_proba(column[other])[:, 1]
        found = float(average_precision_score(is_rare[other], scores))
        if found >= NEARLY_DECIDES:
            leaks.append(Leak(str(name), found))
    return leaks


def by_column(leaks: list[Leak], sources: Mapping[str, str]) -> list[Leak]:
    """One leak for each column of the table, the clearest: several features are made of a date.

    >>> by_column([Leak("paid", 0.9), Leak("paid.hour", 0.95)], {"paid": "paid", "paid.hour": "paid"})
    [Leak(name='paid', aucprc=0.95)]
    """
    best: dict[str, float] = {}
    for leak in leaks:
        name = sources.get(leak.name, leak.name)
        best[name] = max(leak.aucprc, best.get(name, 0.0))
    return [Leak(name, aucprc) for name, aucprc in best.items()]


def _numbers(column: Any) -> NDArray[np.float64]:
    values = column.cat.codes if hasattr(column, "cat") else column
    return np.asarray(values, dtype=np.float64)


def leaking(leak: Leak) -> str:
    """A warning about a column that nearly decides the target.

    >>> leaking(Leak("closed", 0.98))[:70]
    "column 'closed' alone nearly determines the target (AUCPRC 0.98). If i"
    """
    return (
        f"column {leak.name!r} alone nearly determines the target (AUCPRC {leak.aucprc:.2f}). If its values are "
        f"not known when the model is used, exclude it: --exclude {leak.name!r}"
    )
