"""How good recipes are on rows that they were not trained on, and how much each counts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from selfpaced.algorithms import HARDNESS, MajorityPool, allocate, with_uniform_share
from selfpaced.calibration import Calibrator
from selfpaced.ensembles.auto.recipes import BlendLimits
from selfpaced.ensembles.cross_fitting import parts_of_groups, stratified_parts
from selfpaced.ensembles.members import LARGEST_RANDOM_STATE, in_one_thread
from selfpaced.exceptions import warn
from selfpaced.metrics import Ranking
from selfpaced.model import Model, log_odds
from selfpaced.pools import RECIPE_FOLDS_ROUND, WORKING_SAMPLE_ROUND, Rows, mix, row_keys
from selfpaced.scoring import mean_probabilities, scorers_of
from selfpaced.tables import ClassSplit, InMemoryTable, stack

Floats = NDArray[np.float64]

LARGEST_DIFFERENCE = 20.0  # in log-odds; those of scores are clipped to less


def difference_of_levels(copies: Floats, ensembles: Floats, calibrator: Calibrator, weights: Floats) -> float:
    """How much to add to the log-odds of copies to bring them to the level of the ensembles.

    Both have pooled scores for the same rows, of shape (n_rows, 2). The calibrator is fitted to the copies. Rows on
    which the ensembles were trained should have no weights.
    """

    def excess(difference: float) -> float:
        return float(np.average(calibrator(shifted(ensembles, -difference))[:, 1] - expected, weights=weights))

    expected = calibrator(copies)[:, 1]
    if excess(LARGEST_DIFFERENCE) * excess(-LARGEST_DIFFERENCE) >= 0:  # all rows have the same probability
        return 0.0
    return float(brentq(excess, -LARGEST_DIFFERENCE, LARGEST_DIFFERENCE, xtol=1e-3))


def shifted(scores: Floats, difference: float) -> Floats:
    """Scores of two classes, with a number added to the log-odds of the second."""
    share = expit(log_odds(scores[:, 1]) + difference)
    return np.column_stack([1 - share, share])


N_RESAMPLES = 20
# A recipe whose AUCPRC is lower by this gets a share that is lower by the factor e; see benchmarks/recipes.py.
TEMPERATURE = 0.03
# How many recipes are chosen, one after the other and with replacement, into the mixture that is best together.
N_CHOSEN = 8
# Differences of AUCPRC that are rounding.
AS_GOOD = 1e-9
# A recipe with less than this is dropped: it would cost time in every prediction and change next to nothing.
SMALLEST_WEIGHT = 0.05
# Other weights of the rows often choose the same mixture, whose rows are then in order already.
MOST_REMEMBERED = 16

# The recipes that were chosen, one after the other, into a mixture; those that help equally are chosen together.
Chosen = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Labelled:
    """The labels and the weights of some rows, by which rankings are judged."""

    classes: NDArray[np.integer]  # the number of each row's class
    weights: Floats  # how many rows each row stands for
    ranked: Sequence[int]  # the classes whose rankings count: the rare one, or all if there are more than two


def aucprc_of(probabilities: Floats, rows: Labelled, weights: Floats | None = None) -> float:
    """AUCPRC of some probabilities, a column for each class: of the rare class, or the mean over all classes.

    >>> rows = Labelled(np.array([0, 1, 0, 1]), np.ones(4), ranked=[1])
    >>> scores = np.array([0.1, 0.9, 0.5, 0.3])
    >>> round(aucprc_of(np.stack([1 - scores, scores], axis=1), rows), 4)
    0.8333
    """
    return _Rankings(probabilities, rows).aucprc(rows.weights if weights is None else weights)


class _Rankings:
    """Rows in the order of their scores, for each class whose ranking counts. Sorting is most of the work."""

    def __init__(self, probabilities: Floats, rows: Labelled) -> None:
        self._by_class = [Ranking(probabilities[:, number], rows.classes == number) for number in rows.ranked]

    def aucprc(self, weights: Floats) -> float:
        return float(np.mean([each.aucprc(weights) for each in self._by_class]))


# What was chosen, and for each recipe the ranking with it added.
Mixtures = Callable[[Chosen], list[_Rankings]]


def standard_error(probabilities: Floats, rows: Labelled, seed: int) -> float:
    """The standard error of the AUCPRC of a recipe, by the Bayesian bootstrap."""
    rankings = _Rankings(probabilities, rows)
    return float(np.std([rankings.aucprc(weights) for weights in _resampled(rows, seed)], ddof=1))


def blend_weights(honest: Sequence[Floats], rows: Labelled, seed: int) -> Floats:
    """How much each recipe counts; the weights add up to 1.

    Half of a weight follows the AUCPRC of the recipe alone, the other half how often it is part of the best mixture.
    `honest` has the log-odds of each recipe for rows that it was not trained on, on the scale that all recipes share: a
    column for each class.
    """
    mixtures = _mixtures(honest, rows)
    shares = [(_by_own_score(mixtures, w) + _by_best_mixture(mixtures, w)) / 2 for w in _resampled(rows, seed)]
    weights = np.mean(shares, axis=0)
    weights[weights < SMALLEST_WEIGHT] = 0.0
    total: Floats = weights / weights.sum()
    return total


def nearer_to_equal(weights: Floats) -> Floats:
    """Weights halfway to equal ones, for all that are not 0.

    Many held-out rows settle which recipe is best on rows like them, but later rows differ.

    >>> nearer_to_equal(np.array([0.8, 0.2, 0.0])).tolist()
    [0.65, 0.35, 0.0]
    """
    kept = weights > 0
    return np.where(kept, (weights + 1 / kept.sum()) / 2, 0.0)


def _resampled(rows: Labelled, seed: int) -> list[Floats]:
    """Other weights of the rows, drawn from a Dirichlet distribution."""
    generator = np.random.default_rng(seed)
    return [rows.weights * generator.standard_exponential(rows.weights.size) for _ in range(N_RESAMPLES)]


def _mixtures(honest: Sequence[Floats], rows: Labelled) -> Mixtures:
    return lru_cache(MOST_REMEMBERED)(partial(_with_one_more, honest, rows))


def _with_one_more(honest: Sequence[Floats], rows: Labelled, chosen: Chosen) -> list[_Rankings]:
    """For each recipe, the ranking by the mixture of those that were chosen and this one."""
    total = np.zeros_like(honest[0])
    for together in chosen:
        total = total + np.mean([honest[number] for number in together], axis=0)
    return [_Rankings(total + each, rows) for each in honest]


def _scores(rankings: Sequence[_Rankings], weights: Floats) -> Floats:
    return np.array([each.aucprc(weights) for each in rankings])


def _by_own_score(mixtures: Mixtures, weights: Floats) -> Floats:
    scores = _scores(mixtures(()), weights)
    shares = np.exp((scores - scores.max()) / TEMPERATURE)
    normalised: Floats = shares / shares.sum()
    return normalised


def _by_best_mixture(mixtures: Mixtures, weights: Floats) -> Floats:
    """The shares of recipes in the mixture that is made by adding, each time, the recipe that helps most.

    Recipes that help equally share the place. On easy rows all recipes are right, and get equal shares.
    """
    chosen: Chosen = ()
    shares, best = np.zeros(len(mixtures(()))), 0.0
    while len(chosen) < N_CHOSEN:
        scores = _scores(mixtures(chosen), weights)
        if scores.max() <= best + AS_GOOD:
            break
        best = float(scores.max())
        as_good = np.flatnonzero(scores >= best - AS_GOOD).tolist()
        shares[as_good] += 1 / len(as_good)
        chosen = (*chosen, tuple(as_good))
    normalised: Floats = shares / shares.sum()
    return normalised


N_BINS = 20
UNIFORM_SHARE = 0.5


@dataclass(frozen=True)
class WorkingSample:
    """Rows in memory, the number of each row's class, and how many rows of the table each stands for.

    `weights` are these numbers, times the weights that the rows have in the table.
    """

    rows: InMemoryTable
    classes: NDArray[np.intp]
    weights: NDArray[np.float64]
    ids: NDArray[np.integer]
    stands_for: NDArray[np.float64]

    def some(self, chosen: NDArray[np.bool_]) -> WorkingSample:
        """Some of the rows, which stand for all rows of their classes."""
        rows, classes = self.rows.rows(np.flatnonzero(chosen)), self.classes[chosen]
        factors = np.bincount(self.classes) / np.maximum(np.bincount(classes, minlength=self.classes.max() + 1), 1)
        weights, behind = self.weights[chosen] * factors[classes], self.stands_for[chosen] * factors[classes]
        return WorkingSample(InMemoryTable(rows.features, rows.metadata), classes, weights, self.ids[chosen], behind)

    def some_with_fewer(self, chosen: NDArray[np.bool_], number: int, most: int, seed: int) -> WorkingSample:
        """Some of the rows, but of one class at most so many: those that would be drawn if so many were asked for."""
        rows = np.flatnonzero(chosen & (self.classes == number))
        keys = row_keys(self.ids[rows].astype(np.uint64), seed, WORKING_SAMPLE_ROUND)
        kept = chosen.copy()
        kept[rows[np.argsort(keys)[most:]]] = False
        return self.some(kept)


def values_in_a_row(features: Any) -> int:
    """The number of columns, or of a sparse matrix the mean number of values that a row has."""
    n_rows, n_columns = features.shape
    return max(1, round(features.nnz / n_rows)) if issparse(features) else int(n_columns)


def needs_scout(split: ClassSplit, limits: BlendLimits) -> bool:
    """Whether a class is too large to be taken whole, so that its hard rows must be found first."""
    most = limits.common_rows_judged(len(split.minority), values_in_a_row(split.minority.features))
    return any(pool.n_rows > most for pool in split.pools.values())


def working_sample(split: ClassSplit, last_model: Any, seed: int, limits: BlendLimits) -> WorkingSample:
    """The sample of a table whose pools have scored the models of a small ensemble, except the last.

    `last_model` is None if all classes are small enough to be taken whole.
    """
    rare = _some(split.minority, seed, limits.rare_rows_judged(values_in_a_row(split.minority.features)))
    most = limits.common_rows_judged(len(split.minority), values_in_a_row(split.minority.features))
    drawn = {number: _drawn(pool, last_model, most) for number, pool in split.pools.items()}
    return _sample_of({split.minority_class: rare, **drawn})


def _sample_of(blocks: Mapping[int, Rows]) -> WorkingSample:
    """The sample of some rows of each class, by the number of the class."""
    rows = stack(list(blocks.values()))
    own = np.asarray(rows.metadata.get("sample_weight", np.ones(len(rows))), dtype=np.float64)
    stands_for = np.concatenate([_behind(block) for block in blocks.values()])
    classes = np.repeat(list(blocks), [len(block) for block in blocks.values()]).astype(np.intp)
    return WorkingSample(InMemoryTable(rows.features, rows.metadata), classes, own * stands_for, rows.ids, stands_for)


def _some(minority: Rows, seed: int, most: int) -> Rows:
    """Rare rows, all of them or as many as there may be."""
    if len(minority) <= most:
        return minority.standing_for(np.ones(len(minority)))
    keys = row_keys(minority.ids.astype(np.uint64), seed, WORKING_SAMPLE_ROUND)
    chosen = np.sort(np.argsort(keys)[:most])
    some = InMemoryTable(minority.features, minority.metadata).rows(chosen).with_ids(minority.ids[chosen])
    return some.standing_for(np.full(most, len(minority) / most))


def _drawn(pool: MajorityPool[Rows], last_model: Any, most: int) -> Rows:
    if last_model is None:
        return pool.draw([pool.n_rows], WORKING_SAMPLE_ROUND)
    pool.score(last_model)
    bins = pool.cut(HARDNESS["absolute"], N_BINS)
    hardness = bins.counts * np.nan_to_num(bins.mean_hardness)
    quota = allocate(with_uniform_share(hardness, bins.counts, UNIFORM_SHARE), bins.counts, most)
    return pool.draw(quota.tolist(), WORKING_SAMPLE_ROUND)


def _behind(rows: Rows) -> NDArray[np.float64]:
    assert rows.stands_for is not None  # every pool sets it
    return rows.stands_for


FEWEST_RARE_ROWS = 10


@dataclass(frozen=True)
class Judgement:
    """The scores of a recipe for the rows of the sample, by copies that had not seen them, and the time it took."""

    probabilities: Floats
    seconds: float


@dataclass(frozen=True)
class Judge:
    """Compares recipes on a sample. `parts` are the folds: a part for each row. Copies of a recipe have few members."""

    sample: WorkingSample
    parts: NDArray[np.intp]
    n_classes: int
    rare_class: int
    seed: int
    n_threads: int
    n_members: int = BlendLimits().n_members_judged

    @property
    def rows(self) -> Labelled:
        ranked = [self.rare_class] if self.n_classes == 2 else list(range(self.n_classes))
        return Labelled(self.sample.classes, self.sample.weights, ranked)

    @property
    def has_some_rare_rows(self) -> bool:
        """Whether the sample has only some rare rows of a table with two classes."""
        return self.n_classes == 2 and bool((self.sample.stands_for[self.sample.classes == self.rare_class] > 1).any())

    @property
    def weights_of_common_rows(self) -> Floats:
        """How many rows each row stands for, and 0 for the rare rows, which all members are trained on."""
        return np.where(self.sample.classes == self.rare_class, 0.0, self.sample.weights)

    def times_as_much_work(self, n_members: int) -> float:
        """How much more work a recipe is on the whole table than its copies were, by members and rare rows."""
        n_folds, rare = int(self.parts.max()) + 1, self.sample.classes == self.rare_class
        members = n_members / (n_folds * min(n_members, self.n_members))
        return members * n_folds / (n_folds - 1) * float(self.sample.stands_for[rare].mean())

    def rescored(self, model: Model) -> Floats:
        """The scores of the sample by an ensemble that was trained on the whole table.

        The score of a row is the mean of the members that were not trained on it, or of all if there are none.
        """
        (part,) = model.parts
        unseen = [~np.isin(self.sample.ids, note.ids) for note in part.rounds_of_members if note.ids is not None]
        counted = np.where(np.any(unseen, axis=0), unseen, True)
        sums = np.zeros((self.parts.size, self.n_classes))
        for scorer, counts in zip(scorers_of(part.members), counted, strict=True):
            scores = mean_probabilities([scorer], self.sample.rows, self.n_classes, self.n_threads)
            sums += scores * counts[:, None]
        return np.asarray(sums / counted.sum(axis=0)[:, None])

    def judged(self, recipes: Sequence[Any]) -> Iterator[Judgement | Exception]:
        """The judgement of each recipe, in order, or the error that it failed with.

        Copies of a recipe are trained without a part of the sample each, and score that part. With more than one thread
        they are trained in processes: scikit-learn's forests and column transformers change the filters for warnings
        while they are fitted, for all threads at once.
        """
        parts = [self._part(number) for number in range(int(self.parts.max()) + 1)]
        work = Parallel(n_jobs=self.n_threads, return_as="generator")
        scores = work(delayed(judged_scores)(recipe, part, self.n_members) for recipe in recipes for part in parts)
        for _ in recipes:
            yield self._joined([next(scores) for _ in parts])

    def _part(self, number: int) -> FoldRows:
        learnt, left_out = (np.flatnonzero(chosen) for chosen in (self.parts != number, self.parts == number))
        rows = self.sample.rows.rows(learnt)
        seed = mix(self.seed, number) % LARGEST_RANDOM_STATE
        return FoldRows(
            rows.features, self.sample.classes[learnt], rows.arguments, self.sample.rows.take(left_out), seed
        )

    def _joined(self, scores: Sequence[tuple[Floats | Exception, float]]) -> Judgement | Exception:
        probabilities, seconds = np.empty((self.parts.size, self.n_classes)), 0.0
        for number, (of_part, took) in enumerate(scores):
            if isinstance(of_part, Exception):
                return of_part
            probabilities[self.parts == number] = of_part
            seconds += took
        return Judgement(probabilities, seconds / self.n_threads)


@dataclass(frozen=True)
class HeldOutJudge:
    """Compares models on rows that none of them was trained on. The scores are those of the models themselves."""

    sample: WorkingSample
    n_classes: int
    rare_class: int
    seed: int
    n_threads: int

    @property
    def rows(self) -> Labelled:
        return Labelled(self.sample.classes, self.sample.weights, [self.rare_class])

    def judged(self, model: Model) -> Judgement:
        begin = time.perf_counter()
        (part,) = model.parts
        scores = mean_probabilities(scorers_of(part.members), self.sample.rows, self.n_classes, self.n_threads)
        return Judgement(scores, time.perf_counter() - begin)


@dataclass(frozen=True)
class FoldRows:
    """Rows to train a copy of a recipe on, and the rows that it has to score."""

    features: Any
    classes: NDArray[np.intp]
    metadata: dict[str, Any]
    left_out: Any
    seed: int


def judged_scores(recipe: Any, part: FoldRows, n_members: int) -> tuple[Floats | Exception, float]:
    """The scores of a copy of a recipe for the rows that it was not trained on, or its error, and the seconds."""
    begin = time.perf_counter()
    model = in_one_thread(clone(recipe)).set_params(
        n_estimators=min(n_members, recipe.n_estimators), random_state=part.seed, callbacks=None, **uncalibrated(recipe)
    )
    try:
        with ignoring_expected_warnings():
            scores = model.fit(part.features, part.classes, **part.metadata).model_.means(part.left_out)
    except Exception as error:  # base models raise errors of all kinds
        return error, time.perf_counter() - begin
    return scores, time.perf_counter() - begin


@contextmanager
def ignoring_expected_warnings() -> Iterator[None]:
    """Ignore warnings about what is usual for recipes."""
    with warnings.catch_warnings():
        # Their ratio may ask for more common rows than there are. Then they take all.
        warnings.filterwarnings("ignore", message="ratio=")
        warnings.simplefilter("ignore", ConvergenceWarning)  # a member that did not converge is judged as it is
        yield


def uncalibrated(recipe: Any) -> dict[str, None]:
    """The parameters by which a recipe gives raw scores: the blend is calibrated, not its parts."""
    return {"calibration": None} if "calibration" in recipe.get_params(deep=False) else {}


def sample_at_random(split: ClassSplit, n_common: int, seed: int) -> WorkingSample:
    """All rare rows and some common ones, drawn at random."""
    ((number, pool),) = split.pools.items()
    rare = split.minority.standing_for(np.ones(len(split.minority)))
    return _sample_of({split.minority_class: rare, number: pool.draw([n_common], WORKING_SAMPLE_ROUND)})


def folds_of(sample: WorkingSample, seed: int, n_folds: int, n_periods: int) -> NDArray[np.intp]:
    """A part of the sample for each of its rows, stratified by class; rows of one group are all in one part.

    Rows with times are divided into so many periods, each of which is in one part.
    """
    n_folds = min(n_folds, int(np.unique(sample.classes, return_counts=True)[1].min()))
    groups, times = sample.rows.groups, sample.rows.times
    if times is not None:
        parts = parts_of_times(times, groups, n_folds, n_periods)
        if all(np.unique(parts[sample.classes == each]).size == n_folds for each in np.unique(sample.classes)):
            return parts
        warn("The rows of a class are in too few periods. Recipes are judged by rows of all times.")
    if groups is None:
        keys = row_keys(sample.ids.astype(np.uint64), seed, RECIPE_FOLDS_ROUND)
        return stratified_parts(keys, sample.classes, n_folds)
    parts = parts_of_groups(groups, sample.classes, seed, RECIPE_FOLDS_ROUND, n_folds)
    _refuse_parts_without_classes(parts, sample.classes)
    return parts


def parts_of_times(
    times: NDArray[np.float64], groups: NDArray[np.uint64] | None, n_parts: int, n_periods: int
) -> NDArray[np.intp]:
    """A part for each row, by periods of equally many rows, from the newest back: part 0 has the newest.

    Rows of one time are in one period, and so are rows of one group, whose time is the mean.

    >>> parts_of_times(np.array([5.0, 1.0, 4.0, 2.0, 3.0, 0.0]), None, n_parts=3, n_periods=6).tolist()
    [0, 1, 1, 0, 2, 2]
    """
    if groups is not None:
        _, group_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        times = (np.bincount(group_of, times - times.min()) / sizes)[group_of]
    n_later = times.size - np.searchsorted(np.sort(times), times, side="right")
    return np.asarray(n_later * n_periods // times.size % n_parts, dtype=np.intp)


def _refuse_parts_without_classes(parts: NDArray[np.intp], classes: NDArray[np.intp]) -> None:
    n_parts = int(parts.max()) + 1
    for number in np.unique(classes):
        there = np.unique(parts[classes == number])
        if n_parts < 2 or there.size < n_parts:
            raise ValueError(
                f"Only {there.size} of {n_parts} folds have rows of class number {number}, but every fold needs some. "
                "The rows of the class are in too few groups. Give smaller groups, or omit groups."
            )
