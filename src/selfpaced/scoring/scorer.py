"""Rows as columns of numbers, and scorers: how a model of each kind gives probabilities of a chunk of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Floats = NDArray[np.float64]
Probabilities = NDArray[np.floating]

FEWEST_ROWS_AT_ONCE = 256
MOST_ROWS_AT_ONCE = 2**16


NUMBERS = "biuf"
# Beyond it, a float does not hold every whole number.
LARGEST_WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of a frame as numbers. Consecutive rows are cut out by a slice, without a copy."""

    # One row for each column of the frame: its numbers, or the codes of its categories; NaN for missing values.
    numbers: Floats
    # The categories of each categorical column, by its position. A code is a place among them.
    categories: Mapping[int, tuple[Any, ...]]
    make_frame: Callable[[], Any]  # gives the same rows as a pandas frame
    # Whether the frame has no whole numbers that are too large for floats. LightGBM rounds them in the same way.
    is_exact: bool = True
    itemsize: int = 8

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape[1], self.numbers.shape[0]

    def __len__(self) -> int:
        return int(self.numbers.shape[1])

    def __getitem__(self, some: slice) -> CodedRows:
        if some.start == 0 and some.stop == len(self):
            return self
        return CodedRows(self.numbers[:, some], self.categories, lambda: self.frame.iloc[some], self.is_exact)

    @cached_property
    def frame(self) -> Any:
        """The rows as a pandas frame, made once."""
        return self.make_frame()

    def recoded(self, known: Mapping[int, tuple[Any, ...]]) -> Floats | None:
        """The numbers with the codes of other categories; None if other columns than these are categorical."""
        if self.categories.keys() != known.keys():
            return None
        places = {at: own for at in known if (own := _codes_among(self.categories[at], known[at])) is not None}
        numbers = self.numbers.copy() if places else self.numbers
        for at, own in places.items():
            numbers[at] = own.take(as_codes(numbers[at]))
        return numbers


def as_codes(numbers: Floats) -> NDArray[np.intp]:
    """Codes of categories as whole numbers; -1 for missing values."""
    return np.where(np.isnan(numbers), -1, numbers).astype(np.intp)


@lru_cache(maxsize=1024)
def _codes_among(categories: tuple[Any, ...], known: tuple[Any, ...]) -> Floats | None:
    """The code of each category, NaN for those that are not known, and a NaN at the end; None if they are the same."""
    if categories == known:
        return None
    code_of = {category: float(code) for code, category in enumerate(known)}
    return np.array([*(code_of.get(category, np.nan) for category in categories), np.nan])


def coded(features: Any) -> CodedRows | None:
    """The rows of a pandas frame as numbers; None for other features, and for frames with other columns."""
    if isinstance(features, CodedRows):
        return features
    if type(features).__name__ != "DataFrame" or type(features).__module__.partition(".")[0] != "pandas":
        return None
    types = list(features.dtypes)
    categorical = [at for at, kind in enumerate(types) if hasattr(kind, "categories")]
    plain = [at for at, kind in enumerate(types) if isinstance(kind, np.dtype) and kind.kind in NUMBERS]
    if len(plain) + len(categorical) < len(types):
        return None
    numbers = np.empty((len(types), len(features)))
    numbers[plain] = (features.iloc[:, plain] if categorical else features).to_numpy(np.float64).T
    for at in categorical:
        numbers[at] = as_numbers(features.iloc[:, at].array.codes)
    categories = {at: tuple(types[at].categories.tolist()) for at in categorical}
    return CodedRows(numbers, categories, lambda: features, are_exact(numbers, types))


def are_exact(numbers: Floats, types: Sequence[Any]) -> bool:
    """Whether all whole numbers of some columns are the same as floats."""
    wide = [at for at, kind in enumerate(types) if str(kind) in ("int64", "uint64")]
    return not wide or bool((np.abs(numbers[wide]) < LARGEST_WHOLE).all())


def as_numbers(codes: NDArray[np.integer]) -> Floats:
    """Codes of categories as floats; NaN for missing values, whose code is -1."""
    return np.where(codes < 0, np.nan, codes)


def coded_batch(batch: Any) -> CodedRows | None:
    """The same for a record batch of Arrow."""
    import pyarrow as pa

    numbers, categories = np.empty((batch.num_columns, batch.num_rows)), {}
    for at, column in enumerate(batch.columns):
        kind = column.type
        if hasattr(column, "dictionary"):
            codes = column.indices.fill_null(-1) if column.indices.null_count else column.indices
            numbers[at] = as_numbers(codes.to_numpy())
            categories[at] = tuple(column.dictionary.to_pylist())
            continue
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        # Of booleans with missing values pandas makes objects.
        if not is_number and (column.null_count or not pa.types.is_boolean(kind)):
            return None
        numbers[at] = column.to_numpy(zero_copy_only=False)
    return CodedRows(numbers, categories, batch.to_pandas, are_exact(numbers, batch.schema.types))


@dataclass(frozen=True)
class Scorer:
    """How one fitted model turns rows into probabilities."""

    view: Callable[[Any], Any]  # lays rows out as `score` reads them. Models that share a view share the work of it.
    score: Callable[[Any], Probabilities]  # from a view of some rows to their probabilities, one column a class
    # Size of a chunk that is scored well: what fits a core's cache, or much larger if each call is expensive.
    bytes_at_once: int
    threads: int | None  # in how many threads chunks are scored; None for as many as the caller has
    reads_float32: bool = False  # whether float32 numbers are all it sees of the rows: no frame need be made of them
    reads_coded: bool = False  # whether its view takes `CodedRows`. Other views get a frame.
    reads_columns: bool = False  # whether it scores columns of float32 as it does a frame of them
    # Prepares what does not depend on the rows. Whether rows are then scored without the model's `predict_proba`.
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
    """What each model says of some rows. Rows are laid out once for models that share a view, and then forgotten."""
    rows = coded(features) if any(scorer.reads_coded for scorer in scorers) else None
    features = features if rows is None else rows
    views: dict[Callable[[Any], Any], Any] = {}
    last = {scorer.view: number for number, scorer in enumerate(scorers)}
    for number, scorer in enumerate(scorers):
        if scorer.view not in views:
            views[scorer.view] = scorer.view(features if scorer.reads_coded else as_frame(features))
        yield scorer.score(views.pop(scorer.view) if last[scorer.view] == number else views[scorer.view])


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
