"""Synthetic rare rows by SMOTE, and the base class of ensembles that use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.baselines.boosting import BaselineEnsemble
from selfpaced.ensembles.fitting import LARGEST_RANDOM_STATE
from selfpaced.exceptions import need
from selfpaced.pools import mix

Numbers = NDArray[np.floating]


class Smote:
    """Makes new rows of a class between its rows and their neighbours, the same for the same seed and key."""

    def __init__(self, k_neighbors: int, seed: int) -> None:
        self._smote = need("imblearn.over_sampling", "smote", "SMOTE").SMOTE
        self._k_neighbors = k_neighbors
        self._seed = seed

    def new_rows(self, parents: Numbers, n_new: int, *key: int) -> Numbers:
        """`n_new` rows between the parents, which are two or more rows of one class."""
        n_parents, n_columns = parents.shape
        # SMOTE does not read other classes, but requires that there is one and that it stays the largest.
        others = np.zeros((n_parents + n_new, n_columns), dtype=parents.dtype)
        smote = self._smote(
            sampling_strategy={1: n_parents + n_new},
            k_neighbors=min(self._k_neighbors, n_parents - 1),
            random_state=mix(self._seed, *key) % LARGEST_RANDOM_STATE,
        )
        y = np.repeat([0, 1], [len(others), n_parents])
        rows: Numbers = smote.fit_resample(np.concatenate([others, parents]), y)[0]
        return rows[y.size :]


class SyntheticRowsEnsemble(BaselineEnsemble):
    """An ensemble with synthetic rows. It needs numbers without missing values. The only metadata are weights."""

    _numbers_only = True

    def _check_row_metadata(self, per_row: Mapping[str, Any]) -> None:
        if per_row:
            raise ValueError(
                f"fit got {sorted(per_row)} for each row, but synthetic rows can only have a sample_weight. Do not "
                "request the others on the base model."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = False
        return tags
