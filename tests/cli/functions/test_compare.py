"""Methods compared on the same rows: how each is trained, and what is counted."""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.cli.commands import report as report_job
from selfpaced.cli.commands.compare import (
    CHOSEN,
    Compared,
    Comparison,
    Method,
    Task,
    as_numbers,
    compare,
    drawn,
    judged,
    seeded,
    single_models,
    with_class_weights,
    with_intervals,
    with_threads,
)
from selfpaced.cli.request import TrainRequest
from selfpaced.ensembles import UnderBaggingClassifier
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc
from tests.few_recipes import FEW_RECIPES, use_recipes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = X[:, 0] + RNG.normal(size=300) > 1.5
TASK = Task(X[::2], Y[::2], X[1::2], Y[1::2])


def test_a_method_is_judged_by_the_area_on_the_test_rows():
    found, scores = judged(Method("plain", LogisticRegression()), TASK)
    expected = LogisticRegression().fit(TASK.X, TASK.y).predict_proba(TASK.X_test)[:, 1]
    assert found.aucprc == pytest.approx(aucprc(TASK.y_test, expected))
    assert scores.tolist() == expected.tolist()
    assert (found.method, found.n_rows, found.failure) == ("plain", 150, None)
    assert 0 < found.seconds < 60


@pytest.mark.parametrize("as_frame", [True, False])
def test_some_rows_are_trained_on_if_a_method_names_them(as_frame):
    task = Task(pd.DataFrame(TASK.X), TASK.y, pd.DataFrame(TASK.X_test), TASK.y_test) if as_frame else TASK
    rows = np.concatenate([np.flatnonzero(TASK.y)[:5], np.flatnonzero(~TASK.y)[:7]])
    model = GaussianNB()
    assert judged(Method("few", model, rows), task)[0].n_rows == 12
    assert model.class_count_.tolist() == [7, 5]


def test_single_models_are_on_all_rows_with_weights_and_on_an_under_sample():
    methods = list(single_models("tree", DecisionTreeClassifier(), TASK, 3))
    assert [one.name for one in methods] == ["tree, all rows", "tree, class weights", "tree, random under-sample"]
    assert [one.model.class_weight for one in methods] == [None, "balanced", None]
    assert [one.model.random_state for one in methods] == [3, 3, 3]
    assert [one.rows is None for one in methods] == [True, True, False]
    n_rare = TASK.y.sum()
    assert TASK.y[methods[2].rows].sum() == n_rare
    assert methods[2].rows.size == np.unique(methods[2].rows).size == 2 * n_rare


def test_a_model_without_class_weights_is_not_tried_with_them():
    assert [one.name for one in single_models("nb", GaussianNB(), TASK, 0)] == [
        "nb, all rows",
        "nb, random under-sample",
    ]
    assert with_class_weights(GaussianNB()) is None


def test_where_most_rows_are_to_be_found_all_common_ones_are_drawn():
    task = Task(X, np.arange(300) >= 50, X, np.arange(300) >= 50)
    *_, under_sample = single_models("nb", GaussianNB(), task, 0)
    assert under_sample.rows.size == 300


def test_the_seed_reaches_the_models_within_a_model():
    model = seeded(make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier())), 7)
    assert (model[-1].random_state, model[-1].estimator.random_state) == (7, 7)
    balanced = with_class_weights(make_pipeline(StandardScaler(), LogisticRegression()))
    assert balanced[-1].class_weight == "balanced"


def test_threads_are_for_the_model_and_not_for_what_comes_before_it():
    encoder = ColumnTransformer([("scale", StandardScaler(), [0])])
    model = with_threads(make_pipeline(encoder, RandomForestClassifier()), 2)
    assert (model[-1].n_jobs, model[0].n_jobs) == (2, None)
    assert with_threads(GaussianNB(), 2).get_params() == GaussianNB().get_params()


def test_of_an_ensemble_the_rows_of_all_members_are_counted():
    n_rare = int(TASK.y.sum())
    bagging = UnderBaggingClassifier(n_estimators=3, random_state=0)
    assert judged(Method("bags", bagging), TASK)[0].n_rows == 3 * 2 * n_rare
    boost = RUSBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=4, random_state=0)
    task = Task(pd.DataFrame(TASK.X), TASK.y, pd.DataFrame(TASK.X_test), TASK.y_test)
    assert judged(Method("boost", boost, read=as_numbers), task)[0].n_rows == 2 * n_rare * len(boost.estimators_)


def test_categories_become_the_numbers_of_the_categories():
    seen, y = [], np.array([0, 1, 0])
    frame = pd.DataFrame({"word": pd.Categorical(["b", "a", None]), "number": [1.0, 2.0, 3.0]})
    model = SimpleNamespace(
        fit=lambda X, y: seen.append(X), predict_proba=lambda X: seen.append(X) or np.full((len(X), 2), 0.5)
    )
    judged(Method("boost", model, read=as_numbers), Task(frame, y == 1, frame, y == 1))
    assert len(seen) == 2
    for one in seen:
        assert one["word"].tolist() == [1.0, 0.0, -1.0]
        assert one["number"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.slow
def test_all_methods_are_compared_best_first_and_told_as_they_come(payments, monkeypatch):
    use_recipes(monkeypatch, FEW_RECIPES)
    told = []
    found = compare(TrainRequest(payments, "label", base="tree", members=2), told.append)
    assert (found.n_train, found.n_test, found.chance) == (800, 200, 0.04)
    assert [one.failure for one in found.methods] == [None] * 15
    areas = [one.aucprc for one in found.methods]
    assert areas == sorted(areas, reverse=True)
    assert sorted(one.method for one in told) == sorted(one.method for one in found.methods)
    assert [one.method for one in told] == [
        *("AutoSelfPaced", "Self-paced Ensemble", "BalanceCascade", "under-bagging", "EasyEnsemble", "RUSBoost"),
        *("tree, all rows", "tree, class weights", "tree, random under-sample"),
        *("LightGBM, 100 rounds", "LightGBM, class weights", "extra trees, 100 trees", "random forest, 100 trees"),
        *("XGBoost, 100 rounds", "CatBoost, 300 rounds"),
    ]


def test_a_time_limit_that_is_no_time_is_refused(payments):
    with pytest.raises(TableError, match="must be a positive number of seconds; got -1"):
        compare(TrainRequest(payments, "label", time_limit=-1))


def test_intervals_are_of_the_area_and_of_the_difference_to_the_chosen_model():
    y = np.arange(400) % 8 == 0
    better, worse = (y + noise * np.random.default_rng(1).normal(size=400) for noise in (0.5, 1.5))
    scores = {CHOSEN: better, "worse": worse}
    methods = [Compared(name, aucprc(y, each), 1.0, 10) for name, each in scores.items()]
    ours, other, failed = with_intervals([*methods, Compared("failed", None, 1.0, 0, "no")], scores, y)
    assert ours.interval[0] < ours.aucprc < ours.interval[1]
    assert (ours.ahead, ours.ahead_interval) == (None, None)
    assert other.ahead == pytest.approx(other.aucprc - ours.aucprc)
    assert other.ahead_interval[0] < other.ahead < other.ahead_interval[1] < 0
    assert (failed.interval, failed.ahead) == (None, None)


def test_without_the_chosen_model_there_are_no_differences():
    y, scores = np.arange(100) % 4 == 0, np.random.default_rng(0).random(100)
    methods = [Compared(CHOSEN, None, 1.0, 0, "no"), Compared("other", aucprc(y, scores), 1.0, 10)]
    _, other = with_intervals(methods, {"other": scores}, y)
    assert other.interval is not None
    assert other.ahead is None


def test_a_table_that_is_not_in_memory_is_not_compared_on(payments):
    with pytest.raises(TableError, match="too large for a comparison in memory"):
        compare(TrainRequest(payments, "label", out_of_core=True))


def test_a_bar_is_as_long_as_the_area_and_chance_is_marked():
    sure = Compared("one", 0.8, 1.0, 10, interval=(0.7, 0.85))
    methods = [sure, Compared("two", 0.4, 2.0, 10), Compared("failed", None, 0.1, 0, "no")]
    svg = ElementTree.fromstring(drawn(Comparison(methods, 100, 50, 0.1)))
    space = "{http://www.w3.org/2000/svg}"
    bars = list(svg.iter(f"{space}rect"))
    lengths = [float(bar.get("width")) for bar in bars]
    assert len(bars) == 2
    assert lengths[0] == pytest.approx(2 * lengths[1])
    assert [bar.get("class") for bar in bars] == ["best", "bar"]
    start = float(bars[0].get("x"))
    lines = {line.get("class"): line for line in svg.iter(f"{space}line")}
    low, high = (float(lines["whisker"].get(end)) - start for end in ("x1", "x2"))
    assert (low, high) == pytest.approx((lengths[0] * 7 / 8, lengths[0] * 8.5 / 8), abs=0.02)
    chance = lines["chance"]
    assert float(chance.get("x1")) - start == pytest.approx(lengths[0] / 8)
    tops = [float(bar.get("y")) for bar in bars]
    assert tops[1] - tops[0] > float(bars[0].get("height"))
    texts = [text.text for text in svg.iter(f"{space}text")]
    assert {"one", "0.800", "1.0 s", "two", "0.400", "2.0 s", "chance 0.1000"} <= set(texts)
    _, _, width, height = map(float, svg.get("viewBox").split())
    for shape in [*svg.iter(f"{space}text"), *bars]:
        assert 0 <= float(shape.get("x")) <= width
        assert 0 <= float(shape.get("y")) <= height


def test_rows_of_a_report_are_the_suspects_and_20000_at_random():
    is_rare = np.arange(50_000) % 100 == 0
    scores = np.random.default_rng(0).random(50_000)
    rows = report_job._rows_worth_having(is_rare, scores)
    assert 20_000 <= rows.size <= 20_040
    assert (np.diff(rows) > 0).all()
    lowest = np.flatnonzero(is_rare)[np.argsort(scores[is_rare])[:20]]
    highest = np.flatnonzero(~is_rare)[np.argsort(-scores[~is_rare])[:20]]
    assert set(lowest) | set(highest) <= set(rows.tolist())
