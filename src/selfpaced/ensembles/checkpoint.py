"""Finished rounds on disk, so that a fit that was killed goes on and ends with the same model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from selfpaced.algorithms.hardness import Hardness
from selfpaced.algorithms.outlook import Outlook
from selfpaced.algorithms.pool import HardnessBins, MajorityPool
from selfpaced.ensembles.cross_fitting import HonestScores
from selfpaced.pools.rows import Rows
from selfpaced.rounds import BinNotes, Round
from selfpaced.tables import ClassSplit
from selfpaced.whole_files import whole_file, write_whole

PLAN = "plan.json"


class Checkpoint:
    """The rounds that a fit has finished. Without a folder there are none, and none are kept.

    Parameters
    ----------
    plan : what the fit is made of, by name. A folder with the rounds of another plan is refused.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, plan: Mapping[str, Any]) -> None:
        self._folder = None if folder is None else Path(folder)
        self._saved: dict[int, tuple[Any, Round, HonestScores | None]] = {}
        if self._folder is not None:
            self._begin(self._folder, json.loads(json.dumps(plan, default=str)))

    def model(self, number: int) -> Any:
        """The model of a finished round, or None."""
        return self._saved[number][0] if number in self._saved else None

    def round(self, number: int) -> Round | None:
        """The notes of a finished round, or None."""
        return self._saved[number][1] if number in self._saved else None

    def honest(self, number: int) -> dict[int, HonestScores]:
        """What copies of the model of a finished round said of its training rows, by number of the round, if any."""
        scores = self._saved[number][2] if number in self._saved else None
        return {} if scores is None else {number: scores}

    def save(self, model: Any, round: Round, honest: HonestScores | None = None) -> None:
        if self._folder is None or round.number in self._saved:
            return
        path = self._folder / f"round-{round.number:04}.joblib"
        with whole_file(path) as temporary:
            joblib.dump((model, round, honest), temporary)

    def replaying(self, split: ClassSplit) -> list[MajorityPool[Rows]]:
        """The pools of the larger classes; asked about finished rounds, they answer from the notes."""
        return [_ReplayingPool(pool, split.names[number], self) for number, pool in split.pools.items()]

    def _begin(self, folder: Path, plan: Mapping[str, Any]) -> None:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"The checkpoint {folder} is a file; name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        written = folder / PLAN
        if written.exists():
            _refuse_other_plan(folder, _read_plan(folder), plan)
        else:
            write_whole(written, json.dumps(plan, indent=1))
        for path in sorted(folder.glob("round-*.joblib")):
            try:
                model, round, honest = joblib.load(path)
            except Exception as error:
                raise ValueError(
                    f"{path} of the checkpoint is damaged; remove it, and its round is done again."
                ) from error
            self._saved[round.number] = model, round, honest


def _refuse_other_plan(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    if changed:
        name = changed[0]
        raise ValueError(
            f"The checkpoint in {folder} belongs to another fit: {name} was {old.get(name)!r} and is "
            f"{new.get(name)!r} now. Choose another folder, or remove this one."
        )


def stored_seed(folder: str | os.PathLike[str] | None) -> int | None:
    """The seed of the fit that a folder belongs to: without a random_state, it goes on with the dice it began with."""
    if folder is None or not (Path(folder) / PLAN).exists():
        return None
    return int(_read_plan(Path(folder))["seed"])


def _read_plan(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / PLAN).read_text()))
    except ValueError as error:
        raise ValueError(f"{folder / PLAN} of the checkpoint is damaged; remove the folder and begin again.") from error


def told(value: Any) -> str:
    """A parameter in words that are the same in every process: no address in memory, nothing left out."""
    if isinstance(value, np.ndarray):
        return f"array {joblib.hash(value)}"
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False)
        return f"{type(value).__name__}({', '.join(f'{name}={told(parameters[name])}' for name in sorted(parameters))})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(told(one) for one in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {told(one)}' for key, one in value.items())}}}"
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"


class _ReplayingPool:
    """A pool that answers for finished rounds from their notes, without reading a row."""

    def __init__(self, pool: MajorityPool[Rows], name: Any, checkpoint: Checkpoint) -> None:
        self._pool = pool
        self._name = name
        self._checkpoint = checkpoint

    @property
    def n_rows(self) -> int:
        return self._pool.n_rows

    def score(self, model: Any) -> None:
        self._pool.score(model)

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        notes = None if outlook is None else self._notes(outlook.round_number)
        if notes is None:
            return self._pool.cut(hardness, n_bins, outlook)
        return HardnessBins(notes.counts, notes.mean_hardness)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        if self._notes(round_number) is None:
            return self._pool.draw(quota, round_number)
        return Rows(np.empty(0, dtype=np.uint64), None, {})  # the model is there already

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        self._pool.keep_hardest(n_rows, round_number)

    def _notes(self, round_number: int) -> BinNotes | None:
        saved = self._checkpoint.round(round_number)
        return None if saved is None else saved.bins[self._name]
