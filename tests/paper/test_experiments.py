"""The smallest cell of every experiment, on small parts of the real data."""

from functools import cache

import numpy as np
import pytest

from paper.__main__ import experiments_for
from paper.datasets import Split, data_folder, random_split
from paper.experiment import Surroundings
from paper.experiments import EXPERIMENTS
from paper.experiments.missing_values import with_zeros
from paper.methods import METHODS, fit_on, resample
from paper.models import MODELS, MOST_WATCHED, Validation
from paper.working import work
from selfpaced.datasets import make_fraud
from tests.requirements import data_file

QUICK = Surroundings(data_folder(), quick=True)
HERE = experiments_for(data_folder())
CREDIT_FRAUD, KDDCUP = "credit_fraud.parquet", "kddcup99_10_percent.parquet"
PAYSIM, FEBRL = "paysim_simulated.parquet", "febrl_pairs.parquet"
NEEDED_FILES = {
    "self_paced_sampling": [CREDIT_FRAUD],
    "real_world": [CREDIT_FRAUD, KDDCUP, PAYSIM, FEBRL],
    "resampling": [CREDIT_FRAUD],
    "ensembles": [CREDIT_FRAUD, PAYSIM],
    "missing_values": [CREDIT_FRAUD],
    "sensitivity": [CREDIT_FRAUD, PAYSIM],
    "payments_by_time": [PAYSIM],
}


@pytest.fixture
def small_split():
    X, y = make_fraud(n_rows=3000, n_frauds=100, n_features=6, random_state=0)
    return random_split(X.astype(np.float32), y.astype(np.int8), seed=0)


@cache
def smallest_cells(name):
    """One cell for every value of every setting of an experiment."""
    seen, cells = set(), []
    for cell in HERE[name].cells(most_runs=1):
        if not set(cell.setting) <= seen:
            seen |= set(cell.setting)
            cells.append(cell)
    return cells


@cache
def first_run(cell):
    return work(EXPERIMENTS[cell.experiment].work, cell, QUICK)


# Enough training is not the point here, and a handful of rows is hard on every model.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_value_of_every_setting_gives_rows_of_results(name):
    for file in NEEDED_FILES.get(name, []):
        data_file(file)
    for cell in smallest_cells(name):
        rows = first_run(cell)
        assert "error" not in rows[0], f"{cell}: {rows[0]['error']}"
        for row in rows:
            if "aucprc" in row:
                assert 0 <= row["aucprc"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_smallest_cell_is_the_same_in_a_second_run(name):
    for file in NEEDED_FILES.get(name, []):
        data_file(file)
    cell = max(smallest_cells(name), key=lambda cell: "SPE" in str(cell))
    one, other = first_run(cell), work(EXPERIMENTS[name].work, cell, QUICK)
    for first, second in zip(one, other, strict=True):
        timeless = {name for name in first if "seconds" not in name}
        assert {name: first[name] for name in timeless} == {name: second[name] for name in timeless}


def test_resampling_counts_the_rows_it_trains_on(small_split):
    n_positives = int(small_split.y_train.sum())
    under = fit_on(resample("RandUnder", small_split, 0), MODELS["DT"](small_split), 0)
    over = fit_on(resample("RandOver", small_split, 0), MODELS["DT"](small_split), 0)
    assert under.training_rows == [2 * n_positives]
    assert over.training_rows == [2 * (len(small_split.y_train) - n_positives)]


@pytest.mark.parametrize("method", ["Easy", "Cascade", "SPE", "RUSBoost", "SMOTEBoost", "SMOTEBagging"])
def test_the_first_members_of_an_ensemble_are_an_ensemble(small_split, method):
    fitted = METHODS[method](MODELS["DT"](small_split), small_split, 0, n_members=4)
    stages = list(fitted.model.staged_predict_proba(small_split.X_test))
    for n in range(1, len(stages) + 1):
        first = fitted.first(n)
        np.testing.assert_allclose(first.scores(small_split.X_test), stages[n - 1][:, 1])
        assert len(first.training_rows) == n
    assert len(fitted.members) == len(stages)


def test_hard_votes_are_shares_of_members(small_split):
    fitted = METHODS["Easy"](MODELS["DT"](small_split), small_split, 0, n_members=4)
    votes = fitted.votes(small_split.X_test, fitted.scores(small_split.X_test))
    assert set(np.unique(votes)) <= {0, 0.25, 0.5, 0.75, 1}
    single = METHODS["RandUnder"](MODELS["DT"](small_split), small_split, 0, n_members=4)
    assert set(np.unique(single.votes(small_split.X_test, single.scores(small_split.X_test)))) <= {0, 1}


def test_missing_values_are_zeros_in_all_parts(small_split):
    zeroed = with_zeros(small_split, 0.25, seed=0)
    for part in (zeroed.X_train, zeroed.X_valid, zeroed.X_test):
        assert np.mean(part == 0) == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(zeroed.y_test, small_split.y_test)


def test_early_stopping_watches_the_validation_rows(small_split):
    model = MODELS["GBDT10"](small_split).fit(small_split.X_train, small_split.y_train)
    assert model.model_.best_iteration_ >= 1
    assert model.model_.evals_result_["valid_0"]["average_precision"]


def test_early_stopping_watches_all_rare_rows_and_a_weighted_part_of_very_many_common_ones():
    n = 3 * MOST_WATCHED - 1
    y = np.zeros(n, np.int8)
    y[::100] = 1
    X = np.arange(n, dtype=np.float32)[:, None]
    watched = Validation.of(Split(X[:0], y[:0], X, y, X[:0], y[:0]))
    assert watched.y.sum() == y.sum()
    assert (watched.y == 0).sum() <= MOST_WATCHED
    assert watched.weight[watched.y == 0].sum() == pytest.approx((y == 0).sum(), rel=1e-4)
    assert set(watched.weight[watched.y == 1]) == {1}
    np.testing.assert_array_equal(y[watched.X[:, 0].astype(int)], watched.y)


def test_few_validation_rows_are_all_watched_without_weights(small_split):
    watched = Validation.of(small_split)
    assert watched.X is small_split.X_valid
    assert watched.weight is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a column of the small part can be missing as a whole
def test_methods_by_distance_refuse_missing_values_which_is_a_result():
    cells = HERE["real_world"].cells(1, {"dataset": ["febrl-pairs"], "method": ["SMOTE", "Clean"]})
    data_file(FEBRL)
    assert [first_run(cell)[0]["given_up"] for cell in cells] == ["does not accept missing values"] * len(cells)
    assert len(cells) == 2


def test_standardised_columns_have_the_training_rows_scale(small_split):
    scaled = small_split.standardised([1])
    assert scaled.X_train[:, 1].mean() == pytest.approx(0, abs=1e-5)
    assert scaled.X_train[:, 1].std() == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(scaled.X_test[:, 0], small_split.X_test[:, 0])
    assert not np.array_equal(scaled.X_test[:, 1], small_split.X_test[:, 1])
