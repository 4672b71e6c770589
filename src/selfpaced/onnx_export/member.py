"""The common form of all kinds of members, from which graphs are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from selfpaced.onnx_export.nodes import Graph

NO_CHILD = -1
# A function that adds nodes which read an array, given by name, and returns the name of the result.
Nodes = Callable[[Graph, str], str]


@dataclass(frozen=True)
class Tree:
    """Nodes by number, the root first. A row goes left if its feature is <= the threshold, or one of the categories.

    Attributes
    ----------
    categories : Mapping[int, NDArray[np.float64]]
        For nodes that split by category, the numbers of those that go left.
    left, right : NDArray[np.int64]
        The children; NO_CHILD in a leaf.
    missing_left : NDArray[np.bool_]
        Whether NaN goes left.
    value : NDArray[np.float64]
        What a leaf adds to a sum.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    categories: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def is_inner(self) -> NDArray[np.bool_]:
        inner: NDArray[np.bool_] = self.left != NO_CHILD
        return inner


class Link(Enum):
    """How a member's sums become probabilities."""

    SHARES = "they are the probabilities"
    LOGISTIC = "the logistic function of the one sum is the probability of the second class"
    SOFTMAX = "the softmax of the sums, one for each class"


def link_of(n_sums: int) -> Link:
    """The link of models that add up to log-odds."""
    return Link.LOGISTIC if n_sums == 1 else Link.SOFTMAX


@dataclass(frozen=True)
class TreeMember:
    """A member of an ensemble as sums of trees.

    Attributes
    ----------
    trees : Sequence[Sequence[Tree]]
        For each of the sums the trees that it adds up.
    start : NDArray[np.float64] | float, default=0.0
        The first summand of each sum, or of all sums.
    divisor : float, default=1.0
        The number by which the sums are divided before the link.
    reads_float32 : bool, default=False
        Whether the member rounds its features to 32 bits.
    preparation : tuple[Nodes, ...]
        The steps that prepare the rows, in order.
    """

    trees: Sequence[Sequence[Tree]]
    link: Link
    start: NDArray[np.float64] | float = 0.0
    divisor: float = 1.0
    reads_float32: bool = False
    preparation: tuple[Nodes, ...] = ()


@dataclass(frozen=True)
class FormulaMember:
    """A member of an ensemble as a formula: `sums` are the nodes from rows to an array with a column for each sum."""

    sums: Nodes
    link: Link
    preparation: tuple[Nodes, ...] = ()


Member = TreeMember | FormulaMember
