"""Tables whose test rows are later than all others, or of groups that no row to learn from has.

Random splits flatter every method where rows repeat or change over time, and some more than others. Large files are
sampled, as each function says, so that one core fits all methods in minutes. Only the generated payments were looked at
before: how much a fraud differs was set so that LightGBM of 60 rounds finds something (AUCPRC 0.28 on 40,000 rows).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contest.table import Data, Table, labelled, own_file


def paysim(n_common: int, share: float) -> Data:
    """Transfers and cash-outs by step: the other types have no frauds. The step itself is left out.

    `n_common` of the honest rows, and a share of the frauds, are drawn at random.
    """
    columns = ["step", "type", "amount_cents", "isFraud"]
    columns += [f"{when}balance{who}_cents" for when, who in (("old", "Org"), ("new", "Orig"))]
    columns += [f"{when}balanceDest_cents" for when in ("old", "new")]
    frame = pd.read_parquet(own_file("paysim_simulated.parquet"), columns=columns)
    frame = frame[frame["type"].isin(["TRANSFER", "CASH_OUT"])]
    kept = _some(frame["isFraud"].to_numpy() == 1, share, n_common)
    frame = frame.iloc[kept].sort_values("step", kind="stable").drop(columns="step")
    return labelled(frame, frame.pop("isFraud") == 1)


def cards(n_rows: int, n_common: int | None, with_history: bool) -> Data:
    """The last payments of the Fraud Detection Handbook's cards: all frauds, and all or some of the others.

    The history is computed from all payments before a row, with labels that are known after seven days.
    """
    from selfpaced.history import History

    frame = pd.read_parquet(own_file("card_transactions.parquet"))
    when, y = frame["when"], frame["is_fraud"].to_numpy() == 1
    X = pd.DataFrame({"amount": frame["amount"], "hour": when.dt.hour, "weekday": when.dt.day_of_week})
    first = len(frame) - n_rows
    if with_history:
        history = History("when", ["customer", "terminal"], "amount", delay="7d", base_rate=float(y[:first].mean()))
        features = history.features(frame.drop(columns=["scenario", "is_fraud"]), y.astype(np.int8))
        X = pd.concat([X, pd.DataFrame(features)], axis=1)
    kept = first + _some(y[first:], 1.0, n_common)
    return labelled(X.iloc[kept], pd.Series(y[kept]))


def _some(is_rare: NDArray[np.bool_], share: float, n_common: int | None) -> NDArray[np.intp]:
    """The places of a share of the rare rows and of some common ones, or of all (None), in their order."""
    rng = np.random.default_rng(0)
    rare, common = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    some = rng.choice(rare, round(share * rare.size), replace=False)
    others = common if n_common is None else rng.choice(common, n_common, replace=False)
    return np.sort(np.append(some, others))


KINDS_OF_ATTACKS = {
    "PRB": ["ipsweep", "nmap", "portsweep", "satan"],
    "R2L": ["ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"],
    "U2R": ["buffer_overflow", "loadmodule", "perl", "rootkit"],
}


def new_attacks() -> Data:
    """Attacks against normal connections of KDD Cup 99, without repeated rows. An attack is a group: 16 of them."""
    frame = pd.read_parquet(own_file("kddcup99_10_percent.parquet")).drop_duplicates()
    attack = frame.pop("label").astype("string").str.rstrip(".")
    attacks = [name for names in KINDS_OF_ATTACKS.values() for name in names]
    kept = attack.isin([*attacks, "normal"])
    frame, attack = frame[kept], attack[kept]
    groups = attack.map({name: number for number, name in enumerate(attacks)}).to_numpy(np.float64, na_value=np.nan)
    alone = np.isnan(groups)
    groups[alone] = len(attacks) + np.arange(alone.sum())
    return labelled(frame, attack != "normal", groups.astype(np.int64))


def payments(n_rows: int = 100_000, n_schemes: int = 10, seed: int = 0) -> Data:
    """Wide payments in the order of time: 98 numbers and 20 categories, 3.5% frauds, cards that repeat.

    A card has habits: its own categories, and its own level in a third of the numbers. Blocks of numbers are
    correlated, and missing together, depending on the channel. A fraud is of one of the schemes, each of which lasts
    for a part of the time: it shifts a dozen numbers, some only for one channel, and changes some categories. Frauds
    come in runs of the same card. One in ten looks honest.
    """
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(size=n_rows))
    n_cards, n_blocks = n_rows // 12, 14
    card = (n_cards * rng.beta(1, 2, n_rows)).astype(int)
    card = np.where(rng.uniform(size=n_rows) < 0.7, (card + (n_cards * time).astype(int)) % n_cards, card)
    is_rare = _runs(rng, card, time, 0.035)
    hidden = is_rare & (rng.uniform(size=n_rows) < 0.1)

    channel = rng.integers(5, size=n_cards)[card]
    channel = np.where(rng.uniform(size=n_rows) < 0.15, rng.integers(5, size=n_rows), channel)
    factors = rng.normal(size=(n_rows, n_blocks))
    numbers = np.empty((n_rows, 98))
    for column in range(98):
        own = rng.normal(size=n_cards)[card] if column % 3 == 0 else 0.0
        drift = rng.normal(scale=0.5) * time
        noise = rng.standard_t(5, size=n_rows)
        numbers[:, column] = 0.7 * factors[:, column % n_blocks] + 0.3 * own + drift + noise

    begin = rng.uniform(-0.6, 0.9, n_schemes)
    end = begin + rng.uniform(0.4, 1.2, n_schemes)
    active = (begin <= time[:, None]) & (time[:, None] < end)
    active[:, 0] = True
    # All frauds of a card are of one scheme as long as it lasts.
    scheme = np.argmax(active * rng.uniform(0.01, 1, size=(n_cards, n_schemes))[card], axis=1)
    shown = is_rare & ~hidden
    for number in range(n_schemes):
        rows = np.flatnonzero(shown & (scheme == number))
        columns = rng.choice(98, 12, replace=False)
        size = rng.uniform(1.0, 3.0, 12) * rng.choice([-1, 1], 12)
        only = np.where(rng.uniform(size=12) < 0.5, rng.integers(5, size=12), -1)
        counts = (only == -1) | (only == channel[rows, None])
        numbers[np.ix_(rows, columns)] += size * counts

    for block in range(0, n_blocks, 2):
        missing = rng.uniform(size=n_rows) < rng.uniform(0, 0.9, 5)[channel]
        numbers[np.ix_(np.flatnonzero(missing), np.arange(block, 98, n_blocks))] = np.nan
    numbers[:, ::4] = np.round(numbers[:, ::4])
    frame = pd.DataFrame(numbers.astype(np.float32)).add_prefix("number_")
    for column in range(20):
        size = (2, 3, 5, 8, 12, 30)[column % 6]
        codes = (size * rng.beta(1, 3, n_cards)[card]).astype(int)
        other = rng.integers(size, size=n_rows)
        changes = np.where(shown & (rng.uniform(size=n_schemes)[scheme] < 0.25), 0.95, 0.3)
        codes = np.where(rng.uniform(size=n_rows) < changes, other, codes)
        frame[f"category_{column}"] = channel.astype(str) if column == 0 else codes.astype(str)
    return labelled(frame, pd.Series(is_rare))


def _runs(rng: np.random.Generator, card: NDArray[np.intp], time: NDArray[np.float64], share: float) -> NDArray:
    """Whether a row is of a card during its fraud: three in four payments of a card in a part of the time."""
    n_cards = card.max() + 1
    begin = rng.uniform(-0.1, 1, n_cards)
    inside = (begin[card] <= time) & (time < begin[card] + 0.15) & (rng.uniform(size=card.size) < 0.75)
    chosen = np.zeros(n_cards, dtype=bool)
    order = rng.permutation(n_cards)
    so_far = np.cumsum(np.bincount(card[inside], minlength=n_cards)[order])
    chosen[order[: np.searchsorted(so_far, share * card.size) + 1]] = True
    return inside & chosen[card]


def drift(n_rows: int = 60_000, n_rare: int = 300, seed: int = 0) -> Data:
    """Rows in the order of time, 24 numbers. What shifts a rare row turns slowly from one direction to another."""
    rng = np.random.default_rng(seed)
    time, is_rare = np.linspace(0, 1, n_rows), np.zeros(n_rows, dtype=bool)
    is_rare[rng.choice(n_rows, n_rare, replace=False)] = True
    X = rng.standard_t(5, size=(n_rows, 24)) + time[:, None] * rng.normal(scale=1.0, size=24)
    early, late = rng.normal(size=(2, 24)) * (rng.uniform(size=(2, 24)) < 0.4)
    X[is_rare] += 1.6 * ((1 - time[:, None]) * early + time[:, None] * late)[is_rare]
    return labelled(pd.DataFrame(X).add_prefix("x"), pd.Series(is_rare))


def campaigns(n_rows: int = 60_000, n_campaigns: int = 25, seed: int = 0) -> Data:
    """Rows in the order of time, 24 numbers. Rare rows come in campaigns of 8 to 24 that are much alike.

    Every campaign is extreme in four of eight numbers, each has its own values, and it is over soon: later ones are
    new. Honest rows have bursts, too, in other numbers.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_t(5, size=(n_rows, 24))
    is_rare = np.zeros(n_rows, dtype=bool)
    for number in range(4 * n_campaigns):
        columns = rng.choice(8 if number < n_campaigns else 24, 4, replace=False)
        rows = rng.integers(n_rows - 200) + rng.choice(200, rng.integers(8, 25), replace=False)
        X[np.ix_(rows, columns)] = rng.choice([-1, 1], 4) * rng.uniform(1.5, 4, 4) + 0.3 * rng.normal(
            size=(rows.size, 4)
        )
        is_rare[rows] = number < n_campaigns
    return labelled(pd.DataFrame(X).add_prefix("x"), pd.Series(is_rare))


def entities(n_groups: int = 6_000, n_rare_groups: int = 120, seed: int = 0) -> Data:
    """Rows of customers who look much the same in all their rows, 24 numbers: whoever knows a customer knows the class.

    Customers of the test rows are new. What a rare customer has in common with others is a shift of five numbers, of
    one of three kinds.
    """
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rng.integers(1, 20, n_groups))
    is_rare_group = np.arange(n_groups) < n_rare_groups
    centres = rng.standard_t(5, size=(n_groups, 24))
    for kind in range(3):
        columns = rng.choice(24, 5, replace=False)
        some = np.flatnonzero(is_rare_group & (np.arange(n_groups) % 3 == kind))
        centres[np.ix_(some, columns)] += rng.uniform(0.8, 2.0, 5)
    X = centres[groups] + 0.15 * rng.normal(size=(groups.size, 24))
    # A third of the rows of rare customers are rare.
    is_rare = is_rare_group[groups] & (rng.uniform(size=groups.size) < 1 / 3)
    X[is_rare, :3] += 0.7
    return labelled(pd.DataFrame(X).add_prefix("x"), pd.Series(is_rare), groups)


ORDERED_TABLES = [
    Table("generated-drift-by-time", "generated", drift, "time"),
    Table("generated-campaigns-by-time", "generated", campaigns, "time"),
    Table("generated-customers-by-group", "generated", entities, "groups"),
    Table("kddcup-new-attacks", "KDD Cup 99, 10%", new_attacks, "groups"),
    Table("cards-by-time", "Fraud Detection Handbook", partial(cards, 400_000, None, False), "time"),
    Table("cards-history-by-time", "Fraud Detection Handbook", partial(cards, 800_000, 120_000, True), "time"),
    Table("paysim-few-by-time", "PaySim, simulated again", partial(paysim, 100_000, 0.05), "time"),
    Table("paysim-by-time", "PaySim, simulated again", partial(paysim, 300_000, 1.0), "time"),
    Table("generated-payments-by-time", "generated", payments, "time"),
    Table("generated-many-payments-by-time", "generated", partial(payments, 450_000), "time"),
]
