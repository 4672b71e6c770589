"""Models around an ensemble in model files: what is deployed is what is kept."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced import SelfPacedEnsembleClassifier, save_model
from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud
from selfpaced.exceptions import ModelFileError
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.persistence.loading import load_model, trusted_types
from selfpaced.thresholds.choosing import threshold_scorer
from selfpaced.thresholds.decisions import CostDecisionClassifier

X, Y = make_fraud(n_rows=1500, n_frauds=90, n_features=4, random_state=0)
FITTED = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 2, random_state=0, calibration="sigmoid").fit(
    X, Y
)
SMALL = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 2, random_state=0)
FROZEN = FrozenEstimator(FITTED)
TUNED = {"scoring": threshold_scorer("precision>=0.2"), "cv": "prefit", "refit": False}
WRAPPED = {
    "pipeline": lambda: make_pipeline(StandardScaler(), SMALL),
    "fixed threshold": lambda: FixedThresholdClassifier(FROZEN, threshold=0.3),
    "tuned threshold": lambda: TunedThresholdClassifierCV(FROZEN, **TUNED),
    "decision": lambda: CostDecisionClassifier(FROZEN, missed=20.0, alert=5.0),
    "calibrated": lambda: CalibratedClassifierCV(SMALL, cv=2),
    "calibrated, frozen": lambda: CalibratedClassifierCV(FROZEN),
    "search": lambda: GridSearchCV(make_pipeline(StandardScaler(), SMALL), {"standardscaler__with_mean": [True]}, cv=2),
    "decision in a pipeline": lambda: make_pipeline(StandardScaler(), CostDecisionClassifier(FITTED, missed=9.0)),
    "pipeline under a threshold": lambda: FixedThresholdClassifier(make_pipeline(StandardScaler(), SMALL)),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_model_around_an_ensemble_predicts_the_same_when_it_is_loaded(kind, tmp_path):
    model = WRAPPED[kind]().fit(X, Y)
    path = save_model(model, tmp_path / "model.skops", metrics={"aucprc": 0.5})
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    card = read_card(path)
    assert card.kind.endswith(" around SelfPacedEnsembleClassifier")
    assert (card.n_features, card.class_counts, card.metrics) == (4, loaded_counts(kind), {"aucprc": 0.5})


def loaded_counts(kind):
    """Of a calibration by halves, each ensemble saw one."""
    return (705, 45) if kind == "calibrated" else (1410, 90)


def test_of_a_search_the_best_estimator_is_kept(tmp_path):
    search = WRAPPED["search"]().fit(X, Y)
    loaded = load_model(save_model(search, tmp_path / "model.skops"))
    assert type(loaded) is type(search.best_estimator_)


def test_a_model_without_an_ensemble_is_refused(tmp_path):
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(ModelFileError, match="without one"):
            save_model(model.fit(X, Y), tmp_path / "model.skops")


def test_a_model_with_callbacks_inside_is_refused(tmp_path):
    telling = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=2), 2, callbacks=[Callback()])
    with pytest.raises(ModelFileError, match="has callbacks, which cannot be saved"):
        save_model(make_pipeline(StandardScaler(), telling).fit(X, Y), tmp_path / "model.skops")


def test_a_function_without_a_name_is_refused(tmp_path):
    model = CostDecisionClassifier(FROZEN, missed=lambda X: np.ones(len(X))).fit(X, Y)
    with pytest.raises(ModelFileError, match="cannot be found by its name"):
        save_model(model, tmp_path / "model.skops")


def test_commands_say_that_they_take_ensembles_only(tmp_path):
    path = save_model(WRAPPED["pipeline"]().fit(X, Y), tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="holds a Pipeline around SelfPacedEnsembleClassifier"):
        load_ensemble(path)


@pytest.mark.parametrize("kind", ["ensemble", "decision in a pipeline"])
def test_mlflow_keeps_a_model_by_the_types_that_we_trust(kind, tmp_path):
    import mlflow.sklearn

    model = FITTED if kind == "ensemble" else WRAPPED[kind]().fit(X, Y)
    path = str(tmp_path / "model")
    # Without requirements MLflow would load the model in another process to find out which it has.
    options = {"serialization_format": "skops", "pip_requirements": ["selfpaced"]}
    mlflow.sklearn.save_model(model, path, skops_trusted_types=trusted_types(), **options)
    loaded = mlflow.sklearn.load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert not list((tmp_path / "model").glob("*.pkl"))
