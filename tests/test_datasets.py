import numpy as np
import pytest

from selfpaced.datasets import make_checkerboard, make_fraud


@pytest.mark.parametrize("make", [make_checkerboard, make_fraud])
def test_the_same_seed_makes_the_same_data(make):
    for one, other in zip(make(random_state=3), make(random_state=3), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_checkerboard_has_the_papers_size_by_default():
    X, y = make_checkerboard(random_state=0)
    assert X.shape == (11_000, 2)
    assert np.bincount(y).tolist() == [10_000, 1000]


def test_neighbouring_fields_have_different_colours():
    X, y = make_checkerboard(covariance=1e-6, random_state=0)
    fields = np.rint(X).astype(int)
    assert fields.min() == 0
    assert fields.max() == 3
    assert np.array_equal(fields.sum(axis=1) % 2, y)


def test_the_fields_have_the_covariance_that_was_asked_for():
    X, _ = make_checkerboard(covariance=0.0025, random_state=0)
    np.testing.assert_allclose(np.cov((X - np.rint(X)).T), 0.0025 * np.eye(2), atol=0.0001)


@pytest.mark.parametrize(("n_rows", "frauds"), [(100_000, 200), (5000, 10), (100, 2)])
def test_one_row_in_five_hundred_is_a_fraud(n_rows, frauds):
    _, y = make_fraud(n_rows=n_rows, random_state=0)
    assert y.sum() == frauds


def test_fraud_needs_as_many_features_as_a_scheme_shifts():
    assert make_fraud(n_rows=100, n_features=4, random_state=0)[0].shape == (100, 4)
    with pytest.raises(ValueError, match=r"n_features must be at least 4.*got 3"):
        make_fraud(n_rows=100, n_features=3)


def test_frauds_without_noise_are_shifted_and_with_full_noise_are_not():
    far = {}
    for noise in (0.0, 1.0):
        X, y = make_fraud(n_rows=20_000, n_frauds=2000, noise=noise, random_state=0)
        far[noise] = np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)).max()
    assert far[0.0] > 0.3 > far[1.0]
