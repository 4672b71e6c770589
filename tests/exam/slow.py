"""Monitoring, backtests and decisions computed a second time: slowly, row by row, with pandas and scikit-learn only."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from math import log

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency
from sklearn.base import clone
from sklearn.metrics import average_precision_score

DAY = timedelta(days=1)


def slow_folds(times: list, every, delay, window, first) -> list[tuple[list[int], list[int]]]:
    """The positions of training and test rows, as `RollingTimeSplit` documents them."""
    beginning = first if first is not None else window if window is not None else (max(times) - min(times)) / 3
    begin = min(times) + beginning + delay
    if isinstance(every, timedelta) and every % DAY == timedelta(0):
        begin = pd.Timestamp(begin).ceil("D").to_pydatetime()
    folds = []
    while begin <= max(times):
        known = [row for row, time in enumerate(times) if time < begin and time + delay <= begin]
        train = [row for row in known if window is None or times[row] + delay > begin - window]
        test = [row for row, time in enumerate(times) if begin <= time < begin + every]
        if train and test:
            folds.append((train, test))
        begin += every
    return folds


def slow_backtest(
    model, frame: pd.DataFrame, features: list[str], folds, top: int, rule: tuple[float, str]
) -> list[dict]:
    """The figures of each fold. `rule` has the cost of an alert, and the column of what missing a row costs."""
    results = []
    for train, test in folds:
        labels = frame["label"].iloc[train]
        if not 2 <= labels.sum() < len(labels):
            results.append({"n_train": len(train), "n_test": len(test)})
            continue
        fitted = clone(model).fit(frame[features].iloc[train], labels)
        rows = frame.iloc[test].assign(p=fitted.predict_proba(frame[features].iloc[test])[:, 1])
        alerts = best_of(rows, "p", top, "D", None)
        cards = best_of(rows, "p", top, "D", "card")
        hit_cards = rows["label"].groupby([rows["when"].dt.date, rows["card"]]).transform("max")
        alert, amount = rule[0], rows[rule[1]]
        looked_at = rows["p"] * amount > alert
        missed = (rows["label"] == 1) & ~looked_at
        results.append(
            {
                "n_train": len(train),
                "n_test": len(test),
                "aucprc": average_precision_score(rows["label"], rows["p"]) if rows["label"].any() else np.nan,
                "expected": rows["p"].sum(),
                "alerts": alerts.sum(),
                "precision": rows["label"][alerts].mean(),
                "recall": rows["label"][alerts].sum() / rows["label"].sum() if rows["label"].any() else np.nan,
                "group_precision": hit_cards[cards].mean(),
                "cost_alerts": looked_at.sum(),
                "cost": alert * looked_at.sum() + amount[missed].sum(),
                "cost_without": amount[rows["label"] == 1].sum(),
            }
        )
    return results


def best_of(rows: pd.DataFrame, by: str, top: int, period: str | None, group: str | None) -> pd.Series:
    """Which rows are the best: so many of each period of `when`, with at most one of each group."""
    periods = pd.Series(0, index=rows.index) if period is None else rows["when"].dt.to_period(period)
    ranked = rows.assign(period=periods).sort_values(by, ascending=False, kind="stable")
    if group is not None:
        ranked = ranked.drop_duplicates(["period", group])
    return pd.Series(rows.index.isin(ranked.groupby("period").head(top).index), index=rows.index)


def slow_drift(feature, before: list, now: list) -> tuple[float, float, float]:
    """PSI, share of missing values and p-value (of this column alone) of values, None for missing ones."""

    def place(value) -> object:
        if value is None:
            return "missing"
        if feature.kind == "category":
            return value if value in feature.categories else ("others",)
        compared = value if value == round(value) else float(np.float32(value))  # fractions have 32 bits
        if compared in feature.numbers:
            return compared
        return ("bin", sum(value > edge for edge in feature.edges))

    counts = [Counter(map(place, values)) for values in (before, now)]
    places = list(counts[0] | counts[1])
    shares = [{one: (count[one] + 0.5) / (len(values) + 0.5 * len(places)) for one in places}
              for count, values in zip(counts, (before, now), strict=True)]  # fmt: skip
    psi = sum((shares[1][one] - shares[0][one]) * log(shares[1][one] / shares[0][one]) for one in places)
    smaller = min(len(before), len(now)) / (len(before) + len(now))
    columns, rest = [], [0, 0]
    for one in places:
        pair = [count[one] for count in counts]
        if sum(pair) * smaller >= 5:
            columns.append(pair)
        else:
            rest = [a + b for a, b in zip(rest, pair, strict=True)]
    columns += [rest] if any(rest) else []
    p_value = chi2_contingency(np.array(columns).T, correction=False).pvalue if len(columns) > 1 else 1.0
    return psi, counts[1]["missing"] / len(now), p_value
