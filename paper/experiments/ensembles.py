"""Table and figure: 6 ensembles of C4.5 trees with a growing number of members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paper.datasets import Split
from paper.evaluation import evaluated
from paper.experiment import Budget, Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import task
from paper.methods import METHODS, Fitted
from paper.models import MODELS
from selfpaced.metrics import aucprc

METHOD_NAMES = ["RUSBoost", "SMOTEBoost", "UnderBagging", "SMOTEBagging", "Cascade", "SPE"]
BY_DISTANCE = {"SMOTEBoost", "SMOTEBagging"}
SIZES = [1, 2, 5, 10, 20, 30, 50, 75, 100]
# How Cascade and SPE choose rows depends on the number of members to come, so every size is a fit of its own. The
# first members of the others are the smaller ensemble, so the largest fit holds them all.
EVERY_SIZE_ANEW = {"Cascade", "SPE"}
# A member of an over-sampling ensemble takes as long as a whole ensemble of the others.
LARGEST = {"SMOTEBoost": 50, "SMOTEBagging": 50}
PAYMENTS = ["payment-simulation", "paysim-simulated"]
# The paper leaves these out on Payment Simulation: we try, and give up after so many seconds or at so many gigabytes.
BUDGET = Budget(seconds=180, gigabytes=6)
# Of millions of rows, a few sizes show the curve.
FEW_SIZES = [1, 2, 5, 10, 20, 50, 100]


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    split = task(setting["dataset"], run, surroundings)
    method, size = setting["method"], setting["size"]
    fitted = METHODS[method](MODELS["C4.5"](split), split, run, n_members=size)
    sizes = [size] if method in EVERY_SIZE_ANEW else [n for n in SIZES if n <= size]
    if setting["dataset"] in PAYMENTS:
        return list(aucprc_by_size(fitted, split, sizes))
    return [{"n_members": n, **evaluated(fitted.first(n), split)} for n in sizes]


def aucprc_by_size(fitted: Fitted, split: Split, sizes: Sequence[int]) -> Iterator[Row]:
    """The measure of the figure alone, from one pass over the members."""
    for n, probabilities in enumerate(fitted.model.staged_predict_proba(split.X_test), start=1):
        if n in sizes:
            yield {
                "n_members": n,
                "aucprc": round(aucprc(split.y_test, probabilities[:, 1]), 6),
                "n_training_rows": sum(fitted.training_rows[:n]),
            }


def leave_out(setting: Setting) -> bool:
    method, size = setting["method"], setting["size"]
    if setting["dataset"] in PAYMENTS and size not in FEW_SIZES:
        return True
    return method not in EVERY_SIZE_ANEW and size != LARGEST.get(method, max(SIZES))


def runs(setting: Setting) -> int:
    if setting["dataset"] in PAYMENTS:
        return 1 if setting["method"] in BY_DISTANCE else 3
    return 3 if setting["method"] in BY_DISTANCE else 10


def budget(setting: Setting) -> Budget | None:
    return BUDGET if setting["dataset"] in PAYMENTS and setting["method"] in BY_DISTANCE else None


ENSEMBLES = Experiment(
    name="ensembles",
    title="Performance of 6 ensembles by the number of members",
    grid={"dataset": ["credit-fraud", *PAYMENTS], "method": METHOD_NAMES, "size": SIZES},
    work=work,
    runs=runs,
    leave_out=leave_out,
    budget=budget,
    gigabytes=4,
)
