"""The rows by which recipes are compared."""

import numpy as np
import pytest
from scipy.sparse import random as random_sparse
from sklearn.linear_model import LogisticRegression

from selfpaced.ensembles.auto.judging import needs_scout, values_in_a_row, working_sample
from selfpaced.ensembles.auto.recipes import BlendLimits
from selfpaced.tables import InMemoryTable, read_labels, split_classes

N_RARE, N_COMMON = 40, 1000


@pytest.fixture
def table():
    """Rows with one feature, their number among the rows of all classes; the rare ones are the last."""
    y = np.repeat([0, 1], [N_COMMON, N_RARE])
    return np.arange(y.size, dtype=float)[:, None], y


def split_of(X, y, **metadata):
    return split_classes(InMemoryTable(X, metadata), read_labels(y, X), seed=0, n_threads=1)


def hard_above(X, limit):
    """A model that doubts the common rows above a limit."""
    return LogisticRegression(C=1e6).fit(X, X[:, 0] > limit)


@pytest.mark.parametrize(("n_rare", "most"), [(10, 20_000), (1000, 30_000), (5000, 45_000)])
def test_the_most_common_rows_follow_the_rare_rows_between_two_limits(n_rare, most):
    assert BlendLimits().common_rows_judged(n_rare, n_columns=30) == most


@pytest.mark.parametrize(("n_columns", "most"), [(1, 1500), (45, 1500), (100, 676), (10_000, 300)])
def test_wide_tables_have_fewer_rare_rows_in_the_sample(n_columns, most):
    """At most 2^21 numbers, with 30 common rows for each rare one, but not fewer than 300 rare rows."""
    assert BlendLimits().rare_rows_judged(n_columns) == most
    assert BlendLimits().common_rows_judged(5000, n_columns) == max(20_000, 30 * most)


@pytest.mark.parametrize(("most", "needed"), [(N_COMMON, False), (N_COMMON - 1, True)])
def test_hard_rows_are_looked_for_only_if_a_class_is_too_large(table, most, needed):
    assert needs_scout(split_of(*table), BlendLimits(fewest_common_rows=most, common_per_rare_row=1)) is needed


def test_a_wide_sparse_table_is_as_large_as_the_values_that_it_has():
    """A table of words has thousands of columns, and a row of it a few words."""
    X = random_sparse(100, 5000, density=0.002, format="csr", random_state=0)
    assert values_in_a_row(X) == 10
    assert values_in_a_row(X.toarray()) == 5000


class TestWithoutScout:
    def test_all_rows_take_part_with_their_classes(self, table):
        X, y = table
        sample = working_sample(split_of(X, y), None, 0, BlendLimits())
        assert sorted(sample.ids) == list(range(y.size))
        np.testing.assert_array_equal(sample.classes, y[sample.ids])

    def test_each_row_has_its_own_features(self, table):
        X, y = table
        sample = working_sample(split_of(X, y), None, 0, BlendLimits())
        np.testing.assert_array_equal(sample.rows.span(0, y.size), X[sample.ids])

    def test_each_row_stands_for_itself(self, table):
        assert set(working_sample(split_of(*table), None, 0, BlendLimits()).weights) == {1.0}

    def test_a_sample_weight_is_the_weight(self, table):
        X, y = table
        given = np.linspace(0.5, 2, y.size)
        sample = working_sample(split_of(X, y, sample_weight=given), None, 0, BlendLimits())
        np.testing.assert_allclose(sample.weights, given[sample.ids])


class TestManyRareRows:
    @pytest.fixture
    def sample(self, table):
        return lambda seed: working_sample(split_of(*table), None, seed, BlendLimits(most_rare_rows=16))

    def test_only_as_many_as_the_limit_take_part(self, sample):
        rare = sample(0).ids[sample(0).classes == 1]
        assert len(set(rare)) == 16
        assert set(rare) <= set(range(N_COMMON, N_COMMON + N_RARE))

    def test_they_stand_for_all_rare_rows(self, sample):
        assert set(sample(0).weights[sample(0).classes == 1]) == {N_RARE / 16}

    def test_they_keep_their_features(self, table, sample):
        found = sample(0)
        np.testing.assert_array_equal(found.rows.span(0, found.ids.size), table[0][found.ids])

    def test_another_seed_takes_others(self, sample):
        assert set(sample(0).ids) != set(sample(1).ids)

    def test_as_many_as_the_limit_are_all_taken(self, table):
        sample = working_sample(split_of(*table), None, 0, BlendLimits(most_rare_rows=N_RARE))
        assert np.sum(sample.classes == 1) == N_RARE


class TestWithScout:
    @pytest.fixture
    def common(self, table):
        """Of 1,000 common rows, 200 are drawn, and the last 50 are hard."""
        X, y = table
        sample = working_sample(
            split_of(X, y), hard_above(X, 949.5), 0, BlendLimits(fewest_common_rows=200, common_per_rare_row=2)
        )
        is_common = sample.classes == 0
        return sample.ids[is_common], sample.weights[is_common]

    def test_as_many_common_rows_as_may_be_are_drawn(self, common):
        assert len(set(common[0])) == len(common[0]) == 200

    def test_hard_rows_are_nearly_all_drawn(self, common):
        assert np.sum(common[0] >= 950) > 45

    def test_half_of_the_rows_are_drawn_whether_hard_or_not(self, common):
        assert np.sum(common[0] < 900) > 80

    def test_the_rows_stand_for_the_whole_class(self, common):
        assert common[1].sum() == pytest.approx(N_COMMON, rel=0.02)  # a bin of a few rows may give none

    def test_hard_rows_stand_for_fewer_rows_than_easy_ones(self, common):
        ids, weights = common
        assert weights[ids >= 950].mean() < 1.5 < weights[ids < 900].mean()
