"""Saved blends of ensembles predict the same, bit for bit."""

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, Columns, base_model, catboost
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table
from tests.ensembles.blends import assert_the_same_model, auto


def of_base_models(columns):
    """A recipe of each kind of base model that the default recipes have, made small."""
    bases = {
        "linear": base_model("logistic", columns),
        "boosted": LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1),
        "forests": base_model("extra_trees", columns),
        "CatBoost": catboost(columns, iterations=5),
    }
    for base in bases.values():
        base.set_params(**{name: 5 for name in base.get_params() if name.endswith("n_estimators")})
    recipes = [(name, SelfPacedEnsembleClassifier(base, 2, ratio=3)) for name, base in bases.items()]
    return AutoSelfPacedClassifier(recipes, random_state=0)


def reloaded(model, folder):
    return load_model(save_model(model, folder / "model.skops"))


def test_a_blend_of_arrays_with_missing_values(frauds, tmp_path):
    X, y = frauds
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = of_base_models(Columns(None, {})).fit(X, y)
    assert_the_same_model(reloaded(model, tmp_path), model, X)


def test_a_blend_of_a_frame_with_categories_and_missing_values(frauds, tmp_path):
    X, y = frauds
    rng = np.random.default_rng(0)
    shop = np.array(["a", "b", "c"])[(rng.integers(3, size=len(y)) + y) % 3]
    frame = pd.DataFrame({"amount": X[:, 0], "shop": shop, "hour": X[:, 1]})
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    model = of_base_models(Columns(list(frame.columns), {"shop": 3})).fit(frame, y)
    assert_the_same_model(reloaded(model, tmp_path), model, frame)


def test_a_blend_of_files(frauds, tmp_path):
    X, y = frauds
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    model = auto().fit_table(open_table(tmp_path / "rows.parquet", target="label"))
    loaded = reloaded(model, tmp_path)
    assert_the_same_model(loaded, model, frame)
    np.testing.assert_array_equal(
        loaded.predict_proba_table(tmp_path / "rows.parquet"), model.predict_proba_table(tmp_path / "rows.parquet")
    )


def test_members_of_a_loaded_blend_are_those_of_its_ensembles(frauds, tmp_path):
    loaded = reloaded(auto().fit(*frauds), tmp_path)
    inside = [member for each in loaded.ensembles_.values() for member in each.estimators_]
    assert all(one is other for one, other in zip(loaded.estimators_, inside, strict=True))
