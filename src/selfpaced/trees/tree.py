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
    """A model that is more than sums of trees, or has trees of a kind that is not read.

    Attributes
    ----------
    advice : str
        A sentence that says what to do instead.
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice


@dataclass(frozen=True)
class Trees:
    """Trees one after the other, as arrays with an entry for each node.

    A row goes left if its feature is at most the threshold, or is one of the node's categories.

    Attributes
    ----------
    starts : Ints
        The number of each tree's root, which is its first node, and at the end the number of all nodes.
    feature, threshold
        What a node compares. They have no meaning in leaves.
    left, right : Ints
        The numbers of the children; NO_CHILD in a leaf.
    missing_left : Bools
        Whether NaN goes left. At a node with categories, also whether unknown categories go left.
    value : Floats
        What a leaf adds to a sum.
    by_category : Bools
        Whether a node has categories in the place of a threshold.
    category_nodes, category_codes : Ints
        Every category that goes left: the node and the code of the category.
    """

    starts: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    value: Floats
    by_category: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    category_nodes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    category_codes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.by_category.size != self.feature.size:  # no node has categories
            object.__setattr__(self, "by_category", np.zeros(self.feature.size, dtype=bool))

    @property
    def is_inner(self) -> Bools:
        inner: Bools = self.left != NO_CHILD
        return inner

    @property
    def tree(self) -> Ints:
        """The number of the tree of each node."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @classmethod
    def joined(cls, parts: Sequence[Trees]) -> Trees:
        """All trees of all parts."""
        nodes = np.cumsum([0, *(part.feature.size for part in parts)])
        shifted = {
            "starts": [part.starts[:-1] + first for part, first in zip(parts, nodes[:-1], strict=True)] + [nodes[-1:]],
            "category_nodes": [part.category_nodes + first for part, first in zip(parts, nodes[:-1], strict=True)],
        } | {
            name: [_moved(getattr(part, name), first) for part, first in zip(parts, nodes[:-1], strict=True)]
            for name in ("left", "right")
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


def _moved(children: Ints, first: int) -> Ints:
    return np.where(children == NO_CHILD, NO_CHILD, children + first)


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
    """A fitted model as sums of trees.

    Attributes
    ----------
    sums : Ints
        For each tree, the number of the sum that it adds to.
    n_sums : int
        How many sums there are: one for each class, or one for two classes.
    start : Floats | float, default=0.0
        The first summand of each sum, or of all sums.
    factor : float, default=1.0
        The number by which the sums are multiplied before the link.
    n_known : Mapping[int, int]
        The number of categories that the model knows, by feature. Larger codes are treated as missing values.
    reads_float32 : bool, default=False
        Whether the model rounds its features to 32 bits.
    """

    trees: Trees
    sums: Ints
    n_sums: int
    link: Link
    start: Floats | float = 0.0
    factor: float = 1.0
    n_known: Mapping[int, int] = field(default_factory=dict)
    reads_float32: bool = False
