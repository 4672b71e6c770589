"""`Fit`: checked parameters that turn the split of a table into a `Model`."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from selfpaced.algorithms import MajorityPool, Sample, Step
from selfpaced.calibration import Calibrator
from selfpaced.callbacks import BinNotes, CallbackList, FitPlan, Round
from selfpaced.ensembles import cross_fitting
from selfpaced.ensembles.checkpoint import Checkpoint
from selfpaced.ensembles.checks import check_classes, check_known_labels, check_present, warn_of_few_rows
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.pools import FitPool, Stopwatch, Weighting
from selfpaced.exceptions import warn
from selfpaced.model import Model, Part, RowReader, UsualValues, reader_for, record_of, usual_values
from selfpaced.pools import Rows
from selfpaced.scoring import add_probabilities, scorer_of
from selfpaced.tables import ClassCounts, ClassSplit, Schema, SplitPlan, Table, not_numbers, stack


class EvalSet:
    """Held-out rows with labels, and the sum of the probabilities that the members so far gave them."""

    def __init__(self, given: Any, reader: RowReader, labels: ClassCounts, n_threads: int) -> None:
        if not isinstance(given, tuple | list) or len(given) != 2 or isinstance(given[0], tuple):
            raise ValueError(
                "eval_set must be one pair (X, y) of features and labels, not a list of pairs; "
                f"got a {type(given).__name__} of length {len(given)}."
            )
        X, y = given
        self._labels = check_known_labels(y, X, labels.classes, "The eval_set")
        check_present(self._labels, labels.rarest, "The eval_set", "scored on")
        self._table = reader(X)
        self._minority_class = labels.rarest
        self._n_threads = n_threads
        self._sums = np.zeros((self._table.n_rows, labels.classes.size))
        self._n_members = 0

    def score_with(self, model: Any) -> float:
        """AUCPRC after one more member: of the rarer class, or the mean over all classes if there are more than two."""
        add_probabilities([scorer_of(model)], self._table, self._sums, self._n_threads)
        self._n_members += 1
        means = self._sums / self._n_members
        if self._labels.classes.size == 2:
            is_minority = self._labels.codes == self._minority_class
            return float(average_precision_score(is_minority, means[:, self._minority_class]))
        present = np.flatnonzero(self._labels.counts)
        one_hot = self._labels.codes[:, np.newaxis] == present
        return float(average_precision_score(one_hot, means[:, present]))


AnyStep = TypeVar("AnyStep")
FitMember = Callable[[Sequence[Rows]], Any]
Algorithm = Callable[[Sequence[MajorityPool[Rows]], int, FitMember], Iterator[Step[Rows]]]


@dataclass(frozen=True)
class Notes:
    """What a fit reports to, is scored on, and is resumed from."""

    callbacks: CallbackList = field(default_factory=CallbackList)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    eval_set: Any = None  # held-out rows (X, y) by which the ensemble is scored after each round


@dataclass(frozen=True)
class Fit:
    """Checked parameters, which turn the split of a table into a `Model`. It holds no rows and no estimator."""

    n_members: int
    algorithm: Algorithm
    ratio: float
    seed: int
    bases: Sequence[Any]
    first_round: int  # 0 if the algorithm begins with a warm-up, a model that does not become a member
    n_threads: int = 1
    calibration: str | None = None
    weighting: Weighting | None = None
    independent: bool = False  # whether a member can be trained before the ones before it are there
    # Arguments of the base models' `fit` that are the same for every member.
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def run(self, table: Table, notes: Notes, split: ClassSplit | None = None) -> Model:
        """Train on a table. A split of it whose pools have scored nothing may be given."""
        labels = check_classes(table.labels(), table.roles.labels_are_in)
        n_draw = rows_to_draw(self.ratio, labels)
        with notes.callbacks.during(self._plan(labels, notes)):
            if split is None:
                split = table.split(self.split_plan(n_draw, notes.callbacks))
            features = split.minority.features
            reader = reader_for(features, table.schema, self.bases)
            held_out = None if notes.eval_set is None else EvalSet(notes.eval_set, reader, labels, self.n_threads)
            with hinting_at_columns(table.schema, features):
                loop = _Loop(self, split, notes, held_out)
                part, calibrator = loop.run(n_draw)
        if cross_fitting.needs_copies(self.calibration):
            warn_of_few_rows(labels)
        record = record_of(labels, table.roles, table.schema, part.members, table.snapshot)
        trained_on = replace(record, categories=reader.categories)
        return Model(
            reader, (part,), trained_on, None, calibrator, self.calibration, usual=next(iter(loop.usual), None)
        )

    def split_plan(self, n_draw: int, callbacks: CallbackList) -> SplitPlan:
        return SplitPlan(self.seed, self.n_threads, n_draw, self.first_round, callbacks.on_rows_read)

    def _plan(self, labels: ClassCounts, notes: Notes) -> FitPlan:
        """The information for callbacks at the beginning of a fit."""
        n_rows, n_minority = int(labels.counts.sum()), int(labels.counts[labels.rarest])
        calibrates = cross_fitting.needs_copies(self.calibration)
        return FitPlan(self.n_members, n_rows, n_minority, notes.eval_set is not None, self.first_round, calibrates)


def rows_to_draw(ratio: float, labels: ClassCounts) -> int:
    """Rows to draw from each larger class: as many as the minority has, times the ratio."""
    n_draw = max(1, round(ratio * int(labels.counts[labels.rarest])))
    for number, (name, n_rows) in enumerate(zip(labels.names, labels.counts.tolist(), strict=True)):
        if number != labels.rarest and n_draw > n_rows:
            warn(
                f"ratio={ratio:g} asks for {n_draw} rows of the class {name!r}, which has only {n_rows}. Every member "
                "gets all of them."
            )
    return n_draw


@contextmanager
def hinting_at_columns(schema: Schema | None, features: Any) -> Iterator[None]:
    """Add the columns that are not numbers to errors of base models: they may be the cause."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if schema is None and (others := not_numbers(features)):
            error.add_note(
                f"The columns {others} do not hold numbers. If the base model cannot read them, encode them first, or "
                "use AutoSelfPacedClassifier, which reads strings, categories and dates."
            )
        names = [column.name for column in schema.columns if column.categories is not None] if schema else []
        if names:
            error.add_note(
                f"The columns {names} hold strings, which the base model gets as pandas categories. If it cannot read "
                "them, exclude these columns, or choose another base model, such as LightGBM or HistGradientBoosting."
            )
        raise


@dataclass(frozen=True)
class _Loop:
    """The loop of a fit: it runs the algorithm on the pools of a split, and keeps notes of every round."""

    fit: Fit
    split: ClassSplit
    notes: Notes
    held_out: EvalSet | None
    # What rows of the larger classes are like, by those that are drawn for the first model, which are random. It stays
    # empty if that model is one of a checkpoint.
    usual: list[tuple[UsualValues, ...]] = field(default_factory=list)

    def run(self, n_draw: int) -> tuple[Part, Calibrator | None]:
        """The members with the notes of all rounds, up to the last or until a callback stops, and the calibration.

        Finished rounds come from the checkpoint. Their models are scored when a pool is needed for a new round, and no
        row is read before.
        """
        stopwatch = Stopwatch(self.split.seconds_reading)
        pools = self._pools(stopwatch)
        honest: dict[int, cross_fitting.HonestScores] = {}
        steps = self.fit.algorithm(pools, n_draw, self._fit_member(stopwatch, honest))
        models: list[Any] = []
        rounds: list[Round] = []
        stop = None
        for step in naming_the_round(self._kept_promises(steps, stopwatch), self.fit.first_round, self.fit.n_members):
            models.append(step.model)
            rounds.append(self._note(step, stopwatch))
            self.notes.checkpoint.save(step.model, rounds[-1], honest.get(step.number))
            stop = self.notes.callbacks.on_round_end(rounds[-1])
            if stop is not None:
                break
        members = models[1 - self.fit.first_round :]
        n_kept = len(members) if stop is None else stop.keep
        if not 1 <= n_kept <= len(members):
            raise ValueError(f"A callback asked to keep {n_kept} members. It must keep 1 to {len(members)}.")
        with stopwatch.running("calibrating"):
            calibrator = self._calibrator(pools, models, honest, n_kept, n_draw)
        last, seconds = rounds[-1], stopwatch.read()
        rounds[-1] = replace(
            last,
            seconds_calibrating=last.seconds_calibrating + seconds["calibrating"],
            seconds_reading=last.seconds_reading + seconds["reading"],
        )
        return Part(tuple(members[:n_kept]), None, tuple(rounds)), calibrator

    def _calibrator(
        self,
        pools: Sequence[MajorityPool[Rows]],
        models: Sequence[Any],
        honest: Mapping[int, cross_fitting.HonestScores],
        n_kept: int,
        n_draw: int,
    ) -> Calibrator | None:
        if self.fit.calibration is None:
            return None
        if not cross_fitting.needs_copies(self.fit.calibration):
            weighting = self.fit.weighting
            return cross_fitting.prior_correction(self.split.counts, self.split.minority_class, n_draw, weighting)
        by_number = dict(enumerate(models, start=self.fit.first_round))
        members = [cross_fitting.CrossFitted(by_number[number], honest[number]) for number in range(1, n_kept + 1)]
        for pool in pools:
            pool.score(models[-1])
        by_class = dict(zip(self.split.pools, pools, strict=True))
        return cross_fitting.fitted_calibrator(self.fit.calibration, self.split, by_class, members, self.fit.n_threads)

    def _pools(self, stopwatch: Stopwatch) -> list[FitPool]:
        kept, names, weighting = self.notes.checkpoint, self.split.names, self.fit.weighting
        kept.check_features(self.split.minority.features.shape[1])
        correction = None if weighting is None else weighting.correction(self.split.counts)
        return [
            FitPool(pool, stopwatch, partial(kept.bins, name=names[number]), correction)
            for number, pool in self.split.pools.items()
        ]

    def _representative(self, drawn: Sequence[Rows]) -> NDArray[np.intp]:
        """The places of some drawn rows, with as many of each larger class as it has among all rows."""
        sizes, n_drawn = (np.array([each.n_rows for each in self.split.pools.values()]), np.array([*map(len, drawn)]))
        wanted = np.round(sizes * (n_drawn / sizes).min()).astype(int)
        places = [np.linspace(0, n - 1, some).astype(np.intp) for n, some in zip(n_drawn, wanted, strict=True)]
        return np.concatenate([own + first for own, first in zip(places, n_drawn.cumsum() - n_drawn, strict=True)])

    def _blocks(self, drawn: Sequence[Rows]) -> list[Rows]:
        """The rows of a member's training set by class, with their weights."""
        weighting, minority = self.fit.weighting, self.split.minority
        if weighting is None:
            return [minority, *drawn]
        weighted = [rows.weighted(weighting.weights_of(rows)) for rows in drawn]
        return [minority.weighted(np.ones(len(minority))), *weighted]

    def _fit_member(self, stopwatch: Stopwatch, honest: dict[int, cross_fitting.HonestScores]) -> FitMember:
        """Algorithm 1's `fit`: a member from all minority rows and the rows drawn from each larger class.

        If the calibration needs them, `honest` gets the scores of each member's copies.
        """
        numbers, fit = count(), self.fit
        factory = MemberFactory(fit.bases, fit.seed, fit.arguments, fit.n_threads)

        def fit_member(drawn: Sequence[Rows]) -> Any:
            number = next(numbers)
            saved = self.notes.checkpoint.finished(self.fit.first_round + number)
            if saved is not None:
                if saved.honest is not None:
                    honest[self.fit.first_round + number] = saved.honest
                return saved.model
            if number == 0:
                self.usual.append(usual_values(stack(drawn).features, self._representative(drawn)))
            blocks = self._blocks(drawn)
            rows = stack(blocks)
            y = np.repeat([self.split.minority_class, *self.split.pools], [len(block) for block in blocks])
            with stopwatch.running("fitting"):
                model = self._fitted(partial(factory.fit, number, rows.features, y, rows.arguments))
            if cross_fitting.needs_copies(self.fit.calibration) and self.fit.first_round + number > 0:
                with stopwatch.running("calibrating"):
                    scores = cross_fitting.cross_fit(factory, number, rows, y, self.fit.seed, self.fit.n_threads)
                honest[self.fit.first_round + number] = scores
            return model

        return fit_member

    def _fitted(self, work: Callable[[], Any]) -> Any:
        """A member, or a promise of one that is trained elsewhere, if no other member waits for it."""
        elsewhere = self.split.elsewhere
        if elsewhere is None:
            return work()
        promise = elsewhere.begin(work)
        return promise if self._members_are_promised else promise.result()

    @property
    def _members_are_promised(self) -> bool:
        return self.split.elsewhere is not None and self.fit.independent

    def _kept_promises(self, steps: Iterator[Step[Rows]], stopwatch: Stopwatch) -> Iterator[Step[Rows]]:
        """The steps with their members. While some are trained elsewhere, rows are drawn for the next."""
        if not self._members_are_promised:
            yield from steps
            return
        assert self.split.elsewhere is not None
        waiting: deque[Step[Rows]] = deque()
        for step in steps:
            waiting.append(step)
            if len(waiting) >= self.split.elsewhere.n_at_once():
                yield self._with_member(waiting.popleft(), stopwatch)
        while waiting:
            yield self._with_member(waiting.popleft(), stopwatch)

    def _with_member(self, step: Step[Rows], stopwatch: Stopwatch) -> Step[Rows]:
        if self.notes.checkpoint.finished(step.number) is not None:
            return step
        with stopwatch.running("fitting"):
            return replace(step, model=step.model.result())

    def _note(self, step: Step[Rows], stopwatch: Stopwatch) -> Round:
        seconds = stopwatch.read()
        score = self.held_out.score_with(step.model) if self.held_out and step.number > 0 else None
        saved = self.notes.checkpoint.finished(step.number)
        if saved is not None:
            return replace(saved.round, score=score)  # of this fit's eval_set
        bins = {
            self.split.names[number]: _bin_notes(sample, pool.n_rows)
            for (number, pool), sample in zip(self.split.pools.items(), step.samples, strict=True)
        }
        ids = np.concatenate([self.split.minority.ids, *(sample.rows.ids for sample in step.samples)])
        return Round(
            number=step.number,
            alpha=step.alpha,
            bins=bins,
            n_rows=len(self.split.minority) + sum(len(sample.rows) for sample in step.samples),
            seconds_scoring=seconds["scoring"],
            seconds_drawing=seconds["drawing"],
            seconds_fitting=seconds["fitting"],
            score=score,
            ids=ids.astype(np.min_scalar_type(ids.max())),
            weights=self._weights([sample.rows for sample in step.samples]),
            seconds_calibrating=seconds["calibrating"],
            seconds_reading=seconds["reading"],
        )

    def _weights(self, drawn: Sequence[Rows]) -> NDArray[np.float64] | None:
        """The weights of the rows of a training set besides their sample weights, the rare rows first."""
        weighting = self.fit.weighting
        if weighting is None:
            return None
        return np.concatenate([np.ones(len(self.split.minority)), *map(weighting.weights_of, drawn)])


def _bin_notes(sample: Sample[Rows], n_rows: int) -> BinNotes:
    """The bins of a round that draws at random: all rows of a class are in one bin."""
    if sample.bins is None or sample.quota is None:
        return BinNotes(np.array([n_rows]), np.array([np.nan]), np.array([len(sample.rows)]))
    return BinNotes(sample.bins.counts, sample.bins.mean_hardness, sample.quota)


def naming_the_round(steps: Iterator[AnyStep], first_round: int, n_members: int) -> Iterator[AnyStep]:
    """The steps one by one. An error, such as one of a base model, keeps its type and gets a note with the round."""
    for number in count(first_round):
        try:
            step = next(steps, None)
        except Exception as error:
            error.add_note(f"This happened in round {number} of {n_members}.")
            raise
        if step is None:
            return
        yield step
