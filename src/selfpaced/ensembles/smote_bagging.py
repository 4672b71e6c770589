"""SMOTEBagging: bags in which SMOTE makes all classes equally large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.checks import check_classifier, check_jobs, check_labels, check_seed, check_whole
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.metadata import fit_metadata, split_by_row
from selfpaced.ensembles.smote import Numbers, Smote, SyntheticRowsEnsemble
from selfpaced.ensembles.training import naming_the_round
from selfpaced.pools.keys import Ids, bootstrap, mix

FEWEST_PARENTS = 2  # SMOTE draws lines between rows
Draw = Callable[[int, int], Ids]  # so many rows of a class, with replacement, from (class number, rows to draw)


@dataclass(frozen=True)
class Part:
    """The rows of one class in a bag: some drawn ones, and new ones made between the parents."""

    drawn: Ids
    parents: Ids
    n_new: int


def growing_bag(classes: Sequence[Ids], tenths: int, draw: Draw) -> list[Part]:
    """So many tenths of every class, and SMOTE between them until each is as large as the largest in the bag."""
    drawn = [draw(number, max(FEWEST_PARENTS, round(tenths * ids.size / 10))) for number, ids in enumerate(classes)]
    size = max(some.size for some in drawn)
    return [Part(some, parents=some, n_new=size - some.size) for some in drawn]


def full_bag(classes: Sequence[Ids], tenths: int, draw: Draw) -> list[Part]:
    """The largest class whole, and every other as large: so many tenths of it drawn, the rest by SMOTE.

    The new rows lie between the class's own rows: a row is drawn so often that its neighbours in the bag are itself.
    """
    size = max(ids.size for ids in classes)
    n_drawn = [size if ids.size == size else round(tenths * size / 10) for ids in classes]
    return [
        Part(draw(number, n), parents=ids, n_new=size - n)
        for number, (ids, n) in enumerate(zip(classes, n_drawn, strict=True))
    ]


PartsOfBag = Callable[[Sequence[Ids], int, Draw], list[Part]]
BAGS: dict[str, PartsOfBag] = {"growing": growing_bag, "full": full_bag}


class SMOTEBaggingClassifier(SyntheticRowsEnsemble):
    """SMOTEBagging: members trained on bags that mix drawn and synthetic rare rows in changing shares.

    Bag i works with a share b of 10%, 20%, ..., 100%, 10%, ... The members' probabilities are averaged.

    X is an array or a frame (pandas, polars, pyarrow) of numbers without gaps; members see arrays.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. Its labels are the class numbers 0, 1, ...
    n_estimators : int, default=10
        Members of the ensemble.
    bags : {"growing", "full"}, default="growing"
        "growing": a share b of every class's rows, at least 2, drawn with replacement; then SMOTE makes every class as
        large as the bag's largest. These are the sizes that the Self-paced Ensemble paper reports.
        "full": the method as published. Every bag draws the largest class whole, with replacement. Every other class
        becomes as large: the share b of these rows is drawn from the class with replacement, the rest is SMOTE's.
    k_neighbors : int, default=5
        Neighbours among which SMOTE chooses; fewer if there are fewer rows.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws, of SMOTE and of every `random_state` inside the base model. The same number gives the same
        members.

    Attributes
    ----------
    estimators_ : list of the fitted members.
    n_training_rows_ : list of the number of rows, real and synthetic, that each member was trained on.
    classes_ : the labels, sorted.
    minority_class_ : the label of the rarest class.
    class_counts_ : rows of each of `classes_` in the training data.
    n_features_in_ : number of features.
    feature_names_in_ : their names, if X had names.
    feature_importances_ : mean importance of each feature, if the members have importances.

    Notes
    -----
    SMOTE is imbalanced-learn's: `pip install 'selfpaced[smote]'`.

    References
    ----------
    S. Wang, X. Yao. Diversity Analysis on Imbalanced Data Sets by Using Ensemble Models. IEEE Symposium on
    Computational Intelligence and Data Mining 2009.

    Examples
    --------
    >>> from selfpaced import SMOTEBaggingClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.metrics import average_precision_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_checkerboard(random_state=0)
    >>> X_test, y_test = make_checkerboard(random_state=1)
    >>> model = SMOTEBaggingClassifier(DecisionTreeClassifier(max_depth=10), random_state=0).fit(X, y)
    >>> average_precision_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.4
    True
    >>> model.n_training_rows_[:3]
    [2000, 4000, 6000]
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        bags: str = "growing",
        k_neighbors: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.bags = bags
        self.k_neighbors = k_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train the ensemble.

        Parameters
        ----------
        X : {ndarray, memory map, pandas or polars DataFrame, pyarrow Table} of shape (n_rows, n_features)
            Features: numbers without gaps.
        y : array-like of shape (n_rows,)
            Labels of any kind. The rarest class is the minority.
        **fit_params : metadata for the base model's `fit`
            `sample_weight`, if the base model takes it: drawn rows bring theirs, and a synthetic row weighs as much
            as the average row of its class. What is the same for all rows with metadata routing enabled.

        Returns
        -------
        self
        """
        n_members = check_whole("n_estimators", self.n_estimators)
        parts_of_bag = _parts_named(self.bags)
        seed = check_seed(self.random_state)
        smote = Smote(check_whole("k_neighbors", self.k_neighbors), seed)
        check_jobs(self.n_jobs)
        base = check_classifier(self._base())

        X = self._features(X, reset=True)
        labels = check_labels(y, X)
        per_row, for_all = split_by_row(fit_metadata(self, [base], labels, fit_params), len(labels.codes))
        weights = per_row.pop("sample_weight", None)
        self._check_row_metadata(per_row)

        classes = [labels.ids(number) for number in range(labels.classes.size)]
        bags = _Bags(X, weights, classes, parts_of_bag, smote, seed)
        steps = bags.members(MemberFactory([base], seed, for_all), n_members)
        members = list(naming_the_round(steps, 1, n_members))
        self.estimators_ = [model for model, _ in members]
        self.n_training_rows_ = [n_rows for _, n_rows in members]
        self.calibrator_ = self.calibration_ = None
        self._remember(labels)
        return self


def _parts_named(name: Any) -> PartsOfBag:
    if name not in tuple(BAGS):
        raise ValueError(f"bags must be one of {sorted(BAGS)}; got {name!r}.")
    return BAGS[name]


@dataclass(frozen=True)
class _Bags:
    """One bag after the other, and a member from each."""

    features: Numbers
    weights: NDArray[Any] | None
    classes: Sequence[Ids]
    parts_of_bag: PartsOfBag
    smote: Smote
    seed: int

    def members(self, factory: MemberFactory, n_members: int) -> Iterator[tuple[Any, int]]:
        """Each member with the number of rows it was trained on."""
        for number in range(n_members):
            parts = self.parts_of_bag(self.classes, number % 10 + 1, partial(self._draw, number))
            drawn = np.concatenate([part.drawn for part in parts])
            rows = np.concatenate([self.features[drawn], *self._new_rows(parts, number)])
            y = np.concatenate(
                [
                    np.repeat(np.arange(len(parts)), [part.drawn.size for part in parts]),
                    np.repeat(np.arange(len(parts)), [part.n_new for part in parts]),
                ]
            )
            yield factory.fit(number, rows, y, self._metadata(parts)), len(rows)

    def _draw(self, bag: int, class_number: int, n_rows: int) -> Ids:
        return bootstrap(self.classes[class_number], n_rows, mix(self.seed, class_number), bag)

    def _new_rows(self, parts: Sequence[Part], bag: int) -> list[Numbers]:
        return [
            self.smote.new_rows(self.features[part.parents], part.n_new, bag, class_number)
            for class_number, part in enumerate(parts)
            if part.n_new
        ]

    def _metadata(self, parts: Sequence[Part]) -> dict[str, Any]:
        if self.weights is None:
            return {}
        means = [self.weights[ids].mean() for ids in self.classes]
        drawn = [self.weights[part.drawn] for part in parts]
        return {"sample_weight": np.concatenate([*drawn, np.repeat(means, [part.n_new for part in parts])])}
