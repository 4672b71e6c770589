"""One model of any kind that is trained on all rows, here or elsewhere, with everything that an ensemble has."""

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from selfpaced.calibration import FITTED_MAPS, fit_calibrator
from selfpaced.ensembles import checks
from selfpaced.ensembles.base import AveragingEnsemble
from selfpaced.ensembles.cross_fitting import cross_fit
from selfpaced.ensembles.fit import hinting_at_columns
from selfpaced.ensembles.members import LARGEST_RANDOM_STATE, MemberFactory, cloned, with_params
from selfpaced.exceptions import warn
from selfpaced.model import Model, Part, check_features, feature_names_of, readable, reader_for, record_of, usual_values
from selfpaced.pools import Rows
from selfpaced.tables import ClassCounts, InMemoryTable, LabelledTable, SplitPlan, Table, stack

Codes = NDArray[np.intp]
# By so many of the given rows an adopted model is compared with its own `predict_proba`.
ROWS_COMPARED = 1000


@checks.with_inherited_entries
class SingleModelClassifier(AveragingEnsemble):
    """One classifier of any kind, trained on all rows, with everything that the ensembles of this package have.

    Nothing is under-sampled. The classifier is cloned and trained on the rows as they are. Scoring, calibration,
    thresholds, reports, model files, monitoring and the commands are those of the ensembles. Use it to compare your own
    model with an ensemble, for instance in `backtest`. `adopt` makes one from a model that is trained already.

    Parameters
    ----------
    estimator : classifier, default=HistGradientBoostingClassifier()
        The classifier, with `predict_proba`. It sees the labels as class numbers 0, 1, ...
    calibration : {"isotonic", "beta", "sigmoid"} or None, default=None
        How scores become probabilities. With a method, copies of the classifier are trained on parts of the rows, and
        each row is scored by a copy that has not seen it: 2 to 5 further fits. Classifiers that minimize a log loss on
        all rows are often calibrated already.
    random_state : int, RandomState or None, default=None
        Seed of the parts of the calibration, and of every `random_state` inside the classifier that is None. Others are
        not changed.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted classifier alone.
    n_training_rows_ : list of int
        The number of training rows. Empty for an adopted model whose training rows are not known.

    See Also
    --------
    adopt : The same for a classifier that is trained already.

    Examples
    --------
    >>> from selfpaced import SingleModelClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
    >>> forest = RandomForestClassifier(10, random_state=0)
    >>> model = SingleModelClassifier(forest).fit(X, y)
    >>> bool((model.predict_proba(X) == forest.fit(X, y).predict_proba(X)).all())
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_params: Any) -> Self:
        """Train the classifier on all rows.

        Parameters
        ----------
        X : {ndarray, memory map, CSR matrix, pandas or polars DataFrame, pyarrow Table} of shape (n_rows, n_features)
            Features. The classifier gets frames as frames (pyarrow tables as pandas frames).
        y : array-like of shape (n_rows,)
            Labels of any type.
        groups : array-like of shape (n_rows,), default=None
            The group of each row, such as a card. It is not a feature. The calibration scores every row by a copy that
            has not seen its group.
        **fit_params : metadata for the classifier's `fit`
            `sample_weight`, if the classifier accepts it. Other metadata need metadata routing.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        self._check_parameters()
        X = check_features(self, X, reset=True)
        labels = checks.check_labels(y, X)
        metadata = checks.fit_metadata(self, self._bases(), labels, fit_params)
        per_row, for_all = checks.split_by_row(metadata, len(labels.codes))
        rows = readable(X, self._bases(), per_row | checks.check_groups(groups, labels))
        return self._train(LabelledTable(rows, labels, roles=checks.roles_with(groups)), for_all)

    def fit_table(self, table: Table) -> Self:
        """Train the classifier on all rows of a table, which are loaded into memory.

        Parameters
        ----------
        table : Table
            What `selfpaced.open_table` returns.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        checks.check_table(table)
        self._check_parameters()
        if table.roles.weight_column is not None:
            checks.check_takes_weights(self._bases(), "the table has sample weights")
        return self._train(table, {})

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy, also of classifiers that `sklearn.base.clone` refuses."""
        parameters = {name: deepcopy(value) for name, value in self.get_params(deep=False).items()}
        if self.estimator is not None:
            parameters["estimator"] = cloned(self.estimator)
        return type(self)(**parameters)

    def _train(self, table: Table, arguments: Mapping[str, Any]) -> Self:
        labels = checks.check_classes(table.labels(), table.roles.labels_are_in)
        seed, n_threads = checks.check_seed(self.random_state), effective_n_jobs(checks.check_jobs(self.n_jobs))
        rows, y = _all_rows(table, seed, n_threads)
        reader = reader_for(rows.features, table.schema, self._bases())
        factory = MemberFactory([self._seeded(seed)], None, arguments, n_threads)
        calibrator = None
        with hinting_at_columns(table.schema, rows.features):
            model = factory.fit(1, rows.features, y, rows.arguments)
            if self.calibration is not None:
                checks.warn_of_few_rows(labels)
                honest = cross_fit(factory, 1, rows, y, seed, n_threads).probabilities
                weights = np.asarray(rows.metadata.get("sample_weight", np.ones(len(rows))), dtype=np.float64)
                calibrator = fit_calibrator(self.calibration, honest, y, weights, labels.rarest)
        record = record_of(labels, table.roles, table.schema, [model], table.snapshot)
        record = replace(record, categories=reader.categories)
        self.n_training_rows_ = [len(rows)]
        usual = usual_values(rows.features, np.flatnonzero(y != labels.rarest))
        model = Model(reader, (Part((model,)),), record, None, calibrator, self.calibration, usual=usual)
        return self._keep(model, labels)

    def _seeded(self, seed: int) -> Any:
        """The classifier, with a seed where it has none, if there is a seed."""
        base = cloned(self._base())
        if self.random_state is None:
            return base
        parameters = base.get_params(deep=True).items()
        left_open = [name for name, value in parameters if name.rpartition("__")[2] == "random_state" and value is None]
        return with_params(base, dict.fromkeys(left_open, seed % LARGEST_RANDOM_STATE))

    def _check_parameters(self) -> None:
        check_calibration(self.calibration)
        check_predicts(checks.check_classifier(self._base()))

    def _base(self) -> Any:
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator


def check_calibration(method: Any) -> None:
    """Refuse an unknown method, and the closed form for under-sampled classes."""
    if method is not None and method not in FITTED_MAPS:
        raise ValueError(
            f"calibration must be None or one of {sorted(FITTED_MAPS)} for one model of all rows; got {method!r}."
        )


def check_predicts(estimator: Any) -> None:
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba, so it gives no probabilities. Wrap it in scikit-learn's "
            "CalibratedClassifierCV, or choose another classifier or other parameters."
        )


def _all_rows(table: Table, seed: int, n_threads: int) -> tuple[Rows, Codes]:
    """All rows of a table in memory, in order, and the numbers of their classes."""
    if isinstance(table, LabelledTable):
        return table.rows.rows(np.arange(table.rows.n_rows)), table.known_labels.codes.astype(np.intp)
    n_largest = int(table.labels().counts.max())
    split = table.split(SplitPlan(seed, n_threads, n_largest, 1, lambda done, all_rows: None))
    blocks = [split.minority, *(pool.draw([n_largest], 1) for pool in split.pools.values())]
    y = np.repeat([split.minority_class, *split.pools], [len(block) for block in blocks]).astype(np.intp)
    rows = stack(blocks)
    order = np.argsort(rows.ids, kind="stable")
    return InMemoryTable(rows.features, rows.metadata).rows(order).with_ids(rows.ids[order]), y[order]


class AsPredicted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier that is always asked by its own `predict_proba`, with its columns in another order.

    It stands for an adopted model whose classes are not sorted, or whose probabilities depend on more than its trees.
    """

    def __init__(self, estimator: Any, columns: Sequence[int]) -> None:
        self.estimator = estimator
        self.columns = columns

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class numbers, as members of ensembles have them."""
        return np.arange(len(self.columns))

    @property
    def n_features_in_(self) -> int:
        """The number of features of the classifier."""
        return int(self.estimator.n_features_in_)

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """The probabilities of the classifier, one column for each class in sorted order."""
        return np.asarray(self.estimator.predict_proba(X))[:, list(self.columns)]


def adopt(
    fitted: Any,
    X: Any,
    y: Any,
    *,
    calibration: str | None = None,
    classes: Sequence[Any] | None = None,
    class_counts: Mapping[Any, int] | None = None,
    n_jobs: int | None = None,
) -> SingleModelClassifier:
    """Make a model of this package from a classifier that was trained elsewhere. Nothing is trained.

    Afterwards everything is as with an ensemble of this package: `row_scorer`, `save_model`, `choose_threshold`,
    `report`, `write_predictions`, monitoring, ONNX graphs, and the commands on the saved file. Without a calibration
    the probabilities are those of the classifier's own `predict_proba`, bit for bit.

    Parameters
    ----------
    fitted : classifier
        A fitted classifier with `predict_proba`: of LightGBM, XGBoost, CatBoost or scikit-learn, or a `Pipeline`. It is
        not copied.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        Held-out rows, which the classifier was not trained on, with the columns and types of its training rows. They
        give the model its columns and categories. Their values are not kept.
    y : array-like of shape (n_rows,)
        Their labels, of every class of the classifier.
    calibration : {"isotonic", "beta", "sigmoid"} or None, default=None
        With a method, the probabilities are calibrated by these rows, as `recalibrated` does. Judge the calibrated
        model by other rows.
    classes : sequence of labels, default=None
        The label of each column of `fitted.predict_proba`; by default `fitted.classes_`. For a classifier that was
        trained on encoded labels, such as the `classes_` of a `LabelEncoder`.
    class_counts : dict of label to int, default=None
        The number of training rows of each label. By default the record of the model has the counts of `y`, because the
        training rows are not known. The rarest label by these counts is the one that scores are about.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores.

    Returns
    -------
    SingleModelClassifier
        A fitted estimator whose only member is the classifier. `backtest` trains a clone of it.

    Raises
    ------
    ValueError
        If the classifier is not fitted, has no `predict_proba`, knows other classes than `y` has, or was trained on
        another number of features or other names than X has.

    See Also
    --------
    SingleModelClassifier : Trains the classifier, too.

    Examples
    --------
    >>> from selfpaced import adopt
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(10, random_state=0).fit(*make_checkerboard(random_state=0))
    >>> X, y = make_checkerboard(random_state=1)
    >>> model = adopt(forest, X, y)
    >>> bool((model.predict_proba(X) == forest.predict_proba(X)).all())
    True
    >>> score = model.row_scorer()
    >>> bool(score([1, 0]) == forest.predict_proba([[1, 0]])[0, 1])
    True
    """
    check_calibration(calibration)
    _check_fitted(fitted)
    adopted = SingleModelClassifier(cloned(fitted), calibration=calibration, n_jobs=checks.check_jobs(n_jobs))
    X = check_features(adopted, X, reset=True)
    _check_columns(fitted, X, adopted)
    labels = checks.check_labels(y, X)
    columns = _columns_of(fitted, classes, labels.names)
    reader, rows = reader_for(X, None, [fitted]), readable(X, [fitted])
    counted = _counted(labels, class_counts)
    record = record_of(counted, checks.roles_with(None), None, [fitted])
    usual = usual_values(X, np.flatnonzero(labels.codes != counted.rarest))
    model = Model(reader, (Part((fitted,)),), replace(record, categories=reader.categories), usual=usual)
    if columns != sorted(columns) or not _predicts_alike(model, fitted, rows):
        model = replace(model, parts=(Part((AsPredicted(fitted, columns),)),))
    if classes is not None:
        _warn_of_order(model, rows, labels.codes)
    adopted.n_training_rows_ = [] if class_counts is None else [sum(record.class_counts)]
    adopted._keep(model, counted)
    return adopted if calibration is None else adopted.recalibrated(X, y, calibration)


def _check_fitted(fitted: Any) -> None:
    name = type(fitted).__name__
    if isinstance(fitted, type) or not hasattr(fitted, "get_params"):
        raise ValueError(
            f"adopt needs a fitted classifier with the methods of scikit-learn's; got {fitted!r}. For a booster, use "
            "the class of its library for scikit-learn, such as LGBMClassifier or XGBClassifier."
        )
    check_predicts(fitted)
    try:
        check_is_fitted(fitted)
    except NotFittedError as error:
        raise ValueError(
            f"This {name} is not fitted. Fit it first, or train it with SingleModelClassifier({name}(...)).fit(X, y)."
        ) from error


def _check_columns(fitted: Any, X: Any, known: Any) -> None:
    """Refuse rows with other columns than those that a classifier was trained on."""
    kind, n_features = type(fitted).__name__, int(getattr(fitted, "n_features_in_", known.n_features_in_))
    if n_features != known.n_features_in_:
        raise ValueError(f"The {kind} was trained on {n_features} features, but X has {known.n_features_in_}.")
    given, trained_with = feature_names_of(known), _names_of(fitted)
    if given is None and trained_with is not None:
        raise ValueError(
            f"The {kind} was trained on a frame with the columns {trained_with}, but X has no names. Give X as a frame "
            "with these columns."
        )
    # LightGBM replaces blanks in names.
    alike = [name.replace(" ", "_") for name in trained_with or ()]
    if given is not None and trained_with is not None and [str(name).replace(" ", "_") for name in given] != alike:
        raise ValueError(
            f"X has the columns {given}, but the {kind} was trained on {trained_with}. Give X these columns, in this "
            "order."
        )


def _names_of(fitted: Any) -> list[str] | None:
    """The names of the columns that a classifier was trained on; None if it has none, or does not tell."""
    if hasattr(fitted, "steps"):
        return _names_of(fitted.steps[0][1])
    names = feature_names_of(fitted)
    if names is None and hasattr(fitted, "feature_names_"):  # CatBoost numbers columns without names
        names = [str(name) for name in fitted.feature_names_]
        return None if names == [str(number) for number in range(len(names))] else names
    return names


def _columns_of(fitted: Any, classes: Sequence[Any] | None, names: list[Any]) -> list[int]:
    """The column of each label, in sorted order, in what a classifier predicts."""
    own = np.asarray(fitted.classes_).tolist()
    known = own if classes is None else np.asarray(classes).tolist()
    if len(known) != len(own):
        raise ValueError(f"classes has {len(known)} labels, {known}, but the model knows {len(own)} classes, {own}.")
    if set(known) != set(names):
        encoded = "" if classes is not None else " If it was trained on encoded labels, name them: classes=[...]."
        raise ValueError(
            f"The labels in y are {names}, but the classes of the {type(fitted).__name__} are {known}. Give rows of "
            f"all its classes and no others.{encoded}"
        )
    if known != own and set(known) == set(own):
        raise ValueError(
            f"The columns of predict_proba have the labels {own}, which the {type(fitted).__name__} knows itself, but "
            f"classes has them in another order: {known}. Omit classes."
        )
    return [known.index(name) for name in names]


def _warn_of_order(model: Model, rows: InMemoryTable, codes: NDArray[Any]) -> None:
    """Warn if rows of a class have lower scores of it than the others: its label may be that of another column."""
    column = model.trained_on.score_column
    scores, is_own = model.means_of(rows, 1)[:, column], codes == column
    if (own := scores[is_own].mean()) < (others := scores[~is_own].mean()):
        warn(
            f"The mean probability of {model.trained_on.score_label!r} is {own:.3g} in its own rows and {others:.3g} "
            "in all others. Are the labels in classes in the order of the columns of predict_proba?"
        )


def _counted(labels: ClassCounts, stated: Mapping[Any, int] | None) -> ClassCounts:
    """The classes with their counts in the given rows, or with those that the caller states."""
    if stated is None:
        return ClassCounts(labels.classes, labels.counts)
    if set(stated) != set(labels.names):
        raise ValueError(f"class_counts has the labels {list(stated)}, but the labels in y are {labels.names}.")
    counts = [checks.check_whole(f"class_counts[{name!r}]", stated[name]) for name in labels.names]
    return ClassCounts(labels.classes, np.array(counts, dtype=np.int64))


def _predicts_alike(model: Model, fitted: Any, rows: InMemoryTable) -> bool:
    """Whether the scorers of a model give what the classifier itself predicts.

    They read its trees alone. LightGBM, for instance, has parameters that stop a prediction early.
    """
    for scorer in model.scorers[0]:
        scorer.is_fast()  # reads the trees now: few rows would be left to the library
    some = rows.span(0, min(rows.n_rows, ROWS_COMPARED))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "X has feature names, but")
        try:
            own = np.asarray(fitted.predict_proba(some))
        except UserWarning as error:
            raise ValueError(
                f"The {type(fitted).__name__} was trained without names of columns, but X is a frame. Give X as an "
                "array: X.to_numpy()."
            ) from error
    # Threads of a forest add up its trees in any order, so that the last digit is not always the same.
    return bool(np.allclose(model.means_of(InMemoryTable(some), 1), own, rtol=0, atol=1e-9))
