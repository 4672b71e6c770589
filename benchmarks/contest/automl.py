"""Tools that choose and blend models by themselves within a given time."""

from __future__ import annotations

import tempfile
from typing import Any, ClassVar

import pandas as pd

from contest.threads import N_THREADS

TARGET = "is rare"


class AutoGluon:
    """AutoGluon with the preset "good_quality".

    Its environment has LightGBM, CatBoost, XGBoost and scikit-learn's forests, but not PyTorch: AutoGluon leaves out
    its neural networks by itself.
    """

    settings: ClassVar[dict[str, Any]] = {"presets": "good_quality"}

    def __init__(self, seed: int, seconds: float) -> None:
        from autogluon.tabular import TabularPredictor

        self.folder = tempfile.TemporaryDirectory()
        self.seconds = seconds
        self.model = TabularPredictor(
            TARGET, problem_type="binary", eval_metric="average_precision", path=self.folder.name, verbosity=0
        )

    def fit(self, X: pd.DataFrame, y: Any) -> AutoGluon:
        # AutoGluon has one seed for all, which is not a parameter: its runs differ by the split alone.
        train = X.assign(**{TARGET: y})
        self.model.fit(train, time_limit=self.seconds, num_cpus=N_THREADS, num_gpus=0, **self.settings)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(X, as_multiclass=True).to_numpy()


class AutoGluonHigh(AutoGluon):
    """AutoGluon with the preset "high_quality", with its neural networks, and without a first fit that tests stacking.

    That fit takes the time of the others where there is little.
    """

    settings: ClassVar[dict[str, Any]] = {"presets": "high_quality", "dynamic_stacking": False}


class Flaml:
    """FLAML with average precision as its metric."""

    def __init__(self, seed: int, seconds: float) -> None:
        from flaml import AutoML

        self.model = AutoML()
        self.settings = {
            "task": "classification",
            "metric": "ap",
            "time_budget": seconds,
            "n_jobs": N_THREADS,
            "seed": seed,
            "verbose": 0,
        }

    def fit(self, X: pd.DataFrame, y: Any) -> Flaml:
        self.model.fit(X, y, **self.settings)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(X)
