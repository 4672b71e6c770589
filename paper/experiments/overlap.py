"""Figure: AUCPRC on the test set by round, on checkerboards of growing overlap."""

from __future__ import annotations

from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import bayes_aucprc, board
from paper.methods import METHODS
from paper.models import MODELS
from selfpaced.metrics import aucprc

# The paper does not say how long its curves are; in 20 rounds "later iterations" show.
ROUNDS = 20


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    covariance = setting["covariance"]
    split = board(covariance, run, surroundings)
    fitted = METHODS[setting["method"]](MODELS["DT"](split), split, run, n_members=ROUNDS)
    bayes = bayes_aucprc(split, covariance)
    return [
        {"round": number, "aucprc": round(aucprc(split.y_test, probabilities[:, 1]), 6), "bayes": bayes}
        for number, probabilities in enumerate(fitted.model.staged_predict_proba(split.X_test), start=1)
    ]


OVERLAP = Experiment(
    name="overlap",
    title="Training curves under different levels of overlap",
    grid={"covariance": [0.05, 0.10, 0.15], "method": ["Cascade", "SPE"]},
    work=work,
)
