"""Generated data with a rare class, for examples, demonstrations and tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["make_checkerboard", "make_fraud"]

FEATURES_OF_A_SCHEME = 4


def make_checkerboard(
    n_minority: int = 1000, n_majority: int = 10_000, *, covariance: float = 0.1, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The paper's 4 x 4 checkerboard: Gaussians around 16 points, alternately of the majority (0) and minority (1).

    Parameters
    ----------
    n_minority : int, default=1000
        Rows of the minority class.
    n_majority : int, default=10000
        Rows of the majority class.
    covariance : float, default=0.1
        The variance of the Gaussians. The larger, the more the classes overlap.
    random_state : int, RandomState or None, default=None
        Seed of the rows.

    Returns
    -------
    tuple of (ndarray of shape (n_rows, 2), ndarray of shape (n_rows,))
        Features and labels.

    See Also
    --------
    make_fraud : Transactions with more features.

    Examples
    --------
    >>> X, y = make_checkerboard(n_minority=3, n_majority=7, random_state=0)
    >>> X.shape, int(y.sum())
    ((10, 2), 3)
    """
    rng = check_random_state(random_state)
    fields = np.array([(row, column) for row in range(4) for column in range(4)])
    is_minority = fields.sum(axis=1) % 2 == 1
    y = rng.permutation(np.repeat([0, 1], [n_majority, n_minority]))
    centres = np.where(
        y[:, np.newaxis] == 1,
        fields[is_minority][rng.randint(8, size=y.size)],
        fields[~is_minority][rng.randint(8, size=y.size)],
    )
    return centres + rng.normal(scale=np.sqrt(covariance), size=centres.shape), y


def make_fraud(
    n_rows: int = 100_000,
    n_frauds: int | None = None,
    *,
    n_features: int = 20,
    noise: float = 0.1,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Generated transactions with a few frauds (1), by default 1 in 500.

    Honest rows come from a few customer groups with correlated, heavy-tailed features. Each of six fraud schemes
    shifts four features of an honest-looking row, so `n_features` is at least 4. A share `noise` of the frauds is not
    shifted: no model can find them.

    Parameters
    ----------
    n_rows : int, default=100000
        The number of rows, frauds included.
    n_frauds : int or None, default=None
        The number of frauds; None is 1 in 500, and at least 2.
    n_features : int, default=20
        The number of features, at least 4.
    noise : float, default=0.1
        The share of frauds that look honest.
    random_state : int, RandomState or None, default=None
        Seed of the rows.

    Returns
    -------
    tuple of (ndarray of shape (n_rows, n_features), ndarray of shape (n_rows,))
        Features and labels.

    Raises
    ------
    ValueError
        If `n_features` is below 4.

    See Also
    --------
    make_checkerboard : Two features, for pictures.

    Examples
    --------
    >>> X, y = make_fraud(n_rows=1000, random_state=0)
    >>> X.shape, int(y.sum())
    ((1000, 20), 2)
    """
    if n_features < FEATURES_OF_A_SCHEME:
        raise ValueError(
            f"n_features must be at least {FEATURES_OF_A_SCHEME}, for each fraud scheme; got {n_features}."
        )
    rng = check_random_state(random_state)
    n_frauds = max(2, n_rows // 500) if n_frauds is None else n_frauds
    y = np.zeros(n_rows, dtype=np.int64)
    y[rng.choice(n_rows, size=n_frauds, replace=False)] = 1

    groups = rng.normal(scale=1.5, size=(5, n_features))
    X = rng.standard_t(df=5, size=(n_rows, n_features))
    X[:, 1:] += 0.4 * X[:, :-1]
    X += groups[rng.randint(5, size=n_rows)]

    frauds = np.flatnonzero(y)
    visible = frauds[rng.uniform(size=n_frauds) >= noise]
    schemes = rng.randint(6, size=visible.size)
    for scheme in range(6):
        features = rng.choice(n_features, size=FEATURES_OF_A_SCHEME, replace=False)
        shift = rng.uniform(3.0, 5.0, size=FEATURES_OF_A_SCHEME) * rng.choice([-1, 1], size=FEATURES_OF_A_SCHEME)
        X[np.ix_(visible[schemes == scheme], features)] += shift
    return X, y
