"""Finished fits in one JSON file, which is whole after every fit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Row = dict[str, Any]
KEY = ("table", "method", "split")
# In the row of a fit that was given up: the processor seconds that it had. Nothing says that the method cannot do it.
GIVEN_UP = "given_up_after"


class Results:
    """The rows of a file: one for each table, method and split, in this order, each on a line of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"benchmark": self.path.stem, "versions": {}, "tables": {}, "results": []}
        whole: dict[str, Any] = json.loads(self.path.read_text())
        return whole

    def rows(self) -> list[Row]:
        rows: list[Row] = self.read()["results"]
        return rows

    def finished(self, table: str, method: str) -> dict[int, Row]:
        """The rows with a figure by split. A fit that failed is not finished: the next run tries it again."""
        of_both = [row for row in self.rows() if (row["table"], row["method"]) == (table, method)]
        return {row["split"]: row for row in of_both if "error" not in row}

    def given_up(self, table: str, method: str, most_seconds: float) -> set[int]:
        """Splits that took more than so many processor seconds."""
        return {
            row["split"]
            for row in self.rows()
            if (row["table"], row["method"]) == (table, method) and 0 < most_seconds <= row.get(GIVEN_UP, 0)
        }

    def add(self, row: Row, table: dict[str, Any], versions: dict[str, str]) -> None:
        """Add a row, or replace the one with the same key, with the facts of its table and the versions in use."""
        with self._locked():
            whole = self.read()
            others = [other for other in whole["results"] if _key(other) != _key(row)]
            whole["results"] = sorted([*others, row], key=_key)
            whole["tables"][row["table"]] = table
            whole["versions"] |= versions
            self._replace(whole)

    def _replace(self, whole: dict[str, Any]) -> None:
        """A reader, and the next run after a kill, find the old file or the new one."""
        entries = [f"  {json.dumps(name)}: {_in_lines(value)}" for name, value in whole.items()]
        new = self.path.with_suffix(".new")
        new.write_text("{\n" + ",\n".join(entries) + "\n}\n")
        os.replace(new, self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Two runs may add to one file, one after the other."""
        import fcntl  # which Windows lacks

        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


def _in_lines(value: Any) -> str:
    """A JSON value with each entry on a line of its own, which shows in a diff what a run has added."""
    if isinstance(value, dict):
        lines = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(value.items())]
        return "{\n" + ",\n".join(lines) + "\n  }"
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"    {json.dumps(entry)}" for entry in value) + "\n  ]"
    return json.dumps(value)
