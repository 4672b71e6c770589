"""What commands print: progress, rounds, results, warnings."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import wrap
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

from selfpaced.callbacks import Callback, FitPlan, ProgressBar, Round, Stop
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.predicting import TableEvaluation
from selfpaced.report import html
from selfpaced.thresholds import PrecisionGuaranteed, Rule, ThresholdChoice, Zones, rows_where
from selfpaced.thresholds import headline as headline_of

if TYPE_CHECKING:
    from selfpaced.model import RecipeResult


def headline(found: TableEvaluation, target: str | None, label: Any, choice: ThresholdChoice | None = None) -> str:
    """The first line of a result, also for a rule that chooses no alerts."""
    if choice is not None and choice.alerts.n_alerts == 0:
        return "At these costs it is cheapest to raise no alerts."
    return headline_of(found.precision, found.recall, rows_where(repr(label), target))


def origin(choice: ThresholdChoice | None) -> str:
    """How a threshold was chosen on the rows that it is judged by."""
    rule = "f1" if choice is None else str(choice.rule)
    return "the best threshold by F1 on these rows" if rule == "f1" else f"chosen by {rule} on these rows"


def promise(choice: ThresholdChoice) -> str:
    """What to expect of a threshold.

    >>> from selfpaced import choose_threshold
    >>> promise(choose_threshold([0] * 98 + [1] * 2, range(100), "recall>=0.9"))[:82]
    'What to expect of other rows, with 90% intervals: 2 alerts in 100 rows (1 to 6), r'
    """
    names = dict.fromkeys(["alert_share", *choice.rule.promises(), "precision", "recall"])
    said = choice.said(*names) if choice.alerts.n_alerts else choice.said(*choice.rule.promises())
    return f"What to expect of other rows, with {choice.confidence:.0%} intervals: {said}.{guarantee(choice.rule)}"


def guarantee(rule: Rule) -> str:
    """What a rule with a guarantee promises, in a sentence.

    >>> from selfpaced.thresholds import parse_rule
    >>> guarantee(parse_rule("precision>=0.9 with 95%"))[:76]
    ' Guaranteed: rows at or above the threshold are right in at least 90% of the'
    """
    first, where = (rule.named[0][1], f" {rule.named[0][0]!r}") if isinstance(rule, Zones) else (rule, "")
    if not isinstance(first, PrecisionGuaranteed):
        return ""
    rows = f"rows in the zone{where}" if where else "rows at or above the threshold"
    return (
        f" Guaranteed: {rows} are right in at least {100 * first.precision:.4g}% of the cases, with "
        f"{100 * first.confidence:.4g}% confidence, as long as new rows are like these."
    )


def expected(found: TableEvaluation) -> str:
    """The number of rare rows that the probabilities expect, and the number that there are.

    >>> expected(TableEvaluation(1000, 9, 0.8, 0.5, 0.8, 0.9, 0.8, best_threshold=0.5, best_f1=0.8, mean_score=0.01))
    'sum to 10; 9 rows are rare'
    """
    return f"sum to {found.mean_score * found.n_rows:,.0f}; {found.n_positives:,} rows are rare"


BOLD, YELLOW, RESET = "\x1b[1m", "\x1b[33m", "\x1b[0m"


class Talk:
    """The output of a command. Results go to standard output, everything else to standard error."""

    def __init__(self, options: Namespace) -> None:
        self.is_quiet = options.quiet or options.json
        self._json = options.json
        self._bars = [] if self.is_quiet else progress_bars()
        self._log = LogLines(SECONDS_BETWEEN_LINES)
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def say(self, text: str = "") -> None:
        if not self.is_quiet:
            print(_fitted(text), flush=True)  # a service may run for days after it

    def headline(self, text: str) -> None:
        self.say(f"{BOLD}{text}{RESET}" if self._colours else text)

    def warn(self, text: str, also_quiet: bool = False) -> None:
        """`also_quiet`: an option was not honoured, which --quiet must not hide. With --json the result says so."""
        if not (self._json if also_quiet else self.is_quiet):
            colours = sys.stderr.isatty() and "NO_COLOR" not in os.environ
            print(f"{YELLOW}warning:{RESET} {text}" if colours else f"warning: {text}", file=sys.stderr)

    def result(self, facts: Mapping[str, Any]) -> None:
        if self._json:
            plain = lambda value: value.item() if hasattr(value, "item") else str(value)  # noqa: E731
            print(json.dumps(facts, indent=2, default=plain), flush=True)

    def callbacks(self) -> list[Callback]:
        """A progress bar; without a terminal, what the lines in a log tell."""
        return [] if self.is_quiet else self._bars or [self._log]

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int | None], None] | None]:
        """A function of the work done and of all work: as a bar, or without a terminal as a line every half minute."""
        if self.is_quiet:
            yield None
        elif not self._bars:
            with self._log.during(what) as update:
                yield update
        else:
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


def progress_bars() -> list[Callback]:
    """A progress bar, if standard error is a terminal and rich is installed."""
    return [ProgressBar()] if sys.stderr.isatty() and find_spec("rich") is not None else []


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


def records(columns: html.Columns, found: Sequence[Any] | Mapping[str, Any]) -> str:
    """A table with a line for each record, with the columns that it has on a page."""
    plain = {name: (path, str if write is html.named else write) for name, (path, write) in columns.items()}
    shown, numbers = html.cells(plain, found)
    header = [name if name[1:2].isupper() else name[:1].lower() + name[1:] for name in shown]
    return table(list(zip(*shown.values(), strict=True)), header, set(range(len(shown))) - {*numbers})


SECONDS_BETWEEN_LINES = 30.0


class LogLines(Callback):
    """Lines about a training on standard error, for logs: all of them (0 seconds), or the last one every few seconds.

    >>> from selfpaced.callbacks import BinNotes
    >>> LogLines.line(Round(3, 0.1, {0: BinNotes([9], [0.1], [2])}, 4, 9.81, 1.92, 0.6, None), 10)
    'round 3 of 10: 12.3 s (9.8 s scoring, 1.9 s drawing, 0.6 s fitting), 4 rows'
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self._last, self._recipe, self._n_members = seconds, "", "", 0

    @contextmanager
    def during(self, what: str) -> Iterator[Callable[[int, int | None], None]]:
        """Print the last line again and again, with the time since the beginning."""
        begin, ended = time.monotonic(), Event()
        self._last = what

        def tell() -> None:
            while not ended.wait(self.seconds):
                print(f"{time.monotonic() - begin:,.0f} s: {self._last}", file=sys.stderr, flush=True)

        def update(done: int, total: int | None) -> None:
            self._last = what if not total else f"{what}, {done / total:.0%}"

        thread = Thread(target=tell, daemon=True)
        thread.start()
        try:
            yield update
        finally:
            ended.set()
            thread.join()

    def on_fit_begin(self, plan: FitPlan) -> None:
        self._n_members = plan.n_members
        self._tell(f"fitting {plan.n_rows:,} rows, {plan.n_minority:,} of them rare")

    def on_recipe_begin(self, name: str, stage: str) -> None:
        self._recipe = f"{stage} {name}"
        self._tell(self._recipe)

    def on_round_end(self, round: Round) -> Stop | None:
        recipe = f"{self._recipe}, " if self._recipe and self.seconds else ""
        self._tell(recipe + self.line(round, self._n_members))
        return None

    def _tell(self, text: str) -> None:
        self._last = text
        if not self.seconds:
            print(text, file=sys.stderr, flush=True)

    @staticmethod
    def line(round: Round, n_members: int) -> str:
        phases = ("scoring", "drawing", "fitting", "calibrating")
        spent = {phase: getattr(round, f"seconds_{phase}") for phase in phases}
        parts = ", ".join(f"{seconds:.1f} s {phase}" for phase, seconds in spent.items() if seconds)
        return f"round {round.number} of {n_members}: {round.seconds:.1f} s ({parts}), {round.n_rows:,} rows"

    def __deepcopy__(self, memo: Any) -> LogLines:
        return self  # a clone of the ensemble tells of the same work


HEADER = ["recipe", "AUCPRC", "weight", "seconds", ""]


def recipe_table(recipes: Sequence[RecipeResult]) -> str:
    """A table of the recipes, those with the largest weight first. Recipes without a weight have a reason.

    >>> from selfpaced.model import RecipeResult
    >>> linear = RecipeResult("linear", 0.61, 0.03, seconds_judging=0.5, note="no weight: the others are better")
    >>> print(recipe_table([linear, RecipeResult("trees", 0.8, 0.02, 1.0, 2.0, 3.0)]))
    Recipes, with their AUCPRC (± standard error) on training rows that each had not seen:
    <BLANKLINE>
    recipe         AUCPRC  weight  seconds
    trees   0.800 ± 0.020    1.00      5.0
    linear  0.610 ± 0.030    0.00      0.5  no weight: the others are better
    """

    def row(one: RecipeResult) -> list[str]:
        judged = (
            "" if one.aucprc is None or one.standard_error is None else f"{one.aucprc:.3f} ± {one.standard_error:.3f}"
        )
        seconds = one.seconds_judging + one.seconds_fitting
        return [one.name, judged, f"{one.weight:.2f}", f"{seconds:.1f}", one.note or ""]

    ordered = sorted(recipes, key=lambda one: (-one.weight, -(one.aucprc or 0.0)))
    rows = table([row(one) for one in ordered], header=HEADER, text=(0, HEADER.index("")))
    return f"Recipes, with their AUCPRC (± standard error) on training rows that each had not seen:\n\n{rows}"


@contextmanager
def counted_new_categories() -> Iterator[dict[str, int]]:
    """A dictionary that holds the number of rows with new categories at the end, by column.

    Other warnings are shown as usual.
    """
    counts: dict[str, int] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NewCategoryWarning)
        yield counts
    for one in caught:
        if isinstance(one.message, NewCategoryWarning):
            counts.update(one.message.counts)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """A list that holds all warnings at the end: each text once, whatever the user's warning filters are.

    >>> with kept_warnings() as kept:
    ...     warnings.warn("The time limit was reached.")
    >>> kept
    ['The time limit was reached.']
    """
    kept: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield kept
    # A member that did not converge fully is judged like the others.
    kept += dict.fromkeys(str(one.message) for one in caught if not issubclass(one.category, ConvergenceWarning))
