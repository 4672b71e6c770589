"""Measures at thresholds that are chosen in three ways, as publications do, and both G-means of predicted labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from selfpaced.metrics import MEASURES, alerts_at_threshold, alerts_of_labels, as_bools, best_threshold


@dataclass(frozen=True)
class Scored:
    """Labels with scores, on which a threshold is chosen or judged."""

    y_true: ArrayLike
    scores: ArrayLike


THRESHOLD_RULES: dict[str, Callable[[str, Scored, Scored], float]] = {
    "0.5": lambda measure, validation, test: 0.5,
    "validation": lambda measure, validation, test: best_threshold(validation.y_true, validation.scores, measure),
    "best on test": lambda measure, validation, test: best_threshold(test.y_true, test.scores, measure),
}


def measure_by_rule(measure: str, rule: str, validation: Scored, test: Scored, *, pos_label: Any = None) -> float:
    """A measure on the test rows at the threshold that a rule chooses.

    "validation" chooses the threshold on the validation rows, as a user would. "best on test" uses the test labels, so
    the figure is too good: it is only for comparison with publications that did so.

    >>> scored = Scored([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> [round(measure_by_rule("f1", rule, scored, scored), 3) for rule in THRESHOLD_RULES]
    [0.667, 0.8, 0.8]
    """
    if rule not in THRESHOLD_RULES:
        raise ValueError(f"rule must be one of {list(THRESHOLD_RULES)}; got {rule!r}.")
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {sorted(MEASURES)}; got {measure!r}.")
    validation, test = (Scored(*as_bools(each.y_true, each.scores, pos_label)) for each in (validation, test))
    threshold = THRESHOLD_RULES[rule](measure, validation, test)
    return float(MEASURES[measure](alerts_at_threshold(test.y_true, test.scores, threshold)))


def precision_recall_gmean_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> float:
    """The paper's G-mean of predicted labels, for `sklearn.metrics.make_scorer`.

    >>> round(precision_recall_gmean_score([0, 0, 1, 1], [0, 1, 1, 1]), 3)
    0.816
    """
    return float(alerts_of_labels(y_true, y_pred, pos_label=pos_label).precision_recall_gmean)


def sensitivity_specificity_gmean_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> float:
    """imbalanced-learn's G-mean of predicted labels.

    >>> round(sensitivity_specificity_gmean_score([0, 0, 1, 1], [0, 1, 1, 1]), 3)
    0.707
    """
    return float(alerts_of_labels(y_true, y_pred, pos_label=pos_label).sensitivity_specificity_gmean)
