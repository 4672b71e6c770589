"""What is written down of a trained method."""

from __future__ import annotations

from paper.datasets import Split
from paper.experiment import Row
from paper.measures import Scored, measure_by_rule
from paper.methods import Fitted, Floats
from selfpaced.metrics import aucprc

# Column names of the measures and of the threshold rules, and what paper.measures calls them.
MEASURES = {"f1": "f1", "gmean": "precision_recall_gmean", "mcc": "mcc"}
RULES = {"half": "0.5", "validation": "validation", "best": "best on test"}


def evaluated(fitted: Fitted, split: Split, *, votes: bool = True) -> Row:
    """AUCPRC of probabilities and of hard votes, each measure at each of the three thresholds, and the cost."""
    test_scores = fitted.scores(split.X_test)
    validation, test = Scored(split.y_valid, fitted.scores(split.X_valid)), Scored(split.y_test, test_scores)
    at_thresholds = {
        f"{column}_{rule}": measure_by_rule(measure, RULES[rule], validation, test)
        for column, measure in MEASURES.items()
        for rule in RULES
    }
    return _rounded({**_ranked(fitted, split, test_scores, votes), **at_thresholds})


def ranked(fitted: Fitted, split: Split, *, votes: bool = True) -> Row:
    """The same without thresholds, where scoring the validation rows too would take long."""
    return _rounded(_ranked(fitted, split, fitted.scores(split.X_test), votes))


def _ranked(fitted: Fitted, split: Split, test_scores: Floats, votes: bool) -> Row:
    by_votes = {"aucprc_votes": aucprc(split.y_test, fitted.votes(split.X_test, test_scores))} if votes else {}
    return {
        "aucprc": aucprc(split.y_test, test_scores),
        **by_votes,
        "n_training_rows": sum(fitted.training_rows),
        "resampling_seconds": fitted.resampling_seconds,
    }


def _rounded(row: Row) -> Row:
    """More digits than anybody reads would only make the files large."""
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
