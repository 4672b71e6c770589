"""SMOTEBagging and SMOTEBoost: ensembles with synthetic rare rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.baselines import boosting
from selfpaced.baselines.boosting import BaselineEnsemble, BoostingEnsemble
from selfpaced.ensembles import LARGEST_RANDOM_STATE, checks, with_inherited_entries
from selfpaced.exceptions import need
from selfpaced.pools import Ids, bootstrap, mix

Numbers = NDArray[np.floating]


class Smote:
    """Makes new rows of a class between its rows and their neighbours, the same for the same seed and key."""

    def __init__(self, k_neighbors: int, seed: int) -> None:
        self._smote = need("imblearn.over_sampling", "smote", "SMOTE").SMOTE
        self._k_neighbors = k_neighbors
        self._seed = seed

    def new_rows(self, parents: Numbers, n_new: int, *key: int) -> Numbers:
        """`n_new` rows between the parents, which are two or more rows of one class."""
        n_parents, n_columns = parents.shape
        # SMOTE does not read other classes, but requires that there is one and that it stays the largest.
        others = np.zeros((n_parents + n_new, n_columns), dtype=parents.dtype)
        smote = self._smote(
            sampling_strategy={1: n_parents + n_new},
            k_neighbors=min(self._k_neighbors, n_parents - 1),
            random_state=mix(self._seed, *key) % LARGEST_RANDOM_STATE,
        )
        y = np.repeat([0, 1], [len(others), n_parents])
        rows: Numbers = smote.fit_resample(np.concatenate([others, parents]), y)[0]
        return rows[y.size :]


class SyntheticRowsEnsemble(BaselineEnsemble):
    """An ensemble with synthetic rows. It needs numbers without missing values. The only metadata are weights.

    Parameters
    ----------
    k_neighbors : int, default=5
        The number of neighbours among which SMOTE chooses; fewer if there are fewer rows.
    """

    _numbers_only = True

    def _check_row_metadata(self, per_row: Mapping[str, Any]) -> None:
        if per_row:
            raise ValueError(
                f"fit got {sorted(per_row)} for each row, but synthetic rows can only have a sample_weight. Do not "
                "request the others on the base model."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = False
        return tags


@with_inherited_entries
class SMOTEBaggingClassifier(SyntheticRowsEnsemble):
    """SMOTEBagging: members trained on bags that mix drawn and synthetic rare rows in changing shares.

    Bag i has a share b of 10%, 20%, ..., 100%, 10%, ... The members' probabilities are averaged.

    X is an array or a frame (pandas, polars, pyarrow) of numbers without missing values; members see arrays. A
    synthetic row has the mean `sample_weight` of its class.

    Parameters
    ----------
    bags : {"growing", "full"}, default="growing"
        "growing": a share b of every class's rows, at least 2, is drawn with replacement. Then SMOTE makes every class
        as large as the largest in the bag. These are the sizes that the Self-paced Ensemble paper reports.
        "full": the method as published. Every bag draws as many rows of the largest class as it has, with replacement.
        Every other class becomes as large: the share b of these rows is drawn with replacement, SMOTE makes the rest.

    See Also
    --------
    SMOTEBoostClassifier : Boosting with synthetic rare rows.
    UnderBaggingClassifier : Bags without synthetic rows.

    Notes
    -----
    SMOTE needs imbalanced-learn: `pip install 'selfpaced[smote]'`.

    References
    ----------
    S. Wang, X. Yao. Diversity Analysis on Imbalanced Data Sets by Using Ensemble Models. IEEE Symposium on
    Computational Intelligence and Data Mining 2009.

    Examples
    --------
    >>> from selfpaced.baselines import SMOTEBaggingClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(random_state=0)
    >>> model = SMOTEBaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> len(model.estimators_), model.n_training_rows_
    (3, [2000, 4000, 6000])
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
        self.bags = bags
        self.k_neighbors = k_neighbors
        super().__init__(estimator, n_estimators, n_jobs, random_state)

    def _members(self, task: boosting.TrainingTask) -> Iterator[boosting.TrainedMember]:
        smote = Smote(checks.check_whole("k_neighbors", self.k_neighbors), task.seed)
        if self.bags not in tuple(BAGS):
            raise ValueError(f"bags must be one of {sorted(BAGS)}; got {self.bags!r}.")
        return members_of_bags(task, BAGS[self.bags], smote)


FEWEST_PARENTS = 2  # SMOTE makes rows between two rows
Draw = Callable[[int, int], Ids]  # draws rows of a class with replacement, by (class number, number of rows)


@dataclass(frozen=True)
class BagPart:
    """The rows of one class in a bag: drawn rows, and new rows between the parents."""

    drawn: Ids
    parents: Ids
    n_new: int


def growing_bag(classes: Sequence[Ids], tenths: int, draw: Draw) -> list[BagPart]:
    """A number of tenths of every class, and SMOTE rows until each class is as large as the largest in the bag."""
    drawn = [draw(number, max(FEWEST_PARENTS, round(tenths * ids.size / 10))) for number, ids in enumerate(classes)]
    size = max(some.size for some in drawn)
    return [BagPart(some, parents=some, n_new=size - some.size) for some in drawn]


def full_bag(classes: Sequence[Ids], tenths: int, draw: Draw) -> list[BagPart]:
    """The whole largest class. Every other class becomes as large: a number of tenths are drawn, the rest is by SMOTE.

    SMOTE uses all rows of the class, because a row is drawn so often that its neighbours in the bag are copies of it.
    """
    size = max(ids.size for ids in classes)
    n_drawn = [size if ids.size == size else round(tenths * size / 10) for ids in classes]
    return [
        BagPart(draw(number, n), parents=ids, n_new=size - n)
        for number, (ids, n) in enumerate(zip(classes, n_drawn, strict=True))
    ]


PartsOfBag = Callable[[Sequence[Ids], int, Draw], list[BagPart]]
BAGS: dict[str, PartsOfBag] = {"growing": growing_bag, "full": full_bag}


def members_of_bags(
    task: boosting.TrainingTask, parts_of_bag: PartsOfBag, smote: Smote
) -> Iterator[boosting.TrainedMember]:
    """One bag after the other, and a member from each."""
    features, weights = task.table.span(0, task.table.n_rows), task.weights
    classes = [task.labels.ids(number) for number in range(task.labels.classes.size)]
    numbers = np.arange(len(classes))

    def draw(bag: int, number: int, n_rows: int) -> Ids:
        return bootstrap(classes[number], n_rows, mix(task.seed, number), bag)

    for bag in range(task.n_members):
        parts = parts_of_bag(classes, bag % 10 + 1, partial(draw, bag))
        n_new = [part.n_new for part in parts]
        new = [
            smote.new_rows(features[part.parents], part.n_new, bag, number)
            for number, part in enumerate(parts)
            if part.n_new
        ]
        rows = np.concatenate([features[np.concatenate([part.drawn for part in parts])], *new])
        y = np.concatenate([np.repeat(numbers, [part.drawn.size for part in parts]), np.repeat(numbers, n_new)])
        metadata = {}
        if weights is not None:
            drawn, means = [weights[part.drawn] for part in parts], [weights[ids].mean() for ids in classes]
            metadata = {"sample_weight": np.concatenate([*drawn, np.repeat(means, n_new)])}
        yield boosting.TrainedMember(task.factory.fit(bag, rows, y, metadata), len(rows))


@with_inherited_entries
class SMOTEBoostClassifier(SyntheticRowsEnsemble, BoostingEnsemble):
    """SMOTEBoost: each member is trained on all rows, weighted by boosting, and on the synthetic rare rows so far.

    The first member sees the real rows only. Every further round adds as many new synthetic rows as there are rare
    rows, each on the line between a rare row and one of its nearest rare neighbours. Boosting weights the real rows; a
    synthetic row has the mean weight of the real rows.

    With more than two classes, every class except the largest grows in each round by the number of its real rows. No
    class grows beyond the largest.

    X is an array or a frame (pandas, polars, pyarrow) of numbers without missing values; members see arrays.

    See Also
    --------
    SMOTEBaggingClassifier : Bags with synthetic rare rows.
    RUSBoostClassifier : Boosting on random under-samples.

    Notes
    -----
    SMOTE needs imbalanced-learn: `pip install 'selfpaced[smote]'`.

    A row's loss is its doubt: the probability of the classes that it does not belong to. For two classes this is
    AdaBoost.M2 as the paper uses it; for more, see `selfpaced.baselines.boosting`. A member without any loss, such as
    a fully grown tree, does not end the training: it gets a high weight, the rows keep their weights, and the next
    member differs by its new rows.

    References
    ----------
    N. V. Chawla, A. Lazarevic, L. O. Hall, K. W. Bowyer. SMOTEBoost: Improving Prediction of the Minority Class in
    Boosting. PKDD 2003.

    Examples
    --------
    >>> from selfpaced.baselines import SMOTEBoostClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(random_state=0)
    >>> SMOTEBoostClassifier(random_state=0).fit(X, y).n_training_rows_[:3]
    [11000, 12000, 13000]
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        k_neighbors: int = 5,
        learning_rate: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.k_neighbors = k_neighbors
        self.learning_rate = learning_rate
        super().__init__(estimator, n_estimators, n_jobs, random_state)

    def _rows_of_round(self, task: boosting.TrainingTask) -> boosting.RowsOfRound:
        smote = Smote(checks.check_whole("k_neighbors", self.k_neighbors), task.seed)
        real, labels = task.table.span(0, task.table.n_rows), task.labels
        features, y, counts = real, labels.codes, labels.counts

        def grown(number: int, weights: boosting.Floats) -> boosting.TrainingRows:
            """All real rows, and the synthetic ones of this round and those before it."""
            nonlocal features, y, counts
            if number > 0:
                n_new = np.minimum(labels.counts, labels.counts.max() - counts)
                blocks = [
                    smote.new_rows(real[labels.ids(class_number)], n, number, class_number)
                    for class_number, n in enumerate(n_new.tolist())
                    if n
                ]
                features, counts = np.concatenate([features, *blocks]), counts + n_new
                y = np.concatenate([y, np.repeat(np.arange(n_new.size, dtype=y.dtype), n_new)])
            synthetic = np.full(y.size - weights.size, weights.mean())
            return boosting.TrainingRows(features, y, np.concatenate([weights, synthetic]), {})

        return grown
