"""The paper's experiments: a grid each, nothing else."""

from paper.experiment import Experiment
from paper.experiments.resampling import RESAMPLING

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in [RESAMPLING]}

__all__ = ["EXPERIMENTS"]
