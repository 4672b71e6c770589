import math

import pytest

from selfpaced.algorithms import pacing_named
from selfpaced.algorithms.pacing import tangent


def test_the_tangent_passes_one_in_the_middle():
    assert tangent(5, 10) == pytest.approx(1)


def test_the_tangent_has_no_limit_in_the_last_round():
    assert tangent(10, 10) > 1e15


def test_the_tangent_grows():
    alphas = [tangent(i, 10) for i in range(1, 11)]
    assert alphas == sorted(alphas)


def test_the_first_round_already_has_a_pace():
    assert tangent(1, 10) == pytest.approx(math.tan(math.pi / 20))


def test_a_schedule_of_ones_own_is_asked_for_round_and_number_of_rounds():
    assert pacing_named(lambda i, n: 10 * i + n)(3, 7) == 37


def test_infinity_is_a_pace():
    assert pacing_named(lambda i, n: math.inf)(1, 2) == math.inf


@pytest.mark.parametrize("alpha", [-0.1, math.nan, None, "fast", 1j])
def test_a_schedule_with_impossible_answers_is_refused_with_the_round(alpha):
    with pytest.raises(ValueError, match=r"number >= 0, but returned .* for round 2 of 5"):
        pacing_named(lambda i, n: alpha)(2, 5)


@pytest.mark.parametrize("unknown", ["linear", None, 1])
def test_an_unknown_pacing_is_refused(unknown):
    with pytest.raises(ValueError, match=r"pacing must be one of \['tan'\]"):
        pacing_named(unknown)
