"""The figures of the guide "Probabilities and thresholds": two days of card payments, from scores to what to do.

    python benchmarks/decisions.py [--generated] [--picture FILE]

Credit Fraud in the order of time: the first 60% of the payments are trained on, a threshold is chosen on the next 20%,
and all figures are of the last 20%. With --generated, on generated payments of the same kind, which saves nothing. The
data are read from the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # a picture is saved, no window is wanted

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray

from accuracy import read_credit_fraud
from record import save, versions_of
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import alerts_at_threshold
from selfpaced.thresholds import choose_threshold
from text_table import text_table

Floats = NDArray[np.float64]
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy")
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "decisions.png"
SECONDS_A_DAY = 86_400
ALERTS_A_DAY = 200
COST_OF_AN_ALERT = 5.0
N_DRAWS = 1000
BANDS = (0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 1.0)


@dataclass(frozen=True)
class Payments:
    """Some payments in the order of time."""

    X: Floats
    y: NDArray[np.integer[Any]]
    amounts: Floats
    seconds: Floats

    def part(self, begin: float, end: float) -> Payments:
        some = slice(round(begin * self.y.size), round(end * self.y.size))
        return Payments(self.X[some], self.y[some], self.amounts[some], self.seconds[some])

    @property
    def days(self) -> float:
        return float(self.seconds[-1] - self.seconds[0]) / SECONDS_A_DAY


def credit_fraud() -> Payments:
    """The time is not a feature: later payments would differ from all rows that were trained on."""
    X, y = read_credit_fraud()
    return Payments(X[:, 1:], y, X[:, -1], X[:, 0])


def generated() -> Payments:
    X, y = make_fraud(30_000, 300, random_state=0)
    return Payments(X, y, np.random.default_rng(0).lognormal(3, 1.5, y.size), np.linspace(0, 2 * SECONDS_A_DAY, y.size))


def fitted(train: Payments, calibration: str | None) -> SelfPacedEnsembleClassifier:
    base = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
    return SelfPacedEnsembleClassifier(base, random_state=0, n_jobs=-1, calibration=calibration).fit(train.X, train.y)


def probabilities(raw: Floats, calibrated: Floats, test: Payments) -> Iterator[str]:
    """What a score means."""
    yield f"share of frauds      {test.y.mean():.5f}   {test.y.sum()} in {test.y.size:,} payments"
    yield f"mean raw score       {raw.mean():.5f}   would be {raw.sum():,.0f} frauds"
    yield f"mean probability     {calibrated.mean():.5f}   would be {calibrated.sum():,.0f} frauds"
    yield ""
    rows = []
    for low, high in pairwise(BANDS):
        inside = (calibrated >= low) & (calibrated < high) if high < 1 else calibrated >= low
        expected = f"{calibrated[inside].sum():.1f}"
        rows.append([f"{low:g} to {high:g}", f"{inside.sum():,}", expected, f"{test.y[inside].sum()}"])
    yield from text_table(["probability", "payments", "frauds expected", "frauds"], rows).split("\n")


def alerts_a_day(scores: tuple[Floats, Floats], valid: Payments, test: Payments) -> Iterator[str]:
    """A team that can look at so many alerts a day."""
    per_day = round(valid.y.size / valid.days)
    rule = f"alerts<={ALERTS_A_DAY}/{per_day}"
    choice = choose_threshold(valid.y, scores[0], rule)
    yield f"chosen on {valid.y.size:,} payments of {24 * valid.days:.1f} hours:"
    yield from str(choice).split("\n")
    alerts = alerts_at_threshold(test.y, scores[1], choice.threshold)
    yield (
        f"judged on the {24 * test.days:.1f} hours after: {alerts.n_alerts / test.days:.0f} alerts a day, precision "
        f"{alerts.precision:.2f}, recall {alerts.recall:.2f}"
    )


def cost_of(is_alert: NDArray[np.bool_], payments: Payments) -> float:
    """An alert costs a person's time; a fraud without one costs its amount."""
    return float(COST_OF_AN_ALERT * is_alert.sum() + payments.amounts[(payments.y == 1) & ~is_alert].sum())


def costs(raw: tuple[Floats, Floats], own: tuple[Floats, Floats], valid: Payments, test: Payments) -> Iterator[str]:
    """Ways to decide whom to look at, by what they cost."""
    matrix = [[0.0, COST_OF_AN_ALERT], [0.0, COST_OF_AN_ALERT]]
    chosen = choose_threshold(valid.y, own[0], "cost", costs=matrix, amounts=valid.amounts)
    ways = {
        "no alert": np.zeros(test.y.size, dtype=bool),
        "raw score >= 0.5": raw[1] >= 0.5,
        "probability >= 0.5": own[1] >= 0.5,
        f"probability >= {chosen.threshold:.3g}, by rule cost": own[1] >= chosen.threshold,
        f"raw score x amount > {COST_OF_AN_ALERT:g}": raw[1] * test.amounts > COST_OF_AN_ALERT,
        f"probability x amount > {COST_OF_AN_ALERT:g}": own[1] * test.amounts > COST_OF_AN_ALERT,
    }
    rows = [
        [
            name,
            f"{is_alert.sum():,}",
            f"{(is_alert & (test.y == 1)).sum()}",
            f"{test.amounts[(test.y == 1) & ~is_alert].sum():,.0f}",
            f"{cost_of(is_alert, test):,.0f}",
        ]
        for name, is_alert in ways.items()
    ]
    yield from text_table(["alert if", "alerts", "frauds found", "lost", "cost"], rows).split("\n")


def row_by_row(own: tuple[Floats, Floats], valid: Payments, test: Payments) -> Iterator[str]:
    """Decisions row by row against one threshold, on the payments drawn again and again."""
    matrix = [[0.0, COST_OF_AN_ALERT], [0.0, COST_OF_AN_ALERT]]
    chosen = choose_threshold(valid.y, own[0], "cost", costs=matrix, amounts=valid.amounts)
    ways = [own[1] >= chosen.threshold, own[1] * test.amounts > COST_OF_AN_ALERT]
    costs = [COST_OF_AN_ALERT * each + np.where((test.y == 1) & ~each, test.amounts, 0.0) for each in ways]
    draws = np.random.default_rng(0).poisson(1.0, (N_DRAWS, test.y.size))
    by_threshold, by_row = (draws @ each for each in costs)
    saved = by_threshold - by_row
    low, high = np.quantile(saved, [0.05, 0.95])
    yield (
        f"{N_DRAWS:,} draws of the payments: one threshold costs {by_threshold.mean():,.0f}, row by row "
        f"{by_row.mean():,.0f}"
    )
    yield (
        f"row by row is cheaper in {np.mean(saved > 0):.0%} of the draws, by {saved.mean():,.0f} on average (90% of "
        f"draws: {low:,.0f} to {high:,.0f})"
    )


def suspects(model: SelfPacedEnsembleClassifier, train: Payments) -> Iterator[str]:
    """Labels to look at again."""
    for label in (1, 0):
        found = model.suspects(train.X, train.y, n=5, label=label, trained_on=True)
        rows = [
            [f"{row}", f"{label}", f"{doubt:.4f}", f"{train.amounts[row]:,.2f}"]
            for row, doubt in zip(found.rows.tolist(), found.doubts.tolist(), strict=True)
        ]
        yield from text_table(["payment", "label", "doubt", "amount"], rows).split("\n")
        yield ""


def unsure(model: SelfPacedEnsembleClassifier, own: Floats, test: Payments) -> Iterator[str]:
    """Alerts that the members do not agree on."""
    low, high = (bound[:, 1] for bound in model.predict_proba_spread(test.X, share=0.8))
    for said, some in {"agree": high - low < 0.5, "disagree": high - low >= 0.5}.items():
        alerts = some & (own >= 0.5)
        share = f"{test.y[alerts].mean():.2f}" if alerts.any() else "-"
        yield f"alerts on which members {said:9}{alerts.sum():4}   frauds among them {share}"


def recalibrated(model: SelfPacedEnsembleClassifier, valid: Payments, test: Payments) -> Iterator[str]:
    """The share of frauds moves; the ranking stays."""
    probability = model.recalibrated(valid.X, valid.y).predict_proba(test.X)[:, 1]
    yield (
        f"calibrated on the payments just before: {probability.sum():,.0f} frauds expected, {test.y.sum()} found "
        f"({valid.y.mean():.5f} of those before)"
    )


def draw(own: Floats, test: Payments, path: Path) -> None:
    """Expected frauds against frauds among the highest probabilities, and the cost of each threshold."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    order = np.argsort(-own, kind="stable")
    top = np.arange(1, 301)
    left.plot(top, np.cumsum(own[order])[:300], color="#b05", label="expected by probability")
    left.plot(top, np.cumsum(test.y[order])[:300], color="#057", label="found")
    left.set(xlabel="payments with the highest probabilities", ylabel="frauds", title="What an alert list brings")
    left.legend(frameon=False)
    thresholds = np.geomspace(1e-3, 1, 400)
    right.plot(
        thresholds, [cost_of(own >= threshold, test) for threshold in thresholds], color="#057", label="by score"
    )
    no_alert = cost_of(np.zeros(test.y.size, dtype=bool), test)
    right.axhline(no_alert, color="#777", linestyle=":", label=f"no alert: {no_alert:,.0f}")
    by_amount = cost_of(own * test.amounts > COST_OF_AN_ALERT, test)
    right.axhline(by_amount, color="#b05", linestyle="--", label=f"by probability x amount: {by_amount:,.0f}")
    right.set(
        xscale="log",
        xlabel="threshold on the probability",
        ylabel="cost",
        title="What a threshold costs",
        ylim=(0, 1.4 * no_alert),
    )
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", action="store_true", help="on generated payments; saves nothing")
    parser.add_argument("--picture", type=Path, default=None, metavar="FILE", help="where to draw")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    payments = generated() if options.generated else credit_fraud()
    train, valid, test = payments.part(0, 0.6), payments.part(0.6, 0.8), payments.part(0.8, 1)
    plain, model = fitted(train, None), fitted(train, "isotonic")
    raw, own = (tuple(each.predict_proba(part.X)[:, 1] for part in (valid, test)) for each in (plain, model))
    parts = {
        "probabilities": probabilities(raw[1], own[1], test),
        "alerts a day": alerts_a_day(own, valid, test),
        "costs": costs(raw, own, valid, test),
        "row by row": row_by_row(own, valid, test),
        "suspects": suspects(model, train),
        "unsure": unsure(model, own[1], test),
        "recalibrated": recalibrated(model, valid, test),
    }
    lines = {name: list(part) for name, part in parts.items()}
    for name, said in lines.items():
        print(f"\n# {name}\n" + "\n".join(said))
    if options.picture or not options.generated:
        draw(own[1], test, options.picture or PICTURE)
    if not options.generated:
        print(save("decisions", {"lines": lines}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
