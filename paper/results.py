"""Finished cells on disk: one CSV file an experiment, one or more rows a cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from paper.experiment import Cell, Experiment

# Columns that hold words, besides the settings.
WORDS = ["model", "versions", "given_up"]
FOLDER = Path(__file__).parents[1] / "docs" / "paper" / "results"


class Results:
    """The rows of one experiment."""

    def __init__(self, experiment: Experiment, folder: Path = FOLDER) -> None:
        self.experiment = experiment
        self.path = folder / f"{experiment.name}.csv"

    def finished(self) -> set[tuple[str, ...]]:
        """The keys of the cells that are done. Failed cells are not: the next run tries them again."""
        frame = self.frame()
        keys = frame[[*self.experiment.grid, "run"]].itertuples(index=False, name=None) if len(frame) else []
        return {tuple(str(value) for value in key) for key in keys}

    def frame(self) -> pd.DataFrame:
        """All rows that hold results: settings as text, what was measured as numbers."""
        rows = self._rows()
        if not len(rows):
            return rows
        rows = rows[rows["error"] == ""].drop(columns="error")
        measured = rows.columns.difference([*self.experiment.grid, "run", *WORDS])
        return rows.assign(**{name: pd.to_numeric(rows[name]) for name in measured})

    def failures(self) -> pd.DataFrame:
        """The rows of cells that failed and have not been finished since."""
        rows = self._rows()
        if not len(rows):
            return rows
        key = [*self.experiment.grid, "run"]
        return rows.drop_duplicates(key, keep="last").query("error != ''")

    def add(self, cell: Cell, rows: Sequence[dict[str, Any]]) -> None:
        """Append all rows of a cell in one write: a killed run leaves whole cells, or one torn line at the end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        records = [{**dict(cell.setting), "run": cell.run, "error": "", **_without_nan(row)} for row in rows]
        self._forget_failure(cell)
        self._mend()
        named = list(dict.fromkeys(name for record in records for name in record))
        columns = self._columns() or named
        unknown = set(named) - set(columns)
        if unknown:
            columns = self._widen(columns, sorted(unknown))
        text = io.StringIO()
        csv.DictWriter(text, columns, restval="", lineterminator="\n").writerows(records)
        with self.path.open("a", newline="") as file:
            if file.tell() == 0:
                csv.DictWriter(file, columns, lineterminator="\n").writeheader()
            file.write(text.getvalue())

    def _columns(self) -> list[str]:
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return next(csv.reader(file), [])

    def _mend(self) -> None:
        """Drop a last line that a killed run did not finish. Only who writes does so: it may be yet to be finished."""
        if self.path.exists():
            text = self.path.read_text()
            if text and not text.endswith("\n"):
                self.path.write_text(_whole_lines(text))

    def _forget_failure(self, cell: Cell) -> None:
        """What failed before and has been tried again is told by the new rows alone."""
        rows = self._rows()
        if len(rows):
            keys = rows[[*self.experiment.grid, "run"]].astype(str).itertuples(index=False, name=None)
            failed = (rows["error"] != "").to_numpy() & np.array([key == cell.key for key in keys])
            if failed.any():
                self._rewrite(rows[~failed])

    def _widen(self, columns: list[str], more: list[str]) -> list[str]:
        """New columns for measures that the first rows, perhaps of failed cells, did not have."""
        columns = [*columns, *more]
        self._rewrite(self._rows().reindex(columns=columns, fill_value=""))
        return columns

    def _rewrite(self, rows: pd.DataFrame) -> None:
        temporary = self.path.with_suffix(".tmp")
        rows.to_csv(temporary, index=False)
        temporary.replace(self.path)

    def _rows(self) -> pd.DataFrame:
        if not self._columns():
            return pd.DataFrame()
        text = dict.fromkeys([*self.experiment.grid, "run", "error"], str)
        lines = io.StringIO(_whole_lines(self.path.read_text()))
        return pd.read_csv(lines, dtype=text, keep_default_na=False, na_values={})


def _whole_lines(text: str) -> str:
    return text[: text.rfind("\n") + 1]


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """What was not measured is left out: an empty field."""
    return {name: value for name, value in row.items() if value == value}
