import numpy as np
import pytest

from selfpaced.baselines.boosting import boost, member_weight, reweigh


def run(doubts_by_round, weights=None, n_models=None, n_classes=2, learning_rate=1.0):
    """Boost models that are numbers: model i leaves the doubts of round i. Gives the members and the weights seen."""
    doubts_by_round = np.array(doubts_by_round)
    seen = []

    def fit(number, weights):
        seen.append(weights.copy())
        return number

    weights = np.ones(doubts_by_round.shape[1]) if weights is None else np.array(weights)
    n_models = len(doubts_by_round) if n_models is None else n_models
    members = boost(fit, lambda number: doubts_by_round[number], weights, n_models, n_classes, learning_rate)
    return list(members), seen


def test_weights_follow_the_hand_worked_example():
    """One of four rows is wrong: eps = 1/4, alpha = log 3, and the row weighs as much as the others together."""
    members, seen = run([[1, 0, 0, 0], [0, 1, 0, 0]])
    assert members[0].weight == pytest.approx(np.log(3))
    np.testing.assert_allclose(seen[1], [2, 2 / 3, 2 / 3, 2 / 3])
    # Now eps = (2/3) / 4 = 1/6, so alpha = log 5.
    assert members[1].weight == pytest.approx(np.log(5))


def test_for_two_classes_it_is_ada_boost_m2():
    """The algorithm as published, with its pseudo-loss and beta, on the same doubts."""
    doubts = np.random.default_rng(0).uniform(0, 0.6, size=(5, 20))
    members, seen = run(doubts)
    distribution = np.full(20, 1 / 20)
    for member, weights, other in zip(members, seen, doubts, strict=True):
        np.testing.assert_allclose(weights / 20, distribution)
        own = 1 - other
        loss = 0.5 * np.sum(distribution * (1 - own + other))
        beta = loss / (1 - loss)
        assert member.weight == pytest.approx(np.log(1 / beta))
        distribution = distribution * beta ** (0.5 * (1 + own - other))
        distribution /= distribution.sum()


def test_a_member_without_loss_counts_finitely_and_leaves_the_weights_alone():
    members, seen = run([[0, 0, 0], [0, 0, 0]], weights=[1, 2, 3])
    assert [member.weight for member in members] == pytest.approx([np.log(1e10)] * 2)
    np.testing.assert_allclose(seen[1], seen[0])


def test_a_model_at_chance_is_no_member_and_boosting_starts_over():
    members, seen = run([[0.4, 0.1], [0.5, 0.5], [0.1, 0.1], [0.1, 0.1]], weights=[1.5, 0.5], n_models=3)
    assert [member.number for member in members] == [0, 2, 3]
    assert seen[1].tolist() != [1.5, 0.5]
    assert seen[2].tolist() == [1.5, 0.5]


def test_two_models_at_chance_in_a_row_end_it():
    members, seen = run([[0.4, 0.1], [0.5, 0.5], [0.5, 0.5], [0.1, 0.1]])
    assert [member.number for member in members] == [0]
    assert len(seen) == 3


def test_the_first_member_is_kept_even_if_it_is_no_better_than_chance():
    members, _ = run([[0.9, 0.9], [0.1, 0.1]])
    assert [(member.model, member.weight) for member in members] == [(0, 1.0)]


def test_with_more_classes_chance_is_further_away():
    members, _ = run([[0.6, 0.6], [0.7, 0.7], [0.7, 0.7]], n_classes=3)
    assert [member.weight for member in members] == pytest.approx([np.log(0.4 / 0.6) + np.log(2)])


def test_given_weights_are_where_it_begins_on_a_scale_of_one():
    _, seen = run([[0.1, 0.1]], weights=[30, 10])
    assert seen[0].tolist() == [1.5, 0.5]


def test_given_weights_are_not_changed():
    weights = np.array([3.0, 1.0])
    list(boost(lambda number, weights: number, lambda model: np.array([0.1, 0.2]), weights, 3, 2, 1.0))
    assert weights.tolist() == [3.0, 1.0]


def test_the_learning_rate_scales_what_members_count_and_how_weights_move():
    members, seen = run([[1, 0, 0, 0], [0, 0, 0, 0]], learning_rate=0.5)
    assert members[0].weight == pytest.approx(np.log(3) / 2)
    assert seen[1][0] / seen[1][1] == pytest.approx(np.sqrt(3))


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_member_at_chance_would_count_nothing(n_classes):
    assert member_weight(1 - 1 / n_classes, n_classes, 1.0) == pytest.approx(0)


def test_a_huge_learning_rate_does_not_overflow():
    weights = reweigh(np.ones(3), np.array([0.0, 0.5, 1.0]), alpha=1e5)
    np.testing.assert_allclose(weights, [0, 0, 3])
