"""Reasons of alerts against converged Shapley values of the whole model: overlap, rank correlation, time, stability.

Usage: python benchmarks/reasons.py [--alerts N] [--orders N] [--tables NAME...] [--quick]

The reference replaces the columns of the typical row by those of an alert in many random orders, each forwards and
backwards, and scores every mixed row with the whole model. It never looks at trees. Its own error is known: in the
second overlap a column counts if it may be among the strongest within two standard errors of the reference.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.model_selection import train_test_split

from accuracy import read_credit_fraud
from calibration import data_folder, kddcup
from record import save, significant, versions_of
from selfpaced import AutoSelfPacedClassifier, SelfPacedEnsembleClassifier
from selfpaced.model import log_odds
from selfpaced.reasons.attribution import MixedRows
from selfpaced.tables import InMemoryTable

TOP, RUNS = 4, 20
PACKAGES = ("selfpaced", "numpy", "scikit-learn", "lightgbm")


def converged(model: Any, alerts: Any, n_orders: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Shapley values of each alert, by the whole model and random orders, and their standard errors."""
    fitted, column = model.model_, model.model_.trained_on.score_column
    table = fitted.reader.coded(alerts)
    players = np.arange(fitted.reader.n_features)
    rows = MixedRows(table.span(0, table.n_rows), fitted.usual, players)
    random = np.random.default_rng(1)
    for number in range(rows.n_rows):
        present, steps = rows.differing(number), np.zeros((n_orders, rows.n_players))
        for pair in steps:
            order = random.permutation(present)
            for own in (order, order[::-1]):
                is_own = np.zeros((own.size + 1, rows.n_players), dtype=bool)
                for place, player in enumerate(own):
                    is_own[place + 1 :, player] = True
                mixed = InMemoryTable(rows.mixed(number, is_own))
                pair[own] += np.diff(log_odds(fitted.means_of(mixed, 1)[:, column])) / 2
        yield steps.mean(axis=0), steps.std(axis=0, ddof=1) / np.sqrt(n_orders)


def best(values: np.ndarray) -> set[int]:
    return {int(at) for at in np.argsort(-values, kind="stable")[:TOP] if values[at] > 0}


def possible(values: np.ndarray, errors: np.ndarray) -> set[int]:
    """The columns that are among the best within two standard errors."""
    last = np.argsort(-values, kind="stable")[:TOP][-1]
    gaps, own = values[last] - values, 2 * np.hypot(errors, errors[last])
    return {int(at) for at in np.flatnonzero((gaps <= own) & (values + 2 * errors > 0))}


def measure(name: str, model: Any, X: Any, y: Any, n_alerts: int, n_orders: int) -> dict[str, float]:
    scores = model.predict_proba(X)[:, model.model_.trained_on.score_column]
    places = np.argsort(-scores, kind="stable")[:n_alerts]
    alerts = X.iloc[places] if hasattr(X, "iloc") else X[places]
    found = model.reasons(alerts)
    overlaps, within, ranks = [], [], []
    for own, (reference, errors) in zip(found.values, converged(model, alerts, n_orders), strict=True):
        wanted, said = best(reference), best(own)
        overlaps.append(len(said & wanted) / max(1, len(wanted)))
        within.append(len(said & possible(reference, errors)) / max(1, len(said)))
        ranks.append(spearmanr(own, reference).statistic)
    several, one = milliseconds(model, alerts)
    same = bool((found.values == model.reasons(alerts).values).all())
    error = np.std(overlaps, ddof=1) / np.sqrt(len(overlaps))
    print(
        f"{name:<34} overlap of the top {TOP} {np.mean(overlaps):.3f} (standard error {error:.3f}), within the error "
        f"{np.mean(within):.3f}  rank correlation {np.mean(ranks):.3f}  {several:.2f} ms of processor time an alert, "
        f"{one:.2f} ms alone  the same twice: {same}",
        flush=True,
    )
    figures = {"overlap": np.mean(overlaps), "overlap_error": error, "rank_correlation": np.mean(ranks)}
    figures |= {"overlap_within_error": np.mean(within), "ms": several, "ms_alone": one}
    return {figure: significant(float(value), 3) for figure, value in figures.items()}


def milliseconds(model: Any, alerts: Any) -> tuple[float, float]:
    """Processor time of an alert among all of them, and alone as a service asks for it: the fastest of several runs."""
    scorer = model.row_scorer()
    rows = alerts.to_dict("records") if hasattr(alerts, "to_dict") else list(alerts)
    together, alone = [], []
    for _ in range(RUNS):
        begin = time.process_time()
        model.reasons(alerts)
        middle = time.process_time()
        for row in rows:
            scorer.reasons(row)
        together.append((middle - begin) / len(rows))
        alone.append((time.process_time() - middle) / len(rows))
    return 1000 * min(together), 1000 * min(alone)


def lightgbm_members() -> Any:
    from lightgbm import LGBMClassifier

    return SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=50, verbose=-1), random_state=0)


def generated_with_categories() -> tuple[Any, Any]:
    """Generated transactions, whose countries, hours and shops are categories and numbers."""
    import pandas as pd

    from selfpaced.datasets import make_fraud

    X, y = make_fraud(n_rows=60_000, n_frauds=400, n_features=12, random_state=0)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=[f"amount_{number}" for number in range(12)])
    common, rare = random.choice(["CH", "DE", "FR"], y.size, p=[0.7, 0.2, 0.1]), random.choice(["FR", "XY"], y.size)
    frame["country"] = pd.Categorical(np.where((y == 1) & (random.random(y.size) < 0.5), rare, common))
    frame["shop"] = pd.Categorical(random.choice([f"shop {number}" for number in range(40)], y.size))
    return frame, y


TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "credit fraud": read_credit_fraud,
    "kdd": lambda: kddcup(data_folder()),
    "categories": generated_with_categories,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--alerts", type=int, default=30)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--quick", action="store_true", help="LightGBM members only")
    options = parser.parse_args()
    found = {}
    for name in options.tables:
        X, y = TABLES[name]()
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        models = {"LightGBM members": lightgbm_members()}
        if not options.quick:
            models["blend"] = AutoSelfPacedClassifier(random_state=0)
        for kind, model in models.items():
            model.fit(X_train, y_train)
            title = f"{name}, {kind}"
            found[title] = measure(title, model, X_test, y_test, options.alerts, options.orders)
    if set(options.tables) == set(TABLES) and not options.quick:
        facts = {"alerts": options.alerts, "orders": options.orders, "models": found}
        print(save("reasons", facts, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
