"""The members of a fitted model together: from rows to probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from selfpaced.calibration import Calibrator
from selfpaced.model.pooling import LogOddsPool
from selfpaced.scoring import (
    Scorer,
    Spread,
    begun,
    in_one_thread,
    mean_probabilities,
    over_stream,
    probability_spread,
    scorers_of,
    staged_probabilities,
)
from selfpaced.tables import InMemoryTable, NewCategories, polars_as_arrow, warn_of_new
from selfpaced.tables.files import StreamedBatch, StreamedTable

Floats = NDArray[np.float64]
RowsDone = Callable[[int, int | None], None]
# The rows of a file are scored in at least so many parts for each thread, but no smaller ones than this.
PARTS_FOR_A_THREAD, FEWEST_ROWS_OF_A_PART = 4, 2**14
# Packages whose models know the categories of pandas frames, and fail on those of polars.
PANDAS_READERS = {"catboost", "lightgbm", "xgboost"}


class Scoring(Protocol):
    """How a fitted ensemble turns rows into probabilities."""

    def means(self, table: InMemoryTable) -> Floats:
        """The probabilities before any calibration."""

    def probabilities(self, table: InMemoryTable) -> Floats:
        """The probabilities, calibrated."""

    def staged(self, table: InMemoryTable) -> Iterator[Floats]:
        """The probabilities of the first part, of the first two, and so on."""

    def spread(self, table: InMemoryTable, share: float) -> Spread:
        """The range in which the middle share of the members' probabilities lies, each calibrated."""

    def prepared(self, n_rows: int) -> Prepared:
        """What scores several tables, with so many rows together: the members are made ready once for all of them."""

    def streamed(self, table: StreamedTable, progress: RowsDone | None) -> Iterator[tuple[StreamedBatch, Floats]]:
        """Batches of a table with their probabilities, in order. `progress` gets the rows done and the rows to do."""


@dataclass(frozen=True)
class Prepared:
    """From rows to their probabilities, calibrated, with everything made ready that does not depend on the rows.

    Attributes
    ----------
    scorers : Sequence[Scorer]
        Those that are used.
    score : Callable[[InMemoryTable, int], Floats]
        Gets the rows, and in how many threads to score them.
    """

    scorers: Sequence[Scorer]
    score: Callable[[InMemoryTable, int], Floats]
    n_threads: int

    def __call__(self, table: InMemoryTable) -> Floats:
        return self.score(table, self.n_threads)


@dataclass(frozen=True)
class AveragedMembers:
    """Members, how much each counts, and the map from their mean to probabilities.

    Attributes
    ----------
    weights : Floats | None
        How much each member counts in the mean; None if all count the same.
    calibrator : Calibrator | None
        The calibration; None if there is none.
    """

    members: Sequence[Any]
    weights: Floats | None
    calibrator: Calibrator | None
    n_classes: int
    n_threads: int

    def means(self, table: InMemoryTable) -> Floats:
        scorers = self.scorers(table.n_rows)
        return mean_probabilities(scorers, table, self.n_classes, self.n_threads, self.weights)

    def probabilities(self, table: InMemoryTable) -> Floats:
        return self._calibrated(self.means(table))

    def staged(self, table: InMemoryTable) -> Iterator[Floats]:
        scorers = self.scorers(table.n_rows)
        stages = staged_probabilities(scorers, table, self.n_classes, self.n_threads, self.weights)
        return map(self._calibrated, stages)

    def spread(self, table: InMemoryTable, share: float) -> Spread:
        scorers = [scorer.then(self._calibrated) for scorer in self.scorers(table.n_rows)]
        return probability_spread(scorers, table, self.n_classes, self.n_threads, share, self.weights)

    def prepared(self, n_rows: int) -> Prepared:
        scorers = self.scorers(n_rows)

        def score(rows: InMemoryTable, n_threads: int) -> Floats:
            return self._calibrated(mean_probabilities(scorers, rows, self.n_classes, n_threads, self.weights))

        return Prepared(scorers, score, self.n_threads)

    def streamed(self, table: StreamedTable, progress: RowsDone | None) -> Iterator[tuple[StreamedBatch, Floats]]:
        return streamed_probabilities(self.prepared, table, progress)

    def scorers(self, n_rows: int) -> list[Scorer]:
        return scorers_of(self.members, n_rows)

    def _calibrated(self, means: Any) -> Floats:
        calibrated: Floats = means if self.calibrator is None else self.calibrator(means)
        return calibrated


def streamed_probabilities(
    prepare: Callable[[int], Prepared], table: StreamedTable, progress: RowsDone | None
) -> Iterator[tuple[StreamedBatch, Floats]]:
    """Batches of a table with their probabilities, in order. The first is read while the members are prepared.

    After the last batch, one warning counts the categories that the model was not trained with.
    """
    batches = begun(table.batches())
    prepared = prepare(table.reader.batch_rows)
    # Models with their own threads get one batch at a time.
    limits = [scorer.threads for scorer in prepared.scorers if scorer.threads is not None]
    threads = min([prepared.n_threads, *limits])
    most_rows = _rows_of_a_part(table, threads)

    def work(part: tuple[StreamedBatch, StreamedBatch]) -> tuple[StreamedBatch, StreamedBatch, Floats]:
        batch, rows = part
        rows.check()
        return batch, rows, prepared.score(InMemoryTable(rows.features_for(prepared.scorers)), 1)

    found: list[Floats] = []
    new = NewCategories()
    parts = ((batch, rows) for batch in batches for rows in replace(batch, new_categories=new).parts(most_rows))
    for batch, rows, probabilities in over_stream(work, parts, threads):
        found.append(probabilities)
        if rows.stop < batch.stop:
            continue
        yield batch, np.concatenate(found)
        found.clear()
        if progress is not None:
            progress(batch.stop, table.n_rows)
    new.warn()


def _rows_of_a_part(table: StreamedTable, threads: int) -> int:
    """A table of few batches would leave threads idle at its end, so that they share batches."""
    if threads == 1 or table.n_rows is None:
        return table.reader.batch_rows
    wanted = table.n_rows // (PARTS_FOR_A_THREAD * threads)
    return min(max(wanted, FEWEST_ROWS_OF_A_PART), table.reader.batch_rows)


def averaged_members(model: Any) -> AveragedMembers:
    """The members of a fitted ensemble whose probabilities are averaged."""
    check_is_fitted(model)
    weights, n_threads = model._member_weights(), model._n_threads()
    return AveragedMembers(model.estimators_, weights, model.calibrator_, len(model.classes_), n_threads)


def scoring_of(model: Any) -> Scoring:
    """How a fitted ensemble turns rows into probabilities."""
    check_is_fitted(model)
    scoring: Scoring = model._scoring()
    return scoring


def keeping_to_one_thread(model: Any) -> Any:
    """A fitted ensemble, set to predict in one thread with all its members, because its caller uses several threads."""
    for ensemble in getattr(model, "ensembles_", {"": model}).values():
        ensemble.estimators_ = [in_one_thread(member) for member in ensemble.estimators_]
    return model.set_params(n_jobs=1)


def bases_of(model: Any) -> list[Any]:
    """The base models of an ensemble: those that were given, or its default."""
    bases: list[Any] = model._bases()
    return bases


def rows_in_memory(model: Any, X: Any) -> InMemoryTable:
    """Rows that a fitted ensemble can score: checked, and converted as the rows that it was trained on."""
    check_is_fitted(model)
    checked = model._features(X, model.trained_on_.schema, reset=False)
    if model.trained_on_.categories is not None:
        # The warning points at the line that called the method of an ensemble.
        warn_of_new(model.trained_on_.categories, polars_as_arrow(checked))
    return readable_rows(model, checked)


def readable_rows(model: Any, X: Any, metadata: Mapping[str, Any] | None = None) -> InMemoryTable:
    """Rows as the base models of an ensemble read them."""
    kinds = [kind for base in bases_of(model) for kind in type(base).__mro__]
    packages = {kind.__module__.partition(".")[0] for kind in kinds}
    return InMemoryTable(polars_as_arrow(X) if packages & PANDAS_READERS else X, metadata)


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
