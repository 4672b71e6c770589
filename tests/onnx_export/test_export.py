"""Graphs give the probabilities and labels of the ensembles they were made of."""

import json
from functools import cache

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import Columns, base_model, catboost
from selfpaced.ensembles.auto.recipes import with_scales
from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export import export_onnx
from tests.ensembles_by_name import ENSEMBLES

NUMBERS = Columns(None, {})
BASES = {
    "tree": DecisionTreeClassifier(max_features=3),
    "stump": DecisionTreeClassifier(max_depth=1),
    "leaf": DecisionTreeClassifier(min_samples_leaf=200),
    "forest": RandomForestClassifier(7, max_depth=6),
    "extra trees": ExtraTreesClassifier(7, max_depth=6),
    "hist": HistGradientBoostingClassifier(max_iter=20),
    "lightgbm": LGBMClassifier(n_estimators=20, verbose=-1),
    "steep lightgbm": LGBMClassifier(n_estimators=20, sigmoid=0.7, verbose=-1),
    "leaves of hist": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2000),
    "leaves of lightgbm": LGBMClassifier(n_estimators=3, min_child_samples=2000, verbose=-1),
    "deep lightgbm": LGBMClassifier(n_estimators=5, num_leaves=200, min_child_samples=1, verbose=-1),
    "catboost": catboost(NUMBERS, iterations=5),
    "catboost, missing at the top": catboost(NUMBERS, iterations=5, nan_mode="Max"),
    "linear": base_model("logistic", NUMBERS),
    "network": with_scales(MLPClassifier((8, 4), activation="tanh", tol=0.1, n_iter_no_change=2), NUMBERS),
    "imputed tree": make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=5)),
}


@pytest.fixture(scope="module")
def with_gaps(frauds):
    X, y = frauds
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.fixture(scope="module")
def three_classes():
    return make_classification(
        n_samples=1500, n_classes=3, n_informative=5, n_redundant=0, n_features=6, weights=[0.8, 0.15], random_state=0
    )


def run(model, X, folder):
    session = onnxruntime.InferenceSession(export_onnx(model, folder / "model.onnx"))
    return session.run(["label", "probabilities"], {"X": np.asarray(X, dtype=np.float64)})


def assert_the_same(model, X, folder):
    labels, probabilities = run(model, X, folder)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-12)
    assert labels.tolist() == model.predict(X).tolist()


def spe(base, **options):
    return SelfPacedEnsembleClassifier(base, 3, random_state=0, **options)


@pytest.fixture(scope="module")
def trained(frauds):
    """The ensemble of a base model on the frauds, which is trained once."""
    return cache(lambda name: spe(BASES[name]).fit(*frauds))


@pytest.mark.parametrize("base", BASES)
def test_the_graph_predicts_what_the_ensemble_predicts(base, trained, frauds, tmp_path):
    assert_the_same(trained(base), frauds[0], tmp_path)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_missing_values_go_the_same_way(base, with_gaps, tmp_path):
    X, y = with_gaps
    assert_the_same(spe(base).fit(X, y), X, tmp_path)


@pytest.mark.parametrize("base", BASES)
def test_missing_values_that_training_did_not_meet_go_the_same_way(base, trained, with_gaps, tmp_path):
    assert_the_same(trained(base), with_gaps[0], tmp_path)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_three_classes_with_strings_for_labels(base, three_classes, tmp_path):
    X, y = three_classes
    assert_the_same(spe(base).fit(X, np.array(["ok", "odd", "fraud"])[y]), X, tmp_path)


@pytest.mark.parametrize("kind", ENSEMBLES.values(), ids=ENSEMBLES)
def test_every_ensemble_is_exported_with_its_weights(kind, frauds, tmp_path):
    X, y = frauds
    assert_the_same(kind(DecisionTreeClassifier(max_depth=4), 4, random_state=0).fit(X, y), X, tmp_path)


@pytest.mark.parametrize("labels", [(False, True), (-1, 1), (1.0, 2.0)], ids=["bools", "-1 and 1", "floats"])
def test_labels_keep_their_kind(labels, frauds, tmp_path):
    X, y = frauds
    assert_the_same(spe(BASES["stump"]).fit(X, np.array(labels)[y]), X, tmp_path)


@pytest.mark.parametrize("base", ["tree", "forest", "hist", "lightgbm"])
def test_rows_on_a_threshold_and_one_step_beside_it_go_the_same_way(base, frauds, tmp_path):
    """Few distinct values that 32 bits cannot hold: a rounded threshold would move whole crowds of rows."""
    X, y = frauds
    X = np.round(X, 1) + 1e-9
    model = spe(BASES[base]).fit(X, y)
    middles = X + 0.05  # where trees split between two values
    for rows in (X, middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)):
        assert_the_same(model, rows, tmp_path)


def test_numbers_that_lightgbm_reads_as_zero_go_the_same_way(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(2000, 4)).astype(np.float64)
    y = (X[:, 0] > 0) & (X[:, 1] >= 0) & (rng.random(2000) < 0.5)
    model = spe(BASES["lightgbm"]).fit(X, y)
    zero = float(np.float32(1e-35))  # the largest of these numbers
    for tiny in (zero, zero / 10, -zero / 10, -zero):
        rows = np.where(X == 0, tiny, X)
        own = np.mean([member.predict_proba(rows) for member in model.estimators_], axis=0)
        np.testing.assert_allclose(run(model, rows, tmp_path)[1], own, rtol=0, atol=1e-12)


def test_no_rows_give_no_probabilities(frauds, tmp_path):
    labels, probabilities = run(spe(BASES["tree"]).fit(*frauds), np.empty((0, 6)), tmp_path)
    assert labels.shape == (0,)
    assert probabilities.shape == (0, 2)


def test_the_graph_carries_the_card(frauds, tmp_path):
    X, y = frauds
    model = spe(BASES["stump"]).fit(pd.DataFrame(X, columns=list("abcdef")), y)
    session = onnxruntime.InferenceSession(export_onnx(model, tmp_path / "model.onnx"))
    card = json.loads(session.get_modelmeta().custom_metadata_map["card"])
    assert card["feature_names"] == list("abcdef")
    assert card["class_counts"] == [2940, 60]


@pytest.fixture(scope="module")
def shops(frauds):
    """A column of numbers, and one of 40 words of which the rare rows have a few."""
    X, y = frauds
    words = pd.Categorical.from_codes((X[:, 1] * 7).astype(int) % 37 + 3 * y, [f"shop {i}" for i in range(40)])
    return pd.DataFrame({"amount": X[:, 0], "shop": words}), y


def test_splits_of_lightgbm_by_category_go_the_same_way(shops, tmp_path):
    frame, y = shops
    base = LGBMClassifier(n_estimators=10, min_data_per_group=2, cat_smooth=1, min_child_samples=2, verbose=-1)
    model = spe(base).fit(frame, y)
    assert "==" in json.dumps(model.estimators_[0].booster_.dump_model())
    frame = pd.concat([frame, frame[:20].assign(shop=None).astype(frame.dtypes)])
    codes = frame.assign(shop=frame["shop"].cat.codes.replace(-1, np.nan))
    labels, probabilities = run(model, codes, tmp_path)
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), rtol=0, atol=1e-12)
    assert labels.tolist() == model.predict(frame).tolist()


def test_splits_of_hist_gradient_boosting_by_category_are_refused_by_the_name_of_the_column(shops, tmp_path):
    model = spe(HistGradientBoostingClassifier(max_iter=10)).fit(*shops)
    with pytest.raises(ModelFileError, match="splits column 'shop' by its categories"):
        export_onnx(model, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"zero_as_missing": True}, "zero_as_missing"),
        ({"linear_tree": True}, "linear_tree"),
        ({"objective": "cross_entropy"}, "objective 'cross_entropy'"),
        ({"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, "as a forest"),
    ],
    ids=["zeros", "formulas", "objective", "forest"],
)
def test_a_lightgbm_that_is_more_than_boosted_trees_is_refused(options, said, frauds, tmp_path):
    model = spe(LGBMClassifier(n_estimators=5, verbose=-1, **options)).fit(*frauds)
    with pytest.raises(ModelFileError, match=said):
        export_onnx(model, tmp_path / "model.onnx")


def test_another_kind_of_member_is_refused_with_the_kinds_that_can_be_exported(frauds, tmp_path):
    model = spe(KNeighborsClassifier()).fit(*frauds)
    with pytest.raises(ModelFileError, match=r"KNeighborsClassifier.*DecisionTreeClassifier.*LGBMClassifier"):
        export_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_that_predicts_in_its_own_way_is_refused(frauds, tmp_path):
    model = spe(Contrary(max_depth=3)).fit(*frauds)
    with pytest.raises(ModelFileError, match="Contrary"):
        export_onnx(model, tmp_path / "model.onnx")


class Contrary(DecisionTreeClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_another_ending_and_another_model_are_refused(frauds, tmp_path):
    with pytest.raises(ModelFileError, match=r"\.onnx"):
        export_onnx(spe(BASES["stump"]).fit(*frauds), tmp_path / "model.bin")
    with pytest.raises(ModelFileError, match="got a LogisticRegression"):
        export_onnx(LogisticRegression().fit(*frauds), tmp_path / "model.onnx")


@pytest.mark.parametrize("method", ["prior", "sigmoid", "beta", "isotonic"])
def test_a_calibration_is_part_of_the_graph(method, frauds, three_classes, tmp_path):
    for X, y in (frauds, three_classes):
        model = SelfPacedEnsembleClassifier(BASES["tree"], 3, random_state=0, calibration=method).fit(X, y)
        assert_the_same(model, X, tmp_path)


def test_a_calibrated_rare_class_may_be_the_first(frauds, tmp_path):
    X, y = frauds
    labels = np.where(y == 1, "fraud", "ok")
    model = SelfPacedEnsembleClassifier(BASES["hist"], 3, random_state=0, calibration="isotonic").fit(X, labels)
    assert_the_same(model, X, tmp_path)
