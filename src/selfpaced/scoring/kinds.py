"""The fastest scorer of each kind of model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from selfpaced.scoring.scikit_learn import adaboost_scorer, bagging_scorer, forest_scorer, tree_scorer
from selfpaced.scoring.scorer import Rebalanced, Scorer, plain_scorer, xgboost_scorer

if TYPE_CHECKING:
    from selfpaced.trees import SmallTrees

Make = Callable[[Sequence[Any]], Sequence[Scorer | None]]


def _each(make: Callable[[Any], Scorer | None]) -> Make:
    """For a kind of models that share no work."""
    return lambda models: [make(model) for model in models]


def _boosted(name: str) -> Make:
    """For kinds of models whose trees are read, by code that is imported when there is such a model."""

    def make(models: Sequence[Any]) -> Sequence[Scorer | None]:
        from selfpaced.scoring import boosting

        scorers: Sequence[Scorer | None] = getattr(boosting, name)(models)
        return scorers

    return make


# By package and class name, so that no package is imported for the sake of a model nobody uses.
SCORERS: dict[tuple[str, str], Make] = {
    ("sklearn", "DecisionTreeClassifier"): _each(tree_scorer),
    ("sklearn", "RandomForestClassifier"): _each(forest_scorer),
    ("sklearn", "ExtraTreesClassifier"): _each(forest_scorer),
    ("sklearn", "BaggingClassifier"): _each(bagging_scorer),
    ("sklearn", "AdaBoostClassifier"): _each(adaboost_scorer),
    ("sklearn", "HistGradientBoostingClassifier"): _boosted("hist_gradient_boosting_scorers"),
    ("lightgbm", "LGBMClassifier"): _boosted("lightgbm_scorers"),
    ("xgboost", "XGBClassifier"): _each(xgboost_scorer),
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
        # For a subclass with its own predict_proba, that method is called.
        if make is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            return make
    return None


def lightgbm_trees(model: Any) -> SmallTrees | None:
    """The trees of a LightGBM model that are scored as bits; None if they are large or not of two classes."""
    from selfpaced.scoring.boosting import small_trees

    return small_trees(model)
