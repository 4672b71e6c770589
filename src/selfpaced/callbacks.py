"""Callbacks during a fit, and the notes of a round that they get."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import need

__all__ = ["Callback", "EarlyStopping", "FitPlan", "ProgressBar", "Round", "Stop"]


@dataclass(frozen=True)
class BinNotes:
    """The hardness bins of one larger class in one round."""

    counts: NDArray[np.int64]  # of rows in each bin
    mean_hardness: NDArray[np.float64]  # of the rows in each bin; NaN in an empty bin
    quota: NDArray[np.int64]  # rows drawn from each bin


@dataclass(frozen=True)
class Round:
    """One round of a fit. Round 0, if there is one, is a warm-up: its model does not become a member.

    Attributes
    ----------
    number : int
        0 for a warm-up, then 1 to n_estimators.
    alpha : float | None
        The self-paced factor; None in rounds that draw at random.
    bins : dict[Any, BinNotes]
        Notes of the hardness bins, by the label of each class that is drawn from.
    n_rows : int
        The number of rows of all classes that the member was trained on.
    seconds_scoring, seconds_drawing, seconds_fitting : float
        The time for hardness, for drawing rows, and for the base model.
    score : float | None
        The AUCPRC of the ensemble so far on the eval_set; None without one and in the warm-up.
    ids : NDArray[np.unsignedinteger] | None, default=None
        The positions of the rows that the member was trained on, or their ids if the table has ids. The rare rows come
        first.
    weights : NDArray[np.float64] | None, default=None
        The weights of these rows in a fit with weighting, besides sample weights; None in other fits.
    seconds_calibrating : float, default=0.0
        The time for a calibration: for copies of the member, and in the last round for the map.
    seconds_reading : float, default=0.0
        The part of scoring and drawing in which rows were read from files. Other threads score meanwhile.
    """

    number: int
    alpha: float | None
    bins: dict[Any, BinNotes]
    n_rows: int
    seconds_scoring: float
    seconds_drawing: float
    seconds_fitting: float
    score: float | None
    ids: NDArray[np.unsignedinteger] | None = field(default=None, repr=False, compare=False)
    weights: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    seconds_calibrating: float = 0.0
    seconds_reading: float = 0.0

    @property
    def seconds(self) -> float:
        """The time that the round took. Reading is a part of scoring and drawing."""
        return self.seconds_scoring + self.seconds_drawing + self.seconds_fitting + self.seconds_calibrating

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows in each bin of the majority class."""
        return self._only_bins.counts

    @property
    def mean_hardness(self) -> NDArray[np.float64]:
        """Mean hardness in each bin of the majority class."""
        return self._only_bins.mean_hardness

    @property
    def quota(self) -> NDArray[np.int64]:
        """Rows drawn from each bin of the majority class."""
        return self._only_bins.quota

    def __getstate__(self) -> dict[str, Any]:
        """The state with labels as values, because JSON converts keys to strings, and False to "false"."""
        return {**vars(self), "bins": list(self.bins.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, bins=dict(state["bins"]))

    @property
    def _only_bins(self) -> BinNotes:
        if len(self.bins) > 1:
            raise AttributeError(f"With more than two classes, name one of them: round.bins[{next(iter(self.bins))!r}]")
        return next(iter(self.bins.values()))


def seconds_by_phase(rounds: Sequence[Round]) -> dict[str, float]:
    """The seconds of all rounds together, by task. Reading is a part of scoring and drawing."""
    phases = ("scoring", "drawing", "fitting", "calibrating", "reading")
    return {phase: sum(getattr(note, f"seconds_{phase}") for note in rounds) for phase in phases}


@dataclass(frozen=True)
class FitPlan:
    """The plan of a fit: how many members on how many rows, and whether rounds will be scored.

    Attributes
    ----------
    first_round : int, default=0
        0 if a warm-up comes before the members, otherwise 1.
    calibrates : bool, default=False
        Whether a calibration that needs rows follows.
    n_recipes : int, default=0
        The number of recipes that are compared; 0 in a fit of one ensemble.
    """

    n_members: int
    n_rows: int
    n_minority: int
    has_eval_set: bool
    first_round: int = 0
    calibrates: bool = False
    n_recipes: int = 0


@dataclass(frozen=True)
class Stop:
    """Ends a fit after this round; the ensemble keeps its first `keep` members.

    Attributes
    ----------
    keep : int
        The number of members that are kept.
    """

    keep: int


class Callback:
    """The base class of callbacks. Override the methods that you need.

    They are called in this order. `on_fit_end` is also called after an error or Ctrl-C.

    See Also
    --------
    EarlyStopping : Stops when the score does not rise any more.
    ProgressBar : Shows the progress.

    Examples
    --------
    >>> from selfpaced.callbacks import Callback, Stop
    >>> class Notes(Callback):
    ...     def on_round_end(self, round):
    ...         if round.number == 3:
    ...             return Stop(keep=3)
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
    >>> len(SelfPacedEnsembleClassifier(callbacks=[Notes()], random_state=0).fit(X, y).estimators_)
    3
    """

    def on_fit_begin(self, plan: FitPlan) -> None:
        """Called before the first member is trained. Reset state from an earlier fit here.

        Parameters
        ----------
        plan : FitPlan
            What the fit will do.
        """

    def on_rows_read(self, n_read: int, n_rows: int) -> None:
        """Called while a table is read from files.

        Parameters
        ----------
        n_read : int
            Rows that have been read in this pass.
        n_rows : int
            Rows of the table.
        """

    def on_recipe_begin(self, name: str, stage: str) -> None:
        """Called before a recipe is judged on a sample or trained on the whole table.

        Parameters
        ----------
        name : str
            The name of the recipe.
        stage : {"judging", "fitting"}
            What follows.
        """

    def on_round_end(self, round: Round) -> Stop | None:
        """Called after each member, and after the warm-up (round 0).

        Parameters
        ----------
        round : Round
            Notes of the round.

        Returns
        -------
        Stop or None
            `Stop(keep=...)` ends the fit.
        """
        return None

    def on_fit_end(self) -> None:
        """Called after the last round, or when the fit fails."""


class ProgressBar(Callback):
    """A progress bar with the remaining time, and with the score on the eval_set if there is one.

    Parameters
    ----------
    file : file object, default=None
        Where to draw the bar; None is standard error. Nothing is drawn unless it is a terminal or a notebook.

    See Also
    --------
    Callback : The base class of callbacks.

    Examples
    --------
    >>> from selfpaced import UnderBaggingClassifier
    >>> from selfpaced.callbacks import ProgressBar
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> model = UnderBaggingClassifier(callbacks=ProgressBar(), random_state=0).fit(X, y)
    """

    def __init__(self, file: Any = None) -> None:
        self.file = file
        self._progress: Any = None
        self._n_read = 0

    def on_fit_begin(self, plan: FitPlan) -> None:
        progress = _rich_progress(self.file)
        if not (progress.console.is_terminal or progress.console.is_jupyter):
            return
        self._progress = progress
        self._progress.start()
        self._reading: Any = None
        self._n_begun = 0
        if plan.n_recipes:
            self._task = self._progress.add_task("preparing", total=2 * plan.n_recipes)
            return
        begins = "training" if plan.first_round else "warming up"
        self._task = self._progress.add_task(begins, total=plan.n_members + 1 - plan.first_round)
        self._n_members = plan.n_members
        self._after_the_last = ", calibrating" if plan.calibrates else ""

    def on_rows_read(self, n_read: int, n_rows: int) -> None:
        if self._progress is None:
            return
        if self._reading is None:
            self._reading = self._progress.add_task("reading", total=n_rows)
        if n_read < self._n_read or self._n_read == 0:
            self._began, self._first_read = time.perf_counter(), n_read  # a new pass
        self._n_read = n_read
        per_second = (n_read - self._first_read) / max(time.perf_counter() - self._began, 1e-3)
        said = f"reading {n_read:,} of {n_rows:,} rows, {per_second:,.0f} a second"
        is_going_on = n_read < n_rows  # between two passes nothing is read
        self._progress.update(self._reading, completed=n_read, total=n_rows, description=said, visible=is_going_on)

    def on_recipe_begin(self, name: str, stage: str) -> None:
        if self._progress is not None:
            self._progress.update(self._task, completed=self._n_begun, description=f"{stage} {name}")
            self._n_begun += 1

    def on_round_end(self, round: Round) -> Stop | None:
        if self._progress is not None:
            done = f"member {round.number}/{self._n_members}" if round.number else "warmed up"
            score = "" if round.score is None else f", AUCPRC {round.score:.3f}"
            follows = self._after_the_last if round.number == self._n_members else ""
            self._progress.update(self._task, advance=1, description=done + score + follows)
        return None

    def on_fit_end(self) -> None:
        if self._progress is not None:
            # The bar of an interrupted fit is removed.
            self._progress.live.transient = isinstance(sys.exc_info()[1], KeyboardInterrupt)
            self._progress.stop()
            self._progress = None

    def __deepcopy__(self, memo: Any) -> ProgressBar:
        return ProgressBar(self.file)  # a file cannot be copied, and a clone of the ensemble draws on the same one

    def __reduce__(self) -> tuple[type[ProgressBar], tuple[()]]:
        return ProgressBar, ()  # a file cannot be pickled either; standard error exists everywhere


def _rich_progress(file: Any) -> Any:
    rich, console = (need(f"rich.{part}", "cli", "The progress bar") for part in ("progress", "console"))
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    return rich.Progress(*columns, console=console.Console(file=file, stderr=file is None))


class EarlyStopping(Callback):
    """Stop when the AUCPRC on the eval_set has not risen for some rounds, and keep the members up to the best round.

    It works with `fit` and `fit_table` of Self-paced Ensemble, BalanceCascade, under-bagging and EasyEnsemble. The
    ensemble has `len(model.estimators_)` members. `n_estimators` is not changed, and `rounds_` has all rounds.

    Early stopping saves time and members, but does not improve quality: in `benchmarks/stopping.py` all 50 members
    ranked better than the kept ones, by 0.001 to 0.05 AUCPRC. The best score on the eval_set was 0.004 to 0.03 too
    high, so report the scores of other rows. Early stopping keeps the first rounds of the pacing of all members, which
    differ from the rounds of a smaller `n_estimators`.

    Parameters
    ----------
    patience : int, default=5
        The number of rounds without a rise after which the fit stops. In the benchmark, 10 lost less than 5.
    min_delta : float, default=0.0
        The smallest rise of the AUCPRC that counts; at least 0.

    Attributes
    ----------
    best_round_ : int
        The last round that was kept in the last fit.
    best_score_ : float
        Its score.

    See Also
    --------
    Callback : The base class of callbacks.

    Examples
    --------
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.callbacks import EarlyStopping
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_checkerboard(n_minority=200, n_majority=2000, random_state=0)
    >>> held_out = make_checkerboard(n_minority=200, n_majority=2000, random_state=1)
    >>> stopping = EarlyStopping(patience=5)
    >>> model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=8), 60, random_state=0, callbacks=stopping)
    >>> len(model.fit(X, y, eval_set=held_out).estimators_) == stopping.best_round_ < 60
    True
    """

    def __init__(self, patience: int = 5, min_delta: float = 0.0) -> None:
        self.patience = patience
        self.min_delta = min_delta

    def on_fit_begin(self, plan: FitPlan) -> None:
        if not plan.has_eval_set:
            raise ValueError("EarlyStopping needs scores on held-out rows. Give fit an eval_set=(X, y).")
        patience, min_delta = cast("tuple[Any, Any]", (self.patience, self.min_delta))
        if not isinstance(patience, Integral) or isinstance(patience, bool) or int(patience) < 1:
            raise ValueError(f"patience must be a whole number of rounds >= 1; got {patience!r}.")
        if not isinstance(min_delta, Real) or isinstance(min_delta, bool) or not 0 <= float(min_delta) < 1:
            raise ValueError(f"min_delta, a difference of AUCPRC, must be at least 0 and below 1; got {min_delta!r}.")
        self._n_members = plan.n_members
        self.best_round_ = 0
        self.best_score_ = float("-inf")

    def on_round_end(self, round: Round) -> Stop | None:
        if round.score is None:
            return None
        if round.score > self.best_score_ + self.min_delta:
            self.best_round_, self.best_score_ = round.number, round.score
        out_of_patience = round.number - self.best_round_ >= self.patience
        return Stop(keep=self.best_round_) if out_of_patience or round.number == self._n_members else None


class CallbackList:
    """The callbacks of one fit, called together. The first one that asks to stop decides."""

    def __init__(self, callbacks: Sequence[Callback] | Callback | None = None) -> None:
        given: Any = [] if callbacks is None else callbacks
        self._callbacks: list[Callback] = list(given) if isinstance(given, list | tuple) else [given]
        for callback in self._callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(
                    f"callbacks must be selfpaced.callbacks.Callback objects; got {callback!r}. "
                    "Derive your class from Callback and override the hooks you need."
                )

    @contextmanager
    def during(self, plan: FitPlan) -> Iterator[None]:
        """Report the beginning of a fit and, also after an error, its end."""
        try:
            for callback in self._callbacks:
                callback.on_fit_begin(plan)
            yield
        finally:
            for callback in self._callbacks:
                callback.on_fit_end()

    def on_rows_read(self, n_read: int, n_rows: int) -> None:
        for callback in self._callbacks:
            callback.on_rows_read(n_read, n_rows)

    def on_recipe_begin(self, name: str, stage: str) -> None:
        for callback in self._callbacks:
            callback.on_recipe_begin(name, stage)

    def on_round_end(self, round: Round) -> Stop | None:
        wishes = [(callback, callback.on_round_end(round)) for callback in self._callbacks]
        for callback, wish in wishes:
            if not isinstance(wish, Stop | None):
                raise TypeError(f"on_round_end must return None or Stop(keep=...); {callback!r} returned {wish!r}.")
        return next((wish for _, wish in wishes if wish is not None), None)
