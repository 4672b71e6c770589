"""Callbacks during a fit: a progress bar, early stopping, and your own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from selfpaced.rounds import Round


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
    """Ends a fit after this round; the ensemble keeps its first `keep` members."""

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
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    except ImportError as error:
        raise ImportError("The progress bar needs rich: pip install 'selfpaced[cli]'") from error
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(file=file, stderr=file is None),
    )


class EarlyStopping(Callback):
    """Stop when the AUCPRC on the eval_set has not risen for some rounds, and keep the members up to the best round.

    It works with `fit` and `fit_table` of Self-paced Ensemble, BalanceCascade, under-bagging and EasyEnsemble. The
    ensemble has `len(model.estimators_)` members. `n_estimators` is not changed, and `rounds_` has all rounds.

    Early stopping saves time and members, but does not improve quality. On three datasets with two kinds of members
    (`benchmarks/stopping.py`) all 50 members ranked better than the kept ones, by 0.001 to 0.05 AUCPRC. They were still
    better if they were trained on the rows of the eval_set too. The best score on the eval_set was 0.004 to 0.03 too
    high, so report the scores of other rows.

    The pacing of Self-paced Ensemble depends on the number of members. Early stopping keeps the first rounds of a
    longer schedule, which differ from the rounds of a smaller `n_estimators`. Training with that number afterwards was
    better in 3 of 12 cases.

    Parameters
    ----------
    patience : int, default=5
        The number of rounds without a rise after which the fit stops. In the benchmark, 10 lost less than 5.
    min_rise : float, default=0.0
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

    def __init__(self, patience: int = 5, min_rise: float = 0.0) -> None:
        self.patience = patience
        self.min_rise = min_rise

    def on_fit_begin(self, plan: FitPlan) -> None:
        if not plan.has_eval_set:
            raise ValueError("EarlyStopping needs scores on held-out rows. Give fit an eval_set=(X, y).")
        _check_stopping(self.patience, self.min_rise)
        self._n_members = plan.n_members
        self.best_round_ = 0
        self.best_score_ = float("-inf")

    def on_round_end(self, round: Round) -> Stop | None:
        if round.score is None:
            return None
        if round.score > self.best_score_ + self.min_rise:
            self.best_round_, self.best_score_ = round.number, round.score
        out_of_patience = round.number - self.best_round_ >= self.patience
        return Stop(keep=self.best_round_) if out_of_patience or round.number == self._n_members else None


def _check_stopping(patience: Any, min_rise: Any) -> None:
    if not isinstance(patience, Integral) or isinstance(patience, bool) or int(patience) < 1:
        raise ValueError(f"patience must be a whole number of rounds >= 1; got {patience!r}.")
    if not isinstance(min_rise, Real) or isinstance(min_rise, bool) or not 0 <= float(min_rise) < 1:
        raise ValueError(f"min_rise, a difference of AUCPRC, must be at least 0 and below 1; got {min_rise!r}.")


class CallbackList:
    """The callbacks of one fit, called together. The first one that asks to stop decides."""

    def __init__(self, callbacks: Sequence[Callback] | Callback | None) -> None:
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
