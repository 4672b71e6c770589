"""What is saved is loaded, and predicts the same bit for bit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from selfpaced.callbacks import ProgressBar
from selfpaced.clusters.dask.estimators import DaskUnderBaggingClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.persistence import read_card, save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table
from tests.ensembles_by_name import ENSEMBLES

TREE = DecisionTreeClassifier(max_depth=4)
BASES = {
    "default": None,
    "tree": TREE,
    "forest": RandomForestClassifier(5),
    "extra trees": ExtraTreesClassifier(5),
    "hist": HistGradientBoostingClassifier(max_iter=5),
    "lightgbm": LGBMClassifier(n_estimators=5, verbose=-1),
    "xgboost": XGBClassifier(n_estimators=5, n_jobs=1),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "neighbours": KNeighborsClassifier(),
    "a search": GridSearchCV(TREE, {"max_depth": [2, 3]}, cv=2),
    "best features": make_pipeline(SelectKBest(k=3), LogisticRegression()),
    "minkowski": KNeighborsClassifier(p=3),
    "ball tree": KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"),
    "mlp": MLPClassifier((5,), tol=1.0, max_iter=1000),
    "mlp by sgd": MLPClassifier((5,), solver="sgd", tol=1.0, max_iter=1000),
    "adaboost": AdaBoostClassifier(n_estimators=3),
    "bagging": BaggingClassifier(n_estimators=3),
    "half of the features": BaggingClassifier(n_estimators=3, max_features=3),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "bayes": GaussianNB(),
    "svm": LinearSVC(),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
    "an ensemble": UnderBaggingClassifier(TREE, 2),
    "voting": VotingClassifier([("tree", TREE), ("bayes", GaussianNB())], voting="soft"),
}
READERS_OF_CATEGORIES = {
    "lightgbm": LGBMClassifier(n_estimators=5, min_data_per_group=5, verbose=-1),
    "xgboost": XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1),
    "hist": HistGradientBoostingClassifier(max_iter=5),
    "columns": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
            (OneHotEncoder(handle_unknown="ignore"), ["shop"]),
        ),
        LogisticRegression(),
    ),
}


def spe(base=TREE, **options):
    return SelfPacedEnsembleClassifier(base, 3, random_state=0, **options)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_every_kind_of_member_predicts_the_same_bit_for_bit(base, frauds, tmp_path):
    X, y = frauds
    model = spe(base).fit(X, y)
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("base", [TREE, LGBMClassifier(n_estimators=5, verbose=-1)], ids=["tree", "lightgbm"])
@pytest.mark.parametrize("kind", ENSEMBLES.values(), ids=ENSEMBLES)
def test_every_ensemble_predicts_the_same_bit_for_bit(kind, base, frauds, tmp_path):
    X, y = frauds
    model = kind(base, 3, random_state=0).fit(X, np.array(["ok", "fraud"])[y])
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.class_counts_.tolist() == [60, 2940]
    assert [type(value) for value in vars(loaded).values()] == [type(value) for value in vars(model).values()]


@pytest.mark.parametrize("base", READERS_OF_CATEGORIES.values(), ids=READERS_OF_CATEGORIES)
def test_categories_of_frames_are_kept(base, frauds, tmp_path):
    X, y = frauds
    shops = pd.Categorical(np.where(X[:, 1] + y > 1, "web", np.where(X[:, 2] > 0, "till", "phone")))
    frame = pd.DataFrame({"amount": X[:, 0], "shop": shops})
    model = spe(base).fit(frame, y)
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    others = frame.assign(shop=pd.Categorical(frame["shop"].astype(str), categories=["web", "till", "phone"]))
    np.testing.assert_array_equal(loaded.predict_proba(others), model.predict_proba(others))


@pytest.mark.parametrize("labels", [(False, True), (1.0, 2.0), (-1, 1), ("ok", "fraud")], ids=repr)
def test_labels_keep_their_kind_in_notes_and_predictions(labels, frauds, tmp_path):
    X, y = frauds
    model = spe().fit(X, np.array(labels)[y])
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    assert list(loaded.rounds_[1].bins) == [labels[0]]
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.pos_label_ == labels[1]
    assert read_card(tmp_path / "model.skops").minority_class == labels[1]


def test_three_classes_and_notes_of_rounds_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.repeat([0, 1, 2], [400, 150, 50])
    model = spe().fit(X, y)
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one, other in zip(loaded.rounds_, model.rounds_, strict=True):
        assert replace(one, bins={}) == replace(other, bins={})
        assert list(one.bins) == list(other.bins)
        np.testing.assert_array_equal(one.bins[0].quota, other.bins[0].quota)


def test_a_model_of_files_scores_files_after_it_is_loaded(frauds, tmp_path):
    X, y = frauds
    rows = pd.DataFrame(X[:, :3], columns=list("abc")).assign(
        shop=np.where(X[:, 3] > 0, "web", "till"), label=np.array(["ok", "fraud"])[y]
    )
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    table = open_table(tmp_path / "rows.parquet", target="label", pos_label="fraud")
    model = spe(LGBMClassifier(n_estimators=5, verbose=-1)).fit_table(table)
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    assert loaded.trained_on_ == model.trained_on_
    for each, name in ((model, "one.parquet"), (loaded, "other.parquet")):
        each.write_predictions(tmp_path / "rows.parquet", tmp_path / name)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "one.parquet"), pd.read_parquet(tmp_path / "other.parquet")
    )
    assert loaded.evaluate_table(tmp_path / "rows.parquet") == model.evaluate_table(tmp_path / "rows.parquet")
    card = read_card(tmp_path / "model.skops")
    assert (card.schema, card.target, card.pos_label) == (model.trained_on_.schema, "label", "fraud")


def test_an_ensemble_on_a_cluster_is_saved_as_the_one_in_memory(frauds, tmp_path):
    X, y = frauds
    rows = pd.DataFrame(X, columns=list("abcdef"))
    rows.assign(label=y).to_parquet(tmp_path / "rows.parquet", index=False)
    model = DaskUnderBaggingClassifier(TREE, 3, random_state=0).fit_table(
        open_table(tmp_path / "rows.parquet", target="label")
    )
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    assert type(loaded) is UnderBaggingClassifier
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.to_local().predict_proba(rows))


def test_callbacks_are_not_saved_and_the_model_keeps_its_own(frauds, tmp_path):
    bar = ProgressBar()
    model = spe(callbacks=[bar]).fit(*frauds)
    assert load_model(save_model(model, tmp_path / "model.skops")).callbacks is None
    assert model.callbacks == [bar]
