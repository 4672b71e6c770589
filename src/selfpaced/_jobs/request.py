"""What a model is to be trained on, and how: the options of a training, checked together."""

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
    """What a model is to be trained on, and how.

    Attributes
    ----------
    base : the kind of members, or "auto" to choose among recipes.
    members, bins : of one ensemble, so not with "auto". None is 10 members and 20 bins.
    time_limit : seconds that "auto" may take to train.
    valid : a file to judge by; without one, the share `holdout` of the rows is held out: the last ones by
        `time_column`, whole groups by `group`, or some of each class at random.
    delay : how long labels take to be known, such as "7d": rows whose labels would not be known when the held-out rows
        begin are not trained on.
    group : a column of what several rows belong to, such as a card. No group is trained on and judged by.
    id : a column that names the rows, and is no feature.
    rule : what the threshold is chosen by on the rows held out, as for `selfpaced.choose_threshold`.
    amount : a column of what missing a row costs, for a rule such as "cost=5". It may be a feature too.
    drop_unlabelled : whether rows without a label are left out; otherwise they are refused.
    checkpoint : a folder or URL that keeps finished rounds, so that the same training goes on after a crash.
    columns : the features; by default those that are left when others are dropped.
    calibration : as `SelfPacedEnsembleClassifier` has it; "none" for none. With very few rare rows there is none.
    """

    source: Any
    target: str
    positive: str | None = None
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
        raise TableError(f"--delay {request.delay} needs the times of the rows: --time-column COL.")
    if request.base != AUTO:
        if request.time_limit is not None:
            raise TableError(
                f"--time-limit {request.time_limit:g} needs --base auto, which chooses what there is time for; got "
                f"--base {request.base}."
            )
        return
    for name, value in (("--members", request.members), ("--bins", request.bins)):
        if value is not None:
            raise TableError(
                f"{name} {value} is for one kind of members. --base auto has recipes of its own: leave out {name}, or "
                "name a kind, such as --base lightgbm."
            )
    if request.calibration == "prior":
        raise TableError(
            "--calibration prior is for one kind of members, and --base auto blends several. Choose isotonic, beta, "
            "sigmoid or none, or name a kind, such as --base lightgbm."
        )


def check_time_limit(seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise TableError(f"--time-limit takes a positive number of seconds; got {seconds:g}.")
