"""The scorer of single rows gives the probabilities of predict_proba, bit for bit, from any form of a row."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
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


@pytest.mark.parametrize("calibration", [None, "isotonic"])
@pytest.mark.parametrize("name", MEMBERS)
def test_a_row_of_an_array_has_the_probabilities_of_predict_proba(name, calibration):
    model = ensemble(MEMBERS[name], calibration=calibration).fit(X, Y)
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


def test_large_trees_on_frames_with_categories_are_asked_themselves():
    frame = frame_of(np.random.default_rng(0), 2000)
    model = ensemble(MEMBERS["large LightGBM trees"]).fit(frame, labels_of(frame))
    scorer = model.row_scorer()
    assert not scorer.is_fast_
    assert [scorer(row) for row in frame[:5].to_dict("records")] == model.predict_proba(frame[:5])[:, 1].tolist()


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
        ({"amount": "12"}, "'amount' must be a number or None; got '12'"),
        ({"amount": np.inf}, "'amount' is infinity"),
        ({"count": 2.5}, "'count' does not fit int64; got 2.5"),
        ({"online": 2}, "'online' does not fit bool; got 2"),
        ({"country": 7}, "'country' must be a string or None; got 7"),
        ({"at": "yesterday"}, "'at' must be a date, a time or None; got 'yesterday'"),
        ({"at": 5}, "'at' must be a date, a time or None; got 5"),
    ],
)
def test_a_value_that_does_not_fit_its_column_is_refused(of_files, change, message):
    model, frame = of_files
    with pytest.raises(ValueError, match=message):
        model.row_scorer()(frame.iloc[0].to_dict() | change)


def test_a_row_without_a_column_is_refused_and_more_columns_are_ignored(of_files):
    model, frame = of_files
    scorer, row = model.row_scorer(), frame.iloc[0].to_dict()
    assert scorer(row | {"remark": "late"}) == scorer(row)
    del row["amount"]
    with pytest.raises(ValueError, match=r"no value for 'amount'.*Give None if the value is missing"):
        scorer(row)


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


def test_ordered_categories_are_refused():
    frame = frame_of(np.random.default_rng(0), 2000)
    frame["country"] = frame["country"].cat.as_ordered()
    model = ensemble(LIGHTGBM).fit(frame, labels_of(frame))
    with pytest.raises(ValueError, match="ordered categories"):
        model.row_scorer()


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
