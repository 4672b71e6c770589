"""Results as sentences for the command line."""

from __future__ import annotations

from typing import Any

from selfpaced._jobs.entities import Repeating
from selfpaced._jobs.evaluate import Evaluated, Known
from selfpaced._jobs.predict import Predicted
from selfpaced.ensembles.table_scoring import TableEvaluation
from selfpaced.thresholds import ThresholdChoice, cost_text
from selfpaced.thresholds.words import headline as headline_of
from selfpaced.thresholds.words import rows_where


def headline(found: TableEvaluation, target: str | None, label: Any, choice: ThresholdChoice | None = None) -> str:
    """The first line of a result, also for a rule that chooses no alerts."""
    if choice is not None and choice.alerts.n_alerts == 0:
        return "No alert is worth its cost. To raise no alerts is cheapest."
    return headline_of(found.precision, found.recall, rows_where(repr(label), target))


def cost_in_words(judged: Evaluated, known: Known) -> str:
    """The cost of rows by the rule of training, or why it is not known."""
    if judged.unpriced is not None:
        return f"The cost of these rows by {known.rule} is not known: {judged.unpriced}."
    return "" if judged.cost is None else f"By {known.rule} these rows cost {cost_text(judged.cost)}."


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
    return f"What to expect of other rows, with {choice.confidence:.0%} intervals: {said}."


def repetition(one: Repeating) -> str:
    """A warning that held-out rows share something with training rows.

    >>> repetition(Repeating("card_id", 0.974))[:59]
    "column 'card_id' repeats: 97% of the held-out rows have a v"
    """
    return (
        f"column {one.name!r} repeats: {one.share:.0%} of the held-out rows have a value that was trained on. If the "
        f"model is meant for new values too, these figures are too good. Hold out whole groups: --group {one.name!r}"
    )


def counted(found: Predicted) -> str:
    """
    >>> counted(Predicted(n_rows=3000, n_alerts=1, n_expected=2.7)), counted(Predicted(3000, None, None))
    ('3,000 rows, 1 alert among them and about 3 rare rows to expect,', '3,000 rows')
    """
    parts = []
    if found.n_alerts is not None:
        parts.append(f"{found.n_alerts:,} alert{'' if found.n_alerts == 1 else 's'} among them")
    if found.n_expected is not None:
        n_expected = round(found.n_expected)
        parts.append(f"about {n_expected:,} rare row{'' if n_expected == 1 else 's'} to expect")
    return f"{found.n_rows:,} rows" + (f", {' and '.join(parts)}," if parts else "")


def expected(found: TableEvaluation) -> str:
    """The number of rare rows that the probabilities expect, and the number that there are.

    >>> expected(TableEvaluation(1000, 9, 0.8, 0.5, 0.8, 0.9, 0.8, best_threshold=0.5, best_f1=0.8, mean_score=0.01))
    '10 rare rows here, and there are 9'
    """
    return f"{found.mean_score * found.n_rows:,.0f} rare rows here, and there are {found.n_positives:,}"


def chance(found: TableEvaluation) -> str:
    """The AUCPRC of random scores.

    >>> chance(TableEvaluation(100_000, 3, 0.8, 0.5, 0.8, 0.9, 0.8, best_threshold=0.5, best_f1=0.8, mean_score=0.1))
    '3e-05'
    """
    return f"{found.n_positives / found.n_rows:.2g}"
