"""A model judged on rows with labels, at a threshold that is known or chosen anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.streaming import TableEvaluation, evaluation
from selfpaced.exceptions import TableError
from selfpaced.jobs.rules import amounts_in, rule_of
from selfpaced.tables import open_like
from selfpaced.thresholds import ThresholdChoice, choose_threshold


@dataclass(frozen=True)
class Evaluated:
    """What a model is worth on some rows; `choice` is the threshold if it was chosen by these rows."""

    evaluation: TableEvaluation
    choice: ThresholdChoice | None


def evaluate(
    model: AveragingEnsemble,
    source: Any,
    target: str,
    *,
    threshold: float | None = None,
    rule: str | None = None,
    amount: str | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Evaluated:
    """At a threshold, or at the one that a rule chooses; `amount` is the column of what missing a row costs."""
    if rule is None:
        if amount is not None:
            raise TableError("Amounts are for a rule by costs: --rule cost=5 --amount COL.")
        return Evaluated(model.evaluate_table(source, target=target, threshold=threshold, progress=progress), None)
    wanted = rule_of(rule, amount)
    if not hasattr(model, "schema_"):
        raise TableError("The model was not trained from a file; use choose_threshold(y, scores, rule) in Python.")
    options: dict[str, Any] = {
        "positive": getattr(model, "positive_", None),
        "keep": [] if amount is None else [amount],
    }
    table = open_like(source, model.schema_, target=target, **options)
    amounts = None if amount is None else amounts_in(table, amount)
    is_rare = model.rare_rows(table)
    scores = model.score_table(table, progress=progress)
    choice = choose_threshold(is_rare, scores, wanted, amounts=amounts)
    return Evaluated(evaluation(is_rare, scores, choice.threshold), choice)
