import numpy as np
import pytest

from selfpaced.algorithms import HARDNESS, hardness_named

DOUBTS = np.float32([0, 0.25, 0.5, 1])


def test_absolute_error_of_a_majority_row_is_its_doubt():
    assert hardness_named("absolute")(DOUBTS).tolist() == [0, 0.25, 0.5, 1]


def test_squared_error_is_the_doubt_squared():
    assert hardness_named("squared")(DOUBTS).tolist() == [0, 0.0625, 0.25, 1]


def test_cross_entropy_is_the_negative_logarithm_of_the_own_class():
    assert hardness_named("cross_entropy")(DOUBTS)[1:3] == pytest.approx([-np.log(0.75), -np.log(0.5)])


def test_cross_entropy_stays_finite_and_positive_at_the_ends():
    hardness = hardness_named("cross_entropy")(DOUBTS)
    assert np.all(np.isfinite(hardness))
    assert np.all(hardness > 0)


@pytest.mark.parametrize("name", sorted(HARDNESS))
def test_hardness_grows_with_doubt(name):
    assert np.all(np.diff(hardness_named(name)(np.linspace(0, 1, 101, dtype=np.float32))) >= 0)


@pytest.mark.parametrize("name", sorted(HARDNESS))
def test_hardness_leaves_the_doubts_as_they_are(name):
    doubts = DOUBTS.copy()
    hardness_named(name)(doubts)
    assert np.array_equal(doubts, DOUBTS)


@pytest.mark.parametrize(("largest", "top"), [(0.3, 1.0), (1.0, 1.0), (2.5, 2.5)])
def test_a_function_within_one_is_cut_at_one_and_otherwise_at_its_largest_value(largest, top):
    hardness = hardness_named(lambda doubt: doubt)
    assert hardness.top_from_largest(largest) == top


@pytest.mark.parametrize("unknown", ["abs", "", None, 3, ["absolute"]])
def test_an_unknown_hardness_is_refused_with_the_known_ones(unknown):
    with pytest.raises(ValueError, match=r"hardness must be one of \['absolute', 'cross_entropy', 'squared'\]"):
        hardness_named(unknown)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda doubt: doubt[:-1], r"got 4 probabilities and returned an array of shape \(3,\)"),
        (lambda doubt: doubt.reshape(-1, 1), r"returned an array of shape \(4, 1\)"),
        (lambda doubt: 0.5, r"returned an array of shape \(\)"),
        (lambda doubt: np.where(doubt == 1, np.nan, doubt), r"returned nan for the probability 1.0"),
        (lambda doubt: np.where(doubt == 0, np.inf, doubt), r"returned inf for the probability 0.0"),
        (lambda doubt: doubt - 0.3, r"finite numbers >= 0, but returned -0.3"),
    ],
)
def test_a_function_with_impossible_answers_is_refused(function, message):
    with pytest.raises(ValueError, match=message):
        hardness_named(function)(DOUBTS)
