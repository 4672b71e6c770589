"""Judging recipes: what each says of rows that it was not trained on, by cross-fitting on a working sample."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from selfpaced.ensembles.blending import Labelled
from selfpaced.ensembles.cross_fitting import stratified_parts
from selfpaced.ensembles.members import LARGEST_RANDOM_STATE, in_one_thread
from selfpaced.ensembles.working_sample import WorkingSample
from selfpaced.pools.keys import mix, row_keys
from selfpaced.pools.reserved_rounds import RECIPE_FOLDS_ROUND
from selfpaced.scoring.threads import side_by_side

Floats = NDArray[np.float64]

N_FOLDS = 3
# Fewer members than in the end: which recipe is better shows with a few.
N_MEMBERS = 5
FEWEST_RARE_ROWS = 10


@dataclass(frozen=True)
class Judgement:
    """What a recipe says of the rows of the sample, none of which it had seen, and how long that took."""

    probabilities: Floats
    seconds: float


@dataclass(frozen=True)
class Judge:
    """Compares recipes on a sample. `parts` are the folds: a part for each row."""

    sample: WorkingSample
    parts: NDArray[np.intp]
    n_classes: int
    rare_class: int
    seed: int
    n_threads: int

    @property
    def rows(self) -> Labelled:
        ranked = [self.rare_class] if self.n_classes == 2 else list(range(self.n_classes))
        return Labelled(self.sample.classes, self.sample.weights, ranked)

    @contextmanager
    def at_work(self) -> Iterator[Callable[[Any], Callable[[], Judgement]]]:
        """Something that begins to judge a recipe, and returns what waits for the judgement.

        The copies of all recipes that have begun share the threads, so that no core waits for the last of a recipe.
        """
        with side_by_side(self.n_threads) as submit:
            yield partial(self._begun, submit)

    def _begun(self, submit: Callable[..., Future[Any]], recipe: Any) -> Callable[[], Judgement]:
        """Train copies of a recipe without a part of the sample each, and score that part."""
        running = [submit(self._scores_of, recipe, part) for part in range(int(self.parts.max()) + 1)]

        def result() -> Judgement:
            probabilities, seconds = np.empty((self.parts.size, self.n_classes)), 0.0
            for part, each in enumerate(running):
                probabilities[self.parts == part], took = each.result()
                seconds += took
            return Judgement(probabilities, seconds / self.n_threads)

        return result

    def _scores_of(self, recipe: Any, part: int) -> tuple[Floats, float]:
        """What a copy that was trained without a part says of it, and the seconds that it took."""
        begin = time.perf_counter()
        learnt, left_out = (np.flatnonzero(chosen) for chosen in (self.parts != part, self.parts == part))
        rows = self.sample.rows.rows(learnt)
        model = in_one_thread(clone(recipe)).set_params(
            n_estimators=min(N_MEMBERS, recipe.n_estimators),
            random_state=mix(self.seed, part) % LARGEST_RANDOM_STATE,
            callbacks=None,
            **uncalibrated(recipe),
        )
        model.fit(rows.features, self.sample.classes[learnt], **rows.metadata)
        return model.predict_proba(self.sample.rows.take(left_out)), time.perf_counter() - begin


def uncalibrated(recipe: Any) -> dict[str, None]:
    """The parameters by which a recipe gives raw scores: the blend is calibrated, not its parts."""
    return {"calibration": None} if "calibration" in recipe.get_params(deep=False) else {}


def folds_of(sample: WorkingSample, groups: NDArray[Any] | None, seed: int) -> NDArray[np.intp]:
    """A part of the sample for each of its rows, stratified by class; rows of one group are all in one part.

    `groups` has the group of each row of the sample.
    """
    n_folds = min(N_FOLDS, int(np.unique(sample.classes, return_counts=True)[1].min()))
    if groups is None:
        keys = row_keys(sample.ids.astype(np.uint64), seed, RECIPE_FOLDS_ROUND)
        return stratified_parts(keys, sample.classes, n_folds)
    names, group_of = np.unique(groups, return_inverse=True)
    # A group counts for the rarest of the classes that its rows have.
    by_size = np.argsort(np.argsort(np.bincount(sample.classes)))
    rank = np.full(names.size, by_size.size)
    np.minimum.at(rank, group_of, by_size[sample.classes])
    keys = row_keys(np.arange(names.size, dtype=np.uint64), seed, RECIPE_FOLDS_ROUND)
    parts = stratified_parts(keys, rank, n_folds)[group_of]
    _refuse_parts_without_classes(parts, sample.classes)
    return parts


def _refuse_parts_without_classes(parts: NDArray[np.intp], classes: NDArray[np.intp]) -> None:
    n_parts = int(parts.max()) + 1
    for number in np.unique(classes):
        there = np.unique(parts[classes == number])
        if n_parts < 2 or there.size < n_parts:
            raise ValueError(
                f"The groups leave {there.size} of {n_parts} folds with rows of class number {number}; every fold "
                "needs some. Its rows are in too few groups: give smaller groups, or none."
            )
