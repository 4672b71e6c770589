"""Maps from scores to probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.calibration import (
    FITTED_MAPS,
    METHODS,
    BetaMap,
    ClassMaps,
    PriorCorrection,
    check_method,
    expected_calibration_error,
    expects_the_rare_rows,
    fit_calibrator,
)

FITS = pytest.mark.parametrize("fit", FITTED_MAPS.values(), ids=FITTED_MAPS.keys())


def scored(n_rows=4000, share=0.05, random_state=0):
    """Scores of cases and other rows that overlap; the true probability is known to no map."""
    rng = np.random.default_rng(random_state)
    is_case = rng.random(n_rows) < share
    return np.where(is_case, rng.beta(5, 2, n_rows), rng.beta(2, 5, n_rows)), is_case


@FITS
def test_the_mean_probability_is_the_share_of_cases(fit):
    scores, is_case = scored()
    fitted = fit(scores, is_case, np.ones(scores.size))
    assert fitted(scores).mean() == pytest.approx(is_case.mean(), rel=0.02)


@FITS
def test_a_row_with_weight_three_is_as_three_rows(fit):
    scores, is_case = scored(600, 0.2)
    repeated = np.repeat(np.arange(600), np.where(is_case, 1, 3))
    weighted = fit(scores, is_case, np.where(is_case, 1.0, 3.0))
    expected = fit(scores[repeated], is_case[repeated], np.ones(repeated.size))
    grid = np.linspace(0, 1, 50)
    np.testing.assert_allclose(weighted(grid), expected(grid), atol=1e-5)


@FITS
@given(seed=st.integers(0, 10_000), n_rows=st.integers(10, 300), share=st.floats(0.02, 0.6), informative=st.booleans())
@settings(max_examples=30, deadline=None)
def test_no_two_rows_change_places(fit, seed, n_rows, share, informative):
    """Also where scores mean nothing, or the opposite, or the classes are apart."""
    rng = np.random.default_rng(seed)
    scores = rng.random(n_rows).round(3)
    is_case = scores > 1 - share if informative else rng.random(n_rows) < share
    is_case[:2] = [True, False]
    fitted = fit(scores, is_case, np.ones(n_rows))
    levels = np.unique(scores)
    mapped = fitted(levels)
    assert (np.diff(mapped) > 0).all()
    assert ((mapped > 0) & (mapped < 1)).all()


@FITS
def test_scores_that_are_all_the_same_get_the_share_of_cases(fit):
    is_case = np.arange(1000) < 50
    fitted = fit(np.full(1000, 0.3), is_case, np.ones(1000))
    assert fitted(np.array([0.3]))[0] == pytest.approx(0.05, rel=0.02)


@FITS
def test_scores_of_a_half_for_as_many_cases_as_others_stay_a_half(fit):
    """Log odds of 0 are as far from steep as can be."""
    fitted = fit(np.full(40, 0.5), np.arange(40) % 2 == 0, np.ones(40))
    assert fitted(np.array([0.5]))[0] == pytest.approx(0.5)


def test_the_sigmoid_finds_the_log_odds_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    truth = BetaMap(1.5, 1.5, -3.0)
    fitted = FITTED_MAPS["sigmoid"](scores, rng.random(scores.size) < truth(scores), np.ones(scores.size))
    assert fitted.from_0 == pytest.approx(1.5, rel=0.03)
    assert fitted.constant == pytest.approx(-3.0, rel=0.03)


def test_the_beta_map_finds_two_slopes():
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    truth = BetaMap(0.5, 2.0, -2.0)
    fitted = FITTED_MAPS["beta"](scores, rng.random(scores.size) < truth(scores), np.ones(scores.size))
    assert (fitted.from_0, fitted.from_1) == pytest.approx((0.5, 2.0), rel=0.1)


def test_a_thinned_out_class_gets_its_odds_back():
    """Of 900 common rows 100 were kept, beside 100 rare ones: odds of 1 there are odds of 1:9 outside."""
    corrected = PriorCorrection(np.array([9.0, 1.0]))(np.array([[0.5, 0.5], [0.2, 0.8]]))
    np.testing.assert_allclose(corrected, [[0.9, 0.1], [1.8 / 2.6, 0.8 / 2.6]])


def test_probabilities_of_three_classes_add_up_to_one_and_come_close():
    rng = np.random.default_rng(0)
    numbers = rng.choice(3, size=5000, p=[0.85, 0.1, 0.05])
    probabilities = rng.dirichlet([1, 1, 1], size=5000)
    probabilities[np.arange(5000), numbers] += 1
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    fitted = fit_calibrator("isotonic", probabilities, numbers, np.ones(5000), rare=2)
    assert isinstance(fitted, ClassMaps)
    calibrated = fitted(probabilities)
    np.testing.assert_allclose(calibrated.sum(axis=1), 1)
    np.testing.assert_allclose(calibrated.mean(axis=0), np.bincount(numbers) / 5000, rtol=0.05)


def test_the_rare_class_may_be_the_first():
    scores, is_case = scored()
    probabilities = np.column_stack([scores, 1 - scores])
    fitted = fit_calibrator("sigmoid", probabilities, (~is_case).astype(int), np.ones(scores.size), rare=0)
    assert fitted(probabilities)[:, 0].mean() == pytest.approx(is_case.mean(), rel=0.02)
    last = fit_calibrator("sigmoid", probabilities[:, ::-1], is_case.astype(int), np.ones(scores.size), rare=1)
    np.testing.assert_array_equal(last(probabilities[:, ::-1]), fitted(probabilities)[:, ::-1])
    np.testing.assert_allclose(fitted(probabilities).sum(axis=1), 1)


def test_the_calibration_error_is_the_mean_gap_of_equally_full_bins():
    y = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    probabilities = np.array([0.1, 0.1, 0.1, 0.1, 0.6, 0.6, 0.6, 0.6])
    assert expected_calibration_error(y, probabilities, n_bins=2) == pytest.approx((0.15 + 0.15) / 2)


def test_the_calibration_error_of_true_probabilities_is_small_and_of_doubled_ones_is_not():
    rng = np.random.default_rng(0)
    probabilities = rng.random(50_000) * 0.4
    y = rng.random(50_000) < probabilities
    assert expected_calibration_error(y, probabilities) < 0.01
    assert expected_calibration_error(y, 2 * probabilities) > 0.1


def log_odds(probabilities):
    return np.log(probabilities) - np.log1p(-probabilities)


@pytest.mark.parametrize("method", ["beta", "sigmoid"])
@pytest.mark.parametrize("border", [0.1, 0.5, 0.9])
def test_of_classes_that_are_apart_a_map_leaves_one_chance_in_fifty_to_a_hundred_million(method, border):
    """A thousand rows do not bear out more. The farther end is the surer one."""
    scores = np.linspace(0, 1, 1001)
    low, high = FITTED_MAPS[method](scores, scores > border, np.ones(1001))(np.array([0.0, 1.0]))
    assert 1 / 100e6 < min(low, 1 - high) < 1 / 50e6


@FITS
def test_of_classes_that_are_apart_no_two_scores_get_the_same_probability(fit):
    scores = np.linspace(0, 1, 1001)
    assert np.unique(fit(scores, scores > 0.5, np.ones(1001))(scores)).size == 1001


def test_a_map_that_is_less_sure_than_that_is_left_as_it_is():
    scores = np.linspace(0, 1, 2001)
    truth = BetaMap(1.5, 1.5, -4.0)  # log odds from -10.9 to 2.9
    doubled, labels = np.tile(scores, 2), np.repeat([True, False], scores.size)
    fitted = FITTED_MAPS["beta"](doubled, labels, 1e4 * np.concatenate([truth(scores), 1 - truth(scores)]))
    assert (fitted.from_0, fitted.from_1, fitted.constant) == pytest.approx((1.5, 1.5, -4.0), rel=0.01)


def test_a_score_of_exactly_1_counts_as_odds_of_a_hundred_to_one():
    assert np.exp(log_odds(BetaMap(1.0, 1.0, 0.0)(np.array([1.0])))) == pytest.approx(100, rel=0.05)
    assert np.exp(-log_odds(BetaMap(1.0, 1.0, 0.0)(np.array([0.0])))) == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("method", ["beta", "sigmoid"])
def test_scores_that_mean_the_opposite_get_nearly_the_same_probability(method):
    """It still rises, by a hundredth of the odds, so that the ranking stays."""
    scores = np.linspace(0, 1, 1000)
    low, high = log_odds(FITTED_MAPS[method](scores, scores < 0.3, np.ones(1000))(np.array([0.0, 1.0])))
    assert high - low == pytest.approx(0.01, abs=0.005)


def test_within_a_step_the_isotonic_map_rises_by_a_tenth_of_the_smooth_one():
    scores, is_case = np.array([0.1, 0.2, 0.6, 0.8]), np.array([False, True, False, True])
    fitted = FITTED_MAPS["isotonic"](scores, is_case, np.ones(4))
    on_a_step = np.array([0.3, 0.5])  # one case and one other row, at 0.2 and 0.6
    smooth = FITTED_MAPS["beta"](scores, is_case, np.ones(4))(on_a_step)
    np.testing.assert_allclose(fitted(on_a_step), 0.9 * 0.5 + 0.1 * smooth)


def test_only_known_methods_and_none_pass_the_check():
    assert [check_method(method) for method in (None, *METHODS)] == [None, *METHODS]
    with pytest.raises(ValueError, match=r"calibration must be None or one of .*; got 'platt'"):
        check_method("platt")


def test_the_calibration_error_has_15_bins_unless_said():
    rng = np.random.default_rng(0)
    probabilities = rng.random(300)
    y = rng.random(300) < probabilities
    by_default = expected_calibration_error(y, probabilities)
    assert by_default == expected_calibration_error(y, probabilities, n_bins=15)
    assert by_default == expected_calibration_error(np.where(y, "case", "other"), probabilities, pos_label="case")


@pytest.mark.parametrize(
    ("mean_score", "n_rows", "n_rare", "expected"),
    [
        (0.011, 10_000, 100, True),
        (0.012, 10_000, 100, True),  # two standard deviations of 100 are 20
        (0.0121, 10_000, 100, False),
        (0.375, 64, 16, True),  # by exactly two deviations
        (0.0079, 10_000, 100, False),
        (0.0801, 100_000, 8000, True),
        (0.0885, 100_000, 8000, False),  # of many rows a tenth is allowed
        (0.087, 100_000, 8000, True),
        (0.0, 1000, 0, True),
        (0.0031, 1000, 0, False),  # up to three, as if one were rare
        (0.0029, 1000, 0, True),
    ],
)
def test_probabilities_expect_the_rare_rows_within_two_deviations_or_a_tenth(mean_score, n_rows, n_rare, expected):
    assert expects_the_rare_rows(mean_score, n_rows, n_rare) is expected
