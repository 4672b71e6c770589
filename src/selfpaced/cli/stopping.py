"""Ctrl-C and SIGTERM end a command in the same way: it removes unfinished files."""

from __future__ import annotations

import signal
from threading import current_thread, main_thread
from typing import Any

SAID = {signal.SIGINT: "Stopped.", signal.SIGTERM: "Terminated."}


class Stopped(KeyboardInterrupt):
    """Raised when a signal arrives.

    It is a subclass because CPython reports a process as killed by SIGINT, whatever its exit code, once a plain
    KeyboardInterrupt has left a string that `exec` runs. Many imports run such strings.
    """


class StopSignals:
    """While it is entered, SIGINT and SIGTERM raise `Stopped`. Signals that the parent process ignores stay ignored.

    Attributes
    ----------
    received : signal.Signals | None, default=None
        The signal that arrived, or None. Libraries may turn the exception into another one, as numpy does.
    """

    received: signal.Signals | None = None

    def __enter__(self) -> None:
        in_main = current_thread() is main_thread()  # Python refuses handlers from other threads
        before = {number: signal.getsignal(number) for number in SAID if in_main}
        self._before = {number: one for number, one in before.items() if one not in (signal.SIG_IGN, None)}
        for number in self._before:
            signal.signal(number, self._stop)

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise `Stopped` again if a signal arrived."""
        if self.received is not None:
            raise Stopped

    def _stop(self, number: int, frame: Any) -> None:
        self.received = signal.Signals(number)
        raise Stopped
