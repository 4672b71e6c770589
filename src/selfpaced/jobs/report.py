"""A report on a model and the rows of a table that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.exceptions import TableError
from selfpaced.jobs.opening import fits_in_memory
from selfpaced.jobs.rules import amounts_in, rule_of
from selfpaced.jobs.train import Trained, rare_label
from selfpaced.report import Report, make_report, report_of_scores, suspect_rows
from selfpaced.tables import StreamedTable, open_like

ROWS_SAMPLED = 20_000


def report_of_training(trained: Trained) -> Report:
    """On a model that has just been trained, and the rows held out."""
    return report_of_table(
        trained.model,
        trained.test,
        trained.request.target,
        trained.request.id,
        in_memory=trained.source.in_memory and _fits(trained.test),
        scores=trained.scores,
        X_train=trained.train.sample(ROWS_SAMPLED, trained.request.seed),
        dropped={column.name: column.reason for column in trained.source.dropped},
        rule=None if trained.unmet else trained.request.rule,
        amount=None if trained.unmet else trained.request.amount,
    )


def report_of_file(
    model: AveragingEnsemble,
    source: Any,
    target: str | None,
    id: str | None,
    progress: Callable[..., None] | None,
    rule: str | None = None,
    amount: str | None = None,
) -> Report:
    """On a model that was loaded, and the rows of a file."""
    target = getattr(model, "target_", None) if target is None else target
    if target is None or not hasattr(model, "schema_"):
        raise TableError("The model was not trained from a file; use model.report(X, y) with rows in memory.")
    rule_of(rule or "f1", amount)  # a wrong one is refused before the rows are scored
    keep = [name for name in (id, amount) if name is not None]
    table = open_like(source, model.schema_, target=target, positive=getattr(model, "positive_", None), keep=keep)
    return report_of_table(
        model, table, target, id, in_memory=_fits(table), progress=progress, rule=rule, amount=amount
    )


def report_of_table(
    model: AveragingEnsemble,
    table: StreamedTable,
    target: str,
    id: str | None,
    *,
    in_memory: bool,
    scores: NDArray[np.float64] | None = None,
    X_train: Any = None,
    dropped: dict[str, str] | None = None,
    progress: Callable[..., None] | None = None,
    rule: str | None = None,
    amount: str | None = None,
) -> Report:
    """Where the rows do not fit into memory, columns are described by a sample of them."""
    is_rare = model.rare_rows(table)
    # The label to be found stands for itself, and all others for what it is not.
    labels = np.where(is_rare, rare_label(model), None)
    said: dict[str, Any] = {
        "ids": None if id is None else _ids(table, id),
        "target": target,
        "dropped": dropped,
        "threshold": rule,
        "amounts": None if amount is None else amounts_in(table, amount),
    }
    if in_memory:
        return make_report(model, table.features(), labels, X_train=X_train, **said)
    scores = model.score_table(table, progress=progress) if scores is None else scores
    rows = _rows_worth_having(is_rare, scores)
    chosen = np.zeros(is_rare.size, dtype=bool)
    chosen[rows] = True
    return report_of_scores(
        labels,
        scores,
        rare=rare_label(model),
        model=model,
        sample=table.part(chosen).features(),
        sample_rows=rows,
        train_sample=X_train,
        **said,
    )


def _fits(table: StreamedTable) -> bool:
    assert table.n_rows is not None
    return fits_in_memory(table.n_rows, len(table.schema.columns))


def _ids(table: StreamedTable, id: str) -> NDArray[Any]:
    kept = replace(table, roles=replace(table.roles, keep=(*table.roles.keep, id)))
    return np.asarray(kept.column(id))


def _rows_worth_having(is_rare: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """The rows that are shown one by one, and others at random."""
    shown = np.concatenate(suspect_rows(is_rare, scores))
    some = np.random.default_rng(0).permutation(is_rare.size)[:ROWS_SAMPLED]
    return np.unique(np.concatenate([shown, some])).astype(np.intp)
