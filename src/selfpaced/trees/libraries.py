"""Trees of scikit-learn, XGBoost, CatBoost and LightGBM."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from selfpaced.trees.tree import NO_CHILD, Bools, Floats, Ints, Link, TreeModel, Trees, UnsupportedTreesError, link_of


def read_forest(trees: Sequence[Any]) -> TreeModel:
    """Decision trees that each give the shares of classes. A leaf adds to one sum, so each class has copies of them."""
    n_classes = trees[0].tree_.value.shape[2]
    copies = Trees.joined([forest_of_class(trees, number) for number in range(n_classes)])
    sums = np.repeat(np.arange(n_classes), len(trees))
    return TreeModel(copies, sums, n_classes, Link.SHARES, reads_float32=True)


def forest_of_class(trees: Sequence[Any], number: int) -> Trees:
    """Decision trees whose leaves have the share of one class."""
    forest = Trees.joined([_decision_tree(each.tree_) for each in trees])
    return replace(forest, value=np.concatenate([each.tree_.value[:, 0, number] for each in trees]))


def read_hist_gradient_boosting(model: Any) -> TreeModel:
    """A model whose categories, if it has any, are those of a frame's types."""
    categories = hist_categories(model)
    predictors = [each for iteration in model._predictors for each in iteration]
    trees = _boosted_trees(predictors)
    if categories:
        # In training categorical columns come first.
        others = [position for position in range(model.n_features_in_) if position not in categories]
        positions = np.array([*categories, *others])
        nodes, codes = _category_bits(predictors, trees)
        trees = replace(trees, feature=positions[trees.feature], category_nodes=nodes, category_codes=codes)
    n_sums = model.n_trees_per_iteration_
    sums, start = np.arange(len(predictors)) % n_sums, np.ravel(model._baseline_prediction)
    n_known = {position: len(own) for position, own in categories.items()}
    return TreeModel(trees, sums, n_sums, link_of(n_sums), start, n_known=n_known)


def hist_categories(model: Any) -> Mapping[int, Sequence[Any]]:
    """The categories that a model was trained with, by the position of the column. A NaN among them is left out."""
    if model.is_categorical_ is None or not model.is_categorical_.any():
        return {}
    if not (isinstance(model.categorical_features, str) and model.categorical_features == "from_dtype"):
        raise UnsupportedTreesError(
            "HistGradientBoosting with codes of categories", "Use the categories of the columns' types."
        )
    known = model._preprocessor.named_transformers_["encoder"].categories_
    positions = np.flatnonzero(model.is_categorical_).tolist()
    return {at: [each for each in own if each == each] for at, own in zip(positions, known, strict=True)}


def check_decision_tree(model: Any) -> None:
    """Refuse a tree whose nodes or features do not exist. A model that is not fitted has no tree."""
    tree = getattr(model, "tree_", None)
    if tree is None:
        return
    if tree.node_count > tree.capacity:
        raise ValueError("a tree has fewer nodes than it says.")
    _decision_tree(tree).check(model.n_features_in_)


def check_hist_gradient_boosting(model: Any) -> None:
    """The same for the trees of histogram gradient boosting, and their categories."""
    predictors = [each for iteration in getattr(model, "_predictors", []) for each in iteration]
    if not predictors:
        return
    for predictor in predictors:
        nodes = predictor.nodes
        sets = nodes["bitset_idx"][(nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)]
        if not (sets < len(predictor.raw_left_cat_bitsets)).all():
            raise ValueError("a tree uses categories that do not exist.")
    _boosted_trees(predictors).check(model.n_features_in_)


def _decision_tree(tree: Any) -> Trees:
    return Trees(
        starts=np.array([0, tree.node_count]),
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(bool),
        value=np.zeros(tree.node_count),
    )


def _boosted_trees(predictors: Sequence[Any]) -> Trees:
    """Without the categories of their splits."""
    sizes = [len(each.nodes) for each in predictors]
    starts = np.cumsum([0, *sizes])
    nodes = np.concatenate([each.nodes for each in predictors])
    first, is_leaf = np.repeat(starts[:-1], sizes), nodes["is_leaf"].astype(bool)
    return Trees(
        starts=starts,
        feature=nodes["feature_idx"].astype(np.int64),
        threshold=nodes["num_threshold"],
        left=np.where(is_leaf, NO_CHILD, first + nodes["left"]),
        right=np.where(is_leaf, NO_CHILD, first + nodes["right"]),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"],
        by_category=nodes["is_categorical"].astype(bool) & ~is_leaf,
    )


def _category_bits(predictors: Sequence[Any], trees: Trees) -> tuple[Ints, Ints]:
    """The nodes and the codes of all categories that go left: the bits of the words of each node."""
    nodes = np.flatnonzero(trees.by_category)
    if not nodes.size:
        return nodes, nodes
    numbers: NDArray[Any] = np.concatenate([each.nodes["bitset_idx"] for each in predictors])[nodes]
    n_sets = [len(each.raw_left_cat_bitsets) for each in predictors]
    words = np.concatenate([each.raw_left_cat_bitsets for each in predictors])
    first_sets = np.cumsum([0, *n_sets])[trees.tree[nodes]]
    own = np.ascontiguousarray(words[first_sets + numbers].astype("<u4"))
    bits = np.unpackbits(own.view(np.uint8).reshape(len(nodes), -1), axis=1, bitorder="little")
    splits, codes = np.nonzero(bits)
    return nodes[splits], codes


OBJECTIVES = ("binary:logistic", "multi:softprob")
LOSSES = ("Logloss", "MultiClass")


def read_xgboost(model: Any) -> TreeModel:
    booster = model.get_booster()
    best = booster.attr("best_iteration")  # where training was stopped early
    parts = json.loads((booster if best is None else booster[: int(best) + 1]).save_raw("json"))["learner"]
    objective, kind = parts["objective"]["name"], parts["gradient_booster"]["name"]
    boosted = parts["gradient_booster"].get("model", {})
    trees = boosted.get("trees", [])
    by_category = any(any(tree["split_type"]) for tree in trees)
    if objective not in OBJECTIVES or kind != "gbtree" or by_category or not np.isnan(model.missing):
        raise UnsupportedTreesError(
            f"An XGBoost model with the objective {objective!r}, booster={kind!r}, missing={model.missing}"
            f"{' and splits by category' * by_category}",
            f"Use {' or '.join(OBJECTIVES)} with booster='gbtree', splits by numbers and missing=nan.",
        )
    n_sums = max(1, int(parts["learner_model_param"]["num_class"]))
    start = np.array(json.loads(parts["learner_model_param"]["base_score"]), dtype=np.float64)
    joined, sums = Trees.joined([_xgboost_tree(tree) for tree in trees]), np.array(boosted["tree_info"])
    return TreeModel(joined, sums, n_sums, link_of(n_sums), logit(start) if n_sums == 1 else start, reads_float32=True)


def _xgboost_tree(tree: dict[str, Any]) -> Trees:
    """A row goes left if its value is below the threshold, that is, at most the next smaller float32."""
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    return Trees(
        starts=np.array([0, conditions.size]),
        feature=np.array(tree["split_indices"]),
        threshold=np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),
        left=np.array(tree["left_children"]),
        right=np.array(tree["right_children"]),
        missing_left=np.array(tree["default_left"], dtype=bool),
        value=conditions.astype(np.float64),
    )


def read_catboost(model: Any) -> TreeModel:
    with TemporaryDirectory() as folder:  # CatBoost can only write its description of a model to a file
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        parts = json.loads(path.read_text())
    loss = parts["model_info"]["params"]["loss_function"]["type"]
    if loss not in LOSSES or "oblivious_trees" not in parts or set(parts["features_info"]) != {"float_features"}:
        raise UnsupportedTreesError(
            f"A CatBoost model with the loss {loss!r} and columns of {', '.join(sorted(parts['features_info']))}",
            f"Use {' or '.join(LOSSES)} with symmetric trees on numbers.",
        )
    columns = parts["features_info"]["float_features"]
    scale, start = parts["scale_and_bias"]
    n_sums, trees = len(start), parts["oblivious_trees"]
    joined = Trees.joined([_symmetric(tree, number, n_sums, columns) for number in range(n_sums) for tree in trees])
    sums, start = np.repeat(np.arange(n_sums), len(trees)), np.array(start, dtype=np.float64) / scale
    return TreeModel(joined, sums, n_sums, link_of(n_sums), start, float(scale), reads_float32=True)


def _symmetric(tree: dict[str, Any], number: int, n_sums: int, columns: list[dict[str, Any]]) -> Trees:
    """The tree of one sum, with its nodes numbered level by level. The last split comes first.

    A row goes right if its value is above the border, which is a bit of the number of its leaf.
    """
    asked = []
    for split in reversed(tree["splits"]):
        column = columns[split["float_feature_index"]]
        missing_is_left = column["nan_value_treatment"] != "AsTrue"
        asked.append((column["flat_feature_index"], split["border"], missing_is_left))
    depth = len(asked)
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    is_leaf = level == depth
    features, borders, missing_left = (
        (np.array([*of_level, 0]) for of_level in zip(*asked, strict=True)) if asked else (np.zeros(1),) * 3
    )
    nodes = np.arange(level.size)
    return Trees(
        starts=np.array([0, level.size]),
        feature=features[level].astype(np.int64),
        threshold=borders[level].astype(np.float64),
        left=np.where(is_leaf, NO_CHILD, 2 * nodes + 1),
        right=np.where(is_leaf, NO_CHILD, 2 * nodes + 2),
        missing_left=missing_left[level].astype(bool),
        value=np.concatenate([np.zeros(2**depth - 1), np.array(tree["leaf_values"], dtype=np.float64)[number::n_sums]]),
    )


# The trees of LightGBM are read from the text in which a booster saves itself. It holds every number in all its digits,
# and is read in a fraction of the time that `dump_model` takes.

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
    kinds, thresholds = _values(fields, "decision_type", np.int64), _values(fields, "threshold", np.float64)
    by_category = (kinds & BY_CATEGORIES).astype(bool)
    missing_left = _missing_left(kinds, thresholds) & ~by_category  # NaN is in no category
    category_nodes, category_codes = _categories(fields, inner, n_inner, by_category, thresholds)

    def children(name: str) -> Ints:
        """The children of inner nodes. Leaves have negative numbers: ~0 is the first one."""
        numbers, first = _values(fields, name, np.int64), np.repeat(starts[:-1], n_inner)
        of_leaf = first + np.repeat(n_inner, n_inner) + ~numbers
        numbers = np.where(numbers < 0, of_leaf, first + numbers)
        whole: Ints = _spread(starts[-1], inner, numbers, NO_CHILD)
        return whole

    return Trees(
        starts=starts,
        feature=_spread(starts[-1], inner, _values(fields, "split_feature", np.int64), 0),
        threshold=_spread(starts[-1], inner, np.where(by_category, 0.0, _as_compared(thresholds)), 0.0),
        left=children("left_child"),
        right=children("right_child"),
        missing_left=_spread(starts[-1], inner, missing_left, False),
        value=_spread(starts[-1], leaves, _values(fields, "leaf_value", np.float64), 0.0),
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
    words = _values(fields, "cat_threshold", np.int64).astype("<u4")
    bits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    steps = np.diff(_values(fields, "cat_boundaries", np.int64))  # where a tree begins, back to 0
    n_words = steps[steps > 0]
    set_starts = BITS_OF_A_WORD * (np.cumsum(n_words) - n_words)
    of_bit = np.searchsorted(set_starts, bits, side="right") - 1
    n_sets = np.array([int(own["num_cat"]) for own in fields], dtype=np.int64)
    first_sets = np.repeat(np.cumsum(n_sets) - n_sets, n_inner)
    node_of_set = np.zeros(set_starts.size, dtype=np.int64)
    node_of_set[first_sets[by_category] + thresholds[by_category].astype(np.int64)] = inner[by_category]
    return node_of_set[of_bit], bits - set_starts[of_bit]


def _values(fields: Iterable[Fields], name: str, kind: type) -> Any:
    """The values of all trees, one after the other."""
    return _parsed(" ".join(own.get(name, "") for own in fields), kind)


def _parsed(text: str, kind: type) -> Any:
    return np.fromstring(text, dtype=kind, sep=" ") if text.strip() else np.zeros(0, dtype=kind)
