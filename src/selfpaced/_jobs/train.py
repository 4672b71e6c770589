"""Training a model on a file, and judging it on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.leakage import Leak, by_column, find_leaks
from selfpaced._jobs.making import Trainable, model_for
from selfpaced._jobs.opening import Source, Wanted, open_source
from selfpaced._jobs.outcome import FEW_CASES, Outcome
from selfpaced._jobs.request import TrainRequest, check_options
from selfpaced._jobs.rules import amounts_in, rule_of
from selfpaced._jobs.splitting import Split, split_for
from selfpaced._jobs.warned import kept_warnings
from selfpaced.bases import columns_of
from selfpaced.ensembles.checks import check_classes
from selfpaced.ensembles.table_scoring import TableEvaluation, evaluation, rare_rows, scores_of
from selfpaced.ensembles.timing import Stopwatch
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Reference, reference_of
from selfpaced.tables import ClassCounts, Roles, StreamedTable, Table
from selfpaced.tables.conversion import Progress
from selfpaced.thresholds import Rule, ThresholdChoice, choose_threshold

FEWEST_ROWS = 3
ROWS_SAMPLED = 20_000
ROWS_COUNTED = 50_000


@dataclass(frozen=True)
class Trained(Outcome):
    """A trained model, its training rows, and its quality on the held-out rows.

    Attributes
    ----------
    split : Split
        The training rows and the held-out rows.
    is_rare, scores
        The labels and the scores of the held-out rows, in order.
    leaks : list[Leak]
        Columns that nearly determine the target alone.
    choice : ThresholdChoice | None
        The threshold that the rule chose, or else the best one by F1; None if all rows have the same score.
    unmet : str | None
        Why the rule could not choose the threshold.
    warnings : list[str]
        The warnings of the fit.
    phases : dict[str, float]
        The seconds of each phase, and within training those of the rounds.
    """

    request: TrainRequest
    model: Trainable
    source: Source
    split: Split
    is_rare: NDArray[np.bool_]
    scores: NDArray[np.float64]
    evaluation: TableEvaluation
    leaks: list[Leak]
    choice: ThresholdChoice | None
    unmet: str | None
    warnings: list[str]
    phases: dict[str, float]

    @property
    def labels(self) -> ClassCounts:
        """The labels of all rows."""
        return self.source.labels

    @property
    def train(self) -> StreamedTable:
        """The rows trained on."""
        return self.split.train

    @property
    def test(self) -> StreamedTable:
        """The rows held out."""
        return self.split.test

    @property
    def rare_label(self) -> Any:
        """The label whose probability is the score, as it is written in the data."""
        return self.model.score_label_


def train(request: TrainRequest, progress: Progress | None = None) -> Trained:
    """Open, split, fit, score."""
    stopwatch = Stopwatch()
    check_options(request)
    rule_of(request.rule, request.amount)  # refuses a wrong rule before an hour of work
    with stopwatch.running("opening"):
        source = open_for(request, progress)
        check_enough(source.labels, request.target)
        split = split_for(request, source)
        if request.amount is not None:
            amounts_in(split.test, request.amount)  # refuses amounts that are not numbers
    model = model_for(request, columns_of(None, source.table.schema), calibration_for(request, split.train))
    return fitted_and_judged(request, source, split, model, stopwatch)


def fitted_and_judged(
    request: TrainRequest, source: Source, split: Split, model: Trainable, stopwatch: Stopwatch
) -> Trained:
    """Train a model on one side of a split, and judge it on the other. The stopwatch is already running."""
    rule = rule_of(request.rule, request.amount)
    amounts = None if request.amount is None else amounts_in(split.test, request.amount)
    with kept_warnings() as warned_of, stopwatch.running("training"):
        model.fit_table(split.train, checkpoint=request.checkpoint)
    with stopwatch.running("scoring held-out rows"):
        is_rare = rare_rows(model.trained_on_, split.test)
        scores = scores_of(model, split.test)
    if source.table.roles.positive is not None:
        warned_of += _common_label(model.score_label_, is_rare)
    with stopwatch.running("looking for leakage"):
        leaks = _leaks(model, split.train, request.seed)
    with stopwatch.running("choosing a threshold"):
        choice, unmet = chosen(is_rare, scores, rule, amounts)
        judged = evaluation(is_rare, scores, None if choice is None else choice.threshold)
    found = (is_rare, scores, judged, leaks, choice, unmet, warned_of, stopwatch.phases())
    return Trained(request, model, source, split, *found)


def _common_label(label: Any, has_it: NDArray[np.bool_]) -> list[str]:
    """A warning if most rows have the label to find that the user has named."""
    n_rows = int(has_it.sum())
    if 2 * n_rows <= has_it.size:
        return []
    return [
        f"{label!r}, the label to find, is not rare: {n_rows:,} of {has_it.size:,} held-out rows have it. The scores "
        "are about this label. Train with a rare label for --positive, or without the option."
    ]


def reference_of_training(trained: Trained) -> Reference:
    """The distribution of the held-out rows, for monitoring."""
    test = trained.test
    assert test.n_rows is not None
    some = np.zeros(test.n_rows, dtype=bool)
    some[np.linspace(0, test.n_rows - 1, min(test.n_rows, ROWS_COUNTED)).astype(np.intp)] = True
    threshold = None if trained.choice is None else trained.choice.threshold
    return reference_of(test.part(some).features(), trained.scores, threshold=threshold)


def calibration_for(request: TrainRequest, train_part: Table) -> str | None:
    """The calibration of a request; None if there are too few rare rows to train copies of members on 80% of them."""
    too_few = train_part.labels().counts.min() < FEW_CASES
    return None if request.calibration == "none" or too_few else request.calibration


def chosen(
    is_rare: NDArray[np.bool_], scores: NDArray[np.float64], rule: Rule, amounts: NDArray[np.float64] | None
) -> tuple[ThresholdChoice | None, str | None]:
    """The threshold by the rule. If the rule cannot be met, the best one by F1 and the reason: the model is kept."""
    try:
        return choose_threshold(is_rare, scores, rule, amounts=amounts), None
    except ValueError as error:
        alike = scores.min() == scores.max()
        return None if alike else choose_threshold(is_rare, scores, "f1"), str(error)


def check_enough(labels: ClassCounts, target: str) -> None:
    """Refuse labels of fewer than two classes, and classes with too few rows to train on and to judge by."""
    smallest = int(labels.counts.argmin())
    if len(labels.names) > 1 and labels.counts[smallest] < FEWEST_ROWS:
        several = " Or name the label to find among all others: --positive LABEL." if len(labels.names) > 2 else ""
        raise TableError(
            f"The class {labels.names[smallest]!r} of column {target!r} has {labels.counts[smallest]} row(s); at least "
            f"{FEWEST_ROWS} are needed, two to train on and one to be judged by.{several}"
        )
    check_classes(labels, f"Column {target!r}")


def open_for(request: TrainRequest, progress: Progress | None = None, also: Sequence[str] = ()) -> Source:
    """The table of a request. `also` are further columns that will be read; they may be features too."""
    keep = () if request.id is None else (request.id,)
    roles = Roles(
        request.target,
        request.positive,
        amount=request.amount,
        time=request.time_column,
        group=request.group,
        keep=keep,
    )
    wanted = Wanted(
        request.source,
        roles,
        request.exclude,
        request.out_of_core,
        also,
        request.columns,
        request.drop_unlabelled,
    )
    return open_source(wanted, progress)


def _leaks(model: Trainable, table: StreamedTable, seed: int) -> list[Leak]:
    """A sample of all rows, with the rare ones among them, to search for leakage. It is fast and large enough."""
    is_rare = rare_rows(model.trained_on_, table)
    n_common = ROWS_SAMPLED / max(is_rare.size - is_rare.sum(), 1)
    chosen = is_rare | (np.random.default_rng(seed).random(is_rare.size) < n_common)
    sources = {column.name: column.source for column in table.schema.columns}
    return by_column(find_leaks(table.part(chosen).features(), is_rare[chosen], seed), sources)
