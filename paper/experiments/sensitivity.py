"""Figure: SPE with another number of bins or another hardness function."""

from __future__ import annotations

from paper.evaluation import ranked
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import task
from paper.methods import METHODS
from paper.models import MODELS

STAND_IN = "payment-simulation-stand-in"
# The paper does not name the base models of this figure; these are the ones it has for the data sets elsewhere.
BASE_MODEL = {"credit-fraud": "DT", STAND_IN: "GBDT10"}
# Millions of rows: a few numbers of bins show the curve.
FEW_BINS = [1, 5, 10, 20, 50]


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    split = task(setting["dataset"], run, surroundings)
    base = MODELS[BASE_MODEL[setting["dataset"]]](split)
    fitted = METHODS["SPE"](base, split, run, 10, n_bins=setting["bins"], hardness=setting["hardness"])
    return [ranked(fitted, split)]


SENSITIVITY = Experiment(
    name="sensitivity",
    title="Sensitivity of SPE to the number of bins and the hardness function",
    grid={
        "dataset": list(BASE_MODEL),
        "bins": [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50],
        "hardness": ["absolute", "squared", "cross_entropy"],
    },
    work=work,
    leave_out=lambda setting: setting["dataset"] == STAND_IN and setting["bins"] not in FEW_BINS,
    runs=lambda setting: 1 if setting["dataset"] == STAND_IN else 10,
    gigabytes=3,
)
