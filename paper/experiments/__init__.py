"""The paper's experiments: a grid each, nothing else."""

from paper.experiment import Experiment
from paper.experiments.checkerboard import CHECKERBOARD
from paper.experiments.ensembles import ENSEMBLES
from paper.experiments.hardness_under_imbalance import HARDNESS_UNDER_IMBALANCE
from paper.experiments.missing_values import MISSING_VALUES
from paper.experiments.overlap import OVERLAP
from paper.experiments.payments_by_time import PAYMENTS_BY_TIME
from paper.experiments.real_world import REAL_WORLD
from paper.experiments.resampling import RESAMPLING
from paper.experiments.self_paced_sampling import SELF_PACED_SAMPLING
from paper.experiments.sensitivity import SENSITIVITY

# In the order of the paper, and what goes beyond it.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in [
        HARDNESS_UNDER_IMBALANCE,
        SELF_PACED_SAMPLING,
        CHECKERBOARD,
        OVERLAP,
        REAL_WORLD,
        RESAMPLING,
        ENSEMBLES,
        MISSING_VALUES,
        SENSITIVITY,
        PAYMENTS_BY_TIME,
    ]
}

__all__ = ["EXPERIMENTS"]
