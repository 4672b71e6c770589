"""The command line: parse the arguments, run one command, return its exit code."""

import gc
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any

SAID = {signal.SIGINT: "Stopped.", signal.SIGTERM: "Terminated."}


class Stopped(KeyboardInterrupt):
    """Raised when a signal arrives.

    It is a subclass because CPython reports a process as killed by SIGINT, whatever its exit code, once a plain
    KeyboardInterrupt has left a string that `exec` runs. Many imports run such strings.
    """


class StopSignals:
    """While it is entered, SIGINT and SIGTERM raise `Stopped`. Signals that the parent process ignores stay ignored."""

    # The signal that arrived, or None. Libraries may turn the exception into another one, as numpy does.
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


OK, BUG, BAD_INPUT, ALARM, SIGNALLED = 0, 1, 2, 3, 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 for success, 2 for wrong use or wrong data, 1 for an unexpected error,
    3 for an alarm of `monitor`, 4 for other rows in `verify`, 130 after Ctrl-C, and 143 after SIGTERM."""
    signals = StopSignals()
    try:
        with signals:
            return _run(arguments, signals)
    except KeyboardInterrupt:
        number = signals.received or signal.SIGINT
        print(f"\n{SAID[number]}", file=sys.stderr)
        return SIGNALLED + number


def _run(arguments: Sequence[str] | None, signals: StopSignals) -> int:
    # Arrow's allocator keeps what is freed unless it is told before the import: a training would take an eighth more.
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "0")
    # Threads of LightGBM that wait for each other keep their cores busy unless OpenMP is told before it is loaded. If
    # others use the cores, too, or a container has a part of them, that takes many times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from selfpaced.cli.parser import RUN_BY, parser  # here, because a signal during imports is handled by now

    if is_program := arguments is None:
        gc.disable()  # to look for garbage among what is imported is a third of a short command
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(given)
    options.given = given
    try:
        with _warnings_in_one_line(getattr(options, "quiet", False)):
            # Here, because --help need not wait for scikit-learn.
            module, name = RUN_BY.get(options.command, (f"commands.{options.command}", "run"))
            run = getattr(import_module(f"selfpaced.cli.{module}"), name)
            if is_program:
                gc.freeze()
                gc.enable()
            code: int | None = run(options)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output, such as `head`, has closed the pipe
        return OK
    except Exception as error:
        signals.check()
        return _complain(error, options.debug)
    return OK if code is None else code


@contextmanager
def _warnings_in_one_line(quiet: bool) -> Iterator[None]:
    """Show warnings about new categories without the place in the code that they come from."""
    from selfpaced.exceptions import NewCategoryWarning

    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, NewCategoryWarning):
                shown(message, category, *place, **more)
            elif not quiet:
                print(f"warning: {message}", file=sys.stderr)

        warnings.showwarning = show
        yield


def _complain(error: Exception, debug: bool) -> int:
    """Print the error in one line; for an unknown rule, also list the rules. Unexpected errors mention --debug."""
    from selfpaced.exceptions import ModelFileError, TableError, UnknownRuleError

    if debug:
        traceback.print_exception(error)
    if isinstance(error, UnknownRuleError):
        from selfpaced.thresholds import WRITTEN

        rules = "\n".join(f"  {text:<24} {meaning}" for text, meaning in WRITTEN.items())
        print(f"selfpaced: error: {error.complaint} The rules are:\n{rules}", file=sys.stderr)
        return BAD_INPUT
    foreseen = isinstance(error, TableError | ModelFileError | ValueError | ImportError | OSError)
    said = " ".join(str(error).split()) or type(error).__name__
    advice = ["Or name the unit of the numbers: --time-unit s"] if "he times are numbers" in said else []
    notes = " ".join([*getattr(error, "__notes__", []), *advice]) if foreseen else ""
    hint = "" if foreseen or debug else f" ({type(error).__name__}; --debug shows the traceback)"
    print(f"selfpaced: error: {said}{' ' + notes if notes else ''}{hint}", file=sys.stderr)
    return BAD_INPUT if foreseen else BUG
