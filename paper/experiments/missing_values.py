"""Table: 6 ensembles when a part of all values is replaced by a meaningless 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from paper.datasets import Split
from paper.evaluation import evaluated
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.ensembles import BY_DISTANCE, METHOD_NAMES
from paper.experiments.tasks import task
from paper.methods import METHODS
from paper.models import MODELS


def with_zeros(split: Split, share: float, seed: int) -> Split:
    """A random share of the values of all features is 0, in training, validation and test rows alike."""
    rng = np.random.default_rng(seed)
    parts = {
        name: np.where(rng.random(X.shape) < share, X.dtype.type(0), X)
        for name, X in vars(split).items()
        if name.startswith("X_")
    }
    return replace(split, **parts)


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    split = with_zeros(task("credit-fraud", run, surroundings), setting["missing"], run)
    fitted = METHODS[setting["method"]](MODELS["C4.5"](split), split, run, n_members=10)
    return [evaluated(fitted, split)]


MISSING_VALUES = Experiment(
    name="missing_values",
    title="Performance (AUCPRC) of 6 ensembles with missing values",
    grid={"missing": [0.25, 0.5, 0.75], "method": METHOD_NAMES},  # without missing values it is the table of ensembles
    work=work,
    runs=lambda setting: 3 if setting["method"] in BY_DISTANCE else 10,
    gigabytes=2,
)
