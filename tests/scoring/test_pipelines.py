"""Pipelines whose encoders are known are scored without them, bit for bit as by their own `predict_proba`."""

import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from catboost import CatBoostClassifier
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from selfpaced.ensembles.auto.recipes import Columns, catboost, with_codes, with_scales
from selfpaced.scoring import pipelines, probabilities_by, scorer_of, scorers_of

# Up to 1.7, scikit-learn has a type of its own for the columns that remain. Such pipelines are scored by themselves.
KNOWS_REMAINDERS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")


def frame_of(seed, n_rows, categories="abcdef"):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"n{i}": rng.normal(size=n_rows) for i in range(4)})
    frame = frame.where(rng.random(frame.shape) > 0.3)
    frame["n1"] = frame["n1"].astype(np.float32)
    frame["full"], frame["whole"] = rng.normal(size=n_rows), rng.integers(-5, 5, n_rows)
    frame["is_new"] = rng.random(n_rows) < 0.5
    for name in ("shop", "card"):
        frame[name] = pd.Categorical.from_codes(rng.integers(-1, len(categories), n_rows), list(categories))
    return frame


TRAIN = frame_of(0, 60, "abcd")
LABELS = (np.random.default_rng(0).random(60) < 0.4).astype(int)
COLUMNS = Columns(list(TRAIN.columns), {"shop": 4, "card": 4})
NUMBERS = Columns([name for name in TRAIN.columns if name not in ("shop", "card")], {})
MODELS = {
    "linear": with_scales(LogisticRegression(max_iter=1000), COLUMNS),
    "network": with_scales(MLPClassifier((16,), max_iter=20), COLUMNS),
    "three classes": with_scales(LogisticRegression(max_iter=1000), COLUMNS),
    "deep network": with_scales(MLPClassifier((8, 8), activation="tanh", max_iter=20), COLUMNS),
    "extra trees": with_codes(ExtraTreesClassifier(10), COLUMNS.categorical),
    "CatBoost": catboost(COLUMNS, iterations=20),
    "numbers only": with_scales(LogisticRegression(max_iter=1000), NUMBERS),
}


def fitted(name):
    columns = NUMBERS.names if name == "numbers only" else COLUMNS.names
    labels = LABELS + (np.arange(60) % 7 == 0) * 2 if name == "three classes" else LABELS
    return MODELS[name].fit(TRAIN[columns], labels), frame_of(1, 3021)[columns]


def is_encoded(view, model):
    """Whether rows are encoded for the last step, and not left to the whole pipeline."""
    scored_by, _ = view
    return scored_by != model.predict_proba


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("some", [slice(None), slice(1), slice(7, 30), slice(None, None, 3)], ids=str)
def test_frames_have_the_probabilities_of_the_pipeline(name, some):
    if name in ("extra trees", "CatBoost") and not KNOWS_REMAINDERS:
        pytest.skip("needs scikit-learn 1.8")
    model, frame = fitted(name)
    scorer, rows = scorer_of(model), frame[some]
    view = scorer.view(rows)
    assert is_encoded(view, model)
    np.testing.assert_array_equal(scorer.score(view), model.predict_proba(rows))


def test_catboost_with_its_own_categories_reads_the_frame_of_the_pipeline():
    encoder = OrdinalEncoder(dtype=np.int32, handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, ["shop"]), remainder="passthrough", verbose_feature_names_out=False)
    boosted = CatBoostClassifier(10, cat_features=["shop"], verbose=0, allow_writing_files=False)
    rows = TRAIN[["n0", "shop"]].assign(shop=TRAIN["shop"].cat.add_categories("?").fillna("?"))
    model = make_pipeline(columns.set_output(transform="pandas"), boosted).fit(rows, LABELS)
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(rows)), model.predict_proba(rows))


def test_categories_that_a_member_has_not_seen_are_encoded_as_by_the_pipeline():
    model, _ = fitted("linear")
    frame = frame_of(2, 500, "fedcbaxy")  # in another order, too
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(frame)), model.predict_proba(frame))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("is_full", [False, True])
def test_arrays_have_the_probabilities_of_the_pipeline(order, is_full):
    X, test = (frame_of(seed, 400)[NUMBERS.names].to_numpy(np.float64) for seed in (0, 1))
    X = np.nan_to_num(X) if is_full else X
    model = with_scales(LogisticRegression(max_iter=1000), Columns(None, {})).fit(X, np.arange(400) % 3 == 0)
    scorer, rows = scorer_of(model), np.asarray(test, order=order)
    assert is_encoded(scorer.view(rows), model) == (order == "C")
    np.testing.assert_array_equal(scorer.score(scorer.view(rows)), model.predict_proba(rows))


@pytest.mark.skipif(not KNOWS_REMAINDERS, reason="needs scikit-learn 1.8")
def test_whole_numbers_that_floats_do_not_hold_are_left_to_the_pipeline():
    train, frame = TRAIN.assign(whole=np.arange(60) + 2**60), frame_of(1, 50).assign(whole=np.arange(50) + 2**60)
    model = with_codes(ExtraTreesClassifier(10), COLUMNS.categorical).fit(train, LABELS)
    scorer = scorer_of(model)
    assert not is_encoded(scorer.view(frame), model)
    np.testing.assert_array_equal(scorer.score(scorer.view(frame)), model.predict_proba(frame))


UNKNOWN = {
    "another scaler": make_column_transformer((MinMaxScaler(), ["full"]), (OneHotEncoder(), ["shop"])),
    "a sparse result": make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["shop"])),
    "categories that are refused": make_column_transformer((OrdinalEncoder(), ["shop"]), remainder="drop"),
    "a scaler without an imputer": make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["shop"]), (StandardScaler(), ["full"])
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_encoders_are_left_to_the_pipeline(name):
    frame = TRAIN.dropna(subset=["shop", "card"])
    model = make_pipeline(UNKNOWN[name], LogisticRegression()).fit(frame, LABELS[frame.index])
    scorer = scorer_of(model)
    assert not scorer.is_fast()
    np.testing.assert_array_equal(scorer.score(scorer.view(frame)), model.predict_proba(frame))


def test_numbers_that_are_only_selected_are_left_to_the_pipeline():
    frame = TRAIN[["whole", "full"]].astype(float)
    selected = make_column_transformer(("passthrough", ["full", "whole"]))
    model = make_pipeline(selected, LogisticRegression()).fit(frame, LABELS)
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(frame)), model.predict_proba(frame))


class Contrary(Pipeline):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_a_pipeline_with_its_own_prediction_is_asked_itself():
    model = Contrary(fitted("linear")[0].steps)
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(TRAIN)), model.predict_proba(TRAIN))


@pytest.fixture
def asked(monkeypatch):
    """An entry for each time that an encoder of categories is asked, after no table has been made."""
    pipelines._table.cache_clear()
    real, seen = OneHotEncoder.transform, []
    monkeypatch.setattr(OneHotEncoder, "transform", lambda self, X: seen.append(len(X)) or real(self, X))
    return seen


def test_the_tables_of_an_encoder_are_made_once_for_all_threads(asked):
    model, frame = fitted("linear")
    asked.clear()
    scorers = scorers_of([model])
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: next(iter(probabilities_by(scorers, frame))), range(8)))
    assert len(asked) == 1
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


def test_equal_encoders_of_several_members_share_their_tables(asked):
    frame, is_other = frame_of(1, 100), TRAIN["shop"] != "a"
    models = [clone(MODELS[name]).fit(TRAIN, LABELS) for name in ("linear", "network")]
    models.append(clone(MODELS["linear"]).fit(TRAIN[is_other], LABELS[is_other]))
    expected = [model.predict_proba(frame) for model in models]
    asked.clear()
    for answer, own in zip(probabilities_by(scorers_of(models), frame), expected, strict=True):
        np.testing.assert_array_equal(answer, own)
    assert len(asked) == 2


def test_an_encoder_with_a_function_of_ones_own_is_left_to_the_pipeline():
    encoder = OneHotEncoder(
        handle_unknown="ignore", sparse_output=False, feature_name_combiner=lambda name, value: f"{name} {value}"
    )
    model = make_pipeline(make_column_transformer((encoder, ["shop"])), LogisticRegression()).fit(TRAIN, LABELS)
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(TRAIN)), model.predict_proba(TRAIN))


def test_encoded_rows_are_forgotten_before_the_next_member_encodes_them():
    scorers, alive = scorers_of([fitted("linear")[0], fitted("network")[0]]), []

    def watched(view):
        def laid_out(features):
            assert not any(rows() is not None for rows in alive)
            by, rows = view(features)
            alive.append(weakref.ref(rows))
            return by, rows

        return laid_out

    scorers = [replace(scorer, view=watched(scorer.view)) for scorer in scorers]
    assert len(list(probabilities_by(scorers, frame_of(1, 100)))) == len(alive) == 2


def test_members_of_several_kinds_read_a_frame_once(monkeypatch):
    models = [fitted(name)[0] for name in ("linear", "extra trees", "CatBoost")]
    frame, real, read = frame_of(1, 100), pd.DataFrame.to_numpy, []
    monkeypatch.setattr(pd.DataFrame, "to_numpy", lambda self, *given: read.append(1) or real(self, *given))
    scorers = scorers_of(models)
    next(iter(probabilities_by(scorers, frame)))  # tables are made
    read.clear()
    assert len(list(probabilities_by(scorers, frame))) == 3
    assert len(read) == 1
