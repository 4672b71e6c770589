"""The trees of LightGBM, read from the text in which a booster saves itself.

The text holds every number in all its digits, and is read in a fraction of the time that `dump_model` takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from selfpaced.trees.tree import NO_CHILD, Bools, Floats, Ints, TreeModel, Trees, UnsupportedTreesError, link_of

# LightGBM reads numbers up to this size as 0.
ZERO = float(np.float32(1e-35))
# The bits of a node's decision_type. The others are the type of missing values.
BY_CATEGORIES, DEFAULT_LEFT = 1, 2
MISSING_IS_ZERO, MISSING_IS_NAN = 1, 2
BITS_OF_A_WORD = 32

Fields = Mapping[str, str]


def read_booster(booster: Any) -> TreeModel:
    """A booster of two or more classes. One with another objective, or with more than splits and constants, raises."""
    head, *texts = booster.model_to_string().partition("end of trees")[0].split("\nTree=")
    header = _fields(head)
    objective, _, steepness = header.get("objective", "").partition(" sigmoid:")
    n_sums, is_forest = int(header["num_tree_per_iteration"]), "average_output" in header
    if objective not in ("binary", f"multiclass num_class:{n_sums}") or is_forest:
        raise UnsupportedTreesError(
            f"A LightGBM model with the objective {objective!r}{' as a forest' * is_forest}",
            "Use the objective 'binary' or 'multiclass' with boosting.",
        )
    trees = _trees([_fields(text) for text in texts])
    sums = np.arange(len(texts)) % n_sums
    return TreeModel(trees, sums, n_sums, link_of(n_sums), factor=float(steepness) if steepness else 1.0)


def _fields(text: str) -> Fields:
    """The values of lines such as `num_leaves=31`, by name."""
    lines = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in lines}


def _trees(fields: Sequence[Fields]) -> Trees:
    """The inner nodes of each tree come first, then its leaves. LightGBM numbers them apart."""
    if any(own.get("is_linear", "0") != "0" for own in fields):
        raise UnsupportedTreesError("A LightGBM model with linear_tree=True", "Use linear_tree=False.")
    n_leaves = np.array([int(own["num_leaves"]) for own in fields], dtype=np.int64)
    starts = np.cumsum([0, *(2 * n_leaves - 1)])
    n_inner = n_leaves - 1
    inner, leaves = _places(starts[:-1], n_inner), _places(starts[:-1] + n_inner, n_leaves)
    kinds, thresholds = _whole(fields, "decision_type"), _numbers(fields, "threshold")
    by_category = (kinds & BY_CATEGORIES).astype(bool)
    missing_left = _missing_left(kinds, thresholds) & ~by_category  # NaN is in no category
    category_nodes, category_codes = _categories(fields, inner, n_inner, by_category, thresholds)

    def children(name: str) -> Ints:
        """The children of inner nodes. Leaves have negative numbers: ~0 is the first one."""
        numbers, first = _whole(fields, name), np.repeat(starts[:-1], n_inner)
        of_leaf = first + np.repeat(n_inner, n_inner) + ~numbers
        numbers = np.where(numbers < 0, of_leaf, first + numbers)
        whole: Ints = _spread(starts[-1], inner, numbers, NO_CHILD)
        return whole

    return Trees(
        starts=starts,
        feature=_spread(starts[-1], inner, _whole(fields, "split_feature"), 0),
        threshold=_spread(starts[-1], inner, np.where(by_category, 0.0, _as_compared(thresholds)), 0.0),
        left=children("left_child"),
        right=children("right_child"),
        missing_left=_spread(starts[-1], inner, missing_left, False),
        value=_spread(starts[-1], leaves, _numbers(fields, "leaf_value"), 0.0),
        by_category=_spread(starts[-1], inner, by_category, False),
        category_nodes=category_nodes,
        category_codes=category_codes,
    )


def _places(starts: Ints, sizes: Ints) -> Ints:
    """
    >>> _places(np.array([0, 5]), np.array([2, 3])).tolist()
    [0, 1, 5, 6, 7]
    """
    before = np.cumsum(sizes) - sizes
    places: Ints = np.arange(sizes.sum()) + np.repeat(starts - before, sizes)
    return places


def _spread(size: int, places: Ints, values: Any, other: Any) -> Any:
    whole = np.full(size, other, dtype=values.dtype)
    whole[places] = values
    return whole


def _missing_left(kinds: Ints, thresholds: Floats) -> Bools:
    """Whether NaN goes left at splits by a threshold. LightGBM reads it as 0 if training met no NaN there."""
    missing = kinds >> 2
    if ((missing == MISSING_IS_ZERO) & ~(kinds & BY_CATEGORIES).astype(bool)).any():
        raise UnsupportedTreesError("A LightGBM model with zero_as_missing=True", "Replace zeros by NaN instead.")
    return np.where(missing == MISSING_IS_NAN, (kinds & DEFAULT_LEFT).astype(bool), thresholds >= 0)


def _as_compared(thresholds: Floats) -> Floats:
    """Values that LightGBM reads as 0 go where 0 goes."""
    around_zero = (thresholds >= -ZERO) & (thresholds < ZERO)
    return np.where(around_zero, np.where(thresholds >= 0, ZERO, np.nextafter(-ZERO, -np.inf)), thresholds)


def _categories(
    fields: Sequence[Fields], inner: Ints, n_inner: Ints, by_category: Bools, thresholds: Floats
) -> tuple[Ints, Ints]:
    """The nodes and the codes of all categories that go left.

    The categories of a tree's nodes are the bits of some words, one set after the other. The number of a node's set is
    in the place of its threshold.
    """
    nodes, codes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    ends = np.cumsum(n_inner)
    for own, begin, end in zip(fields, ends - n_inner, ends, strict=True):
        if "cat_threshold" not in own:
            continue
        words = _parsed(own["cat_threshold"], np.int64).astype("<u4")
        bits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        set_starts = BITS_OF_A_WORD * _parsed(own["cat_boundaries"], np.int64)
        number = np.searchsorted(set_starts, bits, side="right") - 1
        of_tree = begin + np.flatnonzero(by_category[begin:end])
        node_of_set = np.zeros(set_starts.size - 1, dtype=np.int64)
        node_of_set[thresholds[of_tree].astype(np.intp)] = inner[of_tree]
        nodes.append(node_of_set[number])
        codes.append(bits - set_starts[number])
    return np.concatenate(nodes), np.concatenate(codes)


def _whole(fields: Iterable[Fields], name: str) -> Ints:
    numbers: Ints = _parsed(" ".join(own.get(name, "") for own in fields), np.int64)
    return numbers


def _numbers(fields: Iterable[Fields], name: str) -> Floats:
    numbers: Floats = _parsed(" ".join(own.get(name, "") for own in fields), np.float64)
    return numbers


def _parsed(text: str, kind: type) -> Any:
    return np.fromstring(text, dtype=kind, sep=" ") if text.strip() else np.zeros(0, dtype=kind)
