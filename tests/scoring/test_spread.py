import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from selfpaced.scoring import probability_spread, scorer_of
from selfpaced.scoring.averaging import quantiles
from selfpaced.tables import InMemoryTable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
Y = (X[:, 0] + RNG.normal(size=1000) > 0).astype(int)
MODELS = [
    *(DecisionTreeClassifier(max_depth=3, random_state=i).fit(X[i::4], Y[i::4]) for i in range(4)),
    LogisticRegression().fit(X, Y),
]
SCORERS = [scorer_of(model) for model in MODELS]
LEVELS = np.array([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_bounds_are_quantiles_of_the_models_own_probabilities(n_threads):
    low, high = probability_spread(SCORERS, InMemoryTable(X), 2, n_threads, share=0.6)
    own = [model.predict_proba(X) for model in MODELS]
    np.testing.assert_allclose(low, np.quantile(own, 0.2, axis=0))
    np.testing.assert_allclose(high, np.quantile(own, 0.8, axis=0))


class Spans(InMemoryTable):
    """A table that notes how many rows are asked for at once."""

    def span(self, start, stop):
        self.sizes = [*getattr(self, "sizes", []), stop - start]
        return super().span(start, stop)


@pytest.mark.parametrize(("most", "n_rows"), [(700, 70), (1, 1)], ids=["70 rows", "less than one row"])
def test_no_more_probabilities_are_held_at_once_than_allowed_but_those_of_one_row(most, n_rows):
    """A row has ten: those of five models and two classes."""
    whole = probability_spread(SCORERS, InMemoryTable(X[:200]), 2, 1, share=0.6)
    table = Spans(X[:200])
    in_parts = probability_spread(SCORERS, table, 2, 1, share=0.6, most_at_once=most)
    assert max(table.sizes) == n_rows
    assert sum(table.sizes) == 200
    np.testing.assert_allclose(in_parts, whole, rtol=1e-12)  # BLAS adds up a single row in another order


class TestWeightedQuantiles:
    values = RNG.uniform(size=(7, 5, 2))

    @pytest.mark.parametrize("weight", [1.0, 0.01, 30.0])
    def test_equal_weights_are_as_none(self, weight):
        expected = np.quantile(self.values, LEVELS, axis=0)
        np.testing.assert_allclose(quantiles(self.values, LEVELS, np.full(7, weight)), expected)

    def test_they_go_from_the_lowest_to_the_highest_whatever_the_weights(self):
        found = quantiles(self.values, LEVELS, RNG.uniform(0.1, 5, size=7))
        np.testing.assert_allclose(found[0], self.values.min(axis=0))
        np.testing.assert_allclose(found[-1], self.values.max(axis=0))
        assert (np.diff(found, axis=0) >= 0).all()

    def test_a_heavy_value_draws_the_median_to_itself(self):
        weights = np.array([1.0, 1, 1, 1, 1, 1, 1000])
        median = quantiles(self.values, np.array([0.5]), weights)[0]
        heaviest = self.values[-1]
        is_inside = (self.values.min(axis=0) < heaviest) & (heaviest < self.values.max(axis=0))
        np.testing.assert_allclose(median[is_inside], heaviest[is_inside], atol=0.01)

    def test_the_order_of_the_values_does_not_matter(self):
        weights, order = RNG.uniform(0.1, 5, size=7), RNG.permutation(7)
        one, other = quantiles(self.values, LEVELS, weights), quantiles(self.values[order], LEVELS, weights[order])
        np.testing.assert_allclose(one, other)

    def test_one_value_is_every_quantile(self):
        found = quantiles(self.values[:1], LEVELS, np.array([2.0]))
        np.testing.assert_array_equal(found, np.repeat(self.values[:1], 6, axis=0))
