"""Fits of several recipes that read a table together: one pass over its files serves all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from typing import Any

from sklearn import config_context, get_config

from selfpaced.pools import Pass, read_pass


class _Abandoned(BaseException):
    """Ends a fit that nobody waits for any more."""


@dataclass
class _Turn:
    """One fit: it runs while it has its turn, and waits for a pass over the table or for its next turn."""

    work: Callable[[], Any]
    goes_on: Event = field(default_factory=Event)
    waits: Event = field(default_factory=Event)
    asked: tuple[Any, Pass] | None = None
    failure: Exception | None = None
    found: Any = None
    seconds: float = 0.0
    ended: bool = False
    abandoned: bool = False


class SharedPasses:
    """Lets fits take turns. When all of them wait for a pass over the table, one pass serves them all.

    Each fit has a thread of its own, but only one works at a time: base models may change global state, such as the
    filters for warnings.
    """

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._present: _Turn | None = None

    def run(self, works: Sequence[Callable[[], Any]]) -> list[tuple[Any, float]]:
        """The result of each fit, or the exception that it raised, and the seconds that it worked."""
        self._turns = [_Turn(work) for work in works]
        threads = [
            Thread(target=copy_context().run, args=(self._work, turn, get_config()), daemon=True)
            for turn in self._turns
        ]
        for thread in threads:
            thread.start()
        try:
            while running := [turn for turn in self._turns if not turn.ended]:
                for turn in running:
                    self._give(turn)
                self._read(turn for turn in running if turn.asked is not None)
        finally:
            for turn in self._turns:
                turn.abandoned = True
                turn.goes_on.set()
        for thread in threads:
            thread.join()
        return [(turn.found, turn.seconds) for turn in self._turns]

    def read(self, table: Any, asked: Pass) -> None:
        """What a fit calls for a pass over the table. It returns when the pass is done."""
        turn = self._present
        assert turn is not None
        turn.asked = table, asked
        turn.waits.set()
        self._wait(turn)
        if turn.failure is not None:
            raise turn.failure

    def _give(self, turn: _Turn) -> None:
        """Let a fit work until it waits for a pass or ends."""
        begin = time.perf_counter()
        self._present = turn
        turn.waits.clear()
        turn.goes_on.set()
        turn.waits.wait()
        turn.seconds += time.perf_counter() - begin

    def _read(self, turns: Iterable[_Turn]) -> None:
        asking = [(turn, *turn.asked) for turn in turns if turn.asked is not None]
        if not asking:
            return
        begin = time.perf_counter()
        read_pass(asking[0][1], Pass.together([_guarded(turn, asked) for turn, _, asked in asking]))
        for turn, _, _ in asking:
            turn.asked = None
            turn.seconds += (time.perf_counter() - begin) / len(asking)

    def _work(self, turn: _Turn, config: dict[str, Any]) -> None:
        try:
            self._wait(turn)
            with config_context(**config):  # scikit-learn keeps it by thread
                turn.found = turn.work()
        except _Abandoned:
            pass
        except Exception as error:  # base models raise errors of all kinds
            turn.found = error
        finally:
            turn.ended = True
            turn.waits.set()

    @staticmethod
    def _wait(turn: _Turn) -> None:
        turn.goes_on.wait()
        turn.goes_on.clear()
        if turn.abandoned:
            raise _Abandoned


def _guarded(turn: _Turn, asked: Pass) -> Pass:
    """A pass whose first error ends the fit that asked for it, and no other."""

    def guarded(step: Callable[[Any], Any]) -> Callable[[Any], None]:
        def guarded_step(given: Any) -> None:
            if turn.failure is None:
                try:
                    step(given)
                except Exception as error:
                    turn.failure = error

        return guarded_step

    return replace(asked, work=guarded(asked.work), on_batch=guarded(asked.on_batch))
