"""Bags of drawn and synthetic rows, in which all classes are equally large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.smote import Numbers, Smote
from selfpaced.pools.keys import Ids, bootstrap, mix

FEWEST_PARENTS = 2  # SMOTE makes rows between two rows
Draw = Callable[[int, int], Ids]  # draws rows of a class with replacement, by (class number, number of rows)


@dataclass(frozen=True)
class Part:
    """The rows of one class in a bag: drawn rows, and new rows between the parents."""

    drawn: Ids
    parents: Ids
    n_new: int


def growing_bag(classes: Sequence[Ids], tenths: int, draw: Draw) -> list[Part]:
    """A number of tenths of every class, and SMOTE rows until each class is as large as the largest in the bag."""
    drawn = [draw(number, max(FEWEST_PARENTS, round(tenths * ids.size / 10))) for number, ids in enumerate(classes)]
    size = max(some.size for some in drawn)
    return [Part(some, parents=some, n_new=size - some.size) for some in drawn]


def full_bag(classes: Sequence[Ids], tenths: int, draw: Draw) -> list[Part]:
    """The whole largest class. Every other class becomes as large: a number of tenths are drawn, the rest is by SMOTE.

    SMOTE uses all rows of the class, because a row is drawn so often that its neighbours in the bag are copies of it.
    """
    size = max(ids.size for ids in classes)
    n_drawn = [size if ids.size == size else round(tenths * size / 10) for ids in classes]
    return [
        Part(draw(number, n), parents=ids, n_new=size - n)
        for number, (ids, n) in enumerate(zip(classes, n_drawn, strict=True))
    ]


PartsOfBag = Callable[[Sequence[Ids], int, Draw], list[Part]]
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
