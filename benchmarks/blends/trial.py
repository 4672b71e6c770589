"""One split of one table: the judge of the recipes, and what each recipe says of rows that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import average_precision_score

from blends.candidates import candidates
from contest.splits import held_out_rows
from contest.table import Data, Labels, Order
from selfpaced.ensembles import check_labels
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, columns_of
from selfpaced.ensembles.auto.judging import Judge, uncalibrated
from selfpaced.ensembles.auto.recipes import BlendLimits
from selfpaced.ensembles.auto.training import AutoTraining
from selfpaced.storage import whole_file
from selfpaced.tables import InMemoryTable, LabelledTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """What a recipe says of the rows that it is judged by, none of which it had seen, and of the test rows."""

    honest: Floats
    test: Floats


@dataclass(frozen=True)
class Trial:
    """The training rows and the test rows of a split.

    Scores are kept in `folder`: to train the recipes takes longest, and ways to blend them need not train them again.
    """

    X: pd.DataFrame
    y: Labels
    X_test: pd.DataFrame
    y_test: Labels
    seed: int
    folder: Path

    @cached_property
    def recipes(self) -> dict[str, Any]:
        return candidates(columns_of(self.X, None))

    def judge(self, limits: BlendLimits | None = None) -> Judge:
        """The judge of a fit of `AutoSelfPacedClassifier`, which no public name returns."""
        model = AutoSelfPacedClassifier(list(self.recipes.items()), random_state=self.seed)
        model._limits = limits or BlendLimits()
        training = AutoTraining(model, LabelledTable(InMemoryTable(self.X), check_labels(self.y, self.X)))
        return training._judge(self.recipes, training._split(int(self.y.sum())))

    def scores(self, name: str, judge: Judge, way: str = "usual") -> Scores:
        """The scores of a recipe. `way` is a name for how the judge works."""
        recipe = self.recipes[name]
        return Scores(self._kept(f"judged, {way}", recipe, partial(judged, judge, recipe)), self.tested(recipe))

    def tested(self, recipe: Any) -> Floats:
        """What a recipe that was trained on all training rows says of the test rows."""
        return self._kept("tested", recipe, partial(self._trained_and_tested, recipe))

    def _trained_and_tested(self, recipe: Any) -> Floats:
        model = clone(recipe).set_params(random_state=self.seed, **uncalibrated(recipe))
        probabilities: Floats = model.fit(self.X, self.y).predict_proba(self.X_test)
        return probabilities

    def _kept(self, what: str, recipe: Any, compute: Callable[[], Floats]) -> Floats:
        path = self.folder / f"{sha256(f'{what}: {recipe.get_params()}'.encode()).hexdigest()[:20]}.npy"
        if not path.exists():
            scores = compute()
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as part, part.open("wb") as file:
                np.save(file, scores)
        found: Floats = np.load(path)
        return found

    def aucprc(self, probabilities: Floats) -> float:
        return round(float(average_precision_score(self.y_test, probabilities[:, 1])), 5)


def trial_of(data: Data, split: int, order: Order, folder: Path) -> Trial:
    is_test = held_out_rows(data, split, order)
    # Categories of plain strings, as every method of the field gets them: from a Parquet file.
    plain = {name: pd.CategoricalDtype(data.X[name].cat.categories.astype(object)) for name in data.categories}
    X, X_test = (data.X[rows].reset_index(drop=True).astype(plain) for rows in (~is_test, is_test))
    return Trial(X, data.y[~is_test], X_test, data.y[is_test], split, folder)


def judged(judge: Judge, recipe: Any) -> Floats:
    (found,) = judge.judged([recipe])
    if isinstance(found, Exception):
        raise found
    return found.probabilities
