"""The scorer of single rows gives the probabilities of predict_proba, bit for bit, from any form of a row."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.recipes import catboost, columns_of, with_codes, with_scales
from selfpaced.predicting import read_row, score_together
from selfpaced.predicting.rows import NamedRow
from selfpaced.tables import schema_of_frame
from selfpaced.tables.sources import open_table

RNG = np.random.default_rng(0)
N_ROWS = 1500
X = RNG.normal(size=(N_ROWS, 5))
X[:, 2] = RNG.integers(-3, 4, size=N_ROWS)
Y = (X[:, 0] + X[:, 2] + RNG.normal(size=N_ROWS) > 4).astype(int)
NOISE = np.random.default_rng(1).normal(size=N_ROWS)
WITH_GAPS = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, X)
TREE = DecisionTreeClassifier(max_depth=5)
LIGHTGBM = LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, min_child_samples=5)
MEMBERS = {
    "trees": TREE,
    "extra trees": ExtraTreesClassifier(5),
    "LightGBM": LIGHTGBM,
    "LightGBM of one round": LGBMClassifier(n_estimators=1, verbose=-1, n_jobs=1),
    "LightGBM and trees": [LIGHTGBM, TREE],
    "large LightGBM trees": LGBMClassifier(n_estimators=5, num_leaves=60, min_child_samples=1, verbose=-1, n_jobs=1),
}


def ensemble(base, **parameters):
    return SelfPacedEnsembleClassifier(base, 3, random_state=0, **parameters)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_row_of_an_array_has_the_probabilities_of_predict_proba(name):
    plain = ensemble(MEMBERS[name]).fit(X, Y)
    for model in (plain, plain.recalibrated(X, Y, "isotonic")):
        scorer, expected = model.row_scorer(), model.predict_proba(X[:40])
        for row, own in zip(X[:40], expected, strict=True):
            np.testing.assert_array_equal(scorer.predict_proba(row), own)
            assert scorer(row.tolist()) == own[1]


@pytest.mark.parametrize("base", [TREE, LIGHTGBM], ids=["trees", "LightGBM"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_and_float32_are_read_as_in_arrays(base, dtype):
    rows = WITH_GAPS.astype(dtype)
    model = ensemble(base).fit(rows, Y)
    scorer = model.row_scorer()
    assert [scorer(row) for row in rows[:60]] == model.predict_proba(rows[:60])[:, 1].tolist()


def test_whole_numbers_are_read_as_in_arrays():
    rows = (X * 10**9).astype(np.int64)
    model = ensemble(LIGHTGBM).fit(rows, Y)
    scorer = model.row_scorer()
    assert [scorer(row.tolist()) for row in rows[:60]] == model.predict_proba(rows[:60])[:, 1].tolist()


def test_none_is_a_missing_value_of_an_array_too():
    model = ensemble(LIGHTGBM).fit(WITH_GAPS, Y)
    assert model.row_scorer()([0.5, None, 1, 2, 3]) == model.predict_proba([[0.5, np.nan, 1, 2, 3]])[0, 1]


def frame_of(rng, n_rows):
    return pd.DataFrame(
        {
            "amount": np.where(rng.uniform(size=n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
            "country": pd.Categorical(rng.choice(["DE", "FR", "US", None], size=n_rows), ["DE", "FR", "US"]),
            "count": rng.integers(0, 9, size=n_rows),
            "shop": pd.Categorical.from_codes(rng.integers(-1, 50, size=n_rows), [f"s{i}" for i in range(50)]),
        }
    )


def labels_of(frame):
    return ((frame["amount"].fillna(0) + frame["shop"].cat.codes % 5 + frame["count"] / 3) > 5.5).to_numpy().astype(int)


@pytest.fixture(scope="module")
def of_frames():
    frame = frame_of(np.random.default_rng(0), 2000)
    return ensemble(LIGHTGBM, calibration="isotonic").fit(frame, labels_of(frame))


def test_a_mapping_has_the_probabilities_of_the_same_row_of_a_frame(of_frames):
    rows, scorer = frame_of(np.random.default_rng(1), 80), of_frames.row_scorer()
    assert scorer.is_fast_
    expected = of_frames.predict_proba(rows)[:, 1].tolist()
    assert [scorer(row) for row in rows.to_dict("records")] == expected
    assert [scorer(row) for row in rows.itertuples(index=False)] == expected


def test_a_category_that_is_not_known_is_a_missing_value(of_frames):
    row = {"amount": 1.5, "country": "XX", "count": 3, "shop": "s7"}
    scorer = of_frames.row_scorer()
    assert scorer(row) == scorer(row | {"country": None})


def test_a_number_in_the_place_of_a_category_of_strings_is_refused(of_frames):
    """Codes instead of names would all be new categories."""
    row = {"amount": 1.5, "country": 1, "count": 3, "shop": "s7"}
    with pytest.raises(ValueError, match="'country' must be a string, as in training; got 1"):
        of_frames.row_scorer()(row)


def test_large_trees_on_frames_with_categories_are_asked_themselves():
    frame = frame_of(np.random.default_rng(0), 2000)
    model = ensemble(MEMBERS["large LightGBM trees"]).fit(frame, labels_of(frame))
    scorer = model.row_scorer()
    assert not scorer.is_fast_
    assert [scorer(row) for row in frame[:5].to_dict("records")] == model.predict_proba(frame[:5])[:, 1].tolist()


def by_name():
    """The pipeline of the guide's first page."""
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["country"]), remainder=StandardScaler())
    return make_pipeline(columns, LogisticRegression())


NATIVE = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
COLUMNS = columns_of(frame_of(np.random.default_rng(0), 100), None)
FRAME_MEMBERS = {
    "LightGBM": LIGHTGBM,
    "HistGradientBoosting": NATIVE,
    "extra trees": with_codes(ExtraTreesClassifier(5), COLUMNS.categorical),
    "CatBoost": catboost(COLUMNS, iterations=10),
    "linear": with_scales(LogisticRegression(max_iter=1000), COLUMNS),
    "network": with_scales(MLPClassifier((8,), max_iter=20), COLUMNS),
    "neighbours": with_scales(KNeighborsClassifier(), COLUMNS),
    "LightGBM and linear": [LIGHTGBM, with_scales(LogisticRegression(max_iter=1000), COLUMNS)],
}
# A value of each column in each of its forms, and the form that a frame of one row gets.
FORMS = [
    {},
    {"amount": None},
    {"amount": pd.NA},
    {"amount": pd.NaT},
    {"amount": Decimal("1.5")},
    {"amount": np.float32(0.1)},
    {"amount": 3},
    {"amount": True},
    {"count": np.int64(4)},
    {"count": 4.0},
    {"country": None},
    {"country": np.nan},
    {"country": pd.NA},
    {"country": np.str_("FR")},
    {"shop": "s49"},
]


def frame_of_row(row):
    """A frame of one row, with missing values as numpy has them and the categories of `frame_of`."""
    known = {"country": ["DE", "FR", "US"], "shop": [f"s{i}" for i in range(50)]}
    values = {name: [None if pd.isna(value) else value] for name, value in row.items()}
    numbers = {name: [np.nan if values[name] == [None] else float(row[name])] for name in ("amount", "count")}
    return pd.DataFrame({name: pd.Categorical(values[name], known[name]) for name in known} | numbers)[list(row)]


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FRAME_MEMBERS)
def test_all_values_that_a_frame_can_hold_are_read_for_members_of_every_kind(name):
    frame = frame_of(np.random.default_rng(0), 1000)
    plain = ensemble(FRAME_MEMBERS[name]).fit(frame, labels_of(frame))
    row = {"amount": 1.25, "country": "DE", "count": 3, "shop": "s7"}
    for model in (plain, plain.recalibrated(frame, labels_of(frame), "sigmoid")):
        scorer = model.row_scorer()
        for change in FORMS:
            expected = model.predict_proba(frame_of_row(row | change))[0]
            np.testing.assert_array_equal(scorer.predict_proba(row | change), expected, str(change))


@pytest.mark.parametrize("base", [NATIVE, by_name()], ids=["HistGradientBoosting", "pipeline"])
def test_both_models_of_frames_of_the_first_page_of_the_guide_have_row_scorers(base):
    frame = frame_of(np.random.default_rng(0), 1000)[["amount", "country"]].fillna({"amount": 0.0})
    frame["country"] = frame["country"].fillna("DE")
    labels = (frame["amount"] > 1.2).to_numpy()
    model = ensemble(base).fit(frame, labels)
    scorer = model.row_scorer()
    for number, row in enumerate(frame[:20].to_dict("records")):
        np.testing.assert_array_equal(scorer.predict_proba(row), model.predict_proba(frame[number : number + 1])[0])


def test_strings_and_moments_that_members_read_themselves_have_the_types_of_training():
    frame = pd.DataFrame({"amount": X[:, 0], "shop": np.where(X[:, 1] > 0, "web", "till")})
    frame.loc[::7, "shop"] = None
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["shop"]), remainder="passthrough")
    model = ensemble(make_pipeline(encoder, TREE)).fit(frame, Y)
    scorer = model.row_scorer()
    rows = [*frame[:20].to_dict("records"), {"amount": 0.5, "shop": "new"}, {"amount": 0.5, "shop": None}]
    for row in rows:
        own = pd.DataFrame([row]).astype({"shop": frame["shop"].dtype})
        np.testing.assert_array_equal(scorer.predict_proba(row), model.predict_proba(own)[0])


def test_a_string_in_a_column_of_numbers_is_refused_with_its_name():
    frame = frame_of(np.random.default_rng(0), 1000)
    scorer = ensemble(FRAME_MEMBERS["linear"]).fit(frame, labels_of(frame)).row_scorer()
    with pytest.raises(ValueError, match="'amount' must be a number or None; got '12'"):
        scorer({"amount": "12", "country": "DE", "count": 3, "shop": "s7"})


def test_a_blend_scores_rows_of_three_classes_with_dates():
    rng = np.random.default_rng(0)
    frame = frame_of(rng, 1500)
    frame["at"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 10**7, size=1500), unit="s")
    labels = np.digitize(frame["count"] + frame["amount"].fillna(0), [6, 8.5])
    columns = columns_of(None, schema_of_frame(frame))
    recipes = [
        ("trees", ensemble(with_codes(ExtraTreesClassifier(5), columns.categorical))),
        ("linear", ensemble(with_scales(LogisticRegression(max_iter=1000), columns))),
    ]
    model = AutoSelfPacedClassifier(recipes, random_state=0, calibration="sigmoid").fit(frame, labels)
    scorer = model.row_scorer()
    rows = frame[:10].to_dict("records")
    moments = [{}, {"at": None}, {"at": pd.NaT}, {"at": np.datetime64("2024-03-05T02:00")}, {"at": "5.3.2024 02:00"}]
    for row, change in zip(rows, moments * 2, strict=True):
        own = pd.DataFrame({name: [None if pd.isna(value) else value] for name, value in (row | change).items()})
        np.testing.assert_array_equal(scorer.predict_proba(row | change), model.predict_proba(own)[0], str(change))


@pytest.fixture(scope="module")
def of_files(tmp_path_factory):
    """A table with strings, times, narrow floats, whole numbers, booleans, and a model of it."""
    rng = np.random.default_rng(0)
    frame = frame_of(rng, 2000).astype({"country": object, "shop": object})
    frame["at"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 10**7, size=2000), unit="s")
    frame["narrow"] = rng.normal(size=2000).astype(np.float32)
    frame["online"] = rng.uniform(size=2000) < 0.5
    frame["fraud"] = (frame["amount"].fillna(0) + frame["count"] / 3 + frame["online"]) > 3.2
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame.to_parquet(path)
    return ensemble(LIGHTGBM).fit_table(open_table(path, target="fraud")), frame


def test_a_row_is_read_by_the_schema_of_the_training_table(of_files):
    model, frame = of_files
    scorer = model.row_scorer()
    rows = frame[:80].to_dict("records")
    assert [scorer(row) for row in rows] == model.predict_proba(frame[:80])[:, 1].tolist()
    texts = [row | {"at": row["at"].isoformat(), "narrow": float(row["narrow"])} for row in rows]
    assert [scorer(row) for row in texts] == [scorer(row) for row in rows]


def test_a_number_that_a_narrow_column_rounds_is_rounded(of_files):
    model, frame = of_files
    row = frame.dropna().iloc[0].to_dict() | {"narrow": 0.1}
    expected = model.predict_proba(pd.DataFrame([row]))[0, 1]
    assert model.row_scorer()(row) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"amount": "12"}, "'amount' of X is .*string, but the model was trained with double"),
        ({"amount": np.inf}, "'amount' of X contains infinity"),
        ({"narrow": 1e300}, "'narrow' of X is double, .* not all within the range of 32 bits"),
        ({"count": 2.5}, "'count' of X is double, but the model was trained with int64"),
        ({"count": 2**70}, "'count' cannot be read"),
        ({"online": 2}, "'online' of X .* not all 0 or 1"),
        ({"country": 7}, "'country' of X is int64, but the model was trained with strings"),
        ({"at": "yesterday"}, "'at' of X .* trained with dates"),
        ({"at": 5}, "'at' of X .* trained with dates"),
        ({"at": "2024-02-30"}, "'at' of X .* trained with dates"),
        ({"at": "20240305"}, "'at' of X .* trained with dates"),
    ],
)
def test_a_value_that_predict_proba_refuses_is_refused_with_its_column(of_files, change, message):
    model, frame = of_files
    row = frame.iloc[0].to_dict() | change
    with pytest.raises(ValueError, match=message):
        model.row_scorer()(row)
    with pytest.raises((ValueError, OverflowError)):
        model.predict_proba(pd.DataFrame([row]))


def test_a_row_without_a_column_is_refused_and_more_columns_are_ignored(of_files):
    model, frame = of_files
    scorer, row = model.row_scorer(), frame.iloc[0].to_dict()
    assert scorer(row | {"remark": "late"}) == scorer(row)
    del row["amount"]
    with pytest.raises(ValueError, match=r"no value for 'amount'.*Give None if the value is missing"):
        scorer(row)
    with pytest.raises(ValueError, match="no value for 'amount'"):
        scorer(row | {"at": "an unusual value, for which the row is read as a frame"})


@pytest.mark.parametrize(
    "base", [LGBMClassifier(n_estimators=5, verbose=-1), ExtraTreesClassifier(5)], ids=["LightGBM", "extra trees"]
)
def test_whole_numbers_too_large_for_floats_are_read_without_a_frame_if_members_can(tmp_path, monkeypatch, base):
    random = np.random.default_rng(0)
    account = 2**53 + random.integers(-500, 500, 600)
    table = pd.DataFrame({"account": account, "small": account % 7, "label": (account % 5 == 0).astype(int)})
    table.to_parquet(tmp_path / "a.parquet")
    model = SelfPacedEnsembleClassifier(base, 2, random_state=0)
    model.fit_table(open_table(tmp_path / "a.parquet", target="label"))
    score, expected = model.row_scorer(), model.predict_proba(table.drop(columns="label"))[:40]
    rows = [{"account": int(own), "small": np.int64(own % 7)} for own in account[:40]]
    frames = []
    make_frame = NamedRow._frame
    monkeypatch.setattr(NamedRow, "_frame", lambda self, row: frames.append(row) or make_frame(self, row))
    np.testing.assert_array_equal([score.predict_proba(row) for row in rows], expected)
    np.testing.assert_array_equal(score_together(score, [read_row(score, row) for row in rows]), expected)
    assert (not frames) == isinstance(base, LGBMClassifier)
    with pytest.raises(ValueError, match="'account'"):
        score({"account": 2**63, "small": 1})


def test_dates_and_times_with_a_zone_are_read_as_moments(of_files):
    model, frame = of_files
    scorer, row = model.row_scorer(), frame.iloc[0].to_dict()
    in_paris = datetime(2024, 3, 5, 1, tzinfo=UTC)
    assert scorer(row | {"at": "2024-03-05T02:00:00+01:00"}) == scorer(row | {"at": in_paris})
    assert scorer(row | {"at": date(2024, 3, 5)}) == scorer(row | {"at": datetime(2024, 3, 5)})


@pytest.mark.parametrize(("row", "message"), [([1, 2], "must have 5 values"), ([1, 2, 3, 4, np.inf], "infinity")])
def test_an_array_that_is_no_row_is_refused(row, message):
    with pytest.raises(ValueError, match=message):
        ensemble(TREE).fit(X, Y).row_scorer()(row)


def test_a_mapping_for_a_model_without_names_is_refused():
    with pytest.raises(TypeError, match="without feature names"):
        ensemble(TREE).fit(X, Y).row_scorer()({"a": 1})


def test_ordered_categories_and_categories_of_numbers_are_read_as_in_frames():
    frame = frame_of(np.random.default_rng(0), 2000)
    frame["country"] = frame["country"].cat.as_ordered()
    frame["count"] = frame["count"].astype("category")
    labels = labels_of(frame.astype({"count": int}))
    model = ensemble(LIGHTGBM).fit(frame, labels)
    scorer = model.row_scorer()
    assert [scorer(row) for row in frame[:40].to_dict("records")] == model.predict_proba(frame[:40])[:, 1].tolist()


def test_several_classes_and_weighted_members_are_scored_too():
    labels = np.digitize(X[:, 0], [1.0, 1.6])
    for model in (ensemble(TREE).fit(X, labels), RUSBoostClassifier(TREE, 3, random_state=0).fit(X, Y)):
        scorer = model.row_scorer()
        for row, own in zip(X[:30], model.predict_proba(X[:30]), strict=True):
            np.testing.assert_array_equal(scorer.predict_proba(row), own)


def test_a_member_of_another_kind_is_asked_itself():
    model = ensemble(LogisticRegression()).fit(X, Y)
    scorer = model.row_scorer()
    assert not scorer.is_fast_
    # BLAS rounds a single row in another way than many.
    np.testing.assert_allclose([scorer(row) for row in X[:20]], model.predict_proba(X[:20])[:, 1], rtol=1e-12)


class Contrary(LGBMClassifier):
    def predict_proba(self, X, **arguments):
        return super().predict_proba(X, **arguments)[:, ::-1]


def test_a_subclass_that_predicts_in_its_own_way_is_asked_in_its_own_way():
    model = ensemble(Contrary(n_estimators=5, verbose=-1, n_jobs=1)).fit(X, Y)
    assert model.row_scorer()(X[0]) == model.predict_proba(X[:1])[0, 1]


def test_boosted_trees_refuse_missing_values_as_they_do_themselves():
    scorer = ensemble(AdaBoostClassifier(TREE, n_estimators=3)).fit(X, Y).row_scorer()
    assert scorer.is_fast_
    with pytest.raises(ValueError, match="NaN"):
        scorer([1.0, 2.0, None, 3.0, 4.0])


def test_a_blend_is_scored_as_by_predict_proba():
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    recipes = [("boosted", ensemble(LIGHTGBM)), ("trees", ensemble(TREE)), ("linear", ensemble(scaled))]
    model = AutoSelfPacedClassifier(recipes, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2] + NOISE > 4.5)
    assert len(model.ensembles_) > 1
    scorer = model.row_scorer()
    np.testing.assert_allclose([scorer(row) for row in X[:20]], model.predict_proba(X[:20])[:, 1], rtol=1e-12)


def test_a_pickled_scorer_gives_the_same_scores_without_pandas_and_lightgbm(of_frames, monkeypatch):
    row = {"amount": 1.5, "country": "DE", "count": 3, "shop": "s7"}
    expected, pickled = of_frames.row_scorer()(row), pickle.dumps(of_frames.row_scorer())
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pandas", "lightgbm")]:
        monkeypatch.setitem(sys.modules, name, None)
    assert pickle.loads(pickled)(row) == expected


def test_threads_share_a_scorer(of_frames):
    rows, scorer = frame_of(np.random.default_rng(1), 200).to_dict("records"), of_frames.row_scorer()
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(scorer, rows)) == [scorer(row) for row in rows]


def test_histogram_gradient_boosting_on_a_schema_is_asked_itself(of_files, tmp_path):
    _, frame = of_files
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    model = ensemble(HistGradientBoostingClassifier(max_iter=5)).fit_table(open_table(path, target="fraud"))
    scorer = model.row_scorer()
    assert [scorer(row) for row in frame[:4].to_dict("records")] == model.predict_proba(frame[:4])[:, 1].tolist()
