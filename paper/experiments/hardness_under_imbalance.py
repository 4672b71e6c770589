"""Figure: how hard the majority rows are when the imbalance grows, on disjoint and on overlapped Gaussians."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.methods import positive_probability, seeded
from paper.models import MODELS

N_MINORITY = 100
N_BINS = 10
SPREAD = 0.5
# One centre for each class far apart, or several of each close together.
CENTRES = {
    "disjoint": ([(0.0, 0.0)], [(4.0, 4.0)]),
    "overlapped": ([(0.0, 0.0), (2.0, 1.0), (1.0, 2.5)], [(1.0, 0.5), (0.5, 1.5), (2.0, 2.0)]),
}


def gaussians(kind: str, imbalance: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Rows of both classes around their centres, `imbalance` majority rows for each minority row."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array([0, 1], dtype=np.int8), [imbalance * N_MINORITY, N_MINORITY])
    centres = [
        np.array(centres)[rng.integers(len(centres), size=(y == label).sum())]
        for label, centres in enumerate(CENTRES[kind])
    ]
    return np.concatenate(centres) + rng.normal(scale=SPREAD, size=(y.size, 2)), y


def hardness(kind: str, imbalance: int, model: str, seed: int) -> NDArray[np.float64]:
    """Absolute error on fresh rows of the same distribution, of a model trained on all rows as they are."""
    X, y = gaussians(kind, imbalance, 2 * seed)
    fitted = seeded(MODELS[model](None), seed).fit(X, y)
    X_new, y_new = gaussians(kind, imbalance, 2 * seed + 1)
    return np.abs(positive_probability(fitted, X_new) - y_new)


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    hard = hardness(setting["data"], setting["imbalance"], setting["model"], run)
    counts, _ = np.histogram(hard, bins=N_BINS, range=(0, 1))
    return [{"bin": number, "rows": int(count)} for number, count in enumerate(counts)]


HARDNESS_UNDER_IMBALANCE = Experiment(
    name="hardness_under_imbalance",
    title="Hardness under growing imbalance, without and with overlap",
    grid={"data": list(CENTRES), "imbalance": [1, 10, 100], "model": ["KNN", "AdaBoost10"]},
    work=work,
)
