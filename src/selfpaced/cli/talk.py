"""The output of commands: colours and progress on a terminal, plain text in a pipe, one JSON object for scripts."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

from selfpaced.callbacks import Callback, ProgressBar

BOLD, YELLOW, RESET = "\x1b[1m", "\x1b[33m", "\x1b[0m"


class Talk:
    """The output of a command. Results go to standard output, everything else to standard error."""

    def __init__(self, options: Namespace) -> None:
        self._quiet = options.quiet or options.json
        self._json = options.json
        self._shows_progress = not self._quiet and sys.stderr.isatty() and _has_rich()
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def say(self, text: str = "") -> None:
        if not self._quiet:
            print(_fitted(text))

    def headline(self, text: str) -> None:
        if not self._quiet:
            print(f"{BOLD}{_fitted(text)}{RESET}" if self._colours else _fitted(text))

    def warn(self, text: str) -> None:
        if not self._quiet:
            colours = sys.stderr.isatty() and "NO_COLOR" not in os.environ
            print(f"{YELLOW}warning:{RESET} {text}" if colours else f"warning: {text}", file=sys.stderr)

    def result(self, facts: Mapping[str, Any]) -> None:
        """Print one JSON object for scripts."""
        if self._json:
            print(json.dumps(facts, indent=2, default=_plain))

    def callbacks(self) -> list[Callback]:
        return [ProgressBar()] if self._shows_progress else []

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int | None], None] | None]:
        """A function of the work done and of all work, which shows the progress; None if there is no terminal."""
        if not self._shows_progress:
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None, visible=False)
            yield lambda done, total: bar.update(task, completed=done, total=total, visible=done != total)


def _fitted(text: str) -> str:
    """Lines as wide as the terminal, broken between words. In a pipe they are not broken."""
    return wrapped(text, get_terminal_size().columns) if sys.stdout.isatty() else text


def wrapped(text: str, width: int) -> str:
    """
    >>> print(wrapped("A line that is rather long.\\nA short one.", 16))
    A line that is
    rather long.
    A short one.
    """
    lines = (wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""] for line in text.split("\n"))
    return "\n".join(part for line in lines for part in line)


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = (), text: Collection[int] = (0,)) -> str:
    """Columns as wide as their widest cell. Columns of text are aligned left, the others right.

    >>> print(table([["tree", "0.5"], ["forest", "0.75"]], header=["", "AUCPRC"]))
            AUCPRC
    tree       0.5
    forest    0.75
    """
    lines = [header, *rows] if header else list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in text else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
