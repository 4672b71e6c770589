"""The base class of the boosting ensembles, whose members are trained one after the other on weighted rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms.boosting import Floats, boost
from selfpaced.ensembles.averaged import readable_rows
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.checks import (
    check_classifier,
    check_labels,
    check_positive,
    check_seed,
    check_weighable,
    check_whole,
)
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.metadata import fit_metadata, split_by_row
from selfpaced.ensembles.training import naming_the_round
from selfpaced.scoring import mean_probabilities, scorer_of
from selfpaced.tables import InMemoryTable, Labels


@dataclass(frozen=True)
class TrainingRows:
    """What a member is trained on: rows, the numbers of their classes, their weights and other metadata."""

    features: Any
    y: NDArray[Any]
    weights: Floats
    metadata: Mapping[str, Any]


# A function of the number of a round, 0 at first, and of the weights of all real rows.
RowsOfRound = Callable[[int, Floats], TrainingRows]


class BoostingEnsemble(AveragingEnsemble):
    """AdaBoost.M2. A subclass chooses the rows of every round."""

    learning_rate: Any

    @abstractmethod
    def _rows_of_round(self, table: InMemoryTable, labels: Labels, seed: int) -> RowsOfRound:
        """Check the parameters of the sampling. Return the function that gives the training rows of each round."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train the ensemble.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Features; see the class for the types that it accepts.
        y : array-like of shape (n_rows,)
            Labels of any kind. The rarest class is the minority.
        **fit_params : metadata for the base model's `fit`
            `sample_weight` has the weights of the rows in the first round. Other metadata need metadata routing.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        n_members = check_whole("n_estimators", self.n_estimators)
        learning_rate = check_positive("learning_rate", self.learning_rate)
        seed = check_seed(self.random_state)
        base = check_weighable(check_classifier(self._base()))

        X = self._features(X, reset=True)
        labels = check_labels(y, X)
        per_row, for_all = split_by_row(fit_metadata(self, [base], labels, fit_params), len(labels.codes))
        weights = np.asarray(per_row.pop("sample_weight", np.ones(labels.codes.size)), dtype=np.float64)
        self._check_row_metadata(per_row)
        table = readable_rows(self, X, per_row)
        rows_of_round = self._rows_of_round(table, labels, seed)

        work = _Work(table, labels, rows_of_round, MemberFactory([base], seed, for_all), self._n_threads())
        steps = boost(work.fit, work.doubts_of, weights, n_members, labels.classes.size, learning_rate)
        members = list(naming_the_round(steps, 1, n_members))
        self.estimators_ = [member.model for member in members]
        self.estimator_weights_ = np.array([member.weight for member in members])
        # Not every model that was trained is a member.
        self.n_training_rows_ = [work.n_rows[member.number] for member in members]
        self.calibrator_ = self.calibration_ = None
        self._remember(labels, rows=X)
        return self

    def _check_row_metadata(self, per_row: Mapping[str, Any]) -> None:
        """Refuse metadata that the training rows cannot have. Real rows can have all of them."""

    def _member_weights(self) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = self.estimator_weights_
        return weights


@dataclass(frozen=True)
class _Work:
    """What the boosting loop needs: it trains members, and gives their doubts about all real rows."""

    table: InMemoryTable
    labels: Labels
    rows_of_round: RowsOfRound
    factory: MemberFactory
    n_threads: int
    n_rows: list[int] = field(default_factory=list)

    def fit(self, number: int, weights: Floats) -> Any:
        rows = self.rows_of_round(number, weights)
        self.n_rows.append(len(rows.y))
        return self.factory.fit(number, rows.features, rows.y, {**rows.metadata, "sample_weight": rows.weights})

    def doubts_of(self, model: Any) -> Floats:
        scorer = scorer_of(model, self.table.n_rows)
        probabilities = mean_probabilities([scorer], self.table, self.labels.classes.size, self.n_threads)
        return _doubts(probabilities, self.labels)


def _doubts(probabilities: NDArray[np.floating], labels: Labels) -> Floats:
    """The probability given to the classes that each row does not belong to."""
    doubts: Floats = 1 - probabilities[np.arange(labels.codes.size), labels.codes]
    if np.isnan(doubts.max()):
        raise ValueError("A member of the ensemble predicted NaN as a probability of a training row.")
    # By rounding, probabilities may be slightly outside of [0, 1].
    return doubts.clip(0, 1)
