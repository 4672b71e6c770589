"""Table: 8 base models with 6 methods on the checkerboard, beside the best that any model could reach."""

from __future__ import annotations

from paper.evaluation import evaluated
from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import bayes_aucprc, board
from paper.methods import METHODS
from paper.models import MODELS

BASE_MODELS = ["KNN", "DT", "MLP", "SVM", "AdaBoost10", "Bagging10", "RandForest10", "GBDT10"]
SIX_METHODS = ["RandUnder", "Clean", "SMOTE", "Easy", "Cascade", "SPE"]


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    split = board(0.1, run, surroundings)
    base = MODELS[setting["model"]](split)
    fitted = METHODS[setting["method"]](base, split, run, n_members=10)
    return [{**evaluated(fitted, split), "bayes": bayes_aucprc(split, 0.1)}]


CHECKERBOARD = Experiment(
    name="checkerboard",
    title="Performance (AUCPRC) on the checkerboard",
    grid={"model": BASE_MODELS, "method": SIX_METHODS},
    work=work,
)
