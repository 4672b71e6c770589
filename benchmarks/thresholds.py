"""Claim: what a chosen threshold promises is kept on other rows, about as often as the interval says.

    python benchmarks/thresholds.py [--splits 20] [--simulations 300]

Simulated scores: normal, those of cases three standard deviations higher, 1 case in 200 rows. The true value at a
threshold is known, so coverage is how often a 90% interval holds it. Beside it that of plain resampling: the counts at
the chosen threshold drawn with replacement, as if the threshold had been known before.

Credit Fraud: half of the rows to train on, a quarter to choose by, a quarter to judge by, over random stratified
splits. The judge has luck of its own: a perfect 90% interval would hold its value in about 76 of 100 splits. So the
value also counts as held if its distance is within the luck of both, added as squares. The data is read from
`credit_fraud.parquet` in the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.model_selection import train_test_split

from accuracy import read_credit_fraud
from record import save, significant, versions_of
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import UnreachableRuleError
from selfpaced.metrics import Alerts, alerts_at_threshold
from selfpaced.thresholds import ThresholdChoice, choose_threshold
from text_table import text_table

PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy", "scipy")
RULES = ("f1", "precision>=0.5", "precision>=0.9", "precision>=0.95", "recall>=0.8", "alerts<=20/10000", "cost=5:100")
BY_AMOUNT = "cost=5"
MAIN = {
    "f1": "f1",
    "prec": "precision",
    "reca": "recall",
    "aler": "precision",
    "cost": "cost",
}  # by a rule's first letters
CONFIDENCE = 0.9
AMOUNT_COLUMN = -1  # the last feature of Credit Fraud

SHIFT = 3.0
SIZES = {25: 5_000, 100: 20_000}  # cases: rows
LOG_MEAN, LOG_SD = 4.0, 1.0  # of the simulated amounts

FIGURES: dict[str, Callable[[Alerts], Any]] = {
    "f1": lambda alerts: alerts.f1,
    "precision": lambda alerts: alerts.precision,
    "recall": lambda alerts: alerts.recall,
    "alert_share": lambda alerts: alerts.alert_share,
}


@dataclass(frozen=True)
class Kept:
    """A promise and what came of it."""

    promised: float
    came: float
    held: bool
    held_with_luck_of_judge: bool = False
    held_by_plain_resampling: bool = False


def main_figure(rule: str) -> str:
    return MAIN[rule[:4]]


def fixed_cost(alerts: Any, missed: float) -> Any:
    return 5 * alerts.false_positives + missed * alerts.false_negatives


def figure_of(name: str, alerts: Alerts, missed: float = 100.0) -> Any:
    return fixed_cost(alerts, missed) if name == "cost" else FIGURES[name](alerts)


def resampled(name: str, alerts: Alerts, rng: np.random.Generator) -> tuple[float, float]:
    """Plain resampling: with the threshold fixed, rows drawn with replacement are four counts drawn anew."""
    counts = np.array([alerts.true_positives, alerts.false_positives, alerts.false_negatives, alerts.true_negatives])
    drawn = Alerts(*rng.multinomial(counts.sum(), counts / counts.sum(), 1000).T)
    low, high = np.quantile(figure_of(name, drawn), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def simulate(rule: str, n_cases: int, seed: int) -> Iterator[tuple[str, Kept]]:
    rng = np.random.default_rng(seed)
    n_rows = SIZES[n_cases]
    y = rng.random(n_rows) < n_cases / n_rows
    scores = rng.normal(size=n_rows) + SHIFT * y
    amounts = rng.lognormal(LOG_MEAN, LOG_SD, n_rows) if rule == BY_AMOUNT else None
    try:
        choice = choose_threshold(y, scores, rule, amounts=amounts, confidence=CONFIDENCE, random_state=seed)
    except UnreachableRuleError:
        return
    truth = true_alerts(choice.threshold, n_rows, n_cases)
    mean_missed = float(np.exp(LOG_MEAN + LOG_SD**2 / 2)) if rule == BY_AMOUNT else 100.0
    for name in dict.fromkeys([main_figure(rule), "precision", "recall", "alert_share"]):
        value, interval = float(figure_of(name, truth, mean_missed)), choice.intervals[name]
        plain = name != "cost" or rule != BY_AMOUNT
        low, high = resampled(name, choice.alerts, rng) if plain else (np.nan, np.nan)
        held = interval.low <= value <= interval.high
        yield name, Kept(choice.value(name), value, held, held_by_plain_resampling=low <= value <= high)


def true_alerts(threshold: float, n_rows: int, n_cases: int) -> Alerts:
    found = n_cases * norm.sf(threshold - SHIFT)
    false_alarms = (n_rows - n_cases) * norm.sf(threshold)
    return Alerts(found, false_alarms, n_cases - found, n_rows - n_cases - false_alarms)


def simulations(n_simulations: int) -> dict[str, Any]:
    facts = {}
    for n_cases in SIZES:
        for rule in (*RULES, BY_AMOUNT):
            kept = defaultdict(list)
            for seed in range(n_simulations):
                for name, one in simulate(rule, n_cases, seed):
                    kept[name].append(one)
            facts[f"{rule}, {n_cases} cases"] = {
                name: {
                    "choices": len(ones),
                    "promised_mean": significant(mean(one.promised for one in ones)),
                    "true_mean": significant(mean(one.came for one in ones)),
                    "coverage": significant(mean(one.held for one in ones), 3),
                    "coverage_of_plain_resampling": None
                    if name == "cost" and rule == BY_AMOUNT
                    else significant(mean(one.held_by_plain_resampling for one in ones), 3),
                }
                for name, ones in kept.items()
            }
            print(f"simulated: {rule}, {n_cases} cases", flush=True)
    return facts


@dataclass(frozen=True)
class Judge:
    """Rows that have not been chosen by."""

    y: NDArray[Any]
    scores: NDArray[np.float64]
    amounts: NDArray[np.float64]

    def value(self, name: str, threshold: float, by_amount: bool) -> float:
        alerts = alerts_at_threshold(self.y, self.scores, threshold)
        if not by_amount:
            return float(figure_of(name, alerts))
        return 5 * alerts.false_positives + float(self.amounts[(self.scores < threshold) & (self.y == 1)].sum())

    def reach(
        self, name: str, choice: ThresholdChoice, by_amount: bool, rng: np.random.Generator
    ) -> tuple[float, float]:
        """How far the judge's own luck may have moved its value, down and up."""
        now = self.value(name, choice.threshold, by_amount)
        if by_amount:
            lost = self.amounts[(self.scores < choice.threshold) & (self.y == 1)]
            alarms = alerts_at_threshold(self.y, self.scores, choice.threshold).false_positives
            drawn = 5 * rng.poisson(alarms, 1000) + rng.poisson(1, (1000, lost.size)) @ lost
            low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        else:
            low, high = resampled(name, alerts_at_threshold(self.y, self.scores, choice.threshold), rng)
        return now - low, high - now


def try_split(X: Any, y: Any, seed: int) -> Iterator[tuple[str, str, Kept]]:
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    parts = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed)
    X_choose, X_judge, y_choose, y_judge = parts
    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=10, verbose=-1), n_jobs=-1, random_state=seed)
    model.fit(X_train, y_train)
    judge = Judge(y_judge, model.predict_proba(X_judge)[:, 1], X_judge[:, AMOUNT_COLUMN])
    scores, rng = model.predict_proba(X_choose)[:, 1], np.random.default_rng(seed)
    for rule in (*RULES, BY_AMOUNT):
        by_amount = rule == BY_AMOUNT
        amounts = X_choose[:, AMOUNT_COLUMN] if by_amount else None
        try:
            choice = choose_threshold(y_choose, scores, rule, amounts=amounts, confidence=CONFIDENCE, random_state=seed)
        except UnreachableRuleError:
            continue
        names = ["cost"] if by_amount else dict.fromkeys([main_figure(rule), "precision", "recall", "alert_share"])
        for name in names:
            yield rule, name, kept_on(judge, name, choice, by_amount, rng)


def kept_on(judge: Judge, name: str, choice: ThresholdChoice, by_amount: bool, rng: np.random.Generator) -> Kept:
    promised, interval = choice.value(name), choice.intervals[name]
    came = judge.value(name, choice.threshold, by_amount)
    down, up = judge.reach(name, choice, by_amount, rng)
    below, above = np.hypot(promised - interval.low, up), np.hypot(interval.high - promised, down)
    held = interval.low <= came <= interval.high
    return Kept(promised, came, held, held or bool(promised - below <= came <= promised + above))


def credit_fraud(n_splits: int) -> dict[str, Any]:
    X, y = read_credit_fraud()
    kept: dict[str, dict[str, list[Kept]]] = defaultdict(lambda: defaultdict(list))
    for seed in range(n_splits):
        for rule, name, one in try_split(X, y, seed):
            kept[rule][name].append(one)
        print(f"split {seed}", flush=True)
    return {
        rule: {
            name: {
                "splits": len(ones),
                "promised_mean": significant(mean(one.promised for one in ones)),
                "judged_mean": significant(mean(one.came for one in ones)),
                "interval_holds_judged": significant(mean(one.held for one in ones), 3),
                "interval_holds_judged_with_its_luck": significant(
                    mean(one.held_with_luck_of_judge for one in ones), 3
                ),
            }
            for name, ones in figures.items()
        }
        for rule, figures in kept.items()
    }


def as_table(facts: dict[str, Any]) -> str:
    rows, header = [], ["rule", "figure"]
    for rule, figures in facts.items():
        for name, one in figures.items():
            header = ["rule", "figure", *(key.replace("_", " ") for key in one)]
            rows.append([rule, name, *("" if value is None else f"{value:g}" for value in one.values())])
    return text_table(header, rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--simulations", type=int, default=300)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    fraud = credit_fraud(options.splits)
    simulated = simulations(options.simulations)
    print(f"\nCredit Fraud, {options.splits} splits\n{as_table(fraud)}")
    print(f"\nSimulated, {options.simulations} times, {CONFIDENCE:.0%} intervals\n{as_table(simulated)}")
    parameters = {"splits": options.splits, "simulations": options.simulations, "confidence": CONFIDENCE}
    facts = {"parameters": parameters, "credit_fraud": fraud, "simulated": simulated}
    print(save("thresholds", facts, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
