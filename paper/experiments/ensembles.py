"""Table and figure: 6 ensembles of C4.5 trees with a growing number of members."""

from __future__ import annotations

from collections.abc import Iterator

from paper.evaluation import evaluated
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import task
from paper.methods import METHODS, Fitted
from paper.models import MODELS

METHOD_NAMES = ["RUSBoost", "SMOTEBoost", "UnderBagging", "SMOTEBagging", "Cascade", "SPE"]
BY_DISTANCE = {"SMOTEBoost", "SMOTEBagging"}
SIZES = [1, 2, 5, 10, 20, 30, 50, 75, 100]
# How Cascade and SPE choose rows depends on the number of members to come, so every size is a fit of its own. The
# first members of the others are the smaller ensemble, so the largest fit holds them all.
EVERY_SIZE_ANEW = {"Cascade", "SPE"}
# A member of an over-sampling ensemble takes as long as a whole ensemble of the others.
LARGEST = {"SMOTEBoost": 50, "SMOTEBagging": 50}
STAND_IN = "payment-simulation-stand-in"


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    split = task(setting["dataset"], run, surroundings)
    method, size = setting["method"], setting["size"]
    fitted = METHODS[method](MODELS["C4.5"](split), split, run, n_members=size)
    ensembles = [(size, fitted)] if method in EVERY_SIZE_ANEW else first_members(fitted, size)
    return [{"n_members": n, **evaluated(ensemble, split)} for n, ensemble in ensembles]


def first_members(fitted: Fitted, size: int) -> Iterator[tuple[int, Fitted]]:
    for n in SIZES:
        if n <= size:
            yield n, fitted.first(n)


def leave_out(setting: Setting) -> bool:
    method, size = setting["method"], setting["size"]
    if setting["dataset"] == STAND_IN and method in BY_DISTANCE:
        return True
    return method not in EVERY_SIZE_ANEW and size != LARGEST.get(method, max(SIZES))


def runs(setting: Setting) -> int:
    if setting["dataset"] == STAND_IN:
        return 1
    return 3 if setting["method"] in BY_DISTANCE else 10


ENSEMBLES = Experiment(
    name="ensembles",
    title="Performance of 6 ensembles by the number of members",
    grid={"dataset": ["credit-fraud", STAND_IN], "method": METHOD_NAMES, "size": SIZES},
    work=work,
    runs=runs,
    leave_out=leave_out,
    gigabytes=4,
)
