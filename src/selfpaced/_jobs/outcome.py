"""What every training says about itself, wherever its rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.making import Trainable
from selfpaced.ensembles import AutoSelfPacedClassifier
from selfpaced.rounds import seconds_by_phase
from selfpaced.tables import ClassCounts

FEW_CASES = 20


class Outcome(ABC):
    """A trained model and its scores of the held-out rows."""

    model: Trainable
    scores: NDArray[np.float64]
    phases: dict[str, float]

    @property
    @abstractmethod
    def labels(self) -> ClassCounts:
        """The labels of all rows."""

    @property
    def seconds(self) -> float:
        """The time of all phases."""
        return sum(self.phases.values())

    @property
    def rounds_seconds(self) -> dict[str, float]:
        """The seconds of training by task. For a blend, the seconds of all its recipes are added up."""
        model = self.model
        ensembles = list(model.ensembles_.values()) if isinstance(model, AutoSelfPacedClassifier) else [model]
        return seconds_by_phase([note for ensemble in ensembles for note in ensemble.rounds_])

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows each label has."""
        return dict(zip(self.labels.names, self.labels.counts.tolist(), strict=True))

    @property
    def learned_nothing(self) -> bool:
        """Whether all rows got the same score."""
        return bool(self.scores.min() == self.scores.max())

    @property
    def few_cases(self) -> bool:
        """Whether there are too few rare rows for reliable figures."""
        return min(self.counts.values()) < FEW_CASES
