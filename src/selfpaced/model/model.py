"""`Model`: what a fit returns. It is scored, saved, exported, explained, monitored and sent to workers."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from selfpaced import scoring
from selfpaced.calibration import Calibrator
from selfpaced.callbacks import Round
from selfpaced.model.pooling import LogOddsPool
from selfpaced.model.reader import Floats, RowReader
from selfpaced.model.typical import UsualValues
from selfpaced.storage import versions_for
from selfpaced.tables import ClassCounts, InMemoryTable, Roles, Schema


@dataclass(frozen=True)
class TrainedOn:
    """The record of the training data of an ensemble. Every fit makes one. It is saved with the model."""

    classes: tuple[Any, ...]  # the labels, sorted, as plain Python values
    class_counts: tuple[int, ...]  # training rows of each label
    target: str | None  # the column of labels; None if the labels had no name
    pos_label: Any  # the label that was separated from all others, if `open_table` was given one
    schema: Schema | None  # of a table; None for rows in memory that models read as they are
    versions: Mapping[str, str]  # of Python and of the packages that trained the members
    snapshot: str | None = None  # the version of a lake table that the rows are from
    group: str | None = None  # the column of groups; "groups" for an array without a name
    # The categories of each column of categories in a frame that models read as it is; None if there is none.
    categories: Mapping[str, tuple[str, ...]] | None = None
    other_labels: tuple[Any, ...] = ()  # the labels that `pos_label` was separated from

    @property
    def counts(self) -> dict[Any, int]:
        """Training rows by label."""
        return dict(zip(self.classes, self.class_counts, strict=True))

    @property
    def labels(self) -> ClassCounts:
        """The classes and their counts as they were in training."""
        return ClassCounts(np.array(self.classes, dtype=object), np.array(self.class_counts))

    @property
    def minority_number(self) -> int:
        """The column of the rarest class in `predict_proba`."""
        return self.labels.rarest

    @property
    def score_label(self) -> Any:
        """The label whose probability is the score, as it is written in the data."""
        return self.labels.score_label(self.pos_label)

    @property
    def score_column(self) -> int:
        """The column of the score in `predict_proba`."""
        return self.classes.index(named_among(self.classes, self.score_label))

    @property
    def is_one_against_all(self) -> bool:
        """Whether the classes are one label and all others, and not labels of the data."""
        return named_among(self.classes, self.score_label) is not self.score_label

    @property
    def roles(self) -> Roles:
        """How the labels of another table are read to be compared with these."""
        return Roles(self.target, self.pos_label)


def named_among(classes: Sequence[Any], label: Any) -> Any:
    """The class of a label: True if the classes are the label and all others, or else the label itself.

    >>> named_among([False, True], "fraud"), named_among([False, True], False), named_among([0, 1], 0)
    (True, False, 0)
    """
    # 0 and 1 must not be mistaken for False and True.
    return True if isinstance(classes[-1], bool) and not isinstance(label, bool) else label


def record_of(
    labels: ClassCounts, roles: Roles, schema: Schema | None, members: Sequence[Any], snapshot: str | None = None
) -> TrainedOn:
    """The record of a fit that has ended with some members."""
    pos_label = roles.pos_label.item() if isinstance(roles.pos_label, np.generic) else roles.pos_label
    return TrainedOn(
        tuple(labels.names),
        tuple(labels.counts.tolist()),
        roles.target,
        pos_label,
        schema,
        versions_for(members),
        snapshot,
        roles.group_column,
        other_labels=roles.other_labels,
    )


@dataclass(frozen=True)
class RecipeResult:
    """The result of a recipe."""

    name: str
    aucprc: float | None = None  # on rows of the working sample that it was not trained on; None if it was not judged
    standard_error: float | None = None
    weight: float = 0.0  # how much it counts in the blend; 0 if it is not a part of it
    seconds_judging: float = 0.0
    seconds_fitting: float = 0.0  # on the whole table
    note: str | None = None  # why it is not a part of the blend, or was not judged


@dataclass(frozen=True, eq=False)
class Part:
    """Members whose probabilities are averaged. An ensemble has one part, a blend has one for each recipe."""

    members: tuple[Any, ...]
    weights: Floats | None = None  # how much each member counts in the mean; None if all count the same
    rounds: tuple[Round, ...] = ()  # the notes of the fit, with those of a warm-up first if there was one

    @property
    def rounds_of_members(self) -> tuple[Round, ...]:
        """The notes of the rounds whose models are members."""
        return tuple(each for each in self.rounds if each.number > 0)[: len(self.members)]


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model, from rows in any form to probabilities. Nothing about it changes, so threads can share it."""

    reader: RowReader  # from rows in any form to the rows that members read
    parts: tuple[Part, ...]  # one for an ensemble, several for a blend
    trained_on: TrainedOn
    pool: LogOddsPool | None = None  # how the probabilities of several parts become one; None for one part
    calibrator: Calibrator | None = None  # the map from scores to probabilities
    calibration: str | None = None  # its method
    recipes: tuple[RecipeResult, ...] = ()  # the results of all recipes of a blend
    # What common rows are like, for each feature that members read; None if the fit was resumed after its first round.
    usual: tuple[UsualValues, ...] | None = None

    @property
    def members(self) -> list[Any]:
        return [member for part in self.parts for member in part.members]

    @property
    def member_weights(self) -> Floats | None:
        """How much each of the members counts; None if all count the same."""
        if self.pool is None:
            return self.parts[0].weights
        sizes = [len(part.members) for part in self.parts]
        return np.repeat(self.pool.weights / sizes, sizes)

    @property
    def n_classes(self) -> int:
        return len(self.trained_on.classes)

    @cached_property
    def scorers(self) -> tuple[list[scoring.Scorer], ...]:
        """The scorers of each part's members: all that does not depend on the rows, prepared once, and never saved."""
        return tuple(scoring.scorers_of(part.members) for part in self.parts)

    def probabilities(self, X: Any, n_jobs: int | None = None) -> Floats:
        """The calibrated probabilities of rows, one column for each class: the only way from rows to probabilities."""
        return self.calibrated(self.means(X, n_jobs))

    def means(self, X: Any, n_jobs: int | None = None) -> Floats:
        """The probabilities before any calibration."""
        return self.means_of(self.reader.coded(X), effective_n_jobs(n_jobs))

    def means_of(self, table: InMemoryTable, n_threads: int) -> Floats:
        """The probabilities before any calibration, of rows that the reader has read."""
        parts = [
            scoring.mean_probabilities(some, table, self.n_classes, n_threads, part.weights)
            for some, part in zip(self.scorers, self.parts, strict=True)
        ]
        return parts[0] if self.pool is None else self.pool(parts)

    def staged(self, X: Any, n_jobs: int | None = None) -> Iterator[Floats]:
        """The probabilities of the first member, of the first two together, and so on; of a blend, of its parts."""
        table, n_threads = self.reader.coded(X), effective_n_jobs(n_jobs)
        if self.pool is None:
            stages = scoring.staged_probabilities(
                self.scorers[0], table, self.n_classes, n_threads, self.parts[0].weights
            )
            yield from map(self.calibrated, stages)
            return
        found: list[Floats] = []
        for some, part in zip(self.scorers, self.parts, strict=True):
            found.append(scoring.mean_probabilities(some, table, self.n_classes, n_threads, part.weights))
            yield self.calibrated(self.pool.first(len(found))(found))

    def spread(self, X: Any, share: float, n_jobs: int | None = None) -> scoring.Spread:
        """The range in which the middle share of the members' probabilities lies, each calibrated.

        In a blend each member counts by the weight of its part, on the scale of all together.
        """
        table, scorers = self.reader.coded(X), []
        for number, some in enumerate(self.scorers):
            for scorer in some:
                pooled = scorer if self.pool is None else scorer.then(partial(self.pool.alone, number))
                scorers.append(pooled.then(self.calibrated))
        n_threads = effective_n_jobs(n_jobs)
        return scoring.probability_spread(scorers, table, self.n_classes, n_threads, share, self.member_weights)

    def calibrated(self, means: Any) -> Floats:
        calibrated: Floats = means if self.calibrator is None else self.calibrator(means)
        return calibrated

    def recalibrated(self, calibrator: Calibrator | None, method: str | None) -> Self:
        return replace(self, calibrator=calibrator, calibration=method)

    def first(self, n_members: int) -> Self:
        """The same model of one part with its first members only, without a calibration."""
        (part,) = self.parts
        weights = None if part.weights is None else part.weights[:n_members]
        some = replace(part, members=part.members[:n_members], weights=weights)
        return replace(self, parts=(some,), calibrator=None, calibration=None)

    def in_one_thread(self) -> Self:
        """A copy whose members keep to one thread, because the caller uses several."""
        members = deepcopy([part.members for part in self.parts])
        parts = [
            replace(part, members=tuple(map(scoring.in_one_thread, some)))
            for part, some in zip(self.parts, members, strict=True)
        ]
        return replace(self, parts=tuple(parts))

    def __getstate__(self) -> dict[str, Any]:
        """The fields. Scorers are prepared again where the model is loaded."""
        return {name: value for name, value in vars(self).items() if name != "scorers"}
