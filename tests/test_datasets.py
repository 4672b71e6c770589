import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from selfpaced.datasets import make_checkerboard, make_fraud, make_transactions


@pytest.fixture(scope="module")
def transactions():
    """Payments with labels, and with what is known only later, as one table."""
    X, y, details = make_transactions(days=120, fraud_share=0.01, return_details=True, random_state=0)
    return X.assign(y=y, known=details["known"], kind=details["kind"])


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


def test_transactions_of_the_same_seed_are_the_same_with_and_without_details():
    X, y = make_transactions(n_customers=50, n_terminals=20, days=30, random_state=3)
    again, labels, details = make_transactions(
        n_customers=50, n_terminals=20, days=30, random_state=3, return_details=True
    )
    pd.testing.assert_frame_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert not set(details) & set(X)
    other, _ = make_transactions(n_customers=50, n_terminals=20, days=30, random_state=4)
    assert not X.equals(other)


def test_transactions_are_in_the_order_of_time_with_whole_seconds_and_cents(transactions):
    when, amount = transactions["when"], transactions["amount"]
    assert when.dtype == "datetime64[us]"
    assert when.is_monotonic_increasing
    assert when.duplicated().any()  # payments of the same second
    assert (when == when.dt.floor("s")).all()
    assert pd.Timestamp("2025-01-01") <= when.min() < when.max() < pd.Timestamp("2025-01-01") + pd.Timedelta(days=120)
    assert (amount == amount.round(2)).all()
    assert amount.min() > 0
    assert transactions["transaction"].tolist() == list(range(len(transactions)))


@pytest.mark.parametrize("share", [0.005, 0.01, 0.05])
def test_about_as_many_transactions_are_frauds_as_asked_for_a_third_of_each_kind(share):
    X, y, details = make_transactions(fraud_share=share, return_details=True, random_state=1)
    assert y.mean() == pytest.approx(share, rel=0.2)
    kinds = details["kind"].value_counts()
    assert set(kinds.index) == {"honest", "terminal", "card", "campaign"}
    np.testing.assert_allclose(kinds.drop("honest") / (share * len(X)), 1 / 3, atol=0.1)
    np.testing.assert_array_equal(details["kind"] != "honest", y == 1)


def test_customers_have_habits_of_their_own(transactions):
    honest = transactions[transactions["y"] == 0]
    of_customer = honest.groupby("customer")
    assert of_customer["amount"].mean().std() > 0.5 * honest["amount"].mean()
    assert of_customer["when"].agg(lambda when: when.dt.hour.median()).std() > 2
    most_used = of_customer["terminal"].agg(lambda terminal: terminal.value_counts(normalize=True).iloc[:12].sum())
    assert most_used.median() > 0.8  # of 1,000 terminals


def test_all_payments_at_a_compromised_terminal_are_frauds_for_some_weeks(transactions):
    for terminal, frauds in transactions[transactions["kind"] == "terminal"].groupby("terminal"):
        first, last = frauds["when"].min(), frauds["when"].max()
        assert last - first <= pd.Timedelta(weeks=6)
        there = transactions[(transactions["terminal"] == terminal) & transactions["when"].between(first, last)]
        assert (there["y"] == 1).all()


def test_amounts_of_stolen_cards_are_a_multiple_of_the_customers_and_become_less_conspicuous(transactions):
    usual = transactions[transactions["y"] == 0].groupby("customer")["amount"].mean()
    stolen = transactions[transactions["kind"] == "card"]
    times = stolen["amount"] / usual[stolen["customer"]].to_numpy()
    early = stolen["when"] < pd.Timestamp("2025-03-01")
    assert times.mean() > 3
    assert times[early].mean() > 1.1 * times[~early].mean()
    assert stolen["when"].groupby(stolen["customer"]).agg(np.ptp).max() <= pd.Timedelta(weeks=6)


def test_a_campaign_is_a_burst_with_many_cards_few_terminals_and_similar_amounts():
    X, _, details = make_transactions(fraud_share=1e-6, return_details=True, random_state=0)
    campaign = X[details["kind"] == "campaign"]
    assert 20 <= len(campaign) <= 60
    assert campaign["customer"].nunique() > 0.9 * len(campaign)
    assert campaign["terminal"].nunique() <= 3
    assert np.ptp(campaign["when"]) <= pd.Timedelta(hours=12)
    assert campaign["amount"].max() / campaign["amount"].min() < 1.12


def test_terminal_frauds_become_rarer_and_campaigns_more_frequent_only_with_drift(transactions):
    days = transactions["when"].groupby(transactions["kind"]).mean()
    assert days["terminal"] + pd.Timedelta(days=14) < days["campaign"]
    X, _, details = make_transactions(days=120, fraud_share=0.05, drift=0, return_details=True, random_state=0)
    days = X["when"].groupby(details["kind"]).mean()
    assert abs(days["terminal"] - days["campaign"]) < pd.Timedelta(days=14)


def test_labels_are_known_late_and_never_after_the_delay(transactions):
    late = transactions["known"] - transactions["when"]
    assert (late[transactions["y"] == 0] == pd.Timedelta(days=7)).all()
    of_frauds = late[transactions["y"] == 1]
    assert (of_frauds >= pd.Timedelta(0)).all()
    assert (of_frauds <= pd.Timedelta(days=7)).all()
    assert of_frauds.nunique() > 0.9 * len(of_frauds)


def test_history_says_far_more_about_transactions_than_amounts(transactions):
    by_terminal = transactions.sort_values("terminal", kind="stable")  # as groupby orders its rows
    past = by_terminal.groupby("terminal").rolling("7D", on="when", closed="left")["y"].sum()
    frauds_before = pd.Series(past.to_numpy(), by_terminal.index).reindex(transactions.index).fillna(0)
    y = transactions["y"]
    of_amounts = average_precision_score(y, transactions["amount"])
    assert of_amounts < 0.05
    assert average_precision_score(y, frauds_before) > 5 * of_amounts


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_customers", 0, "n_customers must be at least 1; got 0"),
        ("n_terminals", -1, "n_terminals must be at least 1; got -1"),
        ("days", 0, "days must be at least 1; got 0"),
        ("fraud_share", 0.2, "fraud_share must be between 0 and 0.1; got 0.2"),
        ("drift", float("nan"), "drift must be between 0 and 1; got nan"),
        ("delay", -1.0, "delay must be between 0 and inf; got -1.0"),
    ],
)
def test_parameters_of_transactions_outside_of_their_range_are_refused(parameter, value, message):
    with pytest.raises(ValueError, match=message):
        make_transactions(**{parameter: value})


def test_a_single_customer_at_a_single_terminal_has_transactions():
    X, y = make_transactions(n_customers=1, n_terminals=1, days=1, random_state=0)
    assert len(X) == len(y) > 0
