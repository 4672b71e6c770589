"""Generated data with a rare class, for examples, demonstrations and tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.utils import check_random_state

from selfpaced.exceptions import need

__all__ = ["make_checkerboard", "make_fraud", "make_transactions"]

FEATURES_OF_A_SCHEME = 4
KINDS_OF_PAYMENTS = ("honest", "terminal", "card", "campaign")
SECONDS_OF_A_DAY = 86_400


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
    make_transactions : Payments of customers at terminals, in the order of time.

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


def make_transactions(
    n_customers: int = 1000,
    n_terminals: int = 1000,
    days: int = 90,
    *,
    fraud_share: float = 0.005,
    drift: float = 1.0,
    delay: float = 7.0,
    start: str = "2025-01-01",
    return_details: bool = False,
    random_state: Any = None,
) -> tuple[Any, ...]:
    """Generated payments of customers at terminals, in the order of time, with a few frauds (1).

    A customer pays about once a day, at own hours, with own amounts, and mostly at terminals nearby. A single payment
    says little about fraud; the earlier payments of its customer and terminal say much. There are three kinds of
    frauds, with about the same number of rows each:

    - "terminal": all payments at a compromised terminal are frauds, for 2 to 6 weeks. Their amounts are ordinary.
    - "card": half of the payments of a stolen card are frauds, for 2 to 6 weeks. Their amounts are several times those
      of the customer.
    - "campaign": within 2 to 12 hours, 20 to 60 payments of similar amounts with many cards at 3 terminals.

    Parameters
    ----------
    n_customers : int, default=1000
        The number of customers, who have one card each.
    n_terminals : int, default=1000
        The number of terminals.
    days : int, default=90
        The number of days.
    fraud_share : float, default=0.005
        The share of frauds, at most 0.1. It is met approximately, because whole incidents are drawn: at least one of
        each kind.
    drift : float, default=1.0
        How much changes over time, from 0 (nothing) to 1: amounts rise or fall, customers move, compromised terminals
        become rarer and campaigns more frequent, and the amounts of stolen cards become less conspicuous.
    delay : float, default=7.0
        The number of days after a payment when its label is known at the latest. A fraud is reported at any moment
        until then; a payment that nobody has reported until then counts as honest.
    start : str, default="2025-01-01"
        The first day.
    return_details : bool, default=False
        Whether to return a third value, with what is known only later. It has a frame of its own, because each of its
        columns gives the label away.
    random_state : int, RandomState or None, default=None
        Seed of the rows.

    Returns
    -------
    tuple of (DataFrame, ndarray of shape (n_rows,)) or tuple of (DataFrame, ndarray, DataFrame)
        The columns "transaction", "when" (whole seconds), "customer", "terminal" and "amount" (two decimals); the
        labels; and with `return_details` a frame with the columns "known" (when the label became known) and "kind".

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

    See Also
    --------
    make_fraud : Rows without time and customers, with more features.

    Examples
    --------
    >>> X, y = make_transactions(n_customers=50, n_terminals=100, days=30, random_state=0)
    >>> list(X)
    ['transaction', 'when', 'customer', 'terminal', 'amount']
    >>> bool(X["when"].is_monotonic_increasing), X.shape[0] == y.size
    (True, True)
    """
    for name, count in {"n_customers": n_customers, "n_terminals": n_terminals, "days": days}.items():
        if not count >= 1:
            raise ValueError(f"{name} must be at least 1; got {count}.")
    for name, share, most in (("fraud_share", fraud_share, 0.1), ("drift", drift, 1), ("delay", delay, np.inf)):
        if not 0 <= share <= most:
            raise ValueError(f"{name} must be between 0 and {most}; got {share}.")
    pd = need("pandas", "frames", "make_transactions")
    rng = check_random_state(random_state)
    customer, terminal, day, amount = _payments(rng, n_customers, n_terminals, days, drift)
    n_frauds = fraud_share * day.size / 3  # of each kind

    # The density of first days is (1 + drift) * (1 - t) ** drift for terminals, the reverse for campaigns.
    falling = 1 - rng.uniform(size=n_terminals) ** (1 / (1 + drift))
    at_terminal = _during_incidents(rng, terminal, day, days * falling, n_frauds)
    stolen = _during_incidents(rng, customer, day, rng.uniform(0, days, n_customers), 2 * n_frauds)
    with_card = stolen & (rng.uniform(size=day.size) < 0.5) & ~at_terminal
    amount[with_card] *= 5 - 2 * drift * day[with_card] / days

    sizes = rng.randint(20, 61, size=max(1, round(n_frauds / 40)))
    n_campaigns, campaign = sizes.size, np.repeat(np.arange(sizes.size), sizes)
    first = (days - 0.5) * rng.uniform(size=n_campaigns) ** (1 / (1 + drift))
    lasts, typical = rng.uniform(2, 12, n_campaigns) / 24, rng.lognormal(4, 0.5, n_campaigns)
    places = rng.randint(n_terminals, size=(n_campaigns, 3))
    customer = np.append(customer, rng.randint(n_customers, size=campaign.size))
    terminal = np.append(terminal, places[campaign, rng.randint(3, size=campaign.size)])
    day = np.append(day, first[campaign] + lasts[campaign] * rng.uniform(size=campaign.size))
    amount = np.append(amount, typical[campaign] * rng.uniform(0.95, 1.05, campaign.size))
    kind = np.append(np.select([at_terminal, with_card], [1, 2], 0), np.full(campaign.size, 3))

    second = (day * SECONDS_OF_A_DAY).astype(np.int64)
    order = np.argsort(second, kind="stable")
    when = np.datetime64(start, "us") + second[order].astype("timedelta64[s]")
    X = pd.DataFrame({"transaction": np.arange(order.size), "when": when})
    X["customer"], X["terminal"] = customer[order], terminal[order]
    X["amount"] = np.maximum(amount[order], 0.01).round(2)
    y = (kind[order] > 0).astype(np.int64)
    if not return_details:
        return X, y
    late = np.where(y == 1, rng.uniform(size=y.size), 1.0) * delay * SECONDS_OF_A_DAY
    details = pd.DataFrame({"known": when + late.astype("timedelta64[s]")})
    details["kind"] = np.array(KINDS_OF_PAYMENTS)[kind[order]]
    return X, y, details


def _payments(rng: np.random.RandomState, n_customers: int, n_terminals: int, days: int, drift: float) -> Any:
    """Customer, terminal, day (with its fraction) and amount of honest payments, by habits that change over time."""
    customer = np.repeat(np.arange(n_customers), rng.poisson(days * rng.gamma(2, 0.5, n_customers)))
    hour, typical = rng.normal(14, 3, n_customers), rng.lognormal(3.5, 0.6, n_customers)
    trend, n_rows = rng.normal(scale=0.5 * drift, size=n_customers), customer.size
    day = rng.randint(days, size=n_rows) + rng.normal(hour[customer], 3) % 24 / 24
    amount = rng.gamma(2, 0.5, n_rows) * typical[customer] * np.exp(trend[customer] * day / days)

    moves = np.where(rng.uniform(size=n_customers) < 0.2 * drift, rng.uniform(0, days, n_customers), np.inf)
    homes = rng.uniform(size=(2, n_customers, 2))  # before and after the move
    nearest = np.arange(1, min(12, n_terminals) + 1)
    _, nearby = KDTree(rng.uniform(size=(n_terminals, 2))).query(homes, k=nearest)
    habit = (nearest.size * rng.uniform(size=n_rows) ** 2).astype(int)  # the nearest most often
    terminal = nearby[(day >= moves[customer]).astype(int), customer, habit]
    travels = rng.uniform(size=n_rows) < 0.05
    return customer, np.where(travels, rng.randint(n_terminals, size=n_rows), terminal), day, amount


def _during_incidents(rng: np.random.RandomState, entity: Any, day: Any, first: Any, n_rows: float) -> Any:
    """Whether a row falls into the 2 to 6 weeks after its entity's first day, for as many entities as have `n_rows`."""
    inside = (first[entity] <= day) & (day < (first + rng.uniform(14, 42, first.size))[entity])
    order = rng.permutation(first.size)
    rows_so_far = np.cumsum(np.bincount(entity[inside], minlength=first.size)[order])
    chosen = np.zeros(first.size, dtype=bool)
    chosen[order[: np.searchsorted(rows_so_far, n_rows) + 1]] = True
    return inside & chosen[entity]
