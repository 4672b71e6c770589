"""Scorers: how a model of each kind gives probabilities of a chunk of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from selfpaced.trees import CodedRows, coded

Probabilities = NDArray[np.floating]

FEWEST_ROWS_AT_ONCE = 256
MOST_ROWS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Scorer:
    """How one fitted model turns rows into probabilities.

    Attributes
    ----------
    view : Callable[[Any], Any]
        Lays rows out as `score` reads them. Models that share a view share the work of it.
    score : Callable[[Any], Probabilities]
        From a view of some rows to their probabilities, one column a class.
    bytes_at_once : int
        Size of a chunk that is scored well: what fits a core's cache, or much larger if each call is expensive.
    threads : int | None
        In how many threads chunks are scored; None for as many as the caller has.
    reads_float32 : bool, default=False
        Whether float32 numbers are all it sees of the rows, so that no frame need be made of them.
    reads_coded : bool, default=False
        Whether its view takes `CodedRows`. Other views get a frame.
    is_fast : Callable[[], bool]
        Prepares what does not depend on the rows. Whether rows are then scored without the model's `predict_proba`.
    """

    view: Callable[[Any], Any]
    score: Callable[[Any], Probabilities]
    bytes_at_once: int
    threads: int | None
    reads_float32: bool = False
    reads_coded: bool = False
    is_fast: Callable[[], bool] = lambda: False

    def then(self, step: Callable[[Any], Probabilities]) -> Scorer:
        """The same scorer with one more step after the probabilities."""
        return replace(self, score=lambda view: step(self.score(view)))

    def times(self, weight: np.float64) -> Scorer:
        """The same scorer with all probabilities multiplied by a weight."""
        return self.then(lambda probabilities: weight * probabilities)

    def rows_at_once(self, bytes_per_row: float) -> int:
        return int(min(max(self.bytes_at_once / bytes_per_row, FEWEST_ROWS_AT_ONCE), MOST_ROWS_AT_ONCE))


def chunks_for(scorers: Sequence[Scorer], bytes_per_row: float, n_threads: int) -> tuple[int, int]:
    """Rows at once and number of threads that suit all of the scorers."""
    rows = min(scorer.rows_at_once(bytes_per_row) for scorer in scorers)
    return rows, min(n_threads if scorer.threads is None else scorer.threads for scorer in scorers)


def probabilities_by(scorers: Sequence[Scorer], features: Any) -> Iterator[Probabilities]:
    """What each model says of some rows. The rows are laid out once for all models that share a view."""
    rows = coded(features) if any(scorer.reads_coded for scorer in scorers) else None
    features = features if rows is None else rows
    views: dict[Callable[[Any], Any], Any] = {}
    for scorer in scorers:
        if scorer.view not in views:
            views[scorer.view] = scorer.view(features if scorer.reads_coded else as_frame(features))
        yield scorer.score(views[scorer.view])


@dataclass(frozen=True)
class Rebalanced:
    """A fitted model, and the correction of its probabilities. Pools score rows with it as with any other model."""

    model: Any
    correct: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return self.correct(self.model.predict_proba(X))


# Each call costs checks and conversions of its own: few calls on large chunks.
BYTES_AT_ONCE = 2**24


def plain_scorer(model: Any) -> Scorer:
    # Unknown models may use their own threads, or may not be thread-safe.
    return Scorer(as_is, _prediction(model), BYTES_AT_ONCE, threads=1)


def as_is(features: Any) -> Any:
    return features


def as_frame(features: Any) -> Any:
    """Coded rows as a frame, for models that read nothing else; other features as they are."""
    return features.frame if isinstance(features, CodedRows) else features


def _prediction(model: Any) -> Any:
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


ALL_CORES = 0


def xgboost_scorer(model: Any) -> Scorer:
    # A booster goes on with the threads it was trained with, and a small training set had one.
    model.get_booster().set_param({"nthread": ALL_CORES if model.n_jobs is None else model.n_jobs})
    return plain_scorer(model)
