"""The methods of the paper, by the names in its tables: re-sampling before a fit, and ensembles."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from imblearn import over_sampling, under_sampling
from imblearn.combine import SMOTEENN, SMOTETomek
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

import selfpaced
from paper.datasets import Split

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A trained method.

    Attributes
    ----------
    members : the models whose probabilities are averaged; a single model is its own only member.
    weights : how much each member counts.
    training_rows : how many rows each member was trained on.
    resampling_seconds : time spent on choosing or making rows, without the base models' own fits.
    """

    model: Any
    members: Sequence[Any]
    weights: Floats
    training_rows: Sequence[int]
    resampling_seconds: float

    def first(self, n: int) -> Fitted:
        """The ensemble of the first members alone."""
        model = self.model.with_model(self.model.model_.first(n))
        return replace(
            self,
            model=model,
            members=self.members[:n],
            weights=self.weights[:n],
            training_rows=self.training_rows[:n],
        )

    def scores(self, X: Any) -> Floats:
        """The probability of the rare class."""
        return positive_probability(self.model, X)

    def votes(self, X: Any, scores: Floats) -> Floats:
        """The share of members that call a row rare: hard votes, the named variant beside probabilities.

        A single model votes by its `scores`, which need not be computed twice.
        """
        if len(self.members) == 1:
            return np.where(scores > 0.5, 1.0, 0.0)
        votes = [positive_probability(member, X) > 0.5 for member in self.members]
        return np.average(votes, axis=0, weights=self.weights)


def positive_probability(model: Any, X: Any) -> Floats:
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)[:, 1]
    return expit(model.decision_function(X))


# Re-sampling methods, each from a seed. Their settings are imbalanced-learn's own defaults.
SAMPLERS: dict[str, Callable[[int], Any]] = {
    "RandUnder": lambda seed: under_sampling.RandomUnderSampler(random_state=seed),
    "NearMiss": lambda seed: under_sampling.NearMiss(),
    "Clean": lambda seed: under_sampling.NeighbourhoodCleaningRule(),
    "ENN": lambda seed: under_sampling.EditedNearestNeighbours(),
    "TomekLink": lambda seed: under_sampling.TomekLinks(),
    "AllKNN": lambda seed: under_sampling.AllKNN(),
    "OSS": lambda seed: under_sampling.OneSidedSelection(random_state=seed),
    "RandOver": lambda seed: over_sampling.RandomOverSampler(random_state=seed),
    "SMOTE": lambda seed: over_sampling.SMOTE(random_state=seed),
    "ADASYN": lambda seed: over_sampling.ADASYN(random_state=seed),
    "BorderSMOTE": lambda seed: over_sampling.BorderlineSMOTE(random_state=seed),
    "SMOTEENN": lambda seed: SMOTEENN(random_state=seed),
    "SMOTETomek": lambda seed: SMOTETomek(random_state=seed),
}


@dataclass(frozen=True)
class Resampled:
    """A training set made by a re-sampling method, and the seconds that took."""

    X: Any
    y: Any
    seconds: float


def resample(method: str, split: Split, seed: int) -> Resampled:
    """The training part after re-sampling; untouched for ORG."""
    if method == "ORG":
        return Resampled(split.X_train, split.y_train, 0.0)
    begin = time.process_time()  # not by the clock on the wall: other cells share the cores
    X, y = SAMPLERS[method](seed).fit_resample(split.X_train, split.y_train)
    return Resampled(X, y, time.process_time() - begin)


def fit_on(resampled: Resampled, base: Any, seed: int) -> Fitted:
    model = seeded(base, seed).fit(resampled.X, resampled.y)
    return Fitted(model, [model], np.ones(1), [len(resampled.y)], resampled.seconds)


def seeded(base: Any, seed: int) -> Any:
    model = clone(base)
    return model.set_params(**{name: seed for name in model.get_params() if name.endswith("random_state")})


def _fit_resampled(method: str, base: Any, split: Split, seed: int, n_members: int) -> Fitted:
    return fit_on(resample(method, split, seed), base, seed)


def _fit_pooled(kind: str, base: Any, split: Split, seed: int, n_members: int, **settings: Any) -> Fitted:
    ensemble = getattr(selfpaced, kind)(base, n_members, random_state=seed, **settings)
    model = ensemble.fit(split.X_train, split.y_train)
    members = model.rounds_[-len(model.estimators_) :]
    seconds = sum(round.seconds_scoring + round.seconds_drawing for round in model.rounds_)
    return Fitted(
        model,
        model.estimators_,
        np.ones(len(model.estimators_)),
        [round.n_rows for round in members],
        seconds,
    )


def _fit_other(kind: str, base: Any, split: Split, seed: int, n_members: int) -> Fitted:
    model = getattr(selfpaced, kind)(base, n_members, random_state=seed).fit(split.X_train, split.y_train)
    weights = getattr(model, "estimator_weights_", np.ones(len(model.estimators_)))
    return Fitted(model, model.estimators_, np.asarray(weights), model.n_training_rows_, float("nan"))


# Every method: (base model, split, seed, members) -> Fitted. Re-sampling methods train a single model.
METHODS: dict[str, Callable[..., Fitted]] = {
    **{name: partial(_fit_resampled, name) for name in ["ORG", *SAMPLERS]},
    # With a base model other than AdaBoost, EasyEnsemble is under-bagging of that model.
    "Easy": partial(_fit_pooled, "UnderBaggingClassifier"),
    "UnderBagging": partial(_fit_pooled, "UnderBaggingClassifier"),
    "Cascade": partial(_fit_pooled, "BalanceCascadeClassifier"),
    "SPE": partial(_fit_pooled, "SelfPacedEnsembleClassifier"),
    "RUSBoost": partial(_fit_other, "RUSBoostClassifier"),
    "SMOTEBoost": partial(_fit_other, "SMOTEBoostClassifier"),
    "SMOTEBagging": partial(_fit_other, "SMOTEBaggingClassifier"),
}
