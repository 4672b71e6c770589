"""AdaBoost.M2, and the base classes of ensembles that are trained on rows in memory."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import log
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from selfpaced.ensembles import AveragingEnsemble, MemberFactory, checks, naming_the_round
from selfpaced.model import readable
from selfpaced.scoring import mean_probabilities, scorer_of
from selfpaced.tables import InMemoryTable, Labels

Floats = NDArray[np.float64]

# A member without any loss would have an infinite weight.
SMALLEST_LOSS = 1e-10


class Boosted(NamedTuple):
    """A member, the number of its fit, and its weight."""

    number: int
    model: Any
    weight: float


def boost(
    fit: Callable[[int, Floats], Any],
    doubts_of: Callable[[Any], Floats],
    weights: Floats,
    n_models: int,
    n_classes: int,
    learning_rate: float,
) -> Iterator[Boosted]:
    """Yield `n_models` members.

    A model that is not better than chance does not become a member: the weights have become too extreme, and boosting
    starts again from the first ones (Breiman 1998). If the next model is not better either, there are no more members.

    `fit` trains a member from its number, 0 at first, and the weights of all rows, with a mean of 1. `doubts_of` gives
    each row's doubt: the probability that a member gives to the classes the row does not belong to.
    """
    weights = first_weights = with_mean_one(weights)
    n_members = 0
    for number in count():
        model = fit(number, weights)
        doubts = doubts_of(model)
        loss = float(np.average(doubts, weights=weights))  # eps
        if loss < 1 - 1 / n_classes:
            alpha = member_weight(loss, n_classes, learning_rate)
            yield Boosted(number, model, alpha)
            weights = reweigh(weights, doubts, alpha)
            n_members += 1
            if n_members == n_models:
                return
        elif weights is not first_weights:
            weights = first_weights
        else:
            if n_members == 0:
                yield Boosted(number, model, 1.0)  # better than an ensemble without members
            return


def member_weight(loss: float, n_classes: int, learning_rate: float) -> float:
    """The weight of a member: 0 at chance, and a large but finite number if it has no loss.

    >>> member_weight(0.5, n_classes=2, learning_rate=1.0), round(member_weight(0.0, 2, 1.0))
    (0.0, 23)
    """
    loss = max(loss, SMALLEST_LOSS)
    return learning_rate * (log((1 - loss) / loss) + log(n_classes - 1))


def reweigh(weights: Floats, doubts: Floats, alpha: float) -> Floats:
    """Higher weights for rows with more doubt. If no row has a doubt, the weights do not change.

    >>> reweigh(np.ones(4), np.array([1.0, 0.0, 0.0, 0.0]), alpha=log(3)).round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    # Relative to the row with the largest doubt, so that a large alpha does not overflow.
    return with_mean_one(weights * np.exp(alpha * (doubts - doubts.max())))


def with_mean_one(weights: Floats) -> Floats:
    """Scale weights to a mean of 1, for base models that add up weights as numbers of rows, such as LightGBM."""
    scaled: Floats = weights / weights.mean()
    return scaled


@dataclass(frozen=True)
class TrainingTask:
    """The checked training rows, and all that members are trained with."""

    table: InMemoryTable  # the features, and metadata of each row other than weights
    labels: Labels
    weights: NDArray[Any] | None  # of the rows; None if there are none
    factory: MemberFactory
    seed: int
    n_members: int
    n_threads: int


class TrainedMember(NamedTuple):
    """A member, the number of rows it was trained on, and its weight in the mean; None if all count the same."""

    model: Any
    n_rows: int
    weight: float | None = None


class BaselineEnsemble(AveragingEnsemble):
    """An ensemble that is trained on rows in memory. A subclass trains the members.

    Attributes
    ----------
    n_training_rows_ : list of int
        The number of rows, real and synthetic, that each member was trained on.
    """

    def __init__(self, estimator: Any, n_estimators: int, n_jobs: int | None, random_state: Any) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _members(self, task: TrainingTask) -> Iterable[TrainedMember]:
        """Check the parameters of this kind of ensemble. Return the members, which are trained one by one."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train the ensemble.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Features; see the class for the types that it accepts.
        y : array-like of shape (n_rows,)
            Labels of any kind. The rarest class is the minority.
        **fit_params : metadata for the base model's `fit`
            `sample_weight`, if the base model accepts it: the weights of the rows, in boosting those of the first
            round. Other metadata need metadata routing. Synthetic rows can have no other metadata of each row.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        n_members = checks.check_whole("n_estimators", self.n_estimators)
        seed = checks.check_seed(self.random_state)
        n_threads = effective_n_jobs(checks.check_jobs(self.n_jobs))
        base = self._check_base(checks.check_classifier(self._base()))

        X = self._checked(X)
        labels = checks.check_labels(y, X)
        per_row, for_all = checks.split_by_row(checks.fit_metadata(self, [base], labels, fit_params), len(labels.codes))
        weights = per_row.pop("sample_weight", None)
        self._check_row_metadata(per_row)
        table, factory = readable(X, [base], per_row), MemberFactory([base], seed, for_all)
        steps = self._members(TrainingTask(table, labels, weights, factory, seed, n_members, n_threads))
        members = list(naming_the_round(iter(steps), 1, n_members))
        self.n_training_rows_ = [member.n_rows for member in members]
        weights = None
        if members[0].weight is not None:
            weights = self.estimator_weights_ = np.array([member.weight for member in members])
        return self._keep_members([member.model for member in members], weights, labels, X)

    def _check_base(self, base: Any) -> Any:
        return base

    def _check_row_metadata(self, per_row: Mapping[str, Any]) -> None:
        """Refuse metadata that the training rows cannot have. Real rows can have all of them."""


@dataclass(frozen=True)
class TrainingRows:
    """What a member is trained on: rows, the numbers of their classes, their weights and other metadata."""

    features: Any
    y: NDArray[Any]
    weights: Floats
    metadata: Mapping[str, Any]


# A function of the number of a round, 0 at first, and of the weights of all real rows.
RowsOfRound = Callable[[int, Floats], TrainingRows]


class BoostingEnsemble(BaselineEnsemble):
    """AdaBoost.M2. A subclass chooses the rows of every round.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. Its `fit` must accept `sample_weight`. It sees the labels as class numbers 0, 1, ...
    n_estimators : int, default=10
        The number of members. A model that is not better than chance on all real rows does not become a member, and
        the weights of the rows are reset. Two such models in a row end the training.
    learning_rate : float, default=1.0
        A factor of the weight of each member, and thereby of the change of the row weights in a round.

    Attributes
    ----------
    estimator_weights_ : ndarray of shape (n_members,)
        The weight of each member in the mean of the probabilities.
    """

    learning_rate: Any

    @abstractmethod
    def _rows_of_round(self, task: TrainingTask) -> RowsOfRound:
        """Check the parameters of the sampling. Return the function that gives the training rows of each round."""

    def _members(self, task: TrainingTask) -> Iterator[TrainedMember]:
        learning_rate = checks.check_positive("learning_rate", self.learning_rate)
        rows_of_round, n_rows = self._rows_of_round(task), []

        def fit(number: int, weights: Floats) -> Any:
            rows = rows_of_round(number, weights)
            n_rows.append(len(rows.y))
            return task.factory.fit(number, rows.features, rows.y, {**rows.metadata, "sample_weight": rows.weights})

        weights = np.ones(task.table.n_rows) if task.weights is None else np.asarray(task.weights, dtype=np.float64)
        n_classes = task.labels.classes.size
        steps = boost(fit, partial(_doubts, task=task), weights, task.n_members, n_classes, learning_rate)
        # Not every model that is trained becomes a member.
        return (TrainedMember(step.model, n_rows[step.number], step.weight) for step in steps)

    def _check_base(self, base: Any) -> Any:
        return checks.check_weighable(base)


def _doubts(model: Any, task: TrainingTask) -> Floats:
    """The probability that a model gives to the classes that each real row does not belong to."""
    codes, n_classes = task.labels.codes, task.labels.classes.size
    probabilities = mean_probabilities([scorer_of(model)], task.table, n_classes, task.n_threads)
    doubts: Floats = 1 - probabilities[np.arange(codes.size), codes]
    if np.isnan(doubts.max()):
        raise ValueError("A member of the ensemble predicted NaN as a probability of a training row.")
    # By rounding, probabilities may be slightly outside of [0, 1].
    return doubts.clip(0, 1)
