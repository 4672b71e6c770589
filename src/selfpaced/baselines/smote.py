"""SMOTE for ensembles: synthetic rare rows and bags of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles import AveragingEnsemble
from selfpaced.ensembles.fitting import LARGEST_RANDOM_STATE, MemberFactory
from selfpaced.pools import Ids, bootstrap, mix

Numbers = NDArray[np.floating]


class Smote:
    """Makes new rows of a class between its rows and their neighbours, the same for the same seed and key."""

    def __init__(self, k_neighbors: int, seed: int) -> None:
        self._smote = _imported_smote()
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


def _imported_smote() -> Any:
    try:
        from imblearn.over_sampling import SMOTE
    except ImportError as error:
        raise ImportError(
            "SMOTE comes from imbalanced-learn, which is not installed: pip install 'selfpaced[smote]'"
        ) from error
    return SMOTE


class SyntheticRowsEnsemble(AveragingEnsemble):
    """An ensemble with synthetic rows. It needs numbers without missing values. The only metadata are weights."""

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


def parts_named(name: Any) -> PartsOfBag:
    if name not in tuple(BAGS):
        raise ValueError(f"bags must be one of {sorted(BAGS)}; got {name!r}.")
    return BAGS[name]


@dataclass(frozen=True)
class Bags:
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

    def _new_rows(self, parts: Sequence[BagPart], bag: int) -> list[Numbers]:
        return [
            self.smote.new_rows(self.features[part.parents], part.n_new, bag, class_number)
            for class_number, part in enumerate(parts)
            if part.n_new
        ]

    def _metadata(self, parts: Sequence[BagPart]) -> dict[str, Any]:
        if self.weights is None:
            return {}
        means = [self.weights[ids].mean() for ids in self.classes]
        drawn = [self.weights[part.drawn] for part in parts]
        return {"sample_weight": np.concatenate([*drawn, np.repeat(means, [part.n_new for part in parts])])}
