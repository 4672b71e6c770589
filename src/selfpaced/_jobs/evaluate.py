"""A model judged on rows with labels, at a threshold that is known or chosen anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.data import data_of
from selfpaced._jobs.rules import amounts_in, rule_of
from selfpaced.ensembles.averaged import RowsDone
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.table_scoring import (
    TableEvaluation,
    evaluation,
    open_to_score,
    rare_rows,
    scores_of,
)
from selfpaced.exceptions import TableError
from selfpaced.metrics import alerts_at_threshold
from selfpaced.tables import Roles, StreamedTable
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


@dataclass(frozen=True)
class Judging:
    """How alerts are judged: at a threshold, or at the one that a rule chooses.

    Attributes
    ----------
    amount : the column of what missing a row costs.
    known : without a rule, the one of training says what the rows cost.
    """

    threshold: float | None = None
    rule: str | None = None
    amount: str | None = None
    known: Known = Known()


def evaluate(
    model: AveragingEnsemble, source: Any, target: str, judging: Judging, progress: RowsDone | None = None
) -> Evaluated:
    """Score the rows of a file and compare them with their labels."""
    chosen = None if judging.rule is None else rule_of(judging.rule, judging.amount)
    rule = judging.known.rule if chosen is None else chosen
    if judging.amount is not None and not isinstance(rule, LowestCost):
        raise TableError("Amounts are for a rule by costs: --rule cost=5 --amount COL.")
    data = data_of(source)
    table = open_to_score(model, data.source, Roles(target, model.trained_on_.positive), data.reading)
    column, unpriced = (judging.amount, None) if chosen is not None else _amounts_for(judging, table)
    amounts = None if column is None else amounts_in(table, column)
    is_rare = rare_rows(model.trained_on_, table)
    scores = scores_of(model, table, progress)
    if chosen is not None:
        choice = choose_threshold(is_rare, scores, chosen, amounts=amounts)
        return Evaluated(evaluation(is_rare, scores, choice.threshold), choice, choice.cost)
    found = evaluation(is_rare, scores, judging.threshold)
    if unpriced is not None or not isinstance(rule, LowestCost):
        return Evaluated(found, None, unpriced=unpriced)
    return Evaluated(found, None, _cost(rule, is_rare, scores, found.threshold, amounts))


def _amounts_for(judging: Judging, table: StreamedTable) -> tuple[str | None, str | None]:
    """The column of amounts that the rule of training needs, if it does; or why there is none."""
    known, given = judging.known, judging.amount
    if not isinstance(known.rule, LowestCost) or known.rule.costs is None or known.rule.costs.missed is not None:
        if given is not None:
            raise TableError(f"By {known.rule} a missed case has its cost already: leave out --amount {given}.")
        return None, None
    if given is not None:
        return given, None  # that it is missing is an error like all others
    if known.amount is None:
        return None, "the column of amounts is not known: --amount COL"
    if known.amount not in table.reader.column_names:
        return None, f"there is no column {known.amount!r}, the amounts in training: --amount COL names another"
    return known.amount, None


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
