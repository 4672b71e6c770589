"""The fastest scorer of each kind of model, and those of scikit-learn's trees and ensembles of them.

`tree_.apply` runs without the interpreter's lock on float32 rows and skips the checks and conversions that
`predict_proba` makes in each call. The public attributes `tree_`, `estimators_` and their like are all that is read.
"""

from collections.abc import Callable, Sequence
from inspect import getattr_static
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import assert_all_finite, check_array

from selfpaced.scoring.pipelines import pipeline_scorer
from selfpaced.scoring.scorer import BYTES_AT_ONCE as BYTES_AT_ONCE_OF_PLAIN
from selfpaced.scoring.scorer import (
    Probabilities,
    Rebalanced,
    Scorer,
    as_frame,
    as_is,
    coded,
    plain_scorer,
    xgboost_scorer,
)

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE = 2**23
FEW_ROWS, FEW_ROWS_OF_CATBOOST = 2**4, 2**8

LeafValues = NDArray[np.float64]


def as_float32(features: Any, order: Literal["C", "F"] = "C") -> Any:
    """The rows as scikit-learn's trees read them; no copy if they are so already. With "F", column after column."""
    if issparse(features):
        return features.astype(np.float32, copy=False)
    rows = coded(features)
    if rows is not None and rows.is_exact and not rows.categories:
        features = rows.numbers.T
    if not isinstance(features, np.ndarray):
        features = check_array(as_frame(features), dtype=np.float32, ensure_all_finite=False)
    return np.asarray(features, dtype=np.float32, order=order)


def as_finite_float32(features: Any) -> Any:
    """The same for AdaBoost, which takes no missing values although its trees would."""
    rows = as_float32(features)
    assert_all_finite(rows.data if issparse(rows) else rows, input_name="X")
    return rows


def forest_scorer(model: Any) -> Scorer:
    trees = model.estimators_
    return _scorer(trees, [leaf_shares(tree) for tree in trees], finish=lambda total: total / len(trees))


def bagging_scorer(model: Any) -> Scorer | None:
    """Bags of trees that see all classes and all features; other bags are left to their own `predict_proba`."""
    all_features = np.arange(model.n_features_in_)
    see_all = all(np.array_equal(features, all_features) for features in model.estimators_features_)
    return forest_scorer(model) if see_all and _has_plain_trees(model) else None


def adaboost_scorer(model: Any) -> Scorer | None:
    """Each tree votes for one class with its weight, and the softmax of the votes is the probability."""
    if not _has_plain_trees(model):
        return None
    trees = model.estimators_
    scale = model.estimator_weights_.sum() * (model.n_classes_ - 1)
    votes = [leaf_votes(tree, weight) for tree, weight in zip(trees, model.estimator_weights_, strict=False)]
    return _scorer(trees, votes, finish=lambda total: softmax(total / scale, axis=1), view=as_finite_float32)


def leaf_shares(tree: Any) -> LeafValues:
    """The share of each class in every node of a tree."""
    return np.ascontiguousarray(tree.tree_.value[:, 0, :])


def leaf_votes(tree: Any, weight: float) -> LeafValues:
    """AdaBoost's votes of every node: `weight` for its largest class, the same against it shared by the others."""
    shares = leaf_shares(tree)
    votes = np.full_like(shares, -weight / (shares.shape[1] - 1))
    votes[np.arange(len(shares)), shares.argmax(axis=1)] = weight
    return votes


def _has_plain_trees(model: Any) -> bool:
    """Whether all members are trees of scikit-learn that know all classes."""
    plain = DecisionTreeClassifier
    return all(
        isinstance(tree, plain)
        and type(tree).predict_proba is plain.predict_proba
        and tree.n_classes_ == model.n_classes_
        for tree in model.estimators_
    )


def _scorer(
    trees: Sequence[Any],
    leaves: Sequence[LeafValues],
    finish: Callable[[Probabilities], Probabilities],
    view: Callable[[Any], Any] = as_float32,
) -> Scorer:
    applies, nodes = [tree.tree_.apply for tree in trees], [tree.tree_.threshold for tree in trees]
    values, ends = np.concatenate(leaves), np.cumsum([len(own) for own in leaves])
    starts = np.array([[0], *ends[:-1, np.newaxis]])
    leaves = np.split(values, ends[:-1])

    def score(rows: Any) -> Probabilities:
        if rows.shape[0] <= FEW_ROWS:
            # The values of all trees at once. An accumulated sum adds one tree after the other, too.
            places = np.array([apply(rows) for apply in applies]) + starts
            return finish(values.take(places, axis=0).cumsum(axis=0)[-1])
        total = leaves[0].take(applies[0](rows), axis=0)
        for apply, own, leaf_values in zip(applies[1:], nodes[1:], leaves[1:], strict=True):
            own.max()  # reads all nodes in order. `apply` reads them here and there, and would wait for the memory.
            total += leaf_values.take(apply(rows), axis=0)
        return finish(total)

    return Scorer(view, score, BYTES_AT_ONCE, threads=None, reads_float32=True, reads_coded=True, is_fast=lambda: True)


def as_pool(features: Any) -> Any:
    """The rows as CatBoost reads them. For few rows its threads take longer to start than to work."""
    from catboost import Pool

    rows = as_float32(features, order="F")  # in this order it makes no copy
    return Pool(rows, thread_count=_threads(rows.shape[0]))


def _threads(n_rows: int) -> int:
    return 1 if n_rows <= FEW_ROWS_OF_CATBOOST else -1  # all


def catboost_scorer(model: Any) -> Scorer | None:
    """CatBoost on numbers, which it reads in 32 bits."""
    if model.get_cat_feature_indices() or model.get_text_feature_indices() or model.get_embedding_feature_indices():
        return None

    def score(rows: Any) -> Probabilities:
        return np.asarray(model.predict_proba(rows, thread_count=_threads(rows.num_row())))

    return Scorer(as_pool, score, BYTES_AT_ONCE_OF_PLAIN, threads=1, reads_float32=True, reads_coded=True)


Make = Callable[[Sequence[Any]], Sequence[Scorer | None]]
PREDICTION = "predict_proba"


def _each(make: Callable[[Any], Scorer | None]) -> Make:
    """For a kind of models that share no work."""
    return lambda models: [make(model) for model in models]


def _lightgbm(models: Sequence[Any]) -> Sequence[Scorer | None]:
    from selfpaced.scoring.boosting import lightgbm_scorers  # imported when there is such a model

    return lightgbm_scorers(models)


def _hist_gradient_boosting(models: Sequence[Any]) -> Sequence[Scorer | None]:
    from selfpaced.scoring.boosting import hist_gradient_boosting_scorers

    return hist_gradient_boosting_scorers(models)


def _pipelines(models: Sequence[Any]) -> Sequence[Scorer | None]:
    finals = scorers_of([model[-1] for model in models])
    return [pipeline_scorer(model, final) for model, final in zip(models, finals, strict=True)]


# By package and class name, so that no package is imported for the sake of a model nobody uses.
SCORERS: dict[tuple[str, str], Make] = {
    ("sklearn", "DecisionTreeClassifier"): _each(lambda tree: _scorer([tree], [leaf_shares(tree)], finish=as_is)),
    ("sklearn", "RandomForestClassifier"): _each(forest_scorer),
    ("sklearn", "ExtraTreesClassifier"): _each(forest_scorer),
    ("sklearn", "BaggingClassifier"): _each(bagging_scorer),
    ("sklearn", "AdaBoostClassifier"): _each(adaboost_scorer),
    ("sklearn", "HistGradientBoostingClassifier"): _hist_gradient_boosting,
    ("lightgbm", "LGBMClassifier"): _lightgbm,
    ("selfpaced", "BoosterTrees"): _lightgbm,
    ("xgboost", "XGBClassifier"): _each(xgboost_scorer),
    ("catboost", "CatBoostClassifier"): _each(catboost_scorer),
    ("sklearn", "Pipeline"): _pipelines,
}


def scorer_of(model: Any) -> Scorer:
    """The fastest scorer of a model: one made for its kind, or its `predict_proba`."""
    return scorers_of([model])[0]


def scorers_of(models: Sequence[Any]) -> list[Scorer]:
    """The same for several models that score the same rows. Models of one kind share the work that they can."""
    plain = [model.model if isinstance(model, Rebalanced) else model for model in models]
    by_kind: dict[Make | None, list[int]] = {}
    for number, model in enumerate(plain):
        by_kind.setdefault(_make(model), []).append(number)
    found: dict[int, Scorer | None] = {}
    for make, numbers in by_kind.items():
        if make is not None:
            found |= zip(numbers, make([plain[number] for number in numbers]), strict=True)
    scorers = [found.get(number) or plain_scorer(model) for number, model in enumerate(plain)]
    return [
        scorer.then(model.correct) if isinstance(model, Rebalanced) else scorer
        for scorer, model in zip(scorers, models, strict=True)
    ]


def _make(model: Any) -> Make | None:
    for kind in type(model).__mro__:
        make = SCORERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if make is not None and predicts_as(model, kind):
            return make
    return None


def predicts_as(model: Any, kind: type) -> bool:
    """Whether a model has the `predict_proba` of a class. `getattr` would not do: pipelines make methods anew."""
    return getattr_static(type(model), PREDICTION) is getattr_static(kind, PREDICTION)


def without_library(model: Any) -> Any:
    """The small trees of a LightGBM model, which are scored without LightGBM; any other model as it is."""
    if _make(model) is not _lightgbm:
        return model
    from selfpaced.scoring.boosting import trees_of

    own = trees_of(model)
    return model if own is None else own
