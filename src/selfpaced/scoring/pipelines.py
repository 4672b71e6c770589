"""Probabilities from pipelines of scikit-learn whose encoders are known: rows are read once for all members.

Each member of an ensemble has an encoder of its own, fitted on its own rows. `transform` of scikit-learn spends
milliseconds on frames, checks and categories. Here the encoder is asked once what it makes of each category, and rows
that are columns of numbers are then encoded by a few operations. The result is the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit

from selfpaced.scoring.scorer import CodedRows, Floats, Probabilities, Scorer, as_codes, as_frame, coded

# The numbers that a table of encoded categories may hold: 32 MB.
MOST_NUMBERS = 2**22
# So many tables are kept, and threads do not make the same table at the same time.
MOST_TABLES, LOCK = 64, Lock()
# Few numbers are made in a core's cache, and few rows are not worth the calls.
NUMBERS_AT_ONCE, FEWEST_AT_ONCE = 2**16, 2**8
# With these, categories that are not known become numbers without a warning.
SILENT = ("ignore", "infrequent_if_exist", "use_encoded_value")


def pipeline_scorer(model: Any, final: Scorer) -> Scorer | None:
    """The scorer of a pipeline; None if its encoder is not known. `final` is the scorer of the last step."""
    final = _last_step(model[-1], final)
    encoder = encoder_of([step for _, step in model.steps[:-1]])
    # The last step gets an array. Models that were trained on a frame warn of it, or refuse it as CatBoost may.
    knows_names = hasattr(model[-1], "feature_names_in_") or hasattr(model[-1], "feature_names_")
    if encoder is None or (knows_names and not final.reads_float32 and not final.is_fast()):
        return None

    def view(features: Any) -> tuple[Callable[[Any], Probabilities], Any]:
        """What scores the rows, and the rows for it: encoded for the last step, or as they are for all steps."""
        encoded = encoder(features)
        return (model.predict_proba, as_frame(features)) if encoded is None else (final.score, final.view(encoded))

    def score(laid_out: tuple[Callable[[Any], Probabilities], Any]) -> Probabilities:
        by, rows = laid_out
        return by(rows)

    return Scorer(view, score, final.bytes_at_once, final.threads, reads_coded=True, is_fast=final.is_fast)


def encoder_of(steps: Sequence[Any]) -> Callable[[Any], Floats | None] | None:
    """From rows to the array that some steps make of them; None if one of the steps is not known."""
    if len(steps) == 1 and _is(steps[0], "ColumnTransformer"):
        parts = [_part(step, _positions(steps[0], names)) for _, step, names in steps[0].transformers_ if len(names)]
        known = [part for part in parts if part is not None]
        # Of several parts with numbers only, and of numbers as they are, the order in memory is not known.
        has_categories = any(isinstance(part.step, CategoryTables) for part in known)
        is_known = has_categories or (len(known) == 1 and not known[0].is_one_to_one)
        return FrameEncoder(known) if is_known and len(known) == len(parts) and not steps[0].sparse_output_ else None
    numbers = _numbers(steps)
    return None if numbers is None else partial(_encoded_array, numbers)


def _is(step: Any, name: str) -> bool:
    return type(step).__name__ == name and type(step).__module__.partition(".")[0] == "sklearn"


def _positions(columns: Any, names: Any) -> list[int] | None:
    """The positions of some columns by their names; None if they are chosen in another way."""
    known = getattr(columns, "feature_names_in_", np.array([])).tolist()
    is_list = isinstance(names, list) and set(names) <= set(known)
    return [known.index(name) for name in names] if is_list else None


def _part(step: Any, positions: list[int] | None) -> ColumnStep | None:
    if positions is None or step == "drop":
        return None
    if isinstance(step, str) or (_is(step, "FunctionTransformer") and step.func is None):
        return ColumnStep(positions, Numbers(len(positions)))
    if (_is(step, "OrdinalEncoder") or _is(step, "OneHotEncoder")) and step.handle_unknown in SILENT:
        has_function = callable(getattr(step, "feature_name_combiner", None))  # which may have no digest
        is_plain = getattr(step, "drop", None) is None and not getattr(step, "sparse_output", False)
        return ColumnStep(positions, CategoryTables(joblib.hash(step), step)) if is_plain and not has_function else None
    numbers = _numbers([each for _, each in step.steps] if _is(step, "Pipeline") else [step])
    return None if numbers is None else ColumnStep(positions, numbers)


def _numbers(steps: Sequence[Any]) -> Numbers | None:
    """What an imputer that marks missing values and then a scaler do; None for other steps."""
    if len(steps) != 2 or not (_is(steps[0], "SimpleImputer") and _is(steps[1], "StandardScaler")):
        return None
    imputer, scaler = steps
    filled = imputer.statistics_
    reads_nan = imputer.add_indicator and imputer.missing_values != imputer.missing_values
    is_known = reads_nan and scaler.with_mean and scaler.with_std
    if not is_known or filled.dtype != np.float64 or np.isnan(filled).any():
        return None
    marked, mean, scale = imputer.indicator_.features_, scaler.mean_[:, np.newaxis], scaler.scale_[:, np.newaxis]
    return Numbers(mean.size, filled[:, np.newaxis], marked, mean, scale)


@dataclass(frozen=True)
class Numbers:
    """Numbers as they are, or filled where they are missing, with marks of the missing ones, and scaled."""

    width: int  # the number of encoded columns
    filled: Floats | None = None
    marked: Any = None
    mean: Any = None
    scale: Any = None

    def __call__(self, columns: Floats, encoded: Floats) -> None:
        """Write some rows to `encoded`, from one row for each column."""
        if self.filled is not None:
            missing = np.isnan(columns)
            columns = np.concatenate([np.where(missing, self.filled, columns), missing[self.marked]])
            columns -= self.mean
            columns /= self.scale
        encoded[:] = columns.T


@dataclass(frozen=True)
class CodeTable:
    """What an encoder makes of the categories of some columns."""

    base: Floats  # an encoded row
    # For each column, the places that it decides, and their numbers, a row a code; the last one for missing values.
    blocks: Sequence[tuple[Any, Floats]]

    @property
    def width(self) -> int:
        return self.base.size

    def __call__(self, columns: Floats, encoded: Floats) -> None:
        encoded[:] = self.base
        for (places, numbers), codes in zip(self.blocks, as_codes(columns), strict=True):
            encoded[:, places] = numbers.take(codes, axis=0)


@dataclass(frozen=True)
class CategoryTables:
    """What a fitted encoder makes of categories: tables that are made once for all equal encoders."""

    digest: str  # of all that the encoder has learned
    encoder: Any = field(compare=False)

    def of(self, categories: tuple[tuple[Any, ...], ...]) -> CodeTable | None:
        """The table of some categories, one tuple for each column; None if they must be left to the encoder."""
        with LOCK:
            return _table(self, categories)


@lru_cache(MOST_TABLES)
def _table(tables: CategoryTables, categories: tuple[tuple[Any, ...], ...]) -> CodeTable | None:
    n_numbers = (1 + sum(map(len, categories))) * len(tables.encoder.get_feature_names_out())
    with suppress(ValueError):
        return code_table(tables.encoder, categories) if n_numbers <= MOST_NUMBERS else None
    return None


def code_table(encoder: Any, categories: Sequence[Sequence[Any]]) -> CodeTable | None:
    """What an encoder makes of some categories of each of its columns; None if two columns decide one number.

    It is asked about a row of first categories, and about that row with every other code of each column in turn: of
    missing values it would take twice as long.
    """
    import pandas as pd

    ends = np.cumsum([1, *(len(own) + 1 for own in categories)])
    codes = np.repeat([[0 if own else -1] for own in categories], ends[-1], axis=1)
    for own, known, begin, end in zip(codes, categories, ends[:-1], ends[1:], strict=True):
        own[begin:end] = [*range(len(known)), -1]
    columns = zip(encoder.feature_names_in_, codes, categories, strict=True)
    frame = pd.DataFrame({name: pd.Categorical.from_codes(own, known) for name, own, known in columns})
    found = encoder.transform(frame)
    encoded = np.asarray(found.toarray() if issparse(found) else found, dtype=np.float64)
    base, decided = encoded[0], []
    for numbers in np.split(encoded, ends[:-1])[1:]:
        is_same = (numbers == base) | (np.isnan(numbers) & np.isnan(base))
        decided.append((np.flatnonzero(~is_same.all(axis=0)), numbers))
    places = np.concatenate([own for own, _ in decided])
    if np.unique(places).size < places.size:
        return None
    return CodeTable(base, [(_as_slice(own), np.ascontiguousarray(numbers[:, own])) for own, numbers in decided])


def _as_slice(places: NDArray[np.intp]) -> Any:
    """Consecutive places as a slice, which numpy writes to faster."""
    is_run = places.size and places[-1] - places[0] == places.size - 1
    return slice(int(places[0]), int(places[-1]) + 1) if is_run else places


@dataclass(frozen=True)
class ColumnStep:
    """A step for some columns of a frame."""

    positions: list[int]
    step: Numbers | CategoryTables

    @property
    def is_one_to_one(self) -> bool:
        """Whether each column becomes one column."""
        step = self.step
        return step.filled is None if isinstance(step, Numbers) else _is(step.encoder, "OrdinalEncoder")

    def known(self, rows: CodedRows) -> Numbers | CodeTable | None:
        """The step for the categories of some rows; None if it must be asked itself."""
        categories = [rows.categories.get(position) for position in self.positions]
        if isinstance(self.step, Numbers):
            return self.step if all(own is None for own in categories) else None
        return None if None in categories else self.step.of(tuple(own for own in categories if own is not None))


@dataclass(frozen=True)
class FrameEncoder:
    """What a column transformer makes of a frame."""

    parts: Sequence[ColumnStep]

    def __call__(self, features: Any) -> Floats | None:
        rows = coded(features)
        if rows is None or not rows.is_exact:
            return None
        steps = [(part.positions, step) for part in self.parts if (step := part.known(rows)) is not None]
        return _encoded(rows.numbers, steps, self.is_by_rows) if len(steps) == len(self.parts) else None

    @property
    def sources(self) -> tuple[int, ...] | None:
        """The column that each encoded column is made of; None if some columns become several."""
        if not all(part.is_one_to_one for part in self.parts):
            return None
        return tuple(position for part in self.parts for position in part.positions)

    @property
    def is_by_rows(self) -> bool:
        """Whether the rows stand in memory one after the other. Products of matrices are rounded accordingly."""
        step = self.parts[0].step
        return len(self.parts) > 1 or not (isinstance(step, Numbers) and step.marked.size)


def _encoded_array(numbers: Numbers, features: Any) -> Floats | None:
    """What an imputer and a scaler make of an array."""
    is_plain = isinstance(features, np.ndarray) and features.dtype == np.float64 and features.flags.c_contiguous
    return _encoded(features.T, [(slice(None), numbers)], True) if is_plain else None


def _encoded(columns: Floats, steps: Sequence[tuple[Any, Numbers | CodeTable]], is_by_rows: bool) -> Floats:
    """What some steps make of their columns, side by side: one row for each row."""
    ends = np.cumsum([step.width for _, step in steps])
    encoded = np.empty((columns.shape[1], int(ends[-1])), order="C" if is_by_rows else "F")
    n_at_once = max(NUMBERS_AT_ONCE // encoded.shape[1], FEWEST_AT_ONCE) | 1  # odd: 2**12 bytes apart is slow
    for start in range(0, len(encoded), n_at_once):
        some = slice(start, start + n_at_once)
        for (positions, step), end in zip(steps, ends, strict=True):
            step(columns[positions, some], encoded[some, end - step.width : end])
    return encoded


def linear_score(model: Any) -> Callable[[Any], Probabilities] | None:
    """Logistic regression of two classes, without the checks of `predict_proba`."""
    return None if len(model.classes_) > 2 else lambda rows: _both(expit(rows @ model.coef_.T + model.intercept_))


def network_score(model: Any) -> Callable[[Any], Probabilities] | None:
    """The same for a network with one hidden layer."""
    if model.n_layers_ != 3 or model.activation != "relu" or model.out_activation_ != "logistic":
        return None
    (first, last), (first_bias, last_bias) = model.coefs_, model.intercepts_

    def score(rows: Any) -> Probabilities:
        hidden = rows @ first
        hidden += first_bias
        np.maximum(hidden, 0, out=hidden)
        return _both(expit(hidden @ last + last_bias))

    return score


def _both(second: Any) -> Probabilities:
    return np.column_stack([1 - second, second])


# Models whose `predict_proba` takes longer for its checks than for its arithmetic.
DENSE = {"LogisticRegression": linear_score, "MLPClassifier": network_score}


def _last_step(model: Any, final: Scorer) -> Scorer:
    """The scorer of the last step for encoded rows. Numbers that are not finite are left to the model."""
    make = next((make for name, make in DENSE.items() if _is(model, name)), None)
    score = None if make is None else make(model)
    if score is None:
        return final

    def finite_score(rows: Any) -> Probabilities:
        return score(rows) if np.isfinite(rows.sum()) else final.score(rows)

    return replace(final, score=finite_score, is_fast=lambda: True)
