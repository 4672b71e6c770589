"""The trees of members of every kind, and how each of them reads rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import scoring, trees
from selfpaced.trees import Link, Reach, TreeModel, Trees, TwoRowTrees, UnsupportedTreesError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MemberTrees:
    """The trees of a member, whose sum is the log-odds or the probability of one class."""

    trees: Trees
    link: Link
    read: Callable[[Any], Floats | None]  # from rows to columns of numbers, a row each; None for rows of other forms
    way: Any  # members with the same way of reading rows have equal ones
    reads_float32: bool = False
    sources: tuple[int, ...] | None = None  # the feature that each column is made of; None if they are the features


@dataclass(frozen=True)
class TreesOfPart:
    """The trees of all members of a part, joined where members read rows in the same way."""

    link: Link
    n_members: int
    joined: Sequence[tuple[MemberTrees, TwoRowTrees]]  # the first member of each way, and the trees of all

    def reach(self, rows: Any, players: Ints) -> Iterator[Sequence[Reach]] | None:
        """The leaves within reach of each row and the last one; None if the members do not read rows of this form.

        `players` has the player of each feature.
        """
        found = []
        for first, own in self.joined:
            columns = first.read(rows)
            if columns is None:
                return None
            found.append(own.reach(columns, players if first.sources is None else players[list(first.sources)]))
        return zip(*found, strict=True)


def member_trees(member: Any, column: int) -> MemberTrees:
    """The trees of a member for the class of a column; raises UnsupportedTreesError for members of other kinds."""
    for kind in type(member).__mro__:
        read = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if read is not None and scoring.predicts_as(member, kind):
            return read(member, column)
    raise UnsupportedTreesError(f"A {type(member).__name__}", "It is explained by mixed rows.")


def _boosted(model: TreeModel, column: int, read: Callable[[Any], Floats | None], way: Any) -> MemberTrees:
    if model.link is not Link.LOGISTIC:
        raise UnsupportedTreesError("A boosted model of several classes", "It is explained by mixed rows.")
    sign = 1 if column == 1 else -1
    scaled = replace(model.trees, value=sign * model.factor * model.trees.value)
    return MemberTrees(scaled, model.link, read, way, model.reads_float32)


def _of_lightgbm(member: Any, column: int) -> MemberTrees:
    if callable(member.objective_):
        raise UnsupportedTreesError("A LightGBM model with an objective of its own", "It is explained by mixed rows.")
    known = [tuple(own) for own in member.booster_.pandas_categorical or []]
    read = partial(_columns, known=known, at=None, of_array=trees.lightgbm_columns)
    return _boosted(trees.read_booster(member.booster_), column, read, ("lightgbm", repr(known)))


def _of_hist_gradient_boosting(member: Any, column: int) -> MemberTrees:
    categories = trees.hist_categories(member)
    known, at = [tuple(own) for own in categories.values()], list(categories)
    read = partial(_columns, known=known, at=at, of_array=trees.float64_columns)
    return _boosted(trees.read_hist_gradient_boosting(member), column, read, ("hist", repr(known), repr(at)))


def _columns(
    rows: Any, known: Sequence[tuple[Any, ...]], at: Sequence[int] | None, of_array: Callable[[Any], Any]
) -> Floats | None:
    if isinstance(rows, np.ndarray):
        return None if known else np.asarray(of_array(rows), np.float64)
    found = scoring.coded(rows)
    if found is None or len(found.categories) != len(known):
        return None
    return found.recoded(dict(zip(at or sorted(found.categories), known, strict=True)))


def _of_xgboost(member: Any, column: int) -> MemberTrees:
    read = partial(_columns, known=(), at=(), of_array=trees.float64_columns)
    return _boosted(trees.read_xgboost(member), column, read, "xgboost")


def _of_catboost(member: Any, column: int) -> MemberTrees:
    return _boosted(trees.read_catboost(member), column, _float32_columns, "float32")


def _of_forest(member: Any, column: int) -> MemberTrees:
    own = getattr(member, "estimators_", [member])
    forest = trees.forest_of_class(own, column)
    shares = replace(forest, value=forest.value / len(own))
    return MemberTrees(shares, Link.SHARES, _float32_columns, "float32", reads_float32=True)


def _float32_columns(rows: Any) -> Floats | None:
    found = None if isinstance(rows, np.ndarray) else scoring.coded(rows)
    if not isinstance(rows, np.ndarray) and (found is None or found.categories):
        return None
    return trees.float64_columns(scoring.as_float32(rows))


def _of_pipeline(member: Any, column: int) -> MemberTrees:
    """A pipeline whose encoder makes one column of each column."""
    encoder = scoring.encoder_of([step for _, step in member.steps[:-1]])
    sources = getattr(encoder, "sources", None)
    if encoder is None or sources is None:
        raise UnsupportedTreesError("A pipeline with other encoders", "It is explained by mixed rows.")
    final = member_trees(member[-1], column)

    def read(rows: Any) -> Floats | None:
        encoded = encoder(rows)
        return None if encoded is None else final.read(encoded)

    return replace(final, read=read, way=id(member), sources=sources)


READERS: dict[tuple[str, str], Callable[[Any, int], MemberTrees]] = {
    ("lightgbm", "LGBMClassifier"): _of_lightgbm,
    ("sklearn", "HistGradientBoostingClassifier"): _of_hist_gradient_boosting,
    ("xgboost", "XGBClassifier"): _of_xgboost,
    ("catboost", "CatBoostClassifier"): _of_catboost,
    ("sklearn", "DecisionTreeClassifier"): _of_forest,
    ("sklearn", "RandomForestClassifier"): _of_forest,
    ("sklearn", "ExtraTreesClassifier"): _of_forest,
    ("sklearn", "Pipeline"): _of_pipeline,
}


def trees_of_part(members: Sequence[Any], column: int) -> TreesOfPart | None:
    """None if one of the members is not made of trees, or if they do not all add up to the same."""
    try:
        found = [member_trees(member, column) for member in members]
    except UnsupportedTreesError:
        return None
    if len({each.link for each in found}) > 1:
        return None
    by_way: dict[Any, list[int]] = {}
    for number, each in enumerate(found):
        by_way.setdefault(each.way, []).append(number)
    joined = []
    for numbers in by_way.values():
        first, trees = found[numbers[0]], [found[number].trees for number in numbers]
        member = np.repeat(numbers, [own.starts.size - 1 for own in trees])
        joined.append((first, TwoRowTrees(Trees.joined(trees), member, first.reads_float32)))
    return TreesOfPart(found[0].link, len(found), joined)
