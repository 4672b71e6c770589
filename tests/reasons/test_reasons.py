"""Reasons of scores: exact Shapley values of trees, sums, forms of rows, refusals."""

import re
from dataclasses import replace
from itertools import product
from math import factorial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from selfpaced import (
    AutoSelfPacedClassifier,
    SelfPacedEnsembleClassifier,
    SingleModelClassifier,
    UnderBaggingClassifier,
    adopt,
    load_model,
    open_table,
    save_model,
)
from selfpaced.baselines import RUSBoostClassifier
from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from selfpaced.model import Model, log_odds, usual_values
from selfpaced.reasons import Reasons, attribution
from selfpaced.report import make_report
from selfpaced.trees import shapley
from tests.few_recipes import SMALL_RECIPES, use_recipes

N_COLUMNS = 5


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=3000, n_frauds=80, n_features=N_COLUMNS, random_state=0)
    return np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X), y


@pytest.fixture(scope="module")
def frame(rows):
    """Two numbers, a category, a date, and whole numbers."""
    X, y = rows
    random = np.random.default_rng(1)
    countries = np.where(
        (y == 1) & (random.random(y.size) < 0.7), "XY", random.choice(["CH", "DE"], y.size, p=[0.9, 0.1])
    )
    return pd.DataFrame(
        {
            "amount": np.exp(X[:, 0]),
            "balance": X[:, 1],
            "country": pd.Categorical(countries),
            "when": pd.Timestamp("2024-03-01") + pd.to_timedelta(random.integers(0, 30 * 86400, y.size), "s"),
            "items": random.integers(0, 5, y.size),
        }
    )


def brute_force(score, row, typical):
    """Shapley values by all sets of columns."""
    n = len(row)
    sets = list(product([False, True], repeat=n))
    value = dict(zip(sets, score(np.array([np.where(own, row, typical) for own in sets])), strict=True))
    found = np.zeros(n)
    for at in range(n):
        for own in sets:
            if not own[at]:
                weight = factorial(sum(own)) * factorial(n - sum(own) - 1) / factorial(n)
                found[at] += weight * (value[(*own[:at], True, *own[at + 1 :])] - value[own])
    return found


TREES = {
    "LightGBM": LGBMClassifier(n_estimators=10, num_leaves=7, verbose=-1),
    "LightGBM with 50 leaves": LGBMClassifier(n_estimators=5, num_leaves=50, min_child_samples=1, verbose=-1),
    "LightGBM with 100 leaves": LGBMClassifier(n_estimators=5, num_leaves=100, min_child_samples=1, verbose=-1),
    "XGBoost": XGBClassifier(n_estimators=10, max_depth=3),
    "CatBoost": CatBoostClassifier(iterations=10, depth=3, verbose=0, allow_writing_files=False),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=7),
    "decision trees": DecisionTreeClassifier(max_depth=4, min_samples_leaf=5),
    "random forest": RandomForestClassifier(10, min_samples_leaf=2),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("n_estimators", [1, 3])
def test_members_of_trees_get_the_shapley_values_of_the_log_odds_of_their_mean(rows, name, n_estimators):
    X, y = rows
    model = UnderBaggingClassifier(TREES[name], n_estimators=n_estimators, random_state=0).fit(X, y)
    alerts = X[y == 1][:3]
    typical = np.array([each.typical for each in model.model_.usual])
    found = model.reasons(alerts)
    for row, values in zip(alerts, found.values, strict=True):
        expected = brute_force(lambda mixed: log_odds(model.predict_proba(mixed)[:, 1]), row, typical)
        np.testing.assert_allclose(values, expected, atol=2e-5)
    assert (found.errors == 0).all()


def test_trees_that_are_followed_from_the_root_give_the_values_of_trees_as_bits(frame, rows, monkeypatch):
    columns = frame.drop(columns="when")
    base = LGBMClassifier(n_estimators=20, min_child_samples=5, cat_smooth=1, verbose=-1)
    model = SelfPacedEnsembleClassifier(base, n_estimators=3, random_state=0).fit(columns, rows[1])
    alerts, groups = columns[rows[1] == 1][:20], {"both": ["amount", "items"]}
    as_bits = [model.reasons(alerts).values, model.reasons(alerts, reason_groups=groups).values]
    monkeypatch.setattr(shapley, "SmallPaths", shapley.Paths)
    same = model.with_model(replace(model.model_))
    from_the_root = [same.reasons(alerts).values, same.reasons(alerts, reason_groups=groups).values]
    np.testing.assert_allclose(from_the_root[0], as_bits[0], atol=1e-12)
    np.testing.assert_allclose(from_the_root[1], as_bits[1], atol=1e-12)


def test_of_more_columns_the_strongest_reasons_are_those_of_all_sets_of_columns():
    X, y = make_fraud(n_rows=4000, n_frauds=100, n_features=11, random_state=1)
    base = LGBMClassifier(n_estimators=20, verbose=-1)
    model = SelfPacedEnsembleClassifier(base, n_estimators=5, random_state=0).fit(X, y)
    alerts = X[np.argsort(-model.predict_proba(X)[:, 1])[:10]]
    typical = np.array([each.typical for each in model.model_.usual])
    same = 0
    for row, values in zip(alerts, model.reasons(alerts).values, strict=True):
        expected = brute_force(lambda mixed: log_odds(model.model_.means(mixed)[:, 1]), row, typical)
        same += len({*np.argsort(-values)[:4]} & {*np.argsort(-expected)[:4]})
        assert np.abs(values - expected).max() < 0.1 * np.abs(expected).max()
    assert same >= 0.9 * 40


class HalvedTree(DecisionTreeClassifier):
    """A tree whose probabilities are not those of its leaves."""

    def predict_proba(self, X, check_input=True):
        found = super().predict_proba(X, check_input)
        return np.column_stack([1 - found[:, 1] / 2, found[:, 1] / 2])


def test_a_subclass_with_its_own_probabilities_is_explained_by_these(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = UnderBaggingClassifier(HalvedTree(max_depth=3), n_estimators=1, random_state=0).fit(X, y)
    found = model.reasons(X[:5])
    expected = log_odds(model.predict_proba(X[:5])[:, 1])
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, atol=1e-9)


def test_a_linear_model_gets_what_each_column_adds(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = UnderBaggingClassifier(LogisticRegression(), n_estimators=1, random_state=0).fit(X, y)
    typical = np.array([each.typical for each in model.model_.usual])
    alerts = X[y == 1][:3]
    expected = model.estimators_[0].coef_[0] * (alerts - typical)
    np.testing.assert_allclose(model.reasons(alerts).values, expected, atol=1e-9)


def test_estimated_values_are_within_their_stated_error(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = UnderBaggingClassifier(KNeighborsClassifier(25), n_estimators=3, random_state=0).fit(X, y)
    alerts = X[y == 1][:5]
    typical = np.array([each.typical for each in model.model_.usual])
    found = model.reasons(alerts)
    expected = [brute_force(lambda mixed: log_odds(model.predict_proba(mixed)[:, 1]), row, typical) for row in alerts]
    assert found.errors.max() > 0
    assert (np.abs(found.values - expected) <= 4 * found.errors + 1e-9).all()


ENSEMBLES = {
    "LightGBM": LGBMClassifier(n_estimators=5, verbose=-1),
    "extra trees": ExtraTreesClassifier(5),
    "several kinds": [LGBMClassifier(n_estimators=5, verbose=-1), DecisionTreeClassifier(max_depth=5)],
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_reasons_and_base_add_up_to_the_log_odds_of_the_row(rows, name):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = SelfPacedEnsembleClassifier(ENSEMBLES[name], n_estimators=4, random_state=0, calibration="sigmoid").fit(
        X, y
    )
    found = model.reasons(X[:20])
    expected = log_odds(model.model_.means(X[:20])[:, 1])
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, atol=1e-9)


@pytest.fixture(scope="module")
def blend(frame, rows):
    kept = ("LightGBM, random splits", "linear", "extra trees")
    with pytest.MonkeyPatch.context() as patch:
        use_recipes(patch, {name: SMALL_RECIPES[name] for name in kept})
        return AutoSelfPacedClassifier(random_state=0).fit(frame, rows[1])


def test_the_reasons_of_a_blend_add_up_and_name_the_columns_of_the_user(blend, frame, rows):
    alerts = frame[rows[1] == 1][:8]
    found = blend.reasons(alerts, top=3)
    np.testing.assert_allclose(
        found.base + found.values.sum(axis=1), log_odds(blend.model_.means(alerts)[:, 1]), atol=1e-9
    )
    assert found.features == ("amount", "balance", "country", "when", "items")  # the parts of the date are one
    strange = [each[0] for each, country in zip(found, alerts["country"], strict=True) if country == "XY"]
    assert {reason.feature for reason in strange} == {"country"}
    assert re.fullmatch(r"country XY; in less than 0\.\d+% of common rows", str(strange[0]))


def test_a_share_of_few_rows_is_a_limit(frame, rows):
    few = np.r_[np.flatnonzero(rows[1] == 1)[:30], np.flatnonzero(rows[1] == 0)]
    y, country = rows[1][few], pd.Categorical(np.where(np.arange(few.size) % 1000 == 999, "once", "often"))
    model = UnderBaggingClassifier(LGBMClassifier(verbose=-1), n_estimators=2, random_state=0)
    model.fit(frame[["amount"]].iloc[few].assign(country=country), y)
    usual = model.model_.usual[1]
    assert usual.n_rows == 30  # as many common rows as rare ones
    assert usual.describe("once") == "in less than 9.5% of common rows"  # 0.905 ** 30 = 5%
    assert usual.describe("often") == "in 100% of common rows"


def test_common_rows_are_those_of_all_classes_but_the_rarest():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [6000, 3000, 300])
    X = pd.DataFrame({"kind": pd.Categorical(np.array(["a", "b", "c"])[y]), "noise": random.normal(size=y.size)})
    members = LGBMClassifier(n_estimators=2, verbose=-1)
    trained = UnderBaggingClassifier(members, n_estimators=2, random_state=0).fit(X, y)
    for model in (trained, SingleModelClassifier(members).fit(X, y), adopt(clone(members).fit(X, y), X, y)):
        assert model.model_.usual[0].shares == pytest.approx({"a": 2 / 3, "b": 1 / 3}, abs=0.002)


def test_one_row_has_the_same_reasons_in_the_row_scorer_and_after_saving(blend, frame, rows, tmp_path: Path):
    alerts = frame[rows[1] == 1][:2]
    expected = blend.reasons(alerts)
    loaded = load_model(save_model(blend, tmp_path / "model.skops"))
    for model in (blend, loaded):
        assert model.reasons(alerts)[1] == expected[1]
        single = model.row_scorer().reasons(alerts.iloc[1].to_dict())
        assert [each.feature for each in single] == [each.feature for each in expected[1]]
        np.testing.assert_allclose(
            [each.log_odds for each in single], [each.log_odds for each in expected[1]], atol=1e-9
        )


def test_a_file_and_a_frame_give_the_same_typical_row_and_reasons(frame, rows, tmp_path: Path):
    plain = frame.drop(columns="when")
    plain.assign(country=plain["country"].astype(str), label=rows[1]).to_parquet(tmp_path / "rows.parquet")
    base = LGBMClassifier(n_estimators=5, verbose=-1)
    of_memory = SelfPacedEnsembleClassifier(base, n_estimators=3, random_state=0).fit(plain, rows[1])
    of_file = SelfPacedEnsembleClassifier(base, n_estimators=3, random_state=0)
    of_file.fit_table(open_table(tmp_path / "rows.parquet", target="label"))
    assert of_file.model_.usual == of_memory.model_.usual
    alerts = plain[rows[1] == 1][:3]
    assert list(of_file.reasons(alerts)) == list(of_memory.reasons(alerts))


def test_columns_of_a_group_count_as_one_player(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    data = pd.DataFrame(X, columns=list("abcde"))
    model = UnderBaggingClassifier(LGBMClassifier(n_estimators=10, verbose=-1), n_estimators=1, random_state=0).fit(
        data, y
    )
    alerts = data[y == 1][:3]
    found = model.reasons(alerts, reason_groups={"both": ["a", "b"]})
    assert found.features == ("both", "c", "d", "e")
    assert isinstance(next(each for each in found[0] if each.feature == "both").value, dict)
    np.testing.assert_allclose(found.values.sum(axis=1), model.reasons(alerts).values.sum(axis=1), atol=1e-9)


def test_only_columns_that_raise_the_score_are_reasons_and_at_most_top(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = RUSBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    found = model.reasons(X[:30], top=2)
    assert isinstance(found, Reasons)
    assert all(len(each) <= 2 and all(reason.log_odds > 0 for reason in each) for each in found)


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "4"])
def test_a_number_of_reasons_below_one_is_refused(blend, frame, top):
    with pytest.raises(ValueError, match="number of reasons must be a whole number of at least 1"):
        blend.reasons(frame[:1], top=top)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"g": ["amuont"]}, "'amuont', which the model was not trained with. Did you mean 'amount'"),
        ({"g": ["amount"], "h": ["amount"]}, "is in the groups 'g' and 'h'"),
        ({"amount": ["balance"]}, "has the name of a column that is not in it"),
    ],
)
def test_groups_that_do_not_fit_are_refused_by_name(blend, frame, groups, said):
    with pytest.raises(ValueError, match=said):
        blend.reasons(frame[:1], reason_groups=groups)


def test_a_model_without_typical_rows_asks_for_them(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = UnderBaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    bare = model.with_model(replace(model.model_, usual=None))
    with pytest.raises(ValueError, match="typical=X_train"):
        bare.reasons(X[:1])
    assert len(bare.reasons(X[:1], typical=X[y == 0])) == 1


def test_usual_values_are_quantiles_shares_and_missing_values():
    table = pd.DataFrame(
        {"n": [*range(1, 100), np.nan], "c": pd.Categorical(["a"] * 60 + ["b"] * 40), "empty": [np.nan] * 100}
    )
    number, category, empty = usual_values(table, np.arange(100))
    assert (number.low, number.median, number.high, round(number.missing, 2)) == (5.0, 50.0, 95.0, 0.01)
    assert category.shares == {"a": 0.6, "b": 0.4}
    assert category.typical == "a"
    assert empty.typical is None


def test_the_sentence_about_a_date_names_its_parts(blend, frame, rows):
    found = blend.reasons(frame[rows[1] == 1][:30], top=5)
    dates = [str(reason) for each in found for reason in each if reason.feature == "when"]
    parts = r"usual 2024-03-\d\d to 2024-03-\d\d, weekday usual \d to \d, hour usual \d+ to \d+"
    assert dates
    assert all(re.fullmatch(rf"when 2024-03-\d\d \d\d:\d\d:\d\d; {parts}", each) for each in dates)


def test_the_trees_of_a_model_are_read_once(rows, monkeypatch):
    X, y = np.nan_to_num(rows[0]), rows[1]
    model = UnderBaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    read: list[Model] = []
    own = attribution.trees_of_part
    monkeypatch.setattr(attribution, "trees_of_part", lambda *given: (read.append(model.model_), own(*given))[1])
    first = model.reasons(X[:2])
    assert (first.values == model.reasons(X[:2]).values).all()
    assert len(read) == 1


def test_predict_writes_the_reasons_of_alerts_as_sentences_columns_and_shares(blend, frame, rows, tmp_path: Path):
    frame.assign(number=np.arange(len(frame))).to_parquet(tmp_path / "rows.parquet")
    model = save_model(blend, tmp_path / "model.skops", metrics={"threshold": 0.2})
    output = tmp_path / "scores.parquet"
    given = ["predict", str(model), str(tmp_path / "rows.parquet"), "-o", str(output), "--keep", "number"]
    assert main([*given, "--threshold", "best", "--reasons", "2", "-q"]) == 0
    scores = pd.read_parquet(output)
    assert scores["reason_1"].notna().equals(scores["alert"])
    alerts = scores[scores["alert"]]
    expected = blend.reasons(frame.iloc[alerts["number"]], top=2)
    assert alerts["reason_1"].tolist() == [str(each[0]) for each in expected]
    assert alerts["reason_2_column"].tolist() == [each[1].feature if len(each) > 1 else None for each in expected]
    np.testing.assert_allclose(alerts["reason_1_log_odds"], [each[0].log_odds for each in expected], atol=1e-9)
    # The same alerts by a decision for all rows at once.
    assert main([*given, "--top", str(len(alerts)), "--reasons", "2", "-q"]) == 0
    decided = pd.read_parquet(output)
    pd.testing.assert_frame_equal(decided, scores)


def test_reasons_of_an_empty_file_are_empty_columns(blend, frame, tmp_path: Path):
    frame[:0].to_parquet(tmp_path / "rows.parquet")
    blend.write_predictions(tmp_path / "rows.parquet", tmp_path / "scores.parquet", reasons=1)
    columns = ["score", "reason_1", "reason_1_column", "reason_1_log_odds"]
    assert pd.read_parquet(tmp_path / "scores.parquet").columns.tolist() == columns


def test_predict_refuses_no_reasons_and_reasons_on_a_cluster(tmp_path: Path, capsys):
    given = ["predict", "model.skops", "rows.parquet", "-o", str(tmp_path / "scores.parquet")]
    assert main([*given, "--reasons", "0"]) == 2
    assert "at least 1; got 0" in capsys.readouterr().err
    assert main([*given, "--reasons", "2", "--engine", "dask", "--scheduler", "tcp://localhost:1"]) == 2
    assert "--reasons is not supported on a cluster" in capsys.readouterr().err


def test_the_report_lists_the_highest_alerts_with_their_reasons(blend, frame, rows):
    report = make_report(blend, frame, rows[1], threshold=0.3)
    listed = report.facts.alerts
    scores = blend.predict_proba(frame)[:, 1]
    assert [alert.score for alert in listed] == sorted(scores[scores >= 0.3], reverse=True)[: len(listed)]
    best = int(np.argsort(-scores, kind="stable")[0])
    assert listed[0].id == str(best)
    expected = blend.reasons(frame.iloc[[best]])[0]
    assert [each[:80] for each in listed[0].reasons] == [str(reason)[:80] for reason in expected]
    assert "The highest alerts, and why" in report.to_html()


def test_the_report_of_another_model_has_no_list_of_reasons(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    report = make_report(LogisticRegression().fit(X, y), X, y)
    assert report.facts.alerts == ()
    assert "The highest alerts, and why" not in report.to_html()
