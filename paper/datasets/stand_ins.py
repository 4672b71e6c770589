"""Generated stand-ins for published data sets that are not at hand.

They have the columns, kinds of values, missing shares, rows and positives of the published ones, so that experiments
run at the true size. What a model scores on them says nothing about the published data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper.datasets import payment_simulation, record_linkage
from paper.datasets.dataset import Dataset, Features, Labels

SEED = 2020
DIFFERS = "the rows are generated, and results say nothing about the published data set"

Floats = NDArray[np.float32]
Rng = np.random.Generator


# Record Linkage


@dataclass(frozen=True)
class Pairs:
    """A kind of record pairs: its share, and how often each field agrees."""

    share: float
    first_name: float
    last_name: float
    sex: float
    day: float
    month: float
    year: float
    place: float


# The registry compared only pairs that agree in some fields (blocking): most non-matches agree in just those.
NON_MATCHES = [
    Pairs(0.4000, 0.97, 0.01, 0.97, 0.03, 1.00, 0.03, 0.002),  # first name and month of birth
    Pairs(0.1500, 0.97, 0.01, 0.97, 1.00, 0.08, 0.03, 0.002),  # first name and day
    Pairs(0.1500, 0.97, 0.01, 0.97, 0.03, 0.08, 1.00, 0.002),  # first name and year
    Pairs(0.2385, 0.02, 0.97, 1.00, 0.03, 0.08, 0.03, 0.005),  # last name and sex
    Pairs(0.0600, 0.02, 0.01, 0.60, 0.97, 0.97, 0.97, 0.003),  # date of birth
    Pairs(0.0006, 0.05, 0.98, 0.50, 0.95, 0.99, 0.99, 0.90),  # twins
    Pairs(0.0006, 0.97, 0.97, 0.99, 0.30, 0.40, 0.30, 0.30),  # namesakes
    Pairs(0.0003, 0.90, 0.98, 0.98, 0.50, 0.50, 0.05, 0.90),  # parent and child of one name
]
MATCHES = [
    Pairs(0.86, 0.97, 0.97, 0.998, 0.99, 0.99, 0.99, 0.98),  # as one would hope
    Pairs(0.06, 0.97, 0.97, 0.998, 0.98, 0.98, 0.98, 0.00),  # moved
    Pairs(0.04, 0.97, 0.02, 0.998, 0.98, 0.98, 0.98, 0.60),  # took another last name
    Pairs(0.04, 0.90, 0.90, 0.950, 0.50, 0.60, 0.50, 0.80),  # badly kept
]
# The published description counts the rows without a comparison. Dates lack day, month and year at once.
MISSING = [
    (1007, ["cmp_fname_c1"]),
    (5_645_434, ["cmp_fname_c2"]),
    (5_746_668, ["cmp_lname_c2"]),
    (795, ["cmp_bd", "cmp_bm", "cmp_by"]),
    (12_843, ["cmp_plz"]),
]
# Names that do not agree are similar to some degree: Beta(a, b). Misspelled names of one person are close to 1.
STRANGERS, MISSPELLED = (0.6, 5.4), (9.0, 1.5)


def record_linkage_stand_in(
    n_rows: int = record_linkage.STATISTICS.n_rows, n_positives: int = record_linkage.STATISTICS.n_positives
) -> tuple[Features, Labels]:
    """Comparisons of record pairs, in the columns of `record_linkage.COMPARISONS`."""
    rng = np.random.default_rng(SEED)
    y = _labels(rng, n_rows, n_positives)
    X = np.empty((n_rows, len(record_linkage.COMPARISONS)), dtype=np.float32)
    X[y == 0] = _pairs(rng, NON_MATCHES, STRANGERS, n_rows - n_positives)
    X[y == 1] = _pairs(rng, MATCHES, MISSPELLED, n_positives)
    _forget(rng, X)
    return X, y


def _pairs(rng: Rng, kinds: list[Pairs], similarity: tuple[float, float], n_rows: int) -> Floats:
    kind = rng.choice(len(kinds), size=n_rows, p=[kind.share for kind in kinds])

    def agree(field: str) -> NDArray[np.bool_]:
        share = np.array([getattr(kind, field) for kind in kinds], dtype=np.float32)
        return rng.random(n_rows, dtype=np.float32) < share[kind]

    def similar(field: str) -> Floats:
        degree = np.round(rng.beta(*similarity, size=n_rows), 6).astype(np.float32)
        return np.where(agree(field), np.float32(1), degree)

    names = [similar(field) for field in ["first_name", "first_name", "last_name", "last_name"]]
    others = [agree(field) for field in ["sex", "day", "month", "year", "place"]]
    return np.column_stack([*names, *others])


def _forget(rng: Rng, X: Floats) -> None:
    for count, names in MISSING:
        share = count / record_linkage.STATISTICS.n_rows
        rows = np.flatnonzero(rng.random(len(X), dtype=np.float32) < share)
        columns = np.array([record_linkage.COMPARISONS.index(name) for name in names])
        X[np.ix_(rows, columns)] = np.nan


# Payment Simulation


@dataclass(frozen=True)
class Payments:
    """A type of honest payments: its share, and the logarithms of its amounts and of the payers' balances."""

    share: float
    amount: tuple[float, float]  # mean and deviation
    balance: tuple[float, float]
    broke: float  # share of payers whose recorded balance is 0


CASH_OUT, TRANSFER, CASH_IN, PAYMENT = 1, 4, 0, 3
# In the sorted order of the names, which are the numbers of the types.
HONEST = [
    Payments(0.2199, (11.6, 0.9), (14.0, 1.8), 0.1),  # CASH_IN
    Payments(0.3517, (11.7, 0.9), (10.5, 1.8), 0.4),  # CASH_OUT
    Payments(0.0065, (8.0, 1.1), (10.0, 1.8), 0.2),  # DEBIT
    Payments(0.3381, (9.1, 1.0), (10.0, 1.8), 0.4),  # PAYMENT
    Payments(0.0838, (12.9, 1.1), (10.5, 1.8), 0.4),  # TRANSFER
]
LAST_STEP = 743  # hours
LARGEST = 1e7  # what a fraud can take at once
FRAUD_AMOUNT = (12.7, 1.5)
DRAINED = 0.93  # share of frauds that take all there is
CLOSED = 0.003  # share of honest withdrawals that do the same: about as many as there are frauds
MULE = 0.65  # share of fraudulent transfers to an account that shows no balance before or after
FLAGGED = 0.002  # share of frauds that the bank stopped


def payment_simulation_stand_in(
    n_rows: int = payment_simulation.STATISTICS.n_rows, n_positives: int = payment_simulation.STATISTICS.n_positives
) -> tuple[Features, Labels]:
    """Payments, in the columns of `payment_simulation.FEATURES`."""
    rng = np.random.default_rng(SEED)
    y = _labels(rng, n_rows, n_positives)
    X = np.empty((n_rows, len(payment_simulation.FEATURES)), dtype=np.float32)
    X[y == 0] = _honest(rng, n_rows - n_positives)
    X[y == 1] = _frauds(rng, n_positives)
    return X, y


def _honest(rng: Rng, n_rows: int) -> Floats:
    kind = rng.choice(len(HONEST), size=n_rows, p=[payments.share for payments in HONEST])
    amount = _money(rng, *_by_kind("amount", kind))
    before = _money(rng, *_by_kind("balance", kind))
    before[rng.random(n_rows, dtype=np.float32) < np.array([each.broke for each in HONEST])[kind]] = 0
    closes = np.isin(kind, [CASH_OUT, TRANSFER]) & (rng.random(n_rows, dtype=np.float32) < CLOSED)
    before[closes] = amount[closes]
    pays_in = kind == CASH_IN
    after = np.where(pays_in, before + amount, np.maximum(before - amount, 0))

    there = _recipients(rng, n_rows, empty=0.15)
    there_after = np.where(pays_in, np.maximum(there - amount, 0), there + amount)
    to_shop = kind == PAYMENT  # shops' balances are not recorded
    there[to_shop] = there_after[to_shop] = 0
    flagged = np.zeros(n_rows, dtype=np.float32)
    return np.column_stack([_busy_hours(rng, n_rows), kind, amount, before, after, there, there_after, flagged])


def _frauds(rng: Rng, n_rows: int) -> Floats:
    kind = rng.choice([CASH_OUT, TRANSFER], size=n_rows)
    amount = np.minimum(_money(rng, *np.full((n_rows, 2), FRAUD_AMOUNT).T), LARGEST).astype(np.float32)
    kept = np.where(rng.random(n_rows) < DRAINED, 0, amount * rng.exponential(0.5, size=n_rows)).astype(np.float32)
    before = amount + kept
    flagged = (kind == TRANSFER) & (rng.random(n_rows) < 2 * FLAGGED)
    after = np.where(flagged, before, before - amount)

    there = _recipients(rng, n_rows, empty=0.25)
    there_after = np.where(flagged, there, there + amount)
    mule = (kind == TRANSFER) & (rng.random(n_rows) < MULE)
    there[mule] = there_after[mule] = 0
    step = rng.integers(1, LAST_STEP + 1, size=n_rows)  # thieves do not sleep
    return np.column_stack([step, kind, amount, before, after, there, there_after, flagged]).astype(np.float32)


def _by_kind(what: str, kind: NDArray[np.int64]) -> Floats:
    """Mean and deviation of the logarithms, for every row."""
    return np.array([getattr(payments, what) for payments in HONEST], dtype=np.float32)[kind].T


def _money(rng: Rng, mean: Floats, deviation: Floats) -> Floats:
    logarithms = mean + deviation * rng.standard_normal(len(mean), dtype=np.float32)
    return np.round(np.exp(logarithms), 2).astype(np.float32)


def _recipients(rng: Rng, n_rows: int, empty: float) -> Floats:
    balance = _money(rng, *np.full((2, n_rows), [[13.0], [1.6]], dtype=np.float32))
    balance[rng.random(n_rows, dtype=np.float32) < empty] = 0
    return balance


def _busy_hours(rng: Rng, n_rows: int) -> Floats:
    """By day rather than by night, and more in the first half of the month."""
    hours = np.repeat([0.1, 1.0, 0.6], [8, 12, 4])
    hour = rng.choice(24, size=n_rows, p=hours / hours.sum())
    day = np.floor(31 * rng.beta(1.2, 2.0, size=n_rows))
    return np.clip(24 * day + hour, 1, LAST_STEP).astype(np.float32)


def _labels(rng: Rng, n_rows: int, n_positives: int) -> Labels:
    y = np.zeros(n_rows, dtype=np.int8)
    y[rng.choice(n_rows, size=n_positives, replace=False)] = 1
    return y


def _load_record_linkage(folder: Path) -> tuple[Features, Labels]:
    return record_linkage_stand_in()


def _load_payment_simulation(folder: Path) -> tuple[Features, Labels]:
    return payment_simulation_stand_in()


RECORD_LINKAGE_STAND_IN = Dataset(
    "record-linkage-stand-in",
    "Record Linkage (generated stand-in)",
    _load_record_linkage,
    record_linkage.STATISTICS,
    few=record_linkage_stand_in,
    differs=DIFFERS,
)
PAYMENT_SIMULATION_STAND_IN = Dataset(
    "payment-simulation-stand-in",
    "Payment Simulation (generated stand-in)",
    _load_payment_simulation,
    payment_simulation.STATISTICS,
    few=payment_simulation_stand_in,
    differs=DIFFERS,
)
