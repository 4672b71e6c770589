"""Several ensembles together: from rows to the pool of their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import Calibrator
from selfpaced.ensembles.averaged import AveragedMembers, Prepared, RowsDone, streamed_probabilities
from selfpaced.ensembles.pooling import LogOddsPool
from selfpaced.scoring import Spread, mean_probabilities, probability_spread
from selfpaced.tables import InMemoryTable, StreamedTable
from selfpaced.tables.batch import StreamedBatch

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BlendedEnsembles:
    """Ensembles, the pool of their probabilities, and its calibration."""

    ensembles: Sequence[AveragedMembers]
    pool: LogOddsPool
    calibrator: Calibrator | None
    n_classes: int
    n_threads: int

    def means(self, table: InMemoryTable) -> Floats:
        return self.pool([each.means(table) for each in self.ensembles])

    def probabilities(self, table: InMemoryTable) -> Floats:
        return self._calibrated(self.means(table))

    def staged(self, table: InMemoryTable) -> Iterator[Floats]:
        """The probabilities of the first ensemble, of the first two together, and so on."""
        parts: list[Floats] = []
        for each in self.ensembles:
            parts.append(each.means(table))
            yield self._calibrated(self.pool.first(len(parts))(parts))

    def spread(self, table: InMemoryTable, share: float) -> Spread:
        """Each member counts by the weight of its ensemble, on the scale of all together."""
        scorers, weights = [], []
        for number, each in enumerate(self.ensembles):
            pooled = partial(self.pool.alone, number)
            scorers += [scorer.then(pooled).then(self._calibrated) for scorer in each.scorers(table.n_rows)]
            weights += [self.pool.weights[number] / len(each.members)] * len(each.members)
        return probability_spread(scorers, table, self.n_classes, self.n_threads, share, np.array(weights))

    def prepared(self, n_rows: int) -> Prepared:
        by_ensemble = [each.scorers(n_rows) for each in self.ensembles]

        def score(rows: InMemoryTable, n_threads: int) -> Floats:
            parts = [
                mean_probabilities(scorers, rows, self.n_classes, n_threads, each.weights)
                for scorers, each in zip(by_ensemble, self.ensembles, strict=True)
            ]
            return self._calibrated(self.pool(parts))

        return Prepared([scorer for some in by_ensemble for scorer in some], score, self.n_threads)

    def streamed(self, table: StreamedTable, progress: RowsDone | None) -> Iterator[tuple[StreamedBatch, Floats]]:
        return streamed_probabilities(self.prepared, table, progress)

    def _calibrated(self, pooled: Floats) -> Floats:
        return pooled if self.calibrator is None else self.calibrator(pooled)
