"""All ensembles of the package, each made from one base model and a number of members."""

import selfpaced
import selfpaced.baselines


def _auto(estimator=None, n_estimators=3, **params):
    """The classifier that chooses has recipes in place of a base model."""
    recipes = [
        ("self-paced", selfpaced.SelfPacedEnsembleClassifier(estimator, n_estimators)),
        ("bags", selfpaced.UnderBaggingClassifier(estimator, n_estimators, ratio=2)),
    ]
    return selfpaced.AutoSelfPacedClassifier(recipes, **{"calibration": None} | params)


ENSEMBLES = {
    name: getattr(package, name)
    for package in (selfpaced, selfpaced.baselines)
    for name in package.__all__
    if hasattr(getattr(package, name), "fit") and name not in ("CostDecisionClassifier", "SingleModelClassifier")
}
ENSEMBLES["AutoSelfPacedClassifier"] = _auto


def given_bases(ensemble):
    """The base models that an ensemble was made from."""
    return [each.estimator for _, each in ensemble.recipes] if hasattr(ensemble, "recipes") else [ensemble.estimator]
