"""A fit of the classifier that chooses: from a table to a blend, whose recipes share the passes over files."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from os import PathLike
from threading import BoundedSemaphore, Event, Thread
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone

from selfpaced.calibration import FITTED_MAPS, check_method
from selfpaced.callbacks import Callback, CallbackList, FitPlan, Round, Stop
from selfpaced.ensembles.auto import choosing, judging
from selfpaced.ensembles.auto.recipes import (
    BlendLimits,
    MinoritySize,
    columns_of,
    default_recipes,
    not_installed,
    scout_model,
    too_slow,
)
from selfpaced.ensembles.base import bases_of
from selfpaced.ensembles.checkpoint import Checkpoint, checkpoint_folder, identity_of_fit, stored_seed
from selfpaced.ensembles.checks import check_classes, check_jobs, check_seed, warn_of_few_rows
from selfpaced.ensembles.fit import Fit, Notes, rows_to_draw
from selfpaced.ensembles.members import LARGEST_RANDOM_STATE, SMALL_TRAINING_SET
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble
from selfpaced.exceptions import warn
from selfpaced.model import Model, RecipeResult
from selfpaced.pools import Pass, Rows, mix, read_pass
from selfpaced.tables import ClassSplit, Elsewhere, LabelledTable, Labels, SplitPlan, Table


class _Abandoned(BaseException):
    """Ends a fit that nobody waits for any more."""


@dataclass
class _Turn:
    """One fit. It works while it has its turn, and otherwise waits for the next one, or for a pass over the table."""

    work: Callable[[], Any]
    begins: Event = field(default_factory=Event)
    ends: Event = field(default_factory=Event)
    table: Any = None  # to be read in the next pass
    asked: Pass | None = None
    found: Any = None  # the result of the fit, or the exception that ended it
    failure: Exception | None = None  # of the work in a pass
    seconds: float = 0.0
    is_over: bool = False


class SharedPasses:
    """Lets fits take turns. When all of them wait for a pass over the table, one pass serves them all.

    Each fit has a thread of its own, but only one works at a time: base models may change global state, such as the
    filters for warnings.
    """

    def __init__(self) -> None:
        self._present: _Turn | None = None
        self._are_abandoned = False

    def run(self, works: Sequence[Callable[[], Any]]) -> list[tuple[Any, float]]:
        """The result of each fit, or the exception that it raised, and the seconds that it worked."""
        turns = [_Turn(work) for work in works]
        threads = [Thread(target=copy_context().run, args=(self._work, turn, get_config())) for turn in turns]
        for thread in threads:
            thread.daemon = True
            thread.start()
        try:
            while running := [turn for turn in turns if not turn.is_over]:
                for turn in running:
                    begin, self._present = time.perf_counter(), turn
                    turn.begins.set()
                    turn.ends.wait()
                    turn.ends.clear()
                    turn.seconds += time.perf_counter() - begin
                self._read(running)
        finally:
            self._are_abandoned = True
            for turn in turns:
                turn.begins.set()
        for thread in threads:
            thread.join()
        return [(turn.found, turn.seconds) for turn in turns]

    def read(self, table: Any, asked: Pass) -> None:
        """What a fit calls for a pass over the table. It returns when the pass is done."""
        turn = self._present
        assert turn is not None
        turn.table, turn.asked = table, asked
        turn.ends.set()
        self._wait(turn)
        if turn.failure is not None:
            raise turn.failure

    def _read(self, turns: Sequence[_Turn]) -> None:
        begin = time.perf_counter()
        asking = [(turn, turn.asked) for turn in turns if turn.asked is not None]
        if asking:
            most = max(asked.n_threads for _, asked in asking)
            read_pass(asking[0][0].table, Pass.together([_guarded(turn, asked, most) for turn, asked in asking]))
        for turn, _ in asking:
            turn.asked = None
            turn.seconds += (time.perf_counter() - begin) / len(asking)

    def _work(self, turn: _Turn, config: dict[str, Any]) -> None:
        try:
            self._wait(turn)
            with config_context(**config):  # scikit-learn keeps it by thread
                turn.found = turn.work()
        except _Abandoned:
            pass
        except Exception as error:  # base models raise errors of all kinds
            turn.found = error
        finally:
            turn.is_over = True
            turn.ends.set()

    def _wait(self, turn: _Turn) -> None:
        turn.begins.wait()
        turn.begins.clear()
        if self._are_abandoned:
            raise _Abandoned


def _guarded(turn: _Turn, asked: Pass, n_threads: int) -> Pass:
    """A pass whose first error ends the fit that asked for it, and no other.

    It keeps to its own number of threads, so that the others need not.
    """
    room = BoundedSemaphore(asked.n_threads)

    def guarded(step: Callable[[Any], Any], given: Any) -> None:
        with room:
            if turn.failure is None:
                try:
                    step(given)
                except Exception as error:
                    turn.failure = error

    work, on_batch = partial(guarded, asked.work), partial(guarded, asked.on_batch)
    return replace(asked, work=work, on_batch=on_batch, n_threads=n_threads)


# Every process gets a copy of the rows.
MOST_BYTES_OF_ROWS = 2**28


def can_be_trained_side_by_side(fits: Sequence[Fit], table: Table, n_features: int, n_threads: int) -> bool:
    """Whether processes help, the rows are few enough to copy, and no member uses its own threads.

    Members with small training sets are fitted in one thread in any case, so that their model is the same wherever it
    is trained.
    """
    if n_threads == 1 or len(fits) == 1 or table.bytes_in_memory is None:
        return False
    labels = table.labels()
    n_rare, counts = int(labels.counts[labels.rarest]), labels.counts.tolist()
    largest = max(sum(min(n, max(n_rare, round(each.ratio * n_rare))) for n in counts) for each in fits)
    return largest * n_features < SMALL_TRAINING_SET and table.bytes_in_memory <= MOST_BYTES_OF_ROWS


def trained_side_by_side(
    fits: Sequence[Fit], table: Table, n_threads: int
) -> Iterator[tuple[Model | Exception, float]]:
    """The model of each fit, or the error that it failed with, in order, and its share of the seconds."""
    work = Parallel(n_jobs=n_threads, return_as="generator")
    for found, seconds in work(delayed(_trained)(each, table) for each in fits):
        yield found, seconds / n_threads


def _trained(fit: Fit, table: Table) -> tuple[Model | Exception, float]:
    begin = time.perf_counter()
    try:
        # The other processes have the other cores.
        with parallel_config("sequential"), judging.ignoring_expected_warnings():
            found: Model | Exception = replace(fit, n_threads=1).run(table, Notes())
    except Exception as error:  # base models raise errors of all kinds
        found = error
    return found, time.perf_counter() - begin


N_SCOUTS = 3


def recipes_to_try(given: Any) -> dict[str, UnderSamplingEnsemble]:
    """The recipes that a user gave, by name, checked."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ValueError(f"recipes must be a list of (name, ensemble) pairs; got {given!r}.")
    for pair in given:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
            raise ValueError(f"A recipe must be a pair of a name and an ensemble, as ('trees', ...); got {pair!r}.")
        if not isinstance(pair[1], UnderSamplingEnsemble):
            raise ValueError(
                f"The recipe {pair[0]!r} must be a SelfPacedEnsembleClassifier, an UnderBaggingClassifier or a "
                f"BalanceCascadeClassifier; got {pair[1]!r}."
            )
    names = [name for name, _ in given]
    if len(set(names)) < len(names):
        raise ValueError(f"The names of recipes must differ; got {names}.")
    return dict(given)


@dataclass(frozen=True)
class _Place:
    """Where a recipe is trained: on a table, whose rare rows have been read."""

    table: Table
    minority: Rows
    fewest_members: float  # of a model that a time limit cuts short
    elsewhere: Elsewhere | None = None  # the processes that train members, if the table does not know them
    ids: NDArray[np.integer] | None = None  # of the rows, in the table that they are from; None if it is this one
    folder: str = "recipe"  # of its checkpoint

    def of(self, fit: Fit) -> "_Place":
        return self

    def with_own_ids(self, model: Model) -> Model:
        """A model whose notes have the ids of the whole table."""
        ids = self.ids
        if ids is None:
            return model
        (part,) = model.parts
        rounds = (each if each.ids is None else replace(each, ids=ids[each.ids]) for each in part.rounds)
        return replace(model, parts=(replace(part, rounds=tuple(rounds)),))


@dataclass(frozen=True)
class _InMemory:
    """Rows in memory, drawn from a table with two classes, of which some are held out."""

    sample: judging.WorkingSample
    is_held_out: NDArray[np.bool_]
    source: Table
    size: MinoritySize
    seed: int
    elsewhere: Elsewhere | None

    @property
    def whole(self) -> "_InMemory":
        return replace(self, is_held_out=np.zeros_like(self.is_held_out))

    def of(self, fit: Fit) -> _Place:
        """The rows that a recipe draws from: all, if it asks for all of them, or four common ones for each it draws."""
        known = self.source.labels()
        most = round(self.size.limits.common_per_drawn_row * fit.ratio * self.size.n_rows)
        sample = self.sample.some_with_fewer(~self.is_held_out, 1 - known.rarest, most, self.seed)
        labels = Labels(known.classes, np.bincount(sample.classes).astype(np.int64), sample.classes.astype(np.uint8))
        table = LabelledTable(sample.rows, labels, schema=self.source.schema, roles=self.source.roles)
        minority = sample.rows.rows(np.flatnonzero(sample.classes == known.rarest))
        # A model that is judged itself may have fewer members than it should, but not one that replaces it.
        fewest, folder = (1, "recipe") if self.is_held_out.any() else (np.inf, "again")
        return _Place(table, minority, fewest, self.elsewhere, sample.ids, folder)


class AutoTraining:
    """One fit. `model` is the classifier with its parameters, which are checked before a row is read."""

    def __init__(
        self,
        model: Any,
        table: Table,
        checkpoint: str | PathLike[str] | None = None,
        allow: str | Sequence[str] = (),
    ) -> None:
        self._limits: BlendLimits = model._limits
        if allow and checkpoint is None:
            raise ValueError(f"allow={allow!r} needs a checkpoint. Name its folder: checkpoint='...'.")
        self._clock = choosing.Clock(_check_limit(model.time_limit), time.perf_counter())
        self.calibration = _check_calibration(model.calibration)
        self._callbacks = CallbackList(model.callbacks)
        self._folder = checkpoint_folder(checkpoint)
        stored = stored_seed(self._folder) if model.random_state is None else None
        self._seed = check_seed(model.random_state) if stored is None else stored
        self._given = None if model.recipes is None else recipes_to_try(model.recipes)
        self._model = model
        self._n_threads = effective_n_jobs(check_jobs(model.n_jobs))
        self.table = table
        self.labels = check_classes(table.labels(), table.roles.labels_are_in)
        self._allow = allow
        self._plan: dict[str, Any] = {}
        if checkpoint is not None:
            self._plan = identity_of_fit(_with_recipes(model), self._seed, table)
            Checkpoint(self._folder, self._plan, allow)  # refuses the folder of another fit
        self._saved = None if self._folder is None else choosing.SavedJudgements(self._folder, self._plan, allow)

    def run(self) -> choosing.Blend:
        n_rows, n_rare = int(self.labels.counts.sum()), int(self.labels.counts[self.labels.rarest])
        with judging.ignoring_expected_warnings(), errors_of_callbacks():
            split = self._split(n_rare)
            is_small = not judging.needs_scout(split, self._limits)
            if is_small and self.table.bytes_in_memory is None and hasattr(self.table, "loaded"):
                # The sample will be the whole table. Once it is loaded, the recipes need not read the files either.
                self.table = self.table.loaded()
                split = self._split(n_rare, split.minority)
            self.features = split.minority.features
            size = MinoritySize(n_rare, judging.values_in_a_row(self.features), self._limits)
            drawn = self._drawn(split, size)
            self._by_name, skipped = self._recipes(size if drawn is None else drawn.size)
            recipes = {name: self._by_name[name] for name in self._by_name if name not in skipped}
            again = (
                partial(self._fits, place=drawn.whole) if drawn is not None and drawn.size.is_trained_again else None
            )
            n_steps = 2 if again is None else 3
            plan = FitPlan(n_steps * len(recipes), n_rows, n_rare, False, calibrates=True, n_recipes=len(recipes))
            with self._callbacks.during(plan):
                judge: judging.Judge | judging.HeldOutJudge | None = None
                if drawn is not None:
                    kept = drawn.sample.some(drawn.is_held_out)
                    judge = judging.HeldOutJudge(kept, 2, self.labels.rarest, self._seed, self._n_threads)
                elif n_rare >= judging.FEWEST_RARE_ROWS:
                    judge = self._judge(recipes, split)
                usual = _Place(self.table, split.minority, self._limits.n_members_judged)
                trained = partial(self._fits, place=drawn or usual)
                chooser = choosing.Chooser(recipes, judge, trained, self._clock, self._callbacks.on_recipe_begin, again)
                blend = chooser.chosen(self._pooled_classes(), self.calibration, self._saved)
        self._warn(blend, n_rare)
        return replace(blend, results=[*blend.results, *skipped.values()])

    def _recipes(self, size: MinoritySize) -> tuple[Mapping[str, UnderSamplingEnsemble], dict[str, RecipeResult]]:
        """All recipes, and those that are not tried, with the reason. Whoever sets a time limit tries slow ones too."""
        if self._given is not None:
            return self._given, {}
        slow = too_slow(size) if self._clock.limit is None else []
        known = default_recipes(columns_of(self.features, self.table.schema), size)
        return known, {result.name: result for result in [*slow, *not_installed(size)]}

    def _drawn(self, split: ClassSplit, size: MinoritySize) -> _InMemory | None:
        """The rows to train the default recipes on, and to judge them by; None if the minority is not large.

        One pass brings some common rows into memory, drawn at random. Members draw from these, by hardness: to score
        all common rows after every round would take most of the time, and four for each row to be drawn are as good.
        """
        n_common = [pool.n_rows for pool in split.pools.values()]
        if self._given is not None or not size.is_large or len(n_common) > 1 or n_common[0] < 2 * size.n_rows:
            return None
        affordable = self._limits.most_values_in_memory // size.n_values - size.n_rows
        wanted = round(self._limits.common_per_drawn_row * size.large_ratio * size.n_rows)
        if min(n_common[0], wanted / 2) > affordable:
            return None
        n_drawn = min(n_common[0], affordable, max(wanted, size.most_common))
        sample = judging.sample_at_random(split, n_drawn, self._seed)
        size = replace(size, n_common=n_drawn, has_times=sample.rows.times is not None)
        is_held_out = judging.folds_of(sample, self._seed, size.n_parts, size.n_parts) == 0
        return _InMemory(sample, is_held_out, self.table, size, self._seed, split.elsewhere)

    def _pooled_classes(self) -> list[int]:
        n_classes = len(self.labels.classes)
        return [self.labels.rarest] if n_classes == 2 else list(range(n_classes))

    def _split(self, n_draw: int, minority: Rows | None = None) -> ClassSplit:
        on_rows = Forwarding(self._callbacks).on_rows_read
        return self.table.split(SplitPlan(self._seed, self._n_threads, n_draw, 0, on_rows, minority))

    def _judge(self, recipes: Mapping[str, Any], split: ClassSplit) -> judging.Judge:
        if judging.needs_scout(split, self._limits):
            sample = self._sample_by_scouts(recipes, split)
        else:
            sample = judging.working_sample(split, None, self._seed, self._limits)
        n_folds, n_classes = self._limits.n_folds, len(self.labels.classes)
        folds = judging.folds_of(sample, self._seed, n_folds, self._limits.periods_per_fold * n_folds)
        how = self._seed, self._n_threads, self._limits.n_members_judged
        return judging.Judge(sample, folds, n_classes, self.labels.rarest, *how)

    def _sample_by_scouts(self, recipes: Mapping[str, Any], split: ClassSplit) -> judging.WorkingSample:
        """The sample, after a small ensemble has found the hard rows. A user's recipes find them for themselves."""
        self._callbacks.on_recipe_begin("the hard rows", "finding")
        usual = [[scout_model(columns_of(self.features, self.table.schema))]] if self._given is None else []
        for bases in [*usual, *(bases_of(recipe) for recipe in recipes.values())]:
            try:
                return judging.working_sample(split, self._scouted(bases, split), self._seed, self._limits)
            except choosing.NOT_OF_A_RECIPE:
                raise
            except Exception as error:  # it will fail again when it is judged, and be reported then
                failed = error
            split = self._split(len(split.minority), split.minority)  # pools without the models of the one that failed
        raise failed

    def _scouted(self, bases: Sequence[Any], split: ClassSplit) -> Any:
        """The last model of a small ensemble by which the pools have learned which rows are hard."""
        scout = SelfPacedEnsembleClassifier(list(bases), N_SCOUTS, random_state=self._seed, n_jobs=self._model.n_jobs)
        return scout._as_fit().run(self.table, Notes(), split).members[-1]

    def _fits(self, names: Sequence[str], place: _Place | _InMemory) -> Iterator[tuple[Model | Exception, float]]:
        """The models of recipes, or the error that each failed with, and the seconds.

        Recipes share the rows of the minority. Those that read files share the passes over them, too. Rows in memory
        are not read, and one recipe after the other takes less memory.
        """
        fits = [self.ensemble(name)._as_fit() for name in names]
        if isinstance(place, _Place) and self._clock.limit is None and len(fits) > 1:
            table, n_features = place.table, place.minority.features.shape[1]
            at_once = self._folder is None and place.elsewhere is None
            if at_once and can_be_trained_side_by_side(fits, table, n_features, self._n_threads):
                yield from trained_side_by_side(fits, table, self._n_threads)
                return
            if table.bytes_in_memory is None and hasattr(table, "batches"):
                passes = SharedPasses()
                works = [partial(self._fit, n, fit, place, passes.read) for n, fit in zip(names, fits, strict=True)]
                yield from passes.run(works)
                return
        for name, fit in zip(names, fits, strict=True):
            begin = time.perf_counter()
            try:
                found: Model | Exception = self._fit(name, fit, place.of(fit), read_pass)
            except Exception as error:  # base models raise errors of all kinds
                found = error
            yield found, time.perf_counter() - begin

    def ensemble(self, name: str) -> UnderSamplingEnsemble:
        """A recipe as it is to be trained, without callbacks."""
        recipe = self._by_name[name]
        ensemble: UnderSamplingEnsemble = clone(recipe).set_params(
            random_state=mix(self._seed, self._number(name)) % LARGEST_RANDOM_STATE,
            n_jobs=self._model.n_jobs,
            callbacks=None,
            **judging.uncalibrated(recipe),
        )
        return ensemble

    def _fit(self, name: str, fit: Fit, place: _Place, read: Any) -> Model:
        folder = None if self._folder is None else self._folder.child(f"{place.folder}-{self._number(name)}")
        kept = Checkpoint(folder, self._plan | {"recipe": name}, self._allow)
        callbacks = CallbackList([Forwarding(self._callbacks), Deadline(self._clock, place.fewest_members)])
        plan = fit.split_plan(rows_to_draw(fit.ratio, place.table.labels()), callbacks)
        split = place.table.split(replace(plan, minority=place.minority, read=read))
        elsewhere = split.elsewhere or place.elsewhere
        return place.with_own_ids(fit.run(place.table, Notes(callbacks, kept), replace(split, elsewhere=elsewhere)))

    def _number(self, name: str) -> int:
        """The place of a recipe among the sorted names, which does not depend on the order of the list."""
        return sorted(self._by_name).index(name)

    def _warn(self, blend: choosing.Blend, n_rare: int) -> None:
        """Warn about what a user would not expect of the model."""
        rarest = self.labels.names[self.labels.rarest]
        if n_rare < judging.FEWEST_RARE_ROWS:
            warn(
                f"The class {rarest!r} has {n_rare} rows. Comparing recipes needs at least {judging.FEWEST_RARE_ROWS}. "
                "All recipes have the same weight, and the scores are not calibrated."
            )
        late = [repr(result.name) for result in blend.results if result.note == choosing.TIME_IS_UP]
        left_out = [f"Skipped recipes: {', '.join(late)}."] if late else []
        if not self._clock.allows(0.0):
            members = {
                name: (len(model.members), self._by_name[name].n_estimators) for name, model in blend.models.items()
            }
            left_out += [
                f"{name!r} has {n} of {wanted} members." for name, (n, wanted) in members.items() if n < wanted
            ]
        if left_out:
            warn(f"The time limit of {self._clock.limit} s was reached. {' '.join(left_out)}")
        if blend.calibrator is not None:
            warn_of_few_rows(self.labels)


class Forwarding(Callback):
    """Reports to the callbacks of the whole fit how much of a table has been read."""

    def __init__(self, callbacks: CallbackList) -> None:
        self._callbacks = callbacks

    def on_rows_read(self, n_read: int, n_rows: int) -> None:
        try:
            self._callbacks.on_rows_read(n_read, n_rows)
        except Exception as error:
            raise choosing.CallbackError(error) from error


@contextmanager
def errors_of_callbacks() -> Iterator[None]:
    """Errors of callbacks are raised unchanged."""
    try:
        yield
    except choosing.CallbackError as failed:
        raise failed.error from None


class Deadline(Callback):
    """Ends the fit of a recipe when the time is up, with the members that it has.

    If copies were judged, it has at least as many as these: with fewer, its scores would not fit their calibration.
    """

    def __init__(self, clock: choosing.Clock, fewest: float) -> None:
        self._clock = clock
        self._fewest = fewest

    def on_round_end(self, round: Round) -> Stop | None:
        return Stop(keep=round.number) if round.number >= self._fewest and not self._clock.allows(0.0) else None


def _with_recipes(model: Any) -> Any:
    """The classifier with its recipes written out, because the default recipes depend on the installed packages."""
    if model.recipes is not None:
        return model
    return clone(model).set_params(recipes=list(model.default_recipes()))


def _check_limit(time_limit: Any) -> float | None:
    if time_limit is None:
        return None
    if not isinstance(time_limit, Real) or isinstance(time_limit, bool) or not float(time_limit) > 0:
        raise ValueError(f"time_limit must be None or a positive number of seconds; got {time_limit!r}.")
    return float(time_limit)


def _check_calibration(method: Any) -> str | None:
    if method == "prior":
        raise ValueError(
            f"calibration='prior' is for one ensemble, not for a blend. Choose one of {sorted(FITTED_MAPS)}, or None."
        )
    return check_method(method)
