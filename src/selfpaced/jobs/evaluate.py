"""A model judged on rows with labels, at a threshold that is known or chosen anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.streaming import TableEvaluation, evaluation
from selfpaced.exceptions import TableError
from selfpaced.jobs.rules import amounts_in, rule_of
from selfpaced.metrics import alerts_at_threshold
from selfpaced.tables import StreamedTable, open_like, schema_of
from selfpaced.tables.opening import open_bare
from selfpaced.tables.schema import Schema
from selfpaced.thresholds import LowestCost, Rule, ThresholdChoice, amounts_of, choose_threshold, parse_rule


@dataclass(frozen=True)
class Known:
    """What the threshold of a model was chosen by in training, and the column of amounts that it was chosen with."""

    rule: Rule | None = None
    amount: str | None = None


@dataclass(frozen=True)
class Evaluated:
    """What a model is worth on some rows.

    Attributes
    ----------
    choice : the threshold, if it was chosen by these rows.
    cost : of these rows at the threshold, if a rule knows costs.
    unpriced : why there is no cost, if a rule is about costs.
    """

    evaluation: TableEvaluation
    choice: ThresholdChoice | None
    cost: float | None = None
    unpriced: str | None = None


def known_from(metrics: Mapping[str, Any]) -> Known:
    """From a model's card. What is no rule, in a card that was written otherwise, is none.

    >>> known_from({"rule": "cost=5", "amount": "price"})
    Known(rule=LowestCost(costs=Costs(false_alarm=5.0, missed=None, hit=0.0, left_alone=0.0)), amount='price')
    """
    try:
        return Known(parse_rule(metrics["rule"]), metrics.get("amount"))
    except (KeyError, ValueError):
        return Known()


def evaluate(
    model: AveragingEnsemble,
    source: Any,
    target: str,
    *,
    threshold: float | None = None,
    rule: str | None = None,
    amount: str | None = None,
    known: Known | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Evaluated:
    """At a threshold, or at the one that a rule chooses; `amount` is the column of what missing a row costs.

    Without a rule, what the rows cost is told by the one that is `known`.
    """
    if rule is not None:
        wanted = rule_of(rule, amount)
        table, is_rare, scores = _scored(model, source, target, amount, progress)
        amounts = None if amount is None else amounts_in(table, amount)
        choice = choose_threshold(is_rare, scores, wanted, amounts=amounts)
        return Evaluated(evaluation(is_rare, scores, choice.threshold), choice, choice.cost)
    known = Known() if known is None else known
    if amount is not None and not isinstance(known.rule, LowestCost):
        raise TableError("Amounts are for a rule by costs: --rule cost=5 --amount COL.")
    column, unpriced = _amounts_for(known, amount, source)
    table, is_rare, scores = _scored(model, source, target, column, progress)
    found = evaluation(is_rare, scores, threshold)
    if unpriced is not None or not isinstance(known.rule, LowestCost):
        return Evaluated(found, None, unpriced=unpriced)
    amounts = None if column is None else amounts_in(table, column)
    return Evaluated(found, None, _cost(known.rule, is_rare, scores, found.threshold, amounts))


def _amounts_for(known: Known, given: str | None, source: Any) -> tuple[str | None, str | None]:
    """The column of amounts that a rule needs, if it does; or why it cannot be had."""
    if not isinstance(known.rule, LowestCost) or known.rule.costs is None or known.rule.costs.missed is not None:
        if given is not None:
            raise TableError(f"By {known.rule} a missed case has its cost already: leave out --amount {given}.")
        return None, None
    if given is not None:
        return given, None  # that it is not there is an error like all others
    if known.amount is None:
        return None, "the column of amounts is not known: --amount COL"
    if known.amount not in open_bare(source).files[0].schema.names:
        return None, f"there is no column {known.amount!r}, the amounts in training: --amount COL names another"
    return known.amount, None


def _scored(
    model: AveragingEnsemble, source: Any, target: str, amount: str | None, progress: Any
) -> tuple[StreamedTable, NDArray[np.bool_], NDArray[np.float64]]:
    table = open_like(
        source,
        _schema(model, source),
        target=target,
        positive=getattr(model, "positive_", None),
        keep=[] if amount is None else [amount],
    )
    return table, model.rare_rows(table), model.score_table(table, progress=progress)


def _schema(model: AveragingEnsemble, source: Any) -> Schema:
    """As in training; for a model that was trained in memory, the columns of its names."""
    known: Schema | None = getattr(model, "schema_", None)
    if known is not None:
        return known
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise TableError(
            f"The model was trained on {model.n_features_in_} features without names, so that its columns cannot be "
            "found in a file; use choose_threshold(y, scores, rule) in Python, or train with a data frame."
        )
    return schema_of(source, names)


def _cost(
    rule: LowestCost,
    is_rare: NDArray[np.bool_],
    scores: NDArray[np.float64],
    threshold: float,
    amounts: NDArray[np.float64] | None,
) -> float:
    assert rule.costs is not None
    missed = scores[is_rare] < threshold
    lost = None if amounts is None else float(amounts_of(amounts, is_rare)[missed].sum())
    return float(rule.costs.total(alerts_at_threshold(is_rare, scores, threshold), lost))
