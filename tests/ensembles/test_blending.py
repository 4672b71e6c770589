"""How much each recipe counts, and how their probabilities become one."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score

from selfpaced.ensembles.auto import judging as blending
from selfpaced.ensembles.auto.judging import Labelled, aucprc_of, blend_weights, standard_error
from selfpaced.model import SUREST, LogOddsPool, equal_pool, log_odds, pool_of


@pytest.fixture
def rng():
    """Numbers that do not depend on the tests that ran before."""
    return np.random.default_rng(0)


def two_columns(scores):
    return np.stack([-scores, scores], axis=1)


def labelled(n_rare, n_common):
    classes = np.repeat([1, 0], [n_rare, n_common])
    return Labelled(classes, np.ones(classes.size), ranked=[1])


def recipe(rows, strength, seed):
    """Log-odds that tell the classes apart as well as the strength says."""
    noise = np.random.default_rng(seed).normal(size=rows.classes.size)
    return two_columns(strength * rows.classes + noise)


@pytest.mark.parametrize("digits", [1, 8], ids=["with ties", "without ties"])
def test_the_aucprc_is_that_of_scikit_learn_with_weights(digits, rng):
    scores = rng.random(500).round(digits)
    classes, weights = (rng.random(500) < 0.2).astype(int), rng.exponential(size=500)
    expected = average_precision_score(classes, scores, sample_weight=weights)
    assert aucprc_of(two_columns(scores), Labelled(classes, weights, [1])) == pytest.approx(expected)


def test_of_several_classes_it_is_the_mean_over_all(rng):
    scores, classes = rng.random((300, 3)), rng.integers(3, size=300)
    expected = np.mean([average_precision_score(classes == k, scores[:, k]) for k in range(3)])
    assert aucprc_of(scores, Labelled(classes, np.ones(300), [0, 1, 2])) == pytest.approx(expected)


def test_rows_that_stand_for_none_are_not_counted():
    scores, classes = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0, 1, 0, 1])
    expected = average_precision_score(classes[1:], scores[1:])
    assert aucprc_of(two_columns(scores), Labelled(classes, np.array([0.0, 1, 1, 1]), [1])) == pytest.approx(expected)


def test_the_standard_error_is_that_of_new_rows():
    """Over many draws of the rows, scores vary as much as one draw says they do."""
    found, said = [], []
    for seed in range(40):
        rows = labelled(60, 600)
        scores = recipe(rows, 2.0, seed)
        found.append(aucprc_of(scores, rows))
        said.append(standard_error(scores, rows, seed))
    assert np.mean(said) == pytest.approx(np.std(found), rel=0.35)


def test_the_weights_add_up_to_one_and_bad_recipes_get_none():
    rows = labelled(300, 6000)
    weights = blend_weights([recipe(rows, 2.5, 0), recipe(rows, 2.5, 1), recipe(rows, 0.2, 2)], rows, seed=0)
    assert weights.sum() == pytest.approx(1)
    assert weights[2] == 0
    assert weights[:2] == pytest.approx([0.5, 0.5], abs=0.25)


def test_recipes_that_err_in_different_places_share_the_weight():
    rows = labelled(300, 6000)
    best, other = recipe(rows, 2.0, 0), recipe(rows, 2.0, 1)
    assert aucprc_of(best, rows) > aucprc_of(other, rows) + 0.05
    with_its_copy = blend_weights([best, best + 0.01 * recipe(rows, 0, 5)], rows, seed=0)
    with_another = blend_weights([best, best + 0.01 * recipe(rows, 0, 5), other], rows, seed=0)
    assert with_its_copy.min() > 0.2
    assert with_another[2] > 0.2  # though it is the worst of the three


@pytest.mark.parametrize(
    ("smallest_weight", "expected"),
    [(0.28, [7 / 24, 5 / 12, 7 / 24]), (0.30, [0, 1, 0])],
    ids=["kept", "dropped"],
)
def test_half_of_a_weight_is_for_the_own_score_and_half_for_the_mixture(monkeypatch, smallest_weight, expected):
    """All recipes are as good by themselves. In the best mixture, the first and its copy share a place."""
    monkeypatch.setattr(blending, "TEMPERATURE", 1e9)  # equal shares for own scores
    monkeypatch.setattr(blending, "SMALLEST_WEIGHT", smallest_weight)
    rows = labelled(4, 8)
    first, second = (two_columns(np.isin(np.arange(12), found).astype(float)) for found in ([0, 1], [2, 3]))
    found = blend_weights([first, second, first], rows, seed=0)
    assert found == pytest.approx(expected, abs=0.01)  # now and then a rounding error prolongs the best mixture


def test_the_only_recipe_has_all_the_weight():
    rows = labelled(10, 100)
    assert blend_weights([recipe(rows, 1.0, 0)], rows, seed=0).tolist() == [1]


def test_with_few_rare_rows_the_weights_are_closer_to_equal_ones():
    """A lead of the same size is believed where rare rows are many, and doubted where they are few."""

    def largest_weight(n_rare):
        rows = labelled(n_rare, 20 * n_rare)
        return np.mean(
            [blend_weights([recipe(rows, 2.3, s), recipe(rows, 2.0, s + 99)], rows, s).max() for s in range(3)]
        )

    few, many = largest_weight(20), largest_weight(600)
    assert few < many


def test_one_seed_gives_the_same_weights():
    rows = labelled(40, 400)
    recipes = [recipe(rows, 2.0, seed) for seed in range(3)]
    np.testing.assert_array_equal(blend_weights(recipes, rows, 7), blend_weights(recipes, rows, 7))


def test_a_mixture_that_is_chosen_again_is_not_sorted_again(monkeypatch):
    rows = labelled(100, 1000)
    honest = [recipe(rows, strength, seed=0) for strength in (3, 0.1)]  # the first one always wins
    sorted_by, rankings = [], blending._Rankings
    monkeypatch.setattr(blending, "_Rankings", lambda *given: sorted_by.append(given) or rankings(*given))
    blend_weights(honest, rows, seed=0)
    assert len(sorted_by) <= len(honest) * (blending.N_CHOSEN + 1) < len(honest) * blending.N_RESAMPLES


def test_the_pool_adds_standardised_log_odds(rng):
    first, second = rng.random(200), expit(2 * rng.normal(size=200) - 4)
    parts = [np.stack([1 - p, p], axis=1) for p in (first, second)]
    pool = pool_of(parts, np.array([3.0, 1.0]), np.ones(200), [1])
    standard = [(logit(p) - logit(p).mean()) / logit(p).std() for p in (first, second)]
    centre = 0.75 * logit(first).mean() + 0.25 * logit(second).mean()
    spread = 0.75 * logit(first).std() + 0.25 * logit(second).std()
    expected = expit(centre + spread * (0.75 * standard[0] + 0.25 * standard[1]))
    np.testing.assert_allclose(pool(parts)[:, 1], expected)
    np.testing.assert_allclose(pool(parts).sum(axis=1), 1)


def test_without_honest_scores_the_pool_is_the_mean_of_the_log_odds(rng):
    first, second = rng.uniform(0.01, 0.99, (2, 50))
    pooled = equal_pool(2, [1])([np.stack([1 - p, p], axis=1) for p in (first, second)])
    np.testing.assert_allclose(pooled[:, 1], expit((logit(first) + logit(second)) / 2))


@pytest.mark.parametrize("scale", [0.1, 3], ids=["narrow", "wide"])
def test_the_spread_of_an_ensemble_is_the_standard_deviation_of_its_log_odds(scale, rng):
    p = expit(scale * rng.uniform(-1, 1, 100))
    pool = pool_of([np.stack([1 - p, p], axis=1)], np.ones(1), np.ones(100), [1])
    assert pool.spreads[0, 0] == pytest.approx(logit(p).std())


def test_the_scale_of_one_ensemble_alone_is_that_of_all(rng):
    p = rng.uniform(0.01, 0.99, 50)
    part = np.stack([1 - p, p], axis=1)
    pool = pool_of([part, part**2], np.ones(2), np.ones(50), [1])
    ends = [pool.alone(number, each) for number, each in enumerate((part, part**2))]
    spreads = [logit(each[:, 1]).std() for each in ends]
    assert spreads[0] == pytest.approx(spreads[1])


def test_rows_count_by_what_they_stand_for():
    p = np.array([0.1, 0.2, 0.9])
    part = np.stack([1 - p, p], axis=1)
    pool = pool_of([part], np.ones(1), np.array([1.0, 1.0, 8.0]), [1])
    assert pool.centres[0, 0] == pytest.approx(np.average(logit(p), weights=[1, 1, 8]))


def test_one_ensemble_alone_keeps_its_probabilities(rng):
    p = rng.uniform(0.01, 0.99, 100)
    part = np.stack([1 - p, p], axis=1)
    np.testing.assert_allclose(pool_of([part], np.ones(1), np.ones(100), [1])([part]), part)


def test_probabilities_of_0_and_1_stay_finite():
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
    assert log_odds(np.array([0.0])) == pytest.approx(logit(SUREST))


def test_an_ensemble_that_says_the_same_of_all_rows_does_no_harm(rng):
    p = rng.uniform(0.01, 0.99, 100)
    parts = [np.stack([1 - p, p], axis=1), np.full((100, 2), 0.5)]
    pooled = pool_of(parts, np.array([0.5, 0.5]), np.ones(100), [1])(parts)
    assert (np.argsort(pooled[:, 1]) == np.argsort(p)).all()


def test_the_rare_class_may_be_the_first_one(rng):
    p = rng.uniform(0.01, 0.99, 50)
    part = np.stack([p, 1 - p], axis=1)
    np.testing.assert_allclose(equal_pool(1, [0])([part]), part)


def test_several_classes_are_pooled_one_by_one_and_add_up_to_one(rng):
    parts = [rng.dirichlet(np.ones(3), 60) for _ in range(2)]
    pooled = pool_of(parts, np.ones(2), np.ones(60), range(3))(parts)
    np.testing.assert_allclose(pooled.sum(axis=1), 1)
    np.testing.assert_allclose(pool_of(parts[:1], np.ones(1), np.ones(60), range(3))(parts[:1]), parts[0])


def test_the_first_ensembles_share_the_weight_of_all():
    pool = LogOddsPool(np.array([0.2, 0.3, 0.5]), np.zeros((3, 1)), np.ones((3, 1)), (1,))
    assert pool.first(2).weights.tolist() == pytest.approx([0.4, 0.6])


def test_recipes_that_are_all_perfect_count_the_same():
    rows = labelled(50, 500)
    recipes = [two_columns(rows.classes + 0.1 * np.random.default_rng(seed).random(550)) for seed in range(4)]
    np.testing.assert_allclose(blend_weights(recipes, rows, seed=0), 0.25)
