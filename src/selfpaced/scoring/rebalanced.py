"""A model whose probabilities are brought to other shares of the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Rebalanced:
    """A fitted model, and the correction of its probabilities. Pools score rows with it as with any other model."""

    model: Any
    correct: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return self.correct(self.model.predict_proba(X))
