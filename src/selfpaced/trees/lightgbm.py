"""The trees of a LightGBM booster, read from the text in which it saves itself.

The text holds every number in all its digits, and is read in a fraction of the time that `dump_model` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.bitvectors import MOST_LEAVES, AnySplit, CategorySplit, Split

# LightGBM reads numbers up to this size as 0.
ZERO = float(np.float32(1e-35))
# The bits of a node's decision_type.
BY_CATEGORIES, DEFAULT_LEFT = 1, 2
MISSING_TYPES = ("None", "Zero", "NaN")
BITS_OF_A_WORD = 32


@dataclass(frozen=True)
class BoosterTrees:
    """The trees of a booster of two classes, and the steepness of the logistic function that follows their sum.

    Attributes
    ----------
    splits : Sequence[AnySplit]
        All splits of all trees.
    leaf_values : NDArray[np.float64]
        One row a tree, one column a leaf from left to right.
    categories : Sequence[Sequence[Any]]
        The categories of each categorical column of the frame that it was trained on.
    """

    splits: Sequence[AnySplit]
    leaf_values: NDArray[np.float64]
    steepness: float
    categories: Sequence[Sequence[Any]]

    @property
    def key(self) -> str:
        """The same for boosters that read frames alike."""
        return repr(self.categories)


def booster_trees(booster: Any) -> BoosterTrees | None:
    """A booster of two classes as small trees.

    None if the booster is of another kind, or has trees that are too large or more than splits and constants.
    """
    head, *texts = booster.model_to_string().partition("end of trees")[0].split("\nTree=")
    header = _fields(head)
    kind, _, steepness = header.get("objective", "").partition(" sigmoid:")
    if kind != "binary" or "average_output" in header:
        return None
    leaf_values = np.zeros((len(texts), MOST_LEAVES))
    splits: list[AnySplit] = []
    try:
        for number, text in enumerate(texts):
            splits += _Tree(number, _fields(text), leaf_values[number]).splits
    except NotASmallTreeError:
        return None
    return BoosterTrees(splits, leaf_values, float(steepness), booster.pandas_categorical or [])


def frame_categories(booster: Any) -> dict[int, Sequence[Any]]:
    """The categories of the columns that were categories in the frame which a booster was trained on, by position."""
    known = booster.pandas_categorical or []
    if not known:
        return {}
    listed = booster.model_to_string(num_iteration=1).partition("[categorical_feature: ")[2].partition("]")[0]
    positions = [int(position) for position in listed.split(",") if position]
    if len(positions) != len(known):
        raise ValueError(
            f"The model was trained on a frame with {len(known)} categorical columns, of which LightGBM lists "
            f"{len(positions)}: ordered categories become numbers. Make numbers of them before training."
        )
    return dict(zip(positions, known, strict=True))


def missing_goes_left(missing_type: str, default_left: bool, threshold: float) -> bool:
    """Whether NaN goes left at a split by a threshold. LightGBM reads it as 0 if training met no NaN there."""
    return default_left if missing_type == "NaN" else threshold >= 0


class NotASmallTreeError(Exception):
    """A tree with more than splits and constants, or with more leaves than there are bits."""


def _fields(text: str) -> dict[str, str]:
    """The values of lines such as `num_leaves=31`, by name."""
    lines = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in lines}


class _Tree:
    """A tree in the making: its leaves are numbered from left to right, and their values noted."""

    def __init__(self, number: int, fields: dict[str, str], leaf_values: NDArray[np.float64]) -> None:
        if int(fields["num_leaves"]) > MOST_LEAVES or fields.get("is_linear", "0") != "0":
            raise NotASmallTreeError
        self._number = number
        self._fields = fields
        self._features, self._types, self._left, self._right = (
            _whole(fields.get(name, "")) for name in ("split_feature", "decision_type", "left_child", "right_child")
        )
        self._thresholds = list(map(float, fields.get("threshold", "").split()))
        self._codes = _sets_of_codes(fields)
        self._leaves: list[int] = []
        self.splits: list[AnySplit] = []
        self._walk(0 if self._left else ~0)
        leaf_values[: len(self._leaves)] = np.array(fields["leaf_value"].split(), dtype=np.float64)[self._leaves]

    def _walk(self, node: int) -> None:
        """Leaves have negative numbers: ~0 is the first one."""
        if node < 0:
            self._leaves.append(~node)
            return
        first = len(self._leaves)
        self._walk(self._left[node])
        self.splits.append(self._split(node, (1 << len(self._leaves)) - (1 << first)))
        self._walk(self._right[node])

    def _split(self, node: int, left_leaves: int) -> AnySplit:
        threshold, kind = self._thresholds[node], self._types[node]
        if kind & BY_CATEGORIES:
            return CategorySplit(self._number, self._features[node], self._codes[int(threshold)], left_leaves)
        missing_type = MISSING_TYPES[kind >> 2]
        if missing_type == "Zero":
            raise NotASmallTreeError
        missing_left = missing_goes_left(missing_type, bool(kind & DEFAULT_LEFT), threshold)
        return Split(self._number, self._features[node], _as_compared(threshold), missing_left, left_leaves)


def _sets_of_codes(fields: dict[str, str]) -> list[tuple[int, ...]]:
    """The categories that go left at each split by categories. They are bits of some words, one set after the other."""
    if "cat_threshold" not in fields:
        return []
    words = np.array(_whole(fields["cat_threshold"]), dtype="<u4")
    bits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    starts = BITS_OF_A_WORD * np.array(_whole(fields["cat_boundaries"]))
    places = np.searchsorted(bits, starts)
    return [
        tuple((bits[begin:end] - start).tolist())
        for begin, end, start in zip(places[:-1], places[1:], starts[:-1], strict=True)
    ]


def _whole(text: str) -> list[int]:
    return list(map(int, text.split()))


def _as_compared(threshold: float) -> float:
    """Values that LightGBM reads as 0 go where 0 goes."""
    if not -ZERO <= threshold < ZERO:
        return threshold
    return ZERO if threshold >= 0 else float(np.nextafter(-ZERO, -np.inf))
