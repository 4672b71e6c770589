"""What a model is worth on the rows of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.streaming import TableEvaluation, check_evaluable, evaluation
from selfpaced.exceptions import TableError
from selfpaced.jobs.train import rare_rows
from selfpaced.metrics import alerts_at_threshold
from selfpaced.tables import open_like, schema_of


def evaluate(
    model: AveragingEnsemble,
    source: Any,
    target: str | None = None,
    threshold: float | None = None,
    progress: Callable[..., None] | None = None,
) -> tuple[TableEvaluation, TableEvaluation]:
    """The model's worth at a threshold that was chosen before, and at the one that is best on these rows.

    Without a threshold both are the latter, which flatters.
    """
    target = getattr(model, "target_", None) if target is None else target
    if target is None:
        raise TableError("Which column holds the labels? Name it: --target COL.")
    schema = getattr(model, "schema_", None) or schema_of(source, getattr(model, "feature_names_in_", None))
    table = open_like(source, schema, target=target, positive=getattr(model, "positive_", None))
    check_evaluable(table.labels(), model.classes_, model._rare_class(), target)
    is_rare, scores = rare_rows(model, table), model.score_table(table, progress=progress)
    best = evaluation(is_rare, scores)
    if threshold is None:
        return best, best
    alerts = alerts_at_threshold(is_rare, scores, threshold)
    f1, precision, recall = float(alerts.f1), float(alerts.precision), float(alerts.recall)
    return replace(best, threshold=threshold, f1=f1, precision=precision, recall=recall), best
