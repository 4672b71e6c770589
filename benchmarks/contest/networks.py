"""Networks for tables, on the processor. They learn from 80% of the rows and stop by the logarithmic loss of the rest.

They refuse missing numbers: these become the median of the column, and a column of their own says where they were.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from contest.threads import N_THREADS

SETTINGS = {"device": "cpu", "n_threads": N_THREADS, "val_metric_name": "cross_entropy"}


class Imputed:
    """A classifier that gets medians for missing numbers, and where these were."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: Any) -> Imputed:
        numbers = X.select_dtypes("number")
        self.medians = numbers.median().fillna(0.0)
        self.with_missing = list(numbers.columns[numbers.isna().any()])
        self.model.fit(self._filled(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self._filled(X))

    def _filled(self, X: pd.DataFrame) -> pd.DataFrame:
        was_missing = X[self.with_missing].isna().astype("float64").add_suffix(" is missing")
        return pd.concat([X.fillna(self.medians.to_dict()), was_missing], axis=1)


def real_mlp(seed: int) -> Any:
    """RealMLP with its tuned defaults, without smoothed labels, as advised where probabilities count."""
    from pytabkit import RealMLP_TD_Classifier

    return Imputed(RealMLP_TD_Classifier(**SETTINGS, use_ls=False, random_state=seed))


def tab_m(seed: int) -> Any:
    from pytabkit import TabM_D_Classifier

    return Imputed(TabM_D_Classifier(**SETTINGS, random_state=seed))
