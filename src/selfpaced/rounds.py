"""The notes of each round of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BinNotes:
    """The hardness bins of one larger class in one round.

    Attributes
    ----------
    counts : NDArray[np.int64]
        The number of rows in each bin.
    mean_hardness : NDArray[np.float64]
        The mean hardness of the rows in each bin; NaN in an empty bin.
    quota : NDArray[np.int64]
        The number of rows drawn from each bin.
    """

    counts: NDArray[np.int64]
    mean_hardness: NDArray[np.float64]
    quota: NDArray[np.int64]


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

    See Also
    --------
    selfpaced.callbacks.Callback : Gets each round during a fit.

    Examples
    --------
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> rounds = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y).rounds_
    >>> [(each.number, each.n_rows) for each in rounds]
    [(0, 100), (1, 100), (2, 100)]
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
