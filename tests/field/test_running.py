"""Tables, splits, and fits that are saved one by one."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from contest import answers as answers_module
from contest.encoding import as_named_categories, as_numbers, as_text, text_columns
from contest.keel import binary, chosen, read_keel
from contest.networks import Imputed
from contest.ordered import campaigns, drift, entities, payments
from contest.results import GIVEN_UP, Results
from contest.runner import Field, by_score, redrawn_aucprcs
from contest.splits import held_out_rows, n_splits
from contest.table import Data, Table, labelled
from selfpaced.datasets import make_checkerboard

KEEL_FILE = """@relation tiny
@attribute Age real [1.0, 9.0]
@attribute Kind {a, b}
@attribute Size integer[1,4]
@attribute Class {positive, negative}
@inputs Age, Kind, Size
@outputs Class
@data
1.5, a, 2, negative
<null>, b, 3, positive
"""


def test_the_rare_class_of_a_keel_table_is_called_positive(tmp_path):
    rows = "\n".join(f"{value}, {'positive' if value == 3 else 'negative'}" for value in range(8))
    head = "@attribute A real\n@attribute Class {positive, negative}\n@data\n"
    (tmp_path / "tiny.dat").write_text(head + rows)
    data = binary(tmp_path / "tiny.dat")
    assert (data.n_rare, data.imbalance) == (1, 7)


def test_a_keel_file_has_numbers_texts_and_missing_values(tmp_path):
    (tmp_path / "tiny.dat").write_text(KEEL_FILE)
    frame = read_keel(tmp_path / "tiny.dat")
    assert frame["Age"].isna().tolist() == [False, True]
    assert frame["Size"].tolist() == [2.0, 3.0]
    assert frame["Kind"].tolist() == ["a", "b"]


def test_two_tables_are_taken_from_a_source_those_with_the_most_rare_rows():
    found = {"yeast4": (51, 1484), "yeast5": (44, 1484), "yeast6": (60, 900), "flare-F": (43, 1066)}
    assert chosen(found) == ["flare-F", "yeast4", "yeast6"]


def test_text_becomes_categories_and_the_rest_numbers():
    frame = pd.DataFrame({"a": ["x", None], "b": [1, 2], "c": [True, False]})
    data = labelled(frame, pd.Series([True, False]))
    assert data.categories == ["a", "c"]
    assert data.X["b"].dtype == "float64"
    assert data.y.tolist() == [1, 0]


def test_forests_get_categories_as_numbers_and_missing_ones_as_nan():
    X = pd.DataFrame({"a": pd.Categorical(["y", None, "x"]), "b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(as_numbers(X), np.array([[1, 1], [np.nan, 2], [0, 3]], np.float32))


def test_catboost_gets_a_missing_category_as_text():
    X = pd.DataFrame({"a": pd.Categorical(["y", None])})
    assert as_text(X)["a"].tolist() == ["y", "missing"]


def test_a_missing_category_can_be_a_category_with_a_name():
    X = as_named_categories(pd.DataFrame({"a": pd.Categorical(["y", None]), "b": [1.0, np.nan]}))
    assert X["a"].dtype == "category"
    assert X["a"].tolist() == ["y", "missing"]
    assert text_columns(X) == ["a"]


class Recorder:
    """Keeps the rows that it gets."""

    def fit(self, X, y):
        self.learned = X

    def predict_proba(self, X):
        return X


def test_networks_get_the_training_rows_median_for_a_missing_number_and_where_it_was():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 8.0], "b": [1.0, 1.0, 2.0, 2.0], "c": pd.Categorical(list("xyxy"))})
    model = Imputed(Recorder()).fit(X, [0, 1, 0, 1])
    assert model.model.learned["a"].tolist() == [1, 3, 3, 8]
    assert model.model.learned["a is missing"].tolist() == [0, 1, 0, 0]
    later = model.predict_proba(X.assign(a=np.nan))
    assert later["a"].tolist() == [3, 3, 3, 3]
    assert list(later) == list(model.model.learned) == ["a", "b", "c", "a is missing"]


def rows_of(y, groups=None):
    return Data(pd.DataFrame({"a": np.zeros(y.size)}), y, groups)


def test_a_random_split_tests_30_percent_of_each_class():
    y = np.repeat([0, 1], [900, 100]).astype(np.int8)
    is_test = held_out_rows(rows_of(y), 0, "random")
    assert (is_test.sum(), y[is_test].sum()) == (300, 30)


def test_splits_differ_at_random_but_not_in_the_order_of_time():
    y = np.tile([0, 0, 0, 1], 250).astype(np.int8)
    data = rows_of(y)
    assert (held_out_rows(data, 0, "random") != held_out_rows(data, 1, "random")).any()
    last = held_out_rows(data, 1, "time")
    assert not last[:700].any()
    assert last[700:].all()


@pytest.fixture
def grouped():
    """400 groups of 1 to 5 rows, of which 40 have rare rows, and one group with half of all rare rows."""
    groups = np.repeat(np.arange(401), [*(1 + np.arange(400) % 5), 40])
    y = (groups % 10 == 0) | (groups == 400)
    return rows_of(y.astype(np.int8), groups)


@pytest.mark.parametrize("split", [0, 1, 2])
def test_no_group_is_trained_and_tested_on(grouped, split):
    is_test = held_out_rows(grouped, split, "groups")
    assert not set(grouped.groups[is_test]) & set(grouped.groups[~is_test])


def test_about_30_percent_of_the_rare_rows_are_of_test_groups_but_no_giant_group(grouped):
    is_test = held_out_rows(grouped, 0, "groups")
    assert grouped.y[is_test].mean() == pytest.approx(grouped.y.mean(), rel=0.2)
    assert not is_test[grouped.groups == 400].any()
    assert is_test.mean() == pytest.approx(0.3, abs=0.03)


def test_expected_and_found_rare_rows_are_counted_by_ranges_of_scores():
    found = by_score(np.array([0.005, 0.2, 0.2, 0.9]), np.array([0, 0, 1, 1]))
    assert found == [[0.005, 0], [0.0, 0], [0.0, 0], [0.4, 1], [0.0, 0], [0.9, 1]]


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    labels = (rng.uniform(size=500) < 0.2).astype(np.int8)
    return np.round(rng.uniform(size=500) + 0.3 * labels, 2), labels


def test_redrawn_aucprcs_are_average_precisions_with_weights(scored):
    scores, labels = scored
    rng = np.random.default_rng(0)
    weights = [rng.poisson(1.0, labels.size) for _ in range(100)]
    expected = [average_precision_score(labels, scores, sample_weight=weight) for weight in weights]
    np.testing.assert_allclose(redrawn_aucprcs(scores, labels, None), expected)


def test_groups_are_redrawn_as_a_whole(scored):
    # Every row twice, in a group with its copy: as noisy as the rows alone, not as twice as many rows.
    scores, labels = scored
    groups = np.tile(np.arange(labels.size), 2)
    alone = redrawn_aucprcs(scores, labels, None)
    np.testing.assert_allclose(redrawn_aucprcs(np.tile(scores, 2), np.tile(labels, 2), groups), alone)


def test_a_redraw_without_a_rare_row_is_left_out():
    labels = np.array([1] + 50 * [0], dtype=np.int8)
    found = redrawn_aucprcs(np.linspace(1, 0, 51), labels, None)
    assert found == len(found) * [1.0]
    assert 40 < len(found) < 90


@pytest.mark.parametrize("make", [drift, campaigns, entities])
def test_generated_tables_have_a_few_hundred_rare_rows(make):
    data = make()
    assert 200 < data.n_rare < 500
    assert data.imbalance > 100
    assert not data.X.isna().to_numpy().any()


def test_generated_payments_have_categories_missing_values_and_frauds_to_the_end():
    data = payments(4_000)
    assert (data.X.shape, len(data.categories)) == ((4_000, 118), 20)
    assert data.X.isna().to_numpy().any()
    assert data.y.mean() == pytest.approx(0.035, abs=0.002)
    assert data.y[2_800:].sum() > 20


def test_a_small_table_has_five_splits_and_a_large_one_three():
    assert (n_splits(19_999), n_splits(20_000)) == (5, 3)


def added(path, *rows):
    results = Results(path)
    for row in rows:
        results.add(row, {"rows": 10}, {"selfpaced": "1"})
    return results


def test_a_fit_that_failed_is_not_finished(tmp_path):
    results = added(tmp_path / "field.json", {"table": "a", "method": "m", "split": 0, "error": "no"})
    assert results.finished("a", "m") == {}


def test_a_fit_replaces_the_one_that_failed(tmp_path):
    key = {"table": "a", "method": "m", "split": 0}
    results = added(tmp_path / "field.json", key | {"error": "no"}, key | {"aucprc": 0.5})
    assert results.rows() == [key | {"aucprc": 0.5}]


def test_a_fit_that_was_given_up_is_tried_again_with_more_time_only(tmp_path):
    row = {"table": "a", "method": "m", "split": 0, "error": "given up", GIVEN_UP: 300}
    results = added(tmp_path / "field.json", row)
    assert results.given_up("a", "m", 300) == {0}
    assert results.given_up("a", "m", 600) == results.given_up("a", "m", 0) == set()


def test_rows_are_in_one_order_whenever_they_were_added(tmp_path):
    rows = [{"table": table, "method": "m", "split": split} for table in "ab" for split in (0, 1)]
    one, other = added(tmp_path / "one.json", *rows), added(tmp_path / "other.json", *reversed(rows))
    assert one.rows() == other.rows() == rows


def test_every_row_is_on_a_line_of_its_own(tmp_path):
    row = {"table": "a", "method": "m", "split": 0}
    lines = added(tmp_path / "field.json", row).path.read_text().splitlines()
    assert json.dumps(row) in [line.strip() for line in lines]


def board():
    X, y = make_checkerboard(40, 800, random_state=0)
    return labelled(pd.DataFrame(X).add_prefix("x"), pd.Series(y == 1))


FINISHED = {"table": "board", "method": "under-bagging", "split": 1, "aucprc": 0.5, "fit_seconds": 7.0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The rows after a run of two splits, the second of which was finished before, and after another run."""
    results = added(tmp_path_factory.mktemp("field") / "field.json", FINISHED)
    table = Table("board", "generated", board)
    rows = []
    for _ in range(2):
        Field([table], ["under-bagging"], results, most_splits=2, n_threads=1).run()
        rows.append(results.rows())
    return rows


@pytest.mark.slow
def test_a_run_goes_on_with_the_splits_that_are_not_finished(runs):
    first, second = runs
    assert [row["split"] for row in first] == [0, 1]
    # Had a split been fitted again, its seconds would be others.
    assert first[1] == FINISHED
    assert second == first


@pytest.mark.slow
def test_a_fit_is_saved_with_its_figure_its_seconds_and_its_threads(runs):
    row = runs[0][0]
    assert 0.1 < row["aucprc"] <= 1
    assert row["fit_seconds"] > 0
    assert (row["threads"], row["split"]) == (1, 0)
    assert row["rare_share"] == pytest.approx(12 / 252, abs=1e-4)


BUSY_FOR_EVER = """
import json, sys
from contest.worker import limit_processor_time
print(json.dumps({"split": 0}), flush=True)
limit_processor_time(float(sys.argv[3]))
while True:
    pass
"""


def test_a_fit_is_given_up_when_its_processor_time_is_over(tmp_path, monkeypatch):
    monkeypatch.setattr(answers_module, "WORKER", ["-c", BUSY_FOR_EVER])
    found = list(answers_module.answers("under-bagging", tmp_path, {0: None, 1: None}, 1, most_seconds=1))
    assert found == [
        {"split": 0},
        {"split": 1, "error": "given up after 1 s of processor time", GIVEN_UP: 1},
    ]
