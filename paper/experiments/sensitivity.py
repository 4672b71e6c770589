"""Figure: SPE with another number of bins or another hardness function."""

from __future__ import annotations

from paper.evaluation import ranked
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import task
from paper.methods import METHODS
from paper.models import MODELS

DATASETS = ["credit-fraud", "payment-simulation", "paysim-simulated"]
FEW_BINS = [1, 2, 5, 10, 20, 50]


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    split = task(setting["dataset"], run, surroundings)
    # The paper does not name the base model of this figure.
    fitted = METHODS["SPE"](MODELS["DT"](split), split, run, 10, n_bins=setting["bins"], hardness=setting["hardness"])
    return [ranked(fitted, split, votes=setting["dataset"] == "credit-fraud")]


def leave_out(setting: Setting) -> bool:
    """Of millions of rows, a few numbers of bins show the curve. One bin is the same under every hardness function."""
    if setting["dataset"] == "credit-fraud":
        return False
    return setting["bins"] not in FEW_BINS or (setting["bins"] == 1 and setting["hardness"] != "absolute")


SENSITIVITY = Experiment(
    name="sensitivity",
    title="Sensitivity of SPE to the number of bins and the hardness function",
    grid={
        "dataset": DATASETS,
        "bins": [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50],
        "hardness": ["absolute", "squared", "cross_entropy"],
    },
    work=work,
    leave_out=leave_out,
    runs=lambda setting: 10 if setting["dataset"] == "credit-fraud" else 3,
    gigabytes=3,
)
