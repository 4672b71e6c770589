"""Pictures of the checkerboard: the data, what members are trained on, and the probabilities that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from paper.datasets import Split
from paper.datasets.checkerboard import checkerboard
from paper.methods import METHODS, Fitted
from paper.render.figures import figure, save, scatter

METHODS_SHOWN = ["Clean", "SMOTE", "Easy", "Cascade", "SPE"]
MEMBERS_SHOWN = [5, 10]
GRID = np.linspace(-1, 4, 151)
SPARSE = 5  # every fifth point of the grid is in the file of numbers


class RememberingTree(DecisionTreeClassifier):
    """A tree that keeps its training set, to be drawn."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        self.training_set_ = X, y
        return super().fit(X, y, sample_weight, check_input)


def data(path: Path, seed: int = 0) -> Path:
    split = checkerboard(0.1, seed)
    drawing, axes = figure(1, 1, width=4, height=4)
    scatter(axes[0][0], split.X_train, split.y_train)
    points = pd.DataFrame(split.X_train, columns=["x", "y"]).round(3)
    return save(drawing, path, points.assign(minority=split.y_train))


def training_and_probabilities(path: Path, split: Split | None = None) -> Path:
    """For each method the training sets of its 5th and 10th member (or its only one), and its probabilities."""
    split = checkerboard(0.1, 0) if split is None else split
    drawing, axes = figure(3, len(METHODS_SHOWN), width=2.2, height=2.2)
    probabilities = {}
    for method, column in zip(METHODS_SHOWN, axes.T, strict=True):
        fitted = METHODS[method](RememberingTree(max_depth=10), split, 0, n_members=10)
        _draw_training_sets(column[:2], fitted)
        probabilities[method] = _draw_probabilities(column[2], fitted)
        column[0].set(title=method)
    axes[0][0].set(ylabel="5th training set")
    axes[1][0].set(ylabel="10th training set")
    axes[2][0].set(ylabel="probabilities")
    x, y = np.meshgrid(GRID[::SPARSE], GRID[::SPARSE])
    points = {name: values[::SPARSE, ::SPARSE].ravel() for name, values in probabilities.items()}
    return save(drawing, path, pd.DataFrame({"x": x.ravel(), "y": y.ravel(), **points}).round(3))


def _draw_training_sets(axes: Any, fitted: Fitted) -> None:
    numbers = MEMBERS_SHOWN if len(fitted.members) > 1 else [1]
    for number, ax in zip(numbers, axes, strict=False):
        scatter(ax, *fitted.members[number - 1].training_set_)
        ax.set(xlim=(-1, 4), ylim=(-1, 4))
    for ax in axes[len(numbers) :]:
        ax.text(0.5, 0.5, "one training set", ha="center", transform=ax.transAxes, color="grey")
        ax.set(xticks=[], yticks=[])


def _draw_probabilities(axes: Any, fitted: Fitted) -> Any:
    x, y = np.meshgrid(GRID, GRID)
    scores = fitted.scores(np.column_stack([x.ravel(), y.ravel()]).astype(np.float32)).reshape(x.shape)
    axes.pcolormesh(GRID, GRID, scores, cmap="coolwarm", vmin=0, vmax=1, rasterized=True)
    axes.set(xticks=[], yticks=[])
    return scores
