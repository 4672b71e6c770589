"""From a model and rows, or from scores alone, to a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from selfpaced.report.about import ensemble_of, model_facts, versions_of
from selfpaced.report.calibration import calibration_facts
from selfpaced.report.choice import suggested
from selfpaced.report.data import data_facts
from selfpaced.report.facts import Case, Facts
from selfpaced.report.importance import importance_facts
from selfpaced.report.learning import learning_facts
from selfpaced.report.ranking import ranking_facts, threshold_facts
from selfpaced.report.report import Report
from selfpaced.report.suspects import suspect_facts
from selfpaced.report.tally import quick_aucprc, tally
from selfpaced.thresholds import Rule


def make_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    ids: Any = None,
    threshold: float | str | Rule | None = None,
    costs: tuple[float, float] | None = None,
    amounts: Any = None,
    X_train: Any = None,
    y_train: Any = None,
    dropped: Mapping[str, str] | None = None,
    title: str | None = None,
    target: str | None = None,
) -> Report:
    """A report on a fitted model, by rows that it was not trained on.

    Parameters
    ----------
    model : a fitted ensemble, or any classifier with `predict_proba`, such as a pipeline that ends in one.
    X, y : rows and labels. With more than two classes the report is on the rare class against the rest.
    ids : names of the rows; by default the index of a pandas frame, and positions otherwise.
    threshold : the one to suggest: a number, or a rule to choose it by on these rows, such as "precision>=0.9" and all
        others of `selfpaced.choose_threshold`; by default the best by F1.
    costs : (of a false alarm, of a missed case), in any unit. The page can change them.
    amounts : what missing each row costs, for a rule such as "cost=5".
    X_train, y_train : the training rows, or some of them: to see how far the columns have moved since.
    dropped : columns that were left out before training, with the reasons.
    title : of the page.
    target : the name of the column of labels; by default that of `y` or the one that `fit_table` had.

    Examples
    --------
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_fraud
    >>> X, y = make_fraud(n_rows=4000, n_frauds=80, random_state=0)
    >>> model = SelfPacedEnsembleClassifier(random_state=0).fit(X[:2000], y[:2000])
    >>> report = make_report(model, X[2000:], y[2000:])
    >>> report.facts.n_rows, report.to_html()[:15]
    (2000, '<!doctype html>')
    """
    check_is_fitted(model)
    labels = column_or_1d(y)
    check_consistent_length(X, labels)
    rare = _rare_label(model, labels)
    place = _place(model, rare)
    stage_scores, scores = _scored(model, X, labels == rare, place)
    return report_of_scores(
        labels,
        scores,
        rare=rare,
        model=model,
        sample=X,
        ids=_index_of(X) if ids is None else ids,
        threshold=threshold,
        costs=costs,
        amounts=amounts,
        train_sample=X_train,
        y_train=y_train,
        dropped=dropped,
        title=title,
        target=target or getattr(y, "name", None),
        stage_scores=stage_scores,
    )


def report_of_scores(
    y: Any,
    scores: Any,
    *,
    rare: Any = 1,
    model: Any = None,
    sample: Any = None,
    sample_rows: Any = None,
    ids: Any = None,
    threshold: float | str | Rule | None = None,
    costs: tuple[float, float] | None = None,
    amounts: Any = None,
    train_sample: Any = None,
    y_train: Any = None,
    dropped: Mapping[str, str] | None = None,
    title: str | None = None,
    target: str | None = None,
    stage_scores: Sequence[float] | None = None,
) -> Report:
    """A report from labels and scores, for rows that do not fit into memory. What is not given is left out.

    Parameters
    ----------
    y, scores : labels of all rows, and their probabilities of being of the class `rare`.
    model : the fitted model, for the parts on learning and importance.
    sample, sample_rows : the features of some rows, and their positions among the scores; without positions the sample
        holds all rows. `selfpaced.report.suspect_rows(y == rare, scores)` are the rows worth having in it.
    ids : names of all rows.
    train_sample, y_train : the features of some training rows; labels of the training rows, to be counted.
    stage_scores : AUCPRC after each member on these rows; by default those on the eval_set of the fit, if any.

    The others are those of `make_report`.

    Examples
    --------
    >>> report = report_of_scores([0, 0, 1, 0, 1], [0.1, 0.2, 0.7, 0.1, 0.9])
    >>> report.facts.ranking.aucprc
    1.0
    """
    labels, values = column_or_1d(y), np.asarray(column_or_1d(scores))
    is_case: NDArray[np.bool_] = labels == rare
    _check_both_kinds(is_case, labels, rare)
    counts = tally(is_case, values)
    suggestion = suggested(counts, is_case, values, threshold, costs, amounts)
    rows = None if sample_rows is None else np.asarray(sample_rows)
    _check_sample(sample, rows, labels.size)
    names = _checked_ids(ids, labels.size)
    importances = None
    if model is not None and sample is not None:
        in_sample = is_case if rows is None else is_case[rows]
        importances = importance_facts(model, sample, in_sample, _place(model, rare))
    important = importances.names if importances else ()
    facts = Facts(
        title=title or "How well are the rare rows found?",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions_of(model),
        case=_case(rare, target or getattr(ensemble_of(model), "target_", None)),
        n_rows=int(labels.size),
        n_cases=counts.n_cases,
        model=None if model is None else model_facts(model, y_train),
        ranking=ranking_facts(counts),
        thresholds=threshold_facts(counts, suggestion.threshold, suggestion.costs, suggestion.chosen),
        calibration=calibration_facts(counts),
        learning=None if model is None else learning_facts(ensemble_of(model), stage_scores),
        importances=importances,
        suspects=suspect_facts(is_case, values, names, sample, rows, important),
        data=None if sample is None else data_facts(sample, train_sample, dropped, important),
    )
    return Report(facts)


def _case(rare: Any, target: Any) -> Case:
    label = rare.item() if isinstance(rare, np.generic) else rare
    return Case(str(label), None if target is None or target == "" else str(target))  # polars' nameless are ""


def _check_both_kinds(is_case: NDArray[np.bool_], labels: NDArray[Any], rare: Any) -> None:
    if is_case.all() or not is_case.any():
        raise ValueError(
            f"A report needs rows of the class {rare!r} and rows of others; the labels found are "
            f"{np.unique(labels)[:5].tolist()}."
        )


def _check_sample(sample: Any, rows: NDArray[Any] | None, n_rows: int) -> None:
    if sample is None:
        return
    n_named, what = (n_rows, "labels") if rows is None else (rows.size, "sample_rows")
    if sample.shape[0] != n_named:
        raise ValueError(
            f"The sample has {sample.shape[0]} rows, but there are {n_named} {what}. A sample of some rows needs "
            "their positions as sample_rows."
        )


def _rare_label(model: Any, labels: NDArray[Any]) -> Any:
    """The label that the model looks for; for a model that looks for none, the rarest of its classes here."""
    ensemble = ensemble_of(model)
    for name in ("positive_", "minority_class_"):
        label = getattr(ensemble, name, None)
        if label is not None:
            return label.item() if isinstance(label, np.generic) else label
    classes: list[Any] = model.classes_.tolist()
    return min(classes, key=lambda label: int((labels == label).sum()))


def _place(model: Any, rare: Any) -> int:
    """The column of the rare class. A model told to tell one label from all others knows it as True."""
    classes: list[Any] = model.classes_.tolist()
    return classes.index(rare if rare in classes else True)


def _scored(
    model: Any, X: Any, is_case: NDArray[np.bool_], place: int
) -> tuple[list[float] | None, NDArray[np.float64]]:
    """The scores, with the AUCPRC after each member where the fit has not measured it on an eval_set."""
    ensemble = ensemble_of(model)
    notes = getattr(ensemble, "rounds_", [])
    measured = notes and notes[-1].score is not None and len(model.classes_) == 2
    if measured or not hasattr(ensemble, "staged_predict_proba"):
        return None, model.predict_proba(X)[:, place]
    stage_scores = []
    for probabilities in _stages(model, ensemble, X):
        scores = probabilities[:, place].copy()
        stage_scores.append(quick_aucprc(is_case, scores))
    return stage_scores, scores


def _stages(model: Any, ensemble: Any, X: Any) -> Iterator[NDArray[np.float64]]:
    features = X if ensemble is model else model[:-1].transform(X)
    stages: Iterator[NDArray[np.float64]] = ensemble.staged_predict_proba(features)
    return stages


def _index_of(X: Any) -> Any:
    """The index of a pandas frame, which outlives a split."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None


def _checked_ids(ids: Any, n_rows: int) -> Any:
    if ids is None:
        return None
    names = ids if isinstance(ids, list | tuple) else np.asarray(ids)
    if len(names) != n_rows:
        raise ValueError(f"ids must name every row: there are {n_rows} rows and {len(names)} ids.")
    return names
