"""Scores of single rows: a fitted ensemble, with everything prepared that does not depend on the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import Calibrator
from selfpaced.ensembles.averaged import AveragedMembers, rows_in_memory, scoring_of
from selfpaced.ensembles.blended import BlendedEnsembles
from selfpaced.ensembles.pooling import LogOddsPool
from selfpaced.ensembles.row_reading import ArrayRow, NamedRow, ReadRow, is_missing, reader_of_frame, reader_of_schema
from selfpaced.scoring import Scorer, scorer_of
from selfpaced.scoring.lightgbm import small_trees
from selfpaced.scoring.lightgbm_trees import frame_categories
from selfpaced.scoring.single_rows import BoostersOfARow

Floats = NDArray[np.float64]
LIGHTGBM = "lightgbm", "LGBMClassifier"


class RowScorer:
    """Scores one row at a time. `model.scorer()` returns it. Threads can share it, and it can be pickled.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the probabilities.
    score_label_ : label
        The label whose probability is the score.
    is_fast_ : bool
        Whether all members are scored without data frames and without the checks of their own `predict_proba`.
    """

    def __init__(
        self, model: Any, ensembles: Sequence[AveragedMembers], pool: LogOddsPool | None, calibrator: Calibrator | None
    ) -> None:
        self.classes_ = model.classes_
        self.score_label_ = model.score_label_
        self._column = model.trained_on_.score_column
        self._categories = _categories(model)
        self._read = _reader(model, self._categories)
        self._parts = [_Members(each, model.n_features_in_) for each in ensembles]
        self._pool = pool
        self._calibrator = calibrator
        self.is_fast_ = all(part.is_fast for part in self._parts)
        self._model = None if self.is_fast_ else model

    def __call__(self, row: Any) -> float:
        """The score of a row: the probability of `score_label_`.

        Parameters
        ----------
        row : mapping, sequence or ndarray of shape (n_features,)
            The values by the names of the columns, or in the order of the columns in training. None and NaN are
            missing values. Keys that are not columns of the training rows are ignored.
        """
        return float(self.predict_proba(row)[self._column])

    def predict_proba(self, row: Any) -> Floats:
        """The probabilities of a row, one for each of `classes_`: those that the model gives, bit for bit."""
        read = self._read(row)
        features = None if self._model is None else _features(self._model, row, self._categories)
        means = [part.means(read, features) for part in self._parts]
        pooled = means[0] if self._pool is None else self._pool(means)
        probabilities: Floats = pooled if self._calibrator is None else self._calibrator(pooled)
        own: Floats = probabilities[0]
        return own


class _Members:
    """The members of one ensemble: LightGBM models all at once, other models one by one."""

    def __init__(self, ensemble: AveragedMembers, n_features: int) -> None:
        members = list(ensemble.members)
        trees = [small_trees(member) if _predicts_as_lightgbm(member) else None for member in members]
        self._weights = ensemble.weights
        self._shape = len(members), ensemble.n_classes
        self._boosters = [number for number, found in enumerate(trees) if found is not None]
        boosters = [found for found in trees if found is not None]
        self._score_boosters = BoostersOfARow(boosters, n_features) if boosters else None
        self._others = {number: members[number] for number, found in enumerate(trees) if found is None}
        self._scorers = self._make_scorers()

    @property
    def is_fast(self) -> bool:
        return all(scorer.reads_float32 for scorer in self._scorers.values())

    def means(self, row: ReadRow, features: Any) -> Floats:
        """The mean over the members, a matrix of one row, by the same operations as for many rows."""
        answers = np.empty(self._shape)
        if self._score_boosters is not None:
            answers[self._boosters] = self._score_boosters(row.floats)
        for number, scorer in self._scorers.items():
            answers[number] = scorer.score(scorer.view(row.float32 if scorer.reads_float32 else features))[0]
        if self._weights is not None:
            answers *= self._weights[:, np.newaxis]
        # An accumulated sum adds one member after the other.
        total = answers.cumsum(axis=0)[-1:]
        means: Floats = total / (len(answers) if self._weights is None else self._weights.sum())
        return means

    def _make_scorers(self) -> dict[int, Scorer]:
        return {number: scorer_of(member, n_rows=1) for number, member in self._others.items()}

    def __getstate__(self) -> dict[str, Any]:
        """The state without the scorers, which hold functions that cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_scorers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scorers = self._make_scorers()


def row_scorer(model: Any) -> RowScorer:
    """The scorer of single rows of a fitted ensemble."""
    scoring = scoring_of(model)
    if isinstance(scoring, BlendedEnsembles):
        return RowScorer(model, scoring.ensembles, scoring.pool, scoring.calibrator)
    assert isinstance(scoring, AveragedMembers)
    return RowScorer(model, [scoring], None, scoring.calibrator)


def _predicts_as_lightgbm(member: Any) -> bool:
    """Whether a class has its own `predict_proba`, which must then be called."""
    return any(type(member).predict_proba is kind.predict_proba for kind in _lightgbm_kinds(member))


def _is_lightgbm(member: Any) -> bool:
    return bool(_lightgbm_kinds(member))


def _lightgbm_kinds(member: Any) -> list[Any]:
    kinds = type(member).__mro__
    return [kind for kind in kinds if (kind.__module__.partition(".")[0], kind.__name__) == LIGHTGBM]


def _categories(model: Any) -> Mapping[int, Sequence[Any]]:
    """The categories of a frame without a schema, by position. Of the base models, LightGBM stores them."""
    boosters = [member.booster_ for member in model.estimators_ if _is_lightgbm(member)]
    return frame_categories(boosters[0]) if boosters and model.trained_on_.schema is None else {}


def _reader(model: Any, categories: Mapping[int, Sequence[Any]]) -> ArrayRow | NamedRow:
    if model.trained_on_.schema is not None:
        return reader_of_schema(model.trained_on_.schema)
    if not hasattr(model, "feature_names_in_"):
        return ArrayRow(model.n_features_in_)
    return reader_of_frame(model.feature_names_in_.tolist(), categories)


def _features(model: Any, row: Any, categories: Mapping[int, Sequence[Any]]) -> Any:
    """One row as an array or a data frame, for members whose `predict_proba` is called."""
    if not hasattr(model, "feature_names_in_"):
        return rows_in_memory(model, np.asarray(row)[np.newaxis]).span(0, 1)
    import pandas as pd

    schema = model.trained_on_.schema
    names = schema.sources if schema is not None else model.feature_names_in_.tolist()
    values = row if isinstance(row, Mapping) else dict(zip(names, row, strict=True))
    # With a schema, None is a missing value of any type. Without one, all other columns hold numbers.
    missing = None if schema is not None else np.nan
    columns: dict[str, Any] = {name: [missing if is_missing(values[name]) else values[name]] for name in names}
    for position, known in categories.items():
        columns[names[position]] = pd.Categorical(columns[names[position]], known)
    return rows_in_memory(model, pd.DataFrame(columns)).span(0, 1)
