"""Progress of a run of cells: a line for each, with the time left."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean

from paper.experiment import Cell, Row


class Progress:
    """Counts finished and failed cells, and guesses the time left from cells of the same setting."""

    def __init__(self, cells: Sequence[Cell], jobs: int, say: Callable[[str], None]) -> None:
        self.n_failed = 0
        self._waiting = dict.fromkeys(cells)
        self._n_cells = len(cells)
        self._jobs = jobs
        self._say = say
        self._seconds: defaultdict[tuple[str, object], list[float]] = defaultdict(list)
        say(f"{len(cells)} cells to run, {jobs} at a time" if cells else "Everything is finished already")

    def finished(self, cell: Cell, rows: Sequence[Row]) -> None:
        del self._waiting[cell]
        self._seconds[cell.experiment, cell.setting].append(rows[0]["seconds"])
        if error := rows[0].get("error"):
            self.n_failed += 1
            outcome = f"FAILED, {error}"
        elif reason := rows[0].get("given_up"):
            outcome = f"given up, {reason}"
        else:
            best = rows[-1].get("aucprc")
            outcome = "done" if best is None else f"AUCPRC {best:.3f}"
        number = self._n_cells - len(self._waiting)
        self._say(
            f"[{time.strftime('%H:%M:%S')} {number}/{self._n_cells}] {cell}: {outcome} "
            f"({rows[0]['seconds']:.1f} s; {self._time_left()} left)"
        )

    def _time_left(self) -> str:
        known = {setting: fmean(seconds) for setting, seconds in self._seconds.items()}
        usual = fmean(known.values())
        seconds = sum(known.get((cell.experiment, cell.setting), usual) for cell in self._waiting) / self._jobs
        minutes, seconds = divmod(round(seconds), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
