"""Goals by which a new model is compared with the one that it may replace, on the same rows."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import thresholds
from selfpaced.cli.columns import Floats, Mask
from selfpaced.exceptions import TableError
from selfpaced.metrics import N_RESAMPLES, aucprc, resampled
from selfpaced.tables import PERIODS, Moments, periods_of

RECALL = re.compile(rf"recall@(\d+)/({'|'.join(PERIODS)})")
GOALS = "aucprc, cost or recall@200/day (also /hour, /week and /month)"


@dataclass(frozen=True)
class Judged:
    """The rows that both models are judged by."""

    is_rare: Mask
    old: Floats  # the scores of both models
    new: Floats
    rule: thresholds.Rule
    amounts: Floats | None = None  # what it costs to miss each row, if the rule needs it
    times: Moments | None = None
    zone: str | None = None  # the time zone of their days


@dataclass(frozen=True)
class GoalReached:
    """A figure of both models. `gain` is positive if the new model is better, with the paired 90% interval."""

    goal: str
    old: float
    new: float
    gain: float
    interval: thresholds.Interval


def check_goal(goal: str, rule: thresholds.Rule, has_times: bool) -> None:
    """Refuse a goal that cannot be measured, before an hour of work."""
    budget = RECALL.fullmatch(goal)
    if goal not in ("aucprc", "cost") and (budget is None or int(budget.group(1)) < 1):
        raise TableError(f"--if-better must be {GOALS}; got {goal!r}.")
    if goal == "cost" and (not isinstance(rule, thresholds.LowestCost) or rule.costs is None):
        raise TableError(
            f"--if-better cost needs a model whose threshold was chosen by costs, but its rule is {rule}. Train it "
            "with a rule such as --rule cost=5:100, or compare by aucprc."
        )
    if budget is not None and not has_times:
        raise TableError(f"--if-better {goal} needs the times of the rows. Name their column: --time-column COL.")


def compared(goal: str, judged: Judged) -> GoalReached:
    """Compare both models by a goal, on the same draws of the rows."""
    is_rare, scores = judged.is_rare, {"old": judged.old, "new": judged.new}
    if goal == "aucprc":
        areas = {name: aucprc(is_rare, own) for name, own in scores.items()}
        draws = resampled(is_rare, scores)
        interval = thresholds.middle_of(draws["new"] - draws["old"])
        return GoalReached(goal, areas["old"], areas["new"], areas["new"] - areas["old"], interval)
    if goal == "cost":
        old, new = (row_costs(judged, own) for own in scores.values())
        drawn = [float(counts @ (old - new)) for counts in _draws(old.size)]
        return GoalReached(
            goal, float(old.sum()), float(new.sum()), float((old - new).sum()), thresholds.middle_of(drawn)
        )
    budget = RECALL.fullmatch(goal)
    assert budget is not None
    assert judged.times is not None
    periods = periods_of(judged.times, budget.group(2), judged.zone)
    old, new = (recalled(is_rare, own, periods, int(budget.group(1))).astype(np.float64) for own in scores.values())
    drawn = [float(counts @ (new - old) / rare) for counts in _draws(old.size) if (rare := counts @ is_rare)]
    shares = [float(found.sum() / is_rare.sum()) for found in (old, new)]
    return GoalReached(goal, shares[0], shares[1], shares[1] - shares[0], thresholds.middle_of(drawn))


def recalled(is_rare: Mask, scores: Floats, periods: NDArray[Any], n_alerts: int) -> Mask:
    """The rare rows among the best rows of each period.

    >>> is_rare, days = np.array([True, False, True, True]), np.array([1, 1, 2, 2])
    >>> recalled(is_rare, np.array([0.2, 0.9, 0.8, 0.7]), days, 1).tolist()
    [False, False, True, False]
    """
    found: Mask = is_rare & thresholds.best_rows(scores, n_alerts, periods=periods)
    return found


def row_costs(judged: Judged, scores: Floats) -> Floats:
    """What each row costs at the threshold that the rule chooses on these rows, for either model in the same way."""
    assert isinstance(judged.rule, thresholds.LowestCost)
    costs, is_rare = judged.rule.costs, judged.is_rare
    assert costs is not None
    lost = None if judged.amounts is None else thresholds.amounts_of(judged.amounts, is_rare)
    choice = thresholds.choice_from(thresholds.sweep_of(is_rare, scores, lost), judged.rule)
    missed = np.full(is_rare.size, 0.0 if costs.missed is None else costs.missed)
    if lost is not None and costs.missed is None:
        missed[is_rare] = lost
    without = np.where(is_rare, missed, costs.left_alone)
    found: Floats = np.where(scores >= choice.threshold, np.where(is_rare, costs.hit, costs.false_alarm), without)
    return found


def _draws(n_rows: int) -> Any:
    """How many times each row is drawn, many times: as the intervals of the AUCPRC."""
    rng = np.random.default_rng(0)
    return (rng.poisson(1.0, n_rows).astype(np.float64) for _ in range(N_RESAMPLES))
