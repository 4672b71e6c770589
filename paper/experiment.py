"""An experiment: a grid of settings, and the work for one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

Setting = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Surroundings:
    """What a cell finds outside its grid: where the data are, and whether a small part of them is enough."""

    data: Path
    quick: bool = False


Work = Callable[[Setting, int, Surroundings], list[Row]]


@dataclass(frozen=True)
class Budget:
    """What a cell may use before it is given up: seconds of processor time, because cells share the cores, and memory.

    Its process is then killed, and what it had used is its result.
    """

    seconds: float
    gigabytes: float


@dataclass(frozen=True)
class Experiment:
    """A grid.

    Attributes
    ----------
    grid : the values of each setting; every combination is a setting, except those that `leave_out` names.
    work : from a setting, a run's number and the surroundings to one or more rows of results. All randomness comes
        from the run's number.
    runs : how many runs a setting has.
    by_request : values of settings that are run only when asked for by name.
    budget : the limits of a setting that may take too long or too much memory; None for the others.
    gigabytes : memory that a cell may need at most.
    """

    name: str
    title: str
    grid: Mapping[str, Sequence[Any]]
    work: Work
    runs: Callable[[Setting], int] = field(default=lambda setting: 10)
    leave_out: Callable[[Setting], bool] = field(default=lambda setting: False)
    by_request: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    budget: Callable[[Setting], Budget | None] = field(default=lambda setting: None)
    gigabytes: float = 1.0

    def settings(self, only: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
        """The settings of the grid, or those among them that have one of the values asked for."""
        if not set(only) <= set(self.grid):
            return
        for values in product(*self.grid.values()):
            setting = dict(zip(self.grid, values, strict=True))
            asked_for = all(str(setting[name]) in values for name, values in only.items())
            unasked = any(setting[name] in rare and name not in only for name, rare in self.by_request.items())
            if asked_for and not unasked and not self.leave_out(setting):
                yield setting

    def cells(
        self, most_runs: int | None = None, only: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> list[Cell]:
        """All cells, first runs first: whatever is finished is then spread over the whole grid."""
        settings = list(self.settings(only))
        wanted = [min(self.runs(setting), most_runs or self.runs(setting)) for setting in settings]
        return [
            Cell(self.name, tuple(setting.items()), run)
            for run in range(max(wanted, default=0))
            for setting, runs in zip(settings, wanted, strict=True)
            if run < runs
        ]


@dataclass(frozen=True)
class Cell:
    """One run of one setting of an experiment."""

    experiment: str
    setting: tuple[tuple[str, Any], ...]
    run: int

    @property
    def key(self) -> tuple[str, ...]:
        """What a finished cell is recognised by in a file of results."""
        return (*(str(value) for _, value in self.setting), str(self.run))

    def __str__(self) -> str:
        return f"{self.experiment}: {', '.join(str(value) for _, value in self.setting)}, run {self.run}"
