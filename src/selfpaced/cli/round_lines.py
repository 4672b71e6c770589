"""Progress of a fit on a cluster: a line for each round, with what it cost."""

from __future__ import annotations

import sys

from selfpaced.callbacks import Callback, FitPlan, Stop
from selfpaced.rounds import Round


class RoundLines(Callback):
    """Prints to standard error, which jobs on a cluster keep in their logs.

    >>> import numpy as np
    >>> from selfpaced.rounds import BinNotes
    >>> RoundLines.line(Round(3, 0.1, {0: BinNotes([9], [0.1], [2])}, 4, 9.81, 1.92, 0.6, None), 10)
    'round 3 of 10: 12.3 s (9.8 s scoring, 1.9 s drawing, 0.6 s fitting), 4 rows'
    """

    def on_fit_begin(self, plan: FitPlan) -> None:
        self._n_members = plan.n_members
        print(f"fitting {plan.n_rows:,} rows, {plan.n_minority:,} of them rare", file=sys.stderr, flush=True)

    def on_recipe_begin(self, name: str, stage: str) -> None:
        print(f"{stage} {name}", file=sys.stderr, flush=True)

    def on_round_end(self, round: Round) -> Stop | None:
        print(self.line(round, self._n_members), file=sys.stderr, flush=True)
        return None

    @staticmethod
    def line(round: Round, n_members: int) -> str:
        """What a round cost."""
        phases = ("scoring", "drawing", "fitting", "calibrating")
        spent = {phase: getattr(round, f"seconds_{phase}") for phase in phases}
        parts = ", ".join(f"{seconds:.1f} s {phase}" for phase, seconds in spent.items() if seconds)
        return f"round {round.number} of {n_members}: {round.seconds:.1f} s ({parts}), {round.n_rows:,} rows"
