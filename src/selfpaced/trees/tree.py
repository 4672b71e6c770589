"""Fitted models of every library as sums of binary trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_CHILD = -1


class UnsupportedTreesError(ValueError):
    """A model that is more than sums of trees, or has trees of a kind that is not read."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice  # a sentence that says what to do instead


@dataclass(frozen=True)
class Trees:
    """Trees one after the other, as arrays with an entry for each node.

    A row goes left if its feature is at most the threshold, or is one of the node's categories.
    """

    starts: Ints  # the number of each tree's root, which is its first node, and at the end the number of all nodes
    feature: Ints  # what a node compares with its threshold. Both have no meaning in leaves.
    threshold: Floats
    left: Ints  # the numbers of the children; NO_CHILD in a leaf
    right: Ints
    missing_left: Bools  # whether NaN goes left, and at a node with categories also unknown categories
    value: Floats  # what a leaf adds to a sum
    # Whether a node has categories in the place of a threshold.
    by_category: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    # Every category that goes left: the node and the code of the category.
    category_nodes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    category_codes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.by_category.size != self.feature.size:  # no node has categories
            object.__setattr__(self, "by_category", np.zeros(self.feature.size, dtype=bool))

    @property
    def is_inner(self) -> Bools:
        return np.asarray(self.left != NO_CHILD)

    @property
    def tree(self) -> Ints:
        """The number of the tree of each node."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @classmethod
    def joined(cls, parts: Sequence[Trees]) -> Trees:
        """All trees of all parts."""
        nodes = np.cumsum([0, *(part.feature.size for part in parts)])
        placed = list(zip(parts, nodes[:-1], strict=True))

        def moved(children: Ints, first: int) -> Ints:
            return np.where(children == NO_CHILD, NO_CHILD, children + first)

        shifted = {
            "starts": [part.starts[:-1] + first for part, first in placed] + [nodes[-1:]],
            "category_nodes": [part.category_nodes + first for part, first in placed],
            "left": [moved(part.left, first) for part, first in placed],
            "right": [moved(part.right, first) for part, first in placed],
        }
        same = ("feature", "threshold", "missing_left", "value", "by_category", "category_codes")
        arrays = shifted | {name: [getattr(part, name) for part in parts] for name in same}
        return cls(**{name: np.concatenate(some) for name, some in arrays.items()})

    def check(self, n_features: int) -> None:
        """Refuse children before their parents, with which a path could be endless, and features that do not exist."""
        inner = self.is_inner
        children = np.stack([self.left, self.right])[:, inner]
        ends = np.repeat(self.starts[1:], np.diff(self.starts))[inner]
        if not ((children > np.flatnonzero(inner)) & (children < ends)).all():
            raise ValueError("a tree has children that do not exist.")
        features = self.feature[inner]
        if not ((features >= 0) & (features < n_features)).all():
            raise ValueError(f"a tree uses a feature beyond the {n_features} of the model.")

    def leaf_ranges(self) -> tuple[Ints, Ints]:
        """For each node, the number of the first leaf below it, and how many there are.

        The leaves of a tree are numbered from left to right.
        """
        levels = [self.starts[:-1]]
        while levels[-1].size:
            inner = levels[-1] = levels[-1][self.left[levels[-1]] != NO_CHILD]
            levels.append(np.concatenate([self.left[inner], self.right[inner]]))
        n_leaves = np.ones(self.feature.size, dtype=np.int64)
        for inner in reversed(levels):
            n_leaves[inner] = n_leaves[self.left[inner]] + n_leaves[self.right[inner]]
        first = np.zeros(self.feature.size, dtype=np.int64)
        for inner in levels:
            first[self.left[inner]] = first[inner]
            first[self.right[inner]] = first[inner] + n_leaves[self.left[inner]]
        return first, n_leaves


class Link(Enum):
    """How the sums of a model become probabilities."""

    SHARES = "the means over the trees are the probabilities"
    LOGISTIC = "the logistic function of the one sum is the probability of the second class"
    SOFTMAX = "the softmax of the sums, one for each class"


def link_of(n_sums: int) -> Link:
    """The link of models that add up to log-odds."""
    return Link.LOGISTIC if n_sums == 1 else Link.SOFTMAX


@dataclass(frozen=True)
class TreeModel:
    """A fitted model as sums of trees."""

    trees: Trees
    sums: Ints  # for each tree, the number of the sum that it adds to
    n_sums: int  # one for each class, or one for two classes
    link: Link
    start: Floats | float = 0.0  # the first summand of each sum, or of all sums
    factor: float = 1.0  # by which the sums are multiplied before the link
    # How many categories the model knows, by feature. Larger codes are treated as missing values.
    n_known: Mapping[int, int] = field(default_factory=dict)
    reads_float32: bool = False  # whether the model rounds its features to 32 bits
