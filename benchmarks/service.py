"""The figures of the guide "A model in service": from validation in the order of time to monitoring without labels.

    python benchmarks/service.py [--generated]

Credit Fraud in the order of time: commands are run as the guide shows them, and what they print is recorded. Three
things are simulated besides: hold-outs of rows and of whole cards, the rate of false alarms, and how far estimates
without labels are from the truth. With --generated, on generated payments of the same kind, which saves nothing. The
data are read from the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

from accuracy import DEFAULT_DATA, read_credit_fraud
from record import save, versions_of
from selfpaced.cli import main as command_line
from selfpaced.cli.output import wrapped
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import aucprc
from selfpaced.monitoring import make_reference
from selfpaced.monitoring.drift import measure_drift
from selfpaced.monitoring.quality import estimate_quality
from text_table import text_table

PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy")
FIRST = pd.Timestamp("2013-09-01")  # nobody knows the days; the table has seconds since its first payment
N_FALSE_ALARMS, N_SEEDS = 500, 5
THRESHOLD = 0.5
INTRUSIONS = ("warezclient.", "guess_passwd.", "warezmaster.", "imap.", "ftp_write.")
NEW_INTRUSION = "warezclient."
WIDTH = 118  # of the lines of the guide

COMMANDS = {
    "backtest": "backtest payments.parquet --target Class --time-column when --every 6h --delay 2h --first 12h "
    "--base lightgbm tree --top 5 --per hour --decide 'p*Amount>5' --exclude Time",
    "train": "train first.parquet --target Class --time-column when --delay 2h --base lightgbm --exclude Time "
    "--rule 'precision>=0.8'",
    "predict": "predict model.skops next.parquet -o alerts.csv --decide 'p*Amount>5' --keep when,Amount",
    "top": "predict model.skops next.parquet -o alerts.csv --top 5 --per hour --time-column when",
    "monitor": "monitor model.skops next.parquet --alarm 'psi>0.25'",
    "arrived": "monitor model.skops labelled.parquet --target Class",
    "suspects": "suspects model.skops first.parquet --n 5 --label 1 --keep Amount",
    "refit": "refit model.skops until_now.parquet -o new.skops --if-better",
}


def credit_fraud() -> pd.DataFrame:
    X, y = read_credit_fraud()
    names = ["Time", *(f"V{number}" for number in range(1, 29)), "Amount"]
    return pd.DataFrame(X, columns=names).assign(Class=y)


def generated() -> pd.DataFrame:
    X, y = make_fraud(20_000, 400, n_features=6, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=[f"V{number}" for number in range(1, 7)])
    seconds, amounts = np.linspace(0, 2 * 86_400, y.size), rng.lognormal(3, 1.5, y.size)
    return frame.assign(Time=seconds, Amount=amounts, Class=y)


def write_files(payments: pd.DataFrame) -> None:
    """The payments as a team would have them: 36 hours to train on, and 12 that come after."""
    rows = payments.assign(when=FIRST + pd.to_timedelta(payments["Time"], unit="s"))
    hours = rows["Time"] / 3600
    rows.to_parquet("payments.parquet")
    rows[hours < 36].to_parquet("first.parquet")
    later = rows[hours >= 36]
    later.drop(columns="Class").to_parquet("next.parquet")
    arrived = later["when"] < FIRST + pd.Timedelta(hours=44)
    later.assign(Class=later["Class"].astype("Int64").where(arrived)).to_parquet("labelled.parquet")
    rows[hours < 44].to_parquet("until_now.parquet")


def said_by(command: str) -> list[str]:
    """What a command prints, line by line. Alarms exit with 3."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = command_line(shlex.split(command))
    if code not in (0, 3):
        raise RuntimeError(f"selfpaced {command}: {err.getvalue()}")
    text = re.sub(r" Training and judging took [\d.]+ s\.", "", out.getvalue() + err.getvalue())  # of this machine
    return [line.rstrip() for line in wrapped(text, WIDTH).split("\n")]


def cards(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Cards with some twenty rows each. What a fraud looks like differs from card to card: a new card is a guess."""
    rng = np.random.default_rng(seed)
    n_cards, n_rows = 1500, 30_000
    card = rng.integers(n_cards, size=n_rows)
    stolen = rng.random(n_cards) < 0.05
    X = rng.normal(size=(n_cards, 8))[card] + 0.05 * rng.normal(size=(n_rows, 8))
    return X, (stolen[card] & (rng.random(n_rows) < 0.2)).astype(np.int64), card


def held_out_cards() -> Iterator[str]:
    """Rows held out at random, and whole cards; and what calibrations with and without groups expect of new cards."""
    rows = []
    for seed in range(N_SEEDS):
        X, y, card = cards(seed)
        by_row = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(X, y))
        by_card = next(GroupShuffleSplit(1, test_size=0.25, random_state=seed).split(X, y, card))
        known, flattered, honest = (
            _scores(seed, X, y, split, groups)
            for split, groups in ((by_row, None), (by_card, None), (by_card, card[by_card[0]]))
        )
        areas = [aucprc(y[split[1]], scores) for split, scores in ((by_row, known), (by_card, flattered))]
        came = int(y[by_card[1]].sum())
        highest = [f"{scores.max():.2f}" for scores in (flattered, honest)]
        rows.append([f"{seed}", *(f"{area:.3f}" for area in areas), f"{came}", *highest])
    header = ["seed", "AUCPRC, rows", "AUCPRC, cards", "frauds", "highest probability", "with groups="]
    yield from text_table(header, rows).split("\n")


def _scores(seed: int, X: Any, y: Any, split: Any, groups: Any) -> NDArray[np.float64]:
    train, test = split
    scores: NDArray[np.float64] = _small(seed).fit(X[train], y[train], groups=groups).predict_proba(X[test])[:, 1]
    return scores


def _small(seed: int) -> SelfPacedEnsembleClassifier:
    base = LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1)
    return SelfPacedEnsembleClassifier(base, 5, random_state=seed, calibration="isotonic", n_jobs=-1)


def false_alarms(payments: pd.DataFrame) -> Iterator[str]:
    """Payments drawn from the same hours, again and again: how often is a column named that has not drifted?"""
    X = payments.drop(columns=["Class", "Time"])
    rng = np.random.default_rng(0)
    n_alarms = 0
    for _ in range(N_FALSE_ALARMS):
        some = rng.permutation(len(X))[:4000]
        before, now = X.iloc[some[:2000]], X.iloc[some[2000:]]
        n_alarms += any(drift.is_real for drift in measure_drift(make_reference(before, np.ones(2000)), now))
    yield (
        f"same distribution: {n_alarms} of {N_FALSE_ALARMS} monitorings name a column of {X.shape[1]}, "
        f"{n_alarms / N_FALSE_ALARMS:.1%}; 1% is the stated rate"
    )
    for shift in (0.05, 0.1, 0.2):
        n_found = 0
        for _ in range(100):
            some = rng.permutation(len(X))[:4000]
            moved = X.iloc[some[2000:]].copy()
            moved["V2"] += shift * X["V2"].std()
            found = measure_drift(make_reference(X.iloc[some[:2000]], np.ones(2000)), moved)
            n_found += any(drift.is_real and drift.name == "V2" for drift in found)
        yield f"V2 moved by {shift:g} standard deviations: found in {n_found} of 100 monitorings of 2,000 rows"


def estimates(payments: pd.DataFrame) -> Iterator[str]:
    """What probabilities promise, and what came: on later payments, on generated ones, and where frauds change."""
    rows = []
    for name, (train, test) in _tables(payments).items():
        features = [column for column in train.columns if column not in ("Class", "Time")]
        base = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
        model = SelfPacedEnsembleClassifier(base, random_state=0, n_jobs=-1, calibration="isotonic")
        model.fit(train[features], train["Class"])
        p, y = model.predict_proba(test[features])[:, 1], test["Class"].to_numpy()
        said, alerts = estimate_quality(p, THRESHOLD), p >= THRESHOLD
        truth = [y.sum(), y[alerts].mean() if alerts.any() else 0.0, y[alerts].sum() / y.sum(), aucprc(y, p)]
        told = [said.expected, said.precision or 0.0, said.recall or 0.0, said.aucprc or 0.0]
        pairs = [
            f"{told[0]:.0f} / {truth[0]}",
            *(f"{a:.2f} / {b:.2f}" for a, b in zip(told[1:], truth[1:], strict=True)),
        ]
        rows.append([name, *pairs])
    header = ["estimated / true", "rare rows", "precision", "recall", "AUCPRC"]
    yield from text_table(header, rows).split("\n")


def connections() -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """KDD Cup 99, ordinary connections and intrusions: a random half, and the same with a kind that is new."""
    path = Path(os.environ.get("SELFPACED_DATA", DEFAULT_DATA)) / "kddcup99_10_percent.parquet"
    if not path.exists():
        return {}
    rows = pd.read_parquet(path).sample(frac=1, random_state=0)
    rows = rows[rows["label"].isin(["normal.", *INTRUSIONS])]
    named = rows.select_dtypes("number").assign(Class=(rows["label"] != "normal.").astype(int))
    half, is_new = len(named) // 2, rows["label"].to_numpy() == NEW_INTRUSION
    train, test = named[:half], named[half:]
    return {
        "connections, random half": (train, test),
        f"connections, {NEW_INTRUSION.rstrip('.')} is new": (train[~is_new[:half]], test),
    }


def _tables(payments: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    hours = payments["Time"] / 3600
    X, y = make_fraud(60_000, 600, n_features=8, random_state=1)
    made = pd.DataFrame(X, columns=[f"x{number}" for number in range(8)]).assign(Class=y)
    train, test = made[:30_000], made[30_000:]
    rarer = test[(test["Class"] == 0) | (np.arange(len(test)) % 4 == 0)]
    changed = test.copy()
    is_new = (changed["Class"] == 1) & (np.arange(len(changed)) % 2 == 0)
    ordinary = changed.index[changed["Class"] == 0][: int(is_new.sum())]
    changed.loc[is_new, made.columns[:-1]] = changed.loc[ordinary, made.columns[:-1]].to_numpy()
    return {
        "payments, next 12 hours": (payments[hours < 36], payments[hours >= 36]),
        "payments, second day": (payments[hours < 24], payments[hours >= 24]),
        "generated, same kind": (train, test),
        "generated, 4 times rarer": (train, rarer),
        "generated, half of the frauds new": (train, changed),
        **connections(),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", action="store_true", help="on generated payments; saves nothing")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    payments = generated() if options.generated else credit_fraud()
    lines: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder):
        write_files(payments)
        for name, command in COMMANDS.items():
            lines[name] = [f"$ selfpaced {command}", *said_by(command)]
            print(f"\n# {name}\n" + "\n".join(lines[name]), flush=True)
    simulated = {
        "cards": held_out_cards(),
        "false alarms": false_alarms(payments),
        "estimates": estimates(payments),
    }
    for name, part in simulated.items():
        lines[name] = list(part)
        print(f"\n# {name}\n" + "\n".join(lines[name]), flush=True)
    if not options.generated:
        print(save("service", {"lines": lines}, versions_of(PACKAGES)))


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
