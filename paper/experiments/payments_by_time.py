"""Beyond the paper: Payment Simulation without the hour of a payment, and with later payments as test rows."""

from __future__ import annotations

from paper.datasets import random_split, split_in_order
from paper.datasets.payment_simulation import STEP
from paper.evaluation import evaluated
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import rows
from paper.methods import METHODS
from paper.models import MODELS

METHOD_NAMES = ["RandUnder", "Easy", "Cascade", "SPE"]
# At random and with the step, it is the table of real-world tasks.
VARIANTS = ["at random, without step", "by time", "by time, without step"]


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    """Splits by time are the same in all runs, which differ by the seeds of the methods alone."""
    X, y = rows(setting["dataset"], surroundings)
    by_time = setting["variant"].startswith("by time")
    split = split_in_order(X, y, STEP) if by_time else random_split(X, y, seed=run)
    if setting["variant"].endswith("without step"):
        split = split.without(STEP)
    fitted = METHODS[setting["method"]](MODELS["GBDT10"](split), split, run, n_members=10)
    counts = {"n_test_rows": len(split.y_test), "n_test_positives": int(split.y_test.sum())}
    return [{**evaluated(fitted, split, votes=False), **counts}]


PAYMENTS_BY_TIME = Experiment(
    name="payments_by_time",
    title="Payment Simulation without the step, and split by time",
    grid={
        "dataset": ["payment-simulation", "paysim-simulated"],
        "variant": VARIANTS,
        "method": METHOD_NAMES,
    },
    work=work,
    runs=lambda setting: 3,
    gigabytes=4,
)
