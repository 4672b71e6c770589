"""Reports from models or scores: which facts are computed, and what is read of a model."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from selfpaced.monitoring import Reference
from selfpaced.report import about
from selfpaced.report.alerts import alert_facts
from selfpaced.report.answer import Case, Facts
from selfpaced.report.course import course_facts
from selfpaced.report.data import data_facts, suspect_facts
from selfpaced.report.groups import group_facts
from selfpaced.report.importance import importance_facts
from selfpaced.report.learning import learning_facts
from selfpaced.report.page import Report
from selfpaced.report.quality import calibration_facts, ranking_facts
from selfpaced.report.thresholds import decision_facts, rule_for, threshold_facts, zone_facts
from selfpaced.thresholds import (
    Rule,
    Sweep,
    ThresholdChoice,
    ZoneLimits,
    amounts_of,
    choice_from,
    period_of,
    periods_for,
    refuse_training_rows,
    sweep_of,
)


class ReportOptions(TypedDict, total=False):
    """The options of `make_report` that `model.report` passes on."""

    y_train: Any
    ids: Any
    threshold: float | str | Rule | None
    costs: Any
    amounts: Any
    dropped: Mapping[str, str] | None
    title: str | None
    target: str | None
    times: Any
    timezone: str | None
    decide: str | None
    decide_columns: Mapping[str, Any] | None
    reference: Reference | None
    cautions: Sequence[str]
    groups: Any
    groups_name: str | None


def make_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    ids: Any = None,
    threshold: float | str | Rule | None = None,
    costs: Any = None,
    amounts: Any = None,
    dropped: Mapping[str, str] | None = None,
    title: str | None = None,
    target: str | None = None,
    times: Any = None,
    timezone: str | None = None,
    decide: str | None = None,
    decide_columns: Mapping[str, Any] | None = None,
    reference: Reference | None = None,
    cautions: Sequence[str] = (),
    groups: Any = None,
    groups_name: str | None = None,
) -> Report:
    """Report on a fitted model, by rows that it was not trained on.

    Parameters
    ----------
    model : classifier
        A fitted ensemble, or any fitted classifier with `predict_proba`, such as a pipeline that ends in one.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        Held-out rows.
    y : array-like of shape (n_rows,)
        Their labels. With more than two classes the report is about the minority class against all others.
    X_train : {array-like, sparse matrix, data frame}, default=None
        The training rows, or some of them, to measure the drift of the columns since training.
    y_train : array-like, default=None
        The labels of all training rows, to be counted.
    ids : array-like of shape (n_rows,), default=None
        Names of the rows. By default the index of a pandas frame, and positions otherwise.
    threshold : float, str or Rule, default=None
        The threshold to suggest, or a rule to choose it by on these rows, such as "precision>=0.9" and all others of
        `selfpaced.choose_threshold`. By default the threshold with the best F1.
    costs : tuple of (float, float), default=None
        The costs of a false alarm and of a missed rare row, in any unit. The reader of the page can change them.
    amounts : array-like of shape (n_rows,), default=None
        The cost of missing each row, for a rule such as "cost=5".
    dropped : dict of str to str, default=None
        Columns that were dropped before training, with the reasons.
    title : str, default=None
        The title of the page.
    target : str, default=None
        The name of the column of labels. By default the name of `y`, or the one that `fit_table` read.
    times : array-like of shape (n_rows,), default=None
        The time of each row, as dates or numbers, for figures over time, and for a rule such as "alerts<=200/day".
    timezone : str, default=None
        The time zone of the days, such as "Europe/Berlin"; by default UTC.
    decide : str, default=None
        A rule that decides row by row, such as "p*amount>5", to compare it with the threshold. The scores must be
        probabilities.
    decide_columns : dict of str to array-like, default=None
        The columns that the rule reads; by default those of X.
    reference : Reference, default=None
        The distribution of the rows that the model was judged by, such as `read_card(path).reference`. The drift of the
        columns is measured from it if there is no X_train.
    cautions : sequence of str, default=()
        Sentences about the model or the rows that a reader must know before the figures. They are at the top.
    groups : array-like of shape (n_rows,), default=None
        A group of each row, such as a region, for figures by group. It need not be a feature. Numbers and dates are cut
        into five ranges with about as many rows each.
    groups_name : str, default=None
        The name of the groups; by default that of a pandas series, or "group".

    Returns
    -------
    Report
        Its methods `to_html()` and `save(path)` give the page. Its attribute `facts` has the figures as typed data.

    See Also
    --------
    report_of_scores : The same from labels and scores.

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
    given = {name: value for name, value in locals().items() if name in ReportOptions.__annotations__}
    check_is_fitted(model)
    labels = column_or_1d(y)
    check_consistent_length(X, labels)
    rare = about.score_label(model, labels)
    stage_scores, scores = about.scores_by_stage(model, X, _cases(labels, rare), about.score_column(model, rare))
    options = cast(ReportOptions, given | {"target": target or getattr(y, "name", None)})
    if ids is None and hasattr(X, "iloc") and hasattr(X, "index"):
        options["ids"] = X.index  # of a pandas frame, which a split keeps
    known: dict[str, Any] = {"model": model, "sample": X, "train_sample": X_train, "stage_scores": stage_scores}
    return report_of_scores(labels, scores, pos_label=rare, **known, **options)


def report_of_scores(
    y: Any,
    scores: Any,
    *,
    pos_label: Any = 1,
    model: Any = None,
    sample: Any = None,
    sample_rows: Any = None,
    train_sample: Any = None,
    stage_scores: Sequence[float] | None = None,
    choice: ThresholdChoice | None = None,
    sweep: Sweep | None = None,
    zones: ZoneLimits | None = None,
    chosen_by: Rule | None = None,
    **options: Unpack[ReportOptions],
) -> Report:
    """Report from labels and scores, for rows that do not fit into memory.

    Sections whose facts are not given are omitted.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels of all rows. Booleans mark the rows of `pos_label`, unless it is itself a boolean.
    scores : array-like of shape (n_rows,)
        Their scores for `pos_label`. Higher scores mean that the class is more likely.
    pos_label : label, default=1
        The class that the scores are for.
    model : classifier, default=None
        The fitted model, for the sections on learning and importance.
    sample : {array-like, sparse matrix, data frame}, default=None
        The features of some rows. It should contain the rows `selfpaced.report.suspect_rows(y == pos_label, scores)`.
    sample_rows : array-like of int, default=None
        The positions of the sample's rows among the scores. Without them the sample must hold all rows.
    train_sample : {array-like, sparse matrix, data frame}, default=None
        The features of some training rows.
    stage_scores : sequence of float, default=None
        The AUCPRC on these rows after each member. By default those on the eval_set of the fit, if it had one.
    y_train, ids, threshold, costs, amounts, dropped, title, target, times, timezone : optional
        As for `make_report`.
    decide, decide_columns, reference, cautions, groups, groups_name : optional
        As for `make_report`. The columns of the rule are by default those of the sample.
    choice : ThresholdChoice, default=None
        The result of `choose_threshold` on these rows, if it is known. It replaces `threshold`, and is not repeated.
    sweep : Sweep, default=None
        The alerts at every threshold of these rows, `selfpaced.thresholds.sweep_of`, if they have been counted.
    zones : ZoneLimits, default=None
        Zones that were chosen on other rows, to show their figures on these.
    chosen_by : Rule, default=None
        The rule that chose a threshold which is given as a number, in training.

    Returns
    -------
    Report
        Its methods `to_html()` and `save(path)` give the page. Its attribute `facts` has the figures as typed data.

    Raises
    ------
    ValueError
        If the threshold is given twice, or if the sample or the ids do not fit the scores.

    See Also
    --------
    make_report : The same from a model and rows.

    Examples
    --------
    >>> report = report_of_scores([0, 0, 1, 0, 1], [0.1, 0.2, 0.7, 0.1, 0.9])
    >>> report.facts.ranking.aucprc
    1.0
    """
    unknown = sorted(options.keys() - ReportOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"report_of_scores() got an unexpected keyword argument {unknown[0]!r}")
    is_case, values = _cases(column_or_1d(y), pos_label), np.asarray(column_or_1d(scores))
    threshold, costs, amounts = options.get("threshold"), options.get("costs"), options.get("amounts")
    if choice is not None and threshold is not None:
        raise ValueError("The threshold is given twice, by threshold and by choice. Omit one of them.")
    wanted = choice or rule_for(threshold, costs, amounts is not None)
    times, zone = options.get("times"), options.get("timezone")
    known, counts = None if model is None else about.trained_on(model), sweep
    if isinstance(wanted, Rule) and known is not None:
        refuse_training_rows(wanted, known, is_case)
    if counts is None:
        periods = None
        if isinstance(wanted, Rule) and period_of(wanted) is not None:
            periods = periods_for(wanted, times, is_case.size, zone)
        counts = sweep_of(is_case, values, None if amounts is None else amounts_of(amounts, is_case), periods)
    suggested = choice_from(counts, wanted) if isinstance(wanted, Rule) else wanted
    thresholds = threshold_facts(counts, suggested, costs, chosen_by)
    rule = chosen_by if isinstance(suggested, float) else suggested.rule
    limits = zones if isinstance(suggested, float) else suggested.zones or zones
    rows, names = _checked_sample(sample, sample_rows, is_case.size), _checked_ids(options.get("ids"), is_case.size)
    importances = None
    if model is not None and sample is not None:
        column = about.score_column(model, pos_label)
        importances = importance_facts(model, sample, is_case if rows is None else is_case[rows], column)
    important = importances.names if importances else ()
    at, decide = thresholds.values[thresholds.suggested], options.get("decide")
    reference, groups = options.get("reference"), options.get("groups")
    groups_name = options.get("groups_name") or str(getattr(groups, "name", None) or "group")
    label = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    target = options.get("target") or (None if known is None else known.target)
    facts = Facts(
        title=options.get("title") or "How well are the rare rows found?",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=about.versions_of(model),
        case=Case(str(label), None if target is None else str(target)),
        n_rows=int(is_case.size),
        n_cases=counts.n_positives,
        model=None if model is None else about.model_facts(model, options.get("y_train")),
        ranking=ranking_facts(counts),
        thresholds=thresholds,
        calibration=calibration_facts(counts),
        learning=None if model is None else learning_facts(model, stage_scores),
        recipes=() if model is None else about.recipes_of(model),
        importances=importances,
        suspects=suspect_facts(is_case, values, names, sample, rows, important),
        alerts=alert_facts(model, is_case, values, at, names, sample, rows),
        data=None if sample is None else data_facts(sample, train_sample, options.get("dropped"), important, reference),
        course=course_facts(times, is_case, values, at, rule, zone),
        zones=None if limits is None else zone_facts(limits, is_case, values),
        decision=None
        if decide is None
        else decision_facts(decide, is_case, values, at, options.get("decide_columns"), sample),
        cautions=tuple(options.get("cautions", ())),
        by_group=None if groups is None else group_facts(groups, groups_name, is_case, values, at),
    )
    return Report(facts)


def _cases(labels: NDArray[Any], rare: Any) -> NDArray[np.bool_]:
    """Which rows are of the class. Refuse rows that are all or none of the class."""
    said_by_bools = labels.dtype == bool and not isinstance(rare, bool | np.bool_)
    is_case: NDArray[np.bool_] = labels if said_by_bools else labels == rare
    if is_case.all() or not is_case.any():
        raise ValueError(
            f"A report needs rows of the class {rare!r} and rows of other classes; the labels found are "
            f"{np.unique(labels)[:5].tolist()}."
        )
    return is_case


def _checked_sample(sample: Any, sample_rows: Any, n_rows: int) -> NDArray[Any] | None:
    """The positions of the sample's rows among the scores; None for all of them."""
    rows = None if sample_rows is None else np.asarray(sample_rows)
    n_named, what = (n_rows, "labels") if rows is None else (rows.size, "sample_rows")
    if sample is not None and sample.shape[0] != n_named:
        raise ValueError(
            f"The sample has {sample.shape[0]} rows, but there are {n_named} {what}. A sample of some rows needs "
            "their positions as sample_rows."
        )
    return rows


def _checked_ids(ids: Any, n_rows: int) -> Any:
    if ids is None:
        return None
    # Arrow arrays are not converted: each string would become an object.
    names = ids if isinstance(ids, list | tuple) or hasattr(ids, "to_pylist") else np.asarray(ids)
    if len(names) != n_rows:
        raise ValueError(f"ids must have one id for each row: there are {n_rows} rows and {len(names)} ids.")
    return names
