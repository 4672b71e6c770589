"""What a command asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from selfpaced.calibration import BEST_METHOD
from selfpaced.callbacks import Callback
from selfpaced.exceptions import TableError

AUTO = "auto"


@dataclass(frozen=True)
class TrainRequest:
    """The options of a training.

    Attributes
    ----------
    base : str
        The kind of members, or "auto" to choose among recipes.
    members, bins : int | None, default=None
        The number of members and of hardness bins; None for 10 and 20. Not with "auto".
    time_limit : float | None, default=None
        The seconds that "auto" may take to train.
    valid : Any, default=None
        A file of rows to judge by. Without one, the share `holdout` of the rows is held out: the last ones by
        `time_column`, whole groups by `group`, or some of each class at random.
    delay : str | None, default=None
        How long it takes until labels are known, such as "7d". Rows whose labels would not be known when the held-out
        rows begin are not trained on.
    group : str | None, default=None
        A column of groups, such as cards. No group is in the training rows and in the held-out rows.
    id : str | None, default=None
        A column with the names of the rows. It is not a feature.
    rule : str, default="f1"
        The rule that chooses the threshold on the held-out rows, as for `selfpaced.choose_threshold`.
    amount : str | None, default=None
        A column of what missing a row costs, for a rule such as "cost=5". It may be a feature too.
    drop_unlabelled : bool, default=False
        Whether rows without a label are dropped; otherwise they are refused.
    checkpoint : str | None, default=None
        A folder or URL that keeps finished rounds, so that the same training continues after a crash.
    columns : Sequence[str] | None, default=None
        The features; by default all columns that are not dropped.
    calibration : str
        The calibration, as for `SelfPacedEnsembleClassifier`, or "none". With very few rare rows, scores are not
        calibrated.
    """

    source: Any
    target: str
    pos_label: str | None = None
    base: str = AUTO
    members: int | None = None
    bins: int | None = None
    time_limit: float | None = None
    valid: Any = None
    holdout: float = 0.2
    time_column: str | None = None
    delay: str | None = None
    group: str | None = None
    exclude: Sequence[str] = ()
    id: str | None = None
    seed: int = 0
    n_jobs: int = -1
    out_of_core: bool | None = None
    rule: str = "f1"
    amount: str | None = None
    calibration: str = BEST_METHOD
    drop_unlabelled: bool = False
    columns: Sequence[str] | None = None
    checkpoint: str | None = None
    callbacks: Sequence[Callback] = field(default=())


def check_options(request: TrainRequest) -> None:
    """Refuse options that do not go together, before anything is read."""
    check_time_limit(request.time_limit)
    if request.delay is not None and request.time_column is None:
        raise TableError(f"--delay {request.delay} needs the times of the rows. Name their column: --time-column COL.")
    if request.base != AUTO:
        if request.time_limit is not None:
            raise TableError(
                f"--time-limit {request.time_limit:g} needs --base auto, which chooses recipes by the time; got --base "
                f"{request.base}. Omit one of the two."
            )
        return
    for name, value in (("--members", request.members), ("--bins", request.bins)):
        if value is not None:
            raise TableError(
                f"{name} {value} is for one kind of members, but --base auto has several. Omit {name}, or name one "
                "kind, such as --base lightgbm."
            )
    if request.calibration == "prior":
        raise TableError(
            "--calibration prior is for one kind of members, but --base auto blends several. Choose isotonic, beta, "
            "sigmoid or none, or name one kind, such as --base lightgbm."
        )


def check_time_limit(seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise TableError(f"--time-limit must be a positive number of seconds; got {seconds:g}.")
