"""Table: 12 re-sampling methods with 5 base models on Credit Fraud, and what they cost."""

from __future__ import annotations

from typing import Any

from paper.evaluation import ranked
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import task
from paper.methods import METHODS, SAMPLERS, fit_on, resample
from paper.models import MODELS

BASE_MODELS = ["LR", "KNN", "DT", "AdaBoost10", "GBDT10"]
QUICK_TO_RUN = {"RandUnder", "NearMiss", "SPE"}


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    """All base models on the same re-sampled rows: re-sampling may take longer than all of them."""
    split = task("credit-fraud", run, surroundings)
    return [{"model": model, **scores} for model, scores in _by_model(setting["method"], split, run)]


def _by_model(method: str, split: Any, run: int) -> list[tuple[str, Row]]:
    bases = {model: MODELS[model](split) for model in BASE_MODELS}
    if method == "SPE":
        return [(model, ranked(METHODS["SPE"](base, split, run, 10), split)) for model, base in bases.items()]
    resampled = resample(method, split, run)
    return [(model, ranked(fit_on(resampled, base, run), split)) for model, base in bases.items()]


RESAMPLING = Experiment(
    name="resampling",
    title="Performance (AUCPRC) of re-sampling methods on Credit Fraud",
    grid={"method": ["SPE", "ORG", *SAMPLERS]},
    work=work,
    runs=lambda setting: 10 if setting["method"] in QUICK_TO_RUN else 3,
    gigabytes=3,
)
