"""The ensembles of this package. All of them read categories and missing values as their base models do."""

from __future__ import annotations

from typing import Any

from contest.alternatives import lightgbm
from contest.threads import N_THREADS


def auto(seed: int) -> Any:
    from selfpaced.ensembles.auto import AutoSelfPacedClassifier

    return AutoSelfPacedClassifier(n_jobs=N_THREADS, random_state=seed, calibration="isotonic")


def self_paced_boosting(seed: int) -> Any:
    """What `selfpaced train --base gbdt` makes."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from selfpaced.ensembles import SelfPacedEnsembleClassifier

    base = HistGradientBoostingClassifier(max_iter=50, early_stopping=False, min_samples_leaf=5)
    return SelfPacedEnsembleClassifier(base, 10, n_bins=20, calibration="isotonic", n_jobs=N_THREADS, random_state=seed)


def under_bagging(seed: int) -> Any:
    from selfpaced.ensembles import UnderBaggingClassifier

    base = lightgbm(0, n_estimators=50, min_child_samples=5)
    return UnderBaggingClassifier(base, 10, n_jobs=N_THREADS, random_state=seed)
