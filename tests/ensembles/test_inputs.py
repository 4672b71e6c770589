"""Every kind of table and label that a user may bring."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier

TREE = DecisionTreeClassifier(max_depth=4)


def spe(base=TREE, **parameters):
    return SelfPacedEnsembleClassifier(base, n_estimators=3, random_state=0, **parameters)


@pytest.fixture(scope="module")
def expected(frauds):
    X, y = frauds
    return spe().fit(X.astype(np.float32), y).predict_proba(X)


NAMES = [f"V{i}" for i in range(6)]
SAME_ROWS = {
    "list": lambda X: X.tolist(),
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "column order": np.asfortranarray,
    "CSR matrix": sparse.csr_matrix,
    "CSR array": sparse.csr_array,
    "CSC array": sparse.csc_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, shuffled index": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1]),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.mark.parametrize("kind", SAME_ROWS)
def test_the_same_rows_in_any_kind_of_table_give_the_same_model(frauds, expected, kind):
    X, y = frauds
    rows = SAME_ROWS[kind](X.astype(np.float32).astype(np.float64))
    np.testing.assert_array_equal(spe().fit(rows, y).predict_proba(rows), expected)


def test_a_memory_map_is_trained_on_in_place(frauds, expected, tmp_path):
    X, y = frauds
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(spe().fit(mapped, y).predict_proba(mapped), expected)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_column_names_are_remembered_and_checked(frauds, kind):
    X, y = frauds
    model = spe().fit(SAME_ROWS[kind](X), y)
    assert model.feature_names_in_.tolist() == NAMES
    reversed_columns = SAME_ROWS[kind](X).select(NAMES[::-1]) if kind != "pandas" else SAME_ROWS[kind](X)[NAMES[::-1]]
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict_proba(reversed_columns)


def test_an_array_of_another_width_is_refused(frauds):
    X, y = frauds
    with pytest.raises(ValueError, match="X has 5 features, but SelfPacedModel is expecting 6"):
        spe().fit(X, y).predict(X[:, :5])


@pytest.fixture(scope="module")
def mixed(frauds):
    """Transactions with categories that matter, text, a boolean and missing values."""
    X, y = frauds
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X.copy(), columns=NAMES)  # before pandas 3 a frame shares the memory of its array
    frame["country"] = pd.Categorical(np.where(y == 1, rng.choice(["x", "y"], len(y)), rng.choice(["y", "z"], len(y))))
    frame["online"] = rng.uniform(size=len(y)) < 0.5
    frame.loc[rng.uniform(size=len(y)) < 0.2, "V0"] = np.nan
    return frame, y


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_categories_reach_hist_gradient_boosting(mixed, kind):
    frame, y = mixed
    base = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    model = spe(base).fit(FRAMES[kind](frame), y)
    assert model.estimators_[0].is_categorical_.tolist() == [False] * 6 + [True, False]
    assert model.predict_proba(FRAMES[kind](frame)).shape == (len(y), 2)


@pytest.mark.parametrize("kind", FRAMES)
def test_categories_reach_lightgbm(mixed, kind):
    frame, y = mixed
    model = spe(LGBMClassifier(n_estimators=5, verbose=-1)).fit(FRAMES[kind](frame), y)
    (categories,) = model.estimators_[0].booster_.pandas_categorical
    assert sorted(categories) == ["x", "y", "z"]
    np.testing.assert_allclose(
        model.predict_proba(FRAMES[kind](frame)),
        np.mean([member.predict_proba(frame) for member in model.estimators_], axis=0),
    )


@pytest.mark.parametrize("kind", FRAMES)
def test_a_pipeline_finds_its_columns_by_name(mixed, kind):
    frame, y = mixed
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["country"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), NAMES),
        ("passthrough", ["online"]),
    )
    model = spe(make_pipeline(columns, LogisticRegression())).fit(FRAMES[kind](frame), y)
    members = [member.predict_proba(frame) for member in model.estimators_]
    np.testing.assert_allclose(model.predict_proba(FRAMES[kind](frame)), np.mean(members, axis=0))
    country = model.estimators_[0][-1].coef_[0, :3]  # of x, y and z: only frauds have x, and none of them has z
    assert country[0] > country[1] > country[2]


@pytest.mark.parametrize("kind", FRAMES)
def test_categories_that_a_draw_lacks_are_no_trouble_for_xgboost(frauds, kind):
    X, y = frauds
    many = [f"c{number}" for number in np.random.default_rng(0).integers(500, size=len(y))]
    frame = pd.DataFrame(X, columns=NAMES).assign(shop=pd.Categorical(many))
    base = XGBClassifier(n_estimators=3, enable_categorical=True)
    model = spe(base).fit(FRAMES[kind](frame), y)
    assert len(model.rounds_[1].ids) < 500  # so that no draw can have all categories
    members = [member.predict_proba(frame) for member in model.estimators_]
    np.testing.assert_allclose(model.predict_proba(FRAMES[kind](frame)), np.mean(members, axis=0), atol=1e-6)
    assert average_precision_score(y, members[0][:, 1]) > 3 * y.mean()


def test_strings_reach_a_pipeline(mixed):
    frame, y = mixed
    frame = frame.assign(country=frame["country"].astype(str))
    columns = make_column_transformer((OneHotEncoder(), ["country"]), remainder="drop")
    assert spe(make_pipeline(columns, TREE)).fit(frame, y).n_features_in_ == 8


@pytest.mark.parametrize(
    "base", [TREE, HistGradientBoostingClassifier(max_iter=3), LGBMClassifier(n_estimators=3, verbose=-1)]
)
def test_missing_values_pass_to_base_models_that_take_them(frauds, base):
    X, y = frauds
    missing = np.random.default_rng(0).uniform(size=X.shape) < np.where(y == 1, 0.6, 0.1)[:, None]
    with_missing = np.where(missing, np.nan, X)  # frauds miss more values than other rows
    scores = spe(base).fit(with_missing, y).predict_proba(with_missing)[:, 1]
    filled = np.where(missing, X.mean(axis=0), X)
    without = spe(base).fit(filled, y).predict_proba(with_missing)[:, 1]
    assert average_precision_score(y, scores) > average_precision_score(y, without)
    assert scores[missing.sum(axis=1) >= 4].mean() > scores[~missing.any(axis=1)].mean() + 0.1


def test_missing_values_in_whole_numbers_and_booleans_of_a_pyarrow_table_pass_too(frauds):
    _, y = frauds
    rng = np.random.default_rng(0)
    missing = rng.uniform(size=len(y)) < 0.1
    numbers = pa.array(rng.integers(100, size=len(y)) + 50 * y, mask=missing)
    flags = pa.array(rng.uniform(size=len(y)) < 0.5, mask=missing[::-1].copy())
    table = pa.table({"n": numbers, "flag": flags})
    as_floats = np.column_stack([table[name].cast(pa.float64()).to_numpy() for name in ("n", "flag")])
    assert np.isnan(as_floats).any(axis=0).all()
    model, same = spe().fit(table, y), spe().fit(as_floats, y)
    np.testing.assert_array_equal(model.predict_proba(table), same.predict_proba(as_floats))


LABELS = {
    "-1 and 1": (-1, 1),
    "1 and 2": (1, 2),
    "booleans": (False, True),
    "strings": ("ok", "zfraud"),
    "floats": (0.0, 1.0),
    "rarer label sorts first": ("ok", "fraud"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_give_the_same_model(frauds, kind):
    X, y = frauds
    common, rare = LABELS[kind]
    labels = np.where(y == 1, rare, common)
    model = spe().fit(X, labels)
    rare_column = model.classes_.tolist().index(rare)
    np.testing.assert_array_equal(model.predict_proba(X)[:, rare_column], spe().fit(X, y).predict_proba(X)[:, 1])
    assert set(model.predict(X).tolist()) == {common, rare}
    assert model.pos_label_ == rare
    assert list(model.rounds_[0].bins) == [common]


@pytest.mark.parametrize(
    "container",
    [
        list,
        pd.Series,
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="Int64"),
        pl.Series,
        pa.array,
        lambda y: pa.chunked_array([y[:100], y[100:]]),
    ],
    ids=["list", "pandas", "pandas category", "pandas nullable", "polars", "pyarrow", "pyarrow chunked"],
)
def test_labels_in_any_container_are_understood(frauds, container):
    X, y = frauds
    np.testing.assert_array_equal(spe().fit(X, container(y)).predict(X), spe().fit(X, y).predict(X))


def test_a_column_of_labels_is_flattened_with_a_warning(frauds):
    from sklearn.exceptions import DataConversionWarning

    X, y = frauds
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        spe().fit(X, y.reshape(-1, 1))
