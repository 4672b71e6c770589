"""Probabilities from any classifier, by its own methods.

A model without `predict_proba` is asked for its decision function: the logistic function makes it a probability of two
classes, the softmax of more. A model without that either gives probability 1 to the class it predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from selfpaced.scoring.scorer import Probabilities, Scorer

# Each call costs checks and conversions of its own: few calls on large chunks.
BYTES_AT_ONCE = 2**24


def plain_scorer(model: Any) -> Scorer:
    # Unknown models may bring threads of their own, or not bear several of ours.
    return Scorer(as_is, _road(model), BYTES_AT_ONCE, threads=1)


def as_is(features: Any) -> Any:
    return features


def _road(model: Any) -> Any:
    if hasattr(model, "predict_proba"):
        return model.predict_proba
    if hasattr(model, "decision_function"):
        return lambda features: from_decision(model.decision_function(features))
    return lambda features: from_votes(model.predict(features), len(model.classes_))


def from_decision(decision: Any) -> Probabilities:
    """
    >>> from_decision([0.0, np.inf]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    decision = np.asarray(decision, dtype=np.float64)
    if decision.ndim == 1:
        return np.column_stack([expit(-decision), expit(decision)])
    probabilities: Probabilities = softmax(decision, axis=1)
    return probabilities


def from_votes(predicted: Any, n_classes: int) -> Probabilities:
    """
    >>> from_votes([1, 0], 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return np.eye(n_classes)[np.asarray(predicted, dtype=np.intp)]
