"""Claim: the spread of the members is not a confidence interval. How often is the true probability in it?

    python benchmarks/spread.py [--draws 5]

On the checkerboard the true probability of the rare class is known: with Gaussians around all fields, it is the density
of the rare fields divided by that of all. Members see as many rare as common rows, so it is taken at equal shares of
both. Measured on new rows of the board, over several draws of training rows: how often the middle 80% of the members'
probabilities of a row hold the true one (if the members erred independently around the truth, their whole range would
nearly always), how wide they are, how far the mean is from the truth, and how well the width tells rows with a large
error from those with a small one (rank correlation).
"""

from __future__ import annotations

import argparse
from statistics import mean
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from record import save, significant, versions_of
from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from text_table import text_table

COVARIANCE = 0.1
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy", "scipy")
ENSEMBLES = {"SPE": SelfPacedEnsembleClassifier, "under-bagging": UnderBaggingClassifier}
BASES = {
    "tree of depth 10": DecisionTreeClassifier(max_depth=10),
    "tree of depth 6": DecisionTreeClassifier(max_depth=6),
    "forest of 50, leaves of 10": RandomForestClassifier(50, min_samples_leaf=10),
    "LightGBM 10 rounds": LGBMClassifier(n_estimators=10, verbose=-1),
    "LightGBM 50 rounds": LGBMClassifier(n_estimators=50, verbose=-1),
}
MEMBERS = (10, 50)


def true_probability(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the rare class, where both classes are equally frequent."""
    fields = np.array([(row, column) for row in range(4) for column in range(4)])
    squares = ((X[:, np.newaxis] - fields) ** 2).sum(axis=2)
    density = np.exp(-squares / (2 * COVARIANCE))
    is_rare = fields.sum(axis=1) % 2 == 1
    probability: NDArray[np.float64] = density[:, is_rare].sum(axis=1) / density.sum(axis=1)
    return probability


def measure(model: Any, draw: int) -> dict[str, float]:
    """One ensemble on one draw of training rows; on test rows of which half are rare, as the members have it."""
    model.set_params(random_state=draw).fit(*make_checkerboard(covariance=COVARIANCE, random_state=draw))
    X, _ = make_checkerboard(5000, 5000, covariance=COVARIANCE, random_state=1000 + draw)
    truth, answer = true_probability(X), model.predict_proba(X)[:, 1]
    (low, high), (lowest, highest) = (
        (spread.low[:, 1], spread.high[:, 1]) for spread in (model.predict_proba_spread(X, share) for share in (0.8, 1))
    )
    return {
        "coverage": float(((low <= truth) & (truth <= high)).mean()),
        "coverage_of_all": float(((lowest <= truth) & (truth <= highest)).mean()),
        "width": float((high - low).mean()),
        "error": float(np.abs(answer - truth).mean()),
        "width_tells_error": float(spearmanr(high - low, np.abs(answer - truth)).statistic),
    }


def measure_all(n_draws: int) -> dict[str, dict[str, float]]:
    results = {}
    for kind, make in ENSEMBLES.items():
        for name, base in BASES.items():
            for n_members in MEMBERS:
                runs = [measure(make(base, n_members, n_jobs=-1), draw) for draw in range(n_draws)]
                results[f"{kind}_{n_members}, {name}"] = {
                    fact: significant(mean(run[fact] for run in runs), 3) for fact in runs[0]
                }
    return results


def as_table(results: dict[str, dict[str, float]]) -> str:
    rows = [
        [name, f"{facts['coverage']:.0%}", f"{facts['coverage_of_all']:.0%}"]
        + [f"{facts[fact]:.2f}" for fact in ("width", "error", "width_tells_error")]
        for name, facts in results.items()
    ]
    header = ["ensemble", "truth in the middle 80%", "in all", "width", "error", "width tells error"]
    return text_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    results = measure_all(options.draws)
    print(f"Checkerboard, {options.draws} draws\n{as_table(results)}")
    print(save("spread", {"parameters": {"draws": options.draws}, "ensembles": results}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
