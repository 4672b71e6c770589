"""Figure: how the self-paced factor alpha changes what is drawn from which hardness bin."""

from __future__ import annotations

from math import inf

import numpy as np

from paper.experiment import Experiment, Row, Setting, Surroundings
from paper.experiments.tasks import task
from paper.models import MODELS
from selfpaced.ensembles import SelfPacedEnsembleClassifier

N_BINS = 20


def work(setting: Setting, run: int, surroundings: Surroundings) -> list[Row]:
    """The bins of the first round after the warm-up, for one alpha throughout."""
    split = task("credit-fraud", run, surroundings)
    alpha = setting["alpha"]
    model = SelfPacedEnsembleClassifier(
        MODELS["GBDT10"](split), n_estimators=1, n_bins=N_BINS, pacing=lambda i, n: alpha, random_state=run
    ).fit(split.X_train, split.y_train)
    first = model.rounds_[1]
    mean_hardness = np.nan_to_num(first.mean_hardness)  # an empty bin has none
    return [
        {
            "bin": number,
            "rows": int(first.counts[number]),
            "hardness": round(float(first.counts[number] * mean_hardness[number]), 6),
            "rows_drawn": int(first.quota[number]),
            "hardness_drawn": round(float(first.quota[number] * mean_hardness[number]), 6),
        }
        for number in range(N_BINS)
    ]


SELF_PACED_SAMPLING = Experiment(
    name="self_paced_sampling",
    title="Rows and hardness drawn from each bin at alpha = 0, 0.1 and infinity",
    grid={"alpha": [0.0, 0.1, inf]},
    work=work,
)
