"""Small blends, quick to fit, and what two equal ones have in common."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier


def recipes():
    return [
        ("trees", SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 3)),
        ("bags", UnderBaggingClassifier(DecisionTreeClassifier(max_depth=4), 3)),
        ("leaves", SelfPacedEnsembleClassifier(DecisionTreeClassifier(min_samples_leaf=8), 2, ratio=2)),
    ]


def auto(kind=AutoSelfPacedClassifier, **options):
    return kind(recipes=recipes(), **{"random_state": 0} | options)


def choice_of(results):
    """What was found about each recipe, without the seconds that it took."""
    return [(each.name, each.aucprc, each.standard_error, each.weight, each.note) for each in results]


def assert_the_same_model(one, other, X):
    assert len(one.ensembles_) > 1
    assert choice_of(one.recipes_) == choice_of(other.recipes_)
    np.testing.assert_array_equal(one.pool_.weights, other.pool_.weights)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
