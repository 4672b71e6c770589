"""The base class of all ensembles: everything after the fit."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from selfpaced.calibration import BEST_METHOD, FITTED_MAPS, Calibrator, fit_calibrator
from selfpaced.ensembles import checks
from selfpaced.model import (
    Model,
    Part,
    RecipeResult,
    TrainedOn,
    check_features,
    check_numbers,
    reader_for,
    record_of,
    usual_values,
)
from selfpaced.scoring import Spread
from selfpaced.tables import ClassCounts, Labels, Roles, names_of

if TYPE_CHECKING:
    from selfpaced.history import HistoryState
    from selfpaced.predicting import RowScorer, ScoringOptions, TableEvaluation
    from selfpaced.reasons import Reasons
    from selfpaced.report import Report, ReportOptions
    from selfpaced.storage import Place
    from selfpaced.tables import DatabaseTable
    from selfpaced.thresholds import ZoneLimits


def calibrator_by(model: Model, X: Any, labels: Labels, method: str, sample_weight: Any, n_jobs: Any) -> Calibrator:
    """The map from the scores of a model to probabilities that are true for rows with labels."""
    if method not in FITTED_MAPS:
        raise ValueError(f"method must be one of {sorted(FITTED_MAPS)}; got {method!r}.")
    for number in range(labels.classes.size):
        checks.check_present(labels, number, "y", "calibrated by")
    means = model.means(X, n_jobs)
    if (means == means[0]).all():
        raise ValueError("All rows get the same score from the ensemble: there is nothing to calibrate.")
    weights = np.ones(labels.codes.size) if sample_weight is None else checks.check_weights(sample_weight, labels)
    checks.warn_of_few_rows(labels)
    return fit_calibrator(method, means, labels.codes, weights.astype(np.float64), model.trained_on.minority_number)


class AveragingEnsemble(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """An ensemble whose probabilities are the mean of its members'. A subclass defines `fit`.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. It sees the labels as class numbers 0, 1, ...
    n_estimators : int, default=10
        The number of members.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of everything random, and of every `random_state` inside the base model. The same number gives the same
        members.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted members.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    pos_label_ : label
        The label whose probability is the score: that of the rarest class, unless a table was opened with another one.
    class_counts_ : ndarray of shape (n_classes,)
        The number of training rows of each of `classes_`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if X had names.
    feature_importances_ : ndarray of shape (n_features,)
        The mean importance of each feature, weighted as the members are, if they have importances.
    """

    estimator: Any
    n_estimators: Any
    n_jobs: Any
    random_state: Any
    model_: Model
    # Whether members need an array of numbers without missing values.
    _numbers_only = False

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model. An interrupted fit has set the features already, but no model."""
        return hasattr(self, "model_")

    @property
    def estimators_(self) -> list[Any]:
        """The members: fitted base models."""
        return self._fitted.members

    @property
    def calibrator_(self) -> Calibrator | None:
        """The map from scores to probabilities; None without a calibration."""
        return self._fitted.calibrator

    @property
    def calibration_(self) -> str | None:
        """The method of the calibration; None without one."""
        return self._fitted.calibration

    @property
    def trained_on_(self) -> TrainedOn:
        """The record of the training data."""
        return self._fitted.trained_on

    @property
    def pos_label_(self) -> Any:
        """The label whose probability is the score in tables, reports and thresholds, as it is written in the data."""
        return self._fitted.trained_on.score_label

    @property
    def recipes_(self) -> list[RecipeResult]:
        """The results of the recipes of a blend; empty for one ensemble."""
        return list(self._fitted.recipes)

    @property
    def _fitted(self) -> Model:
        check_is_fitted(self)
        return self.model_

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The mean of the members' probabilities, one column for each of `classes_`.

        Members that are trained on balanced rows give probabilities that rank rows well, but are far too high. If the
        ensemble is calibrated, the mean is mapped to true probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Rows in memory, of the kind that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One column for each of `classes_`.
        """
        return self._fitted.probabilities(X, checks.check_jobs(self.n_jobs))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities of the first member, of the first two together, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Rows in memory, of the kind that `fit` accepts.

        Returns
        -------
        iterator of ndarray of shape (n_rows, n_classes)
            One array for each member, the last of which is that of `predict_proba`.
        """
        return self._fitted.staged(self._fitted.reader(X), checks.check_jobs(self.n_jobs))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`; minus infinity where that is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Rows in memory, of the kind that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One column for each of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class. With two classes that is a threshold of 0.5, which is rarely the best one.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Rows in memory, of the kind that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels of `classes_`.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[most_probable]
        return labels

    def row_scorer(self, *, history: HistoryState | None = None) -> RowScorer:
        """A scorer of single rows, for services that answer one request at a time.

        The scorer prepares everything that does not depend on the row. LightGBM members of two classes and
        scikit-learn's trees and forests are scored without data frames, in a fraction of a millisecond. For other
        members it calls `predict_proba`, and `is_fast_` is False. The probabilities are those of `predict_proba` of
        the ensemble, bit for bit.

        Parameters
        ----------
        history : HistoryState, default=None
            The state of the history that the model was trained with. The scorer then takes rows without the features of
            the history, and adds them. Scoring does not change the state: `state.update(row)` adds a row to it.

        Returns
        -------
        RowScorer
            Called with a row, as a mapping by column names, a sequence or an array, it returns the probability of
            `pos_label_`. Its `predict_proba` returns the probabilities of all classes. Threads can share it, and it
            can be pickled.

        Examples
        --------
        >>> from selfpaced import UnderBaggingClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> X, y = make_checkerboard(random_state=0)
        >>> model = UnderBaggingClassifier(random_state=0).fit(X, y)
        >>> score = model.row_scorer()
        >>> bool(score([1, 0]) == model.predict_proba([[1, 0]])[0, 1])
        True
        """
        from selfpaced.predicting import RowScorer

        return RowScorer(self._fitted, self.classes_, history)

    def reasons(
        self, X: Any, top: int = 4, *, reason_groups: Mapping[str, Sequence[str]] | None = None, typical: Any = None
    ) -> Reasons:
        """The reasons of scores: the columns that raised the score of each row most.

        A row is compared with the typical row, which has the median of each number and the most frequent category of
        each other column, of the common rows that were drawn for the first member. The value of a column is its share
        in the difference of the log-odds of both rows, before any calibration, by Shapley's rule. It is exact for one
        boosted model (LightGBM, XGBoost, CatBoost, HistGradientBoosting), and for the probability of decision trees
        and forests. The values of several members and recipes are added up and brought to the difference of the
        log-odds. For members of other kinds they are estimated, and have standard errors. Reasons explain the model,
        not the world: correlated columns share what they add.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows in memory, as for `predict_proba`: usually a few alerts.
        top : int, default=4
            The largest number of reasons of a row.
        reason_groups : dict of str to list of str, default=None
            Columns that count as one, by the name of the group, such as correlated ones.
        typical : array or frame of shape (n_common, n_features), default=None
            Common rows to compare with. By default those of the fit.

        Returns
        -------
        Reasons
            A sequence with a tuple of `Reason` for each row, the strongest first, and arrays with the values of all
            columns.

        Examples
        --------
        >>> from selfpaced import SelfPacedEnsembleClassifier
        >>> from selfpaced.datasets import make_fraud
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = make_fraud(n_rows=2000, n_frauds=40, n_features=4, random_state=0)
        >>> model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5), random_state=0).fit(X, y)
        >>> reasons = model.reasons(X[y == 1][:3], top=2)
        >>> [len(each) for each in reasons], reasons.values.shape
        ([2, 2, 2], (3, 4))
        """
        from selfpaced.reasons import reasons_of

        return reasons_of(self._fitted, X, top=top, groups=reason_groups, typical=typical)

    def predict_proba_spread(self, X: Any, share: float = 0.8) -> Spread:
        """How much the members differ: the range of the middle share of their probabilities.

        A wide spread means that the score depends on which common rows a member has seen. A narrow spread means that
        the members agree, not that they are right. It is **not a confidence interval**: all members may make the same
        error. `docs/guide/explaining.md` shows how often the true probability was within the spread.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows in memory, as for `predict_proba`.
        share : float, default=0.8
            The share of the members in the middle, above 0 and at most 1. 1 is the range of all members.

        Returns
        -------
        Spread
            `low` and `high`, arrays as `predict_proba` gives. They are the quantiles (1 - share) / 2 and
            (1 + share) / 2 of the members' probabilities, in which members of boosting ensembles count by their
            weights. In a calibrated ensemble each member's probabilities are calibrated.

        Examples
        --------
        >>> from selfpaced import SelfPacedEnsembleClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = make_checkerboard(random_state=0)
        >>> model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5), random_state=0).fit(X, y)
        >>> low, high = model.predict_proba_spread([[1, 0], [0.5, 0]])  # amid a rare field; on an edge
        >>> (high - low)[:, 1].round(1).tolist()
        [0.1, 0.8]
        """
        return self._fitted.spread(X, checks.check_share(share), checks.check_jobs(self.n_jobs))

    def recalibrated(self, X: Any, y: Any, method: str = BEST_METHOD, *, sample_weight: Any = None) -> Self:
        """The same ensemble, calibrated by rows that it was not trained on.

        The calibration replaces any calibration of the fit. It also works for a loaded ensemble, for instance with
        recent rows when the share of the rare class has changed. This ensemble is not changed. `calibration_` is the
        name of the method.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows of all classes, in the shares that new rows will have.
        y : array-like of shape (n_rows,)
            Their labels.
        method : {"isotonic", "beta", "sigmoid"}, default="isotonic"
            The method, as for `SelfPacedEnsembleClassifier(calibration=...)`.
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row stands for.

        Returns
        -------
        estimator
            A fitted ensemble with the same members.

        Examples
        --------
        >>> from selfpaced import UnderBaggingClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> model = UnderBaggingClassifier(random_state=0).fit(*make_checkerboard(random_state=0))
        >>> X, y = make_checkerboard(random_state=1)
        >>> bool(model.predict_proba(X)[:, 1].mean() > 3 * y.mean())
        True
        >>> calibrated = model.recalibrated(X, y)
        >>> bool(abs(calibrated.predict_proba(X)[:, 1].mean() - y.mean()) < 0.005)
        True
        """
        model = self._fitted
        labels = checks.check_known_labels(y, X, self.classes_)
        calibrator = calibrator_by(model, X, labels, method, sample_weight, checks.check_jobs(self.n_jobs))
        return self.with_model(model.recalibrated(calibrator, method))

    def with_model(self, model: Model) -> Self:
        """A fitted ensemble with the parameters of this one and another model, such as a calibrated one.

        Parameters
        ----------
        model : Model
            A model of the same classes and features.

        Returns
        -------
        estimator
            The ensemble. This one is not changed.
        """
        other = copy(self)
        other.model_ = model
        return other

    def predict_proba_table(self, source: Any, **reading: Unpack[ScoringOptions]) -> NDArray[np.float64]:
        """The score of every row of some files, in order: the probability of `pos_label_`.

        Parameters
        ----------
        source : path, URL, list of these, dataset, query or Table
            A source that `open_table` opens, except arrays and frames of clusters; or an open table.
        columns : list of str, default=None
            The features, for a model that was trained without feature names.
        progress : callable, default=None
            A function of the number of rows scored and of all rows (None with `where`), called after each batch.
        **reading : dict
            `where`, `batch_rows`, `cache`, `cache_bytes`, `filesystem`, `connection` and `version`, as for
            `open_table`. They are refused for an open table.

        Returns
        -------
        ndarray of shape (n_rows,)
            The scores, in the order of the rows.
        """
        from selfpaced.predicting import open_to_score, scores_of  # files are read by few programs

        table = open_to_score(self._fitted, source, Roles(), reading)
        return scores_of(self.model_, table, checks.check_jobs(self.n_jobs), reading.get("progress"))

    def write_predictions(
        self,
        source: Any,
        output: Any,
        *,
        keep: Sequence[str] = (),
        threshold: float | ZoneLimits | None = None,
        on_scores: Callable[[NDArray[np.float64]], None] | None = None,
        reasons: int = 0,
        **reading: Unpack[ScoringOptions],
    ) -> Place | DatabaseTable:
        """Score files batch by batch and write the scores to a file, in the order of the rows.

        Parameters
        ----------
        source : path, URL, list of these, dataset, query or Table
            A source that `open_table` opens, except arrays and frames of clusters; or an open table.
        output : path, URL or DatabaseTable
            A Parquet or CSV file, by its ending, or `selfpaced.tables.DatabaseTable("postgresql://...", "scores")`. It
            is written only when all rows are scored.
        keep : list of str, default=()
            Columns of the source that are written beside the scores, such as ids.
        threshold : float or ZoneLimits, default=None
            Adds a column `alert`: whether the score is at or above the threshold. The zones of `choose_threshold`, its
            attribute `zones`, also add a column `zone`.
        on_scores : callable, default=None
            A function that is called with the scores of each batch.
        reasons : int, default=0
            Adds so many reasons of each alert, or of each row without a threshold: `reason_1` is a sentence,
            `reason_1_column` the name of the column, and `reason_1_log_odds` its share in the log-odds.
        **reading : dict
            The options of reading, as for `predict_proba_table`.

        Returns
        -------
        Path, RemoteFile or DatabaseTable
            The output. For two classes its column `score` is the probability of `pos_label_`; for more classes
            there is a column `score_LABEL` for each label.
        """
        from selfpaced.predicting import Beside, open_to_score, write_scores
        from selfpaced.reasons import check_top

        table = open_to_score(self._fitted, source, Roles(keep=tuple(names_of(keep))), reading)
        return write_scores(
            self.model_,
            table,
            output,
            threshold=threshold,
            n_jobs=checks.check_jobs(self.n_jobs),
            progress=reading.get("progress"),
            on_scores=on_scores,
            beside=Beside(check_top(reasons) if reasons else 0),
        )

    def evaluate_table(
        self,
        source: Any,
        *,
        target: str | None = None,
        threshold: float | None = None,
        **reading: Unpack[ScoringOptions],
    ) -> TableEvaluation:
        """Score files batch by batch and compare the scores with the labels. Only labels and scores are kept in memory.

        Parameters
        ----------
        source : path, URL, list of these, dataset, query or Table
            A source that `open_table` opens, except arrays and frames of clusters; or an open table.
        target : str, default=None
            The column of labels; by default the one in training.
        threshold : float, default=None
            The lowest score of an alert. By default it is the best threshold by F1 on these rows, whose figures are
            slightly too good.
        **reading : dict
            The options of reading, as for `predict_proba_table`.

        Returns
        -------
        TableEvaluation
            AUCPRC, and the alerts at the threshold.

        Raises
        ------
        ValueError
            If the column of labels is not known.
        """
        from selfpaced.predicting import evaluation, open_to_score, rare_rows, scores_of

        model = self._fitted
        if target is None:
            target = getattr(source, "roles", model.trained_on.roles).target
        if target is None:
            raise ValueError("The column of labels is not known. Name it: evaluate_table(source, target='...').")
        table = open_to_score(model, source, Roles(target, model.trained_on.pos_label), reading)
        is_rare = rare_rows(model.trained_on, table)
        scores = scores_of(model, table, checks.check_jobs(self.n_jobs), reading.get("progress"))
        return evaluation(is_rare, scores, threshold)

    def report(self, X: Any, y: Any, *, X_train: Any = None, **options: Unpack[ReportOptions]) -> Report:
        """A report on the quality of the ensemble on held-out rows. A notebook displays it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Held-out rows.
        y : array-like of shape (n_rows,)
            Their labels.
        X_train : {array-like, sparse matrix, data frame}, default=None
            The training rows, or some of them, to measure the drift of the columns since training.
        **options : keyword arguments
            All other options of `selfpaced.report.make_report`, which explains them: y_train, ids, threshold, costs,
            amounts, dropped, title, target, times, decide, decide_columns, reference and cautions.

        Returns
        -------
        Report
            Its methods `to_html()` and `save(path)` give the page. Its attribute `facts` has the figures as typed data.

        Examples
        --------
        >>> from selfpaced import UnderBaggingClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> X, y = make_checkerboard(random_state=0)
        >>> report = UnderBaggingClassifier(random_state=0).fit(X, y).report(*make_checkerboard(random_state=1))
        >>> report.facts.n_rows, report.facts.n_cases
        (11000, 1000)
        """
        from selfpaced.report import make_report  # a layer above this one, imported only when it is needed

        return make_report(self, X, y, X_train=X_train, **options)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean of the members' importances, each scaled to add up to 1. Only if the members have importances."""
        importances = np.array([member.feature_importances_ for member in self.estimators_], dtype=np.float64)
        totals = importances.sum(axis=1, keepdims=True)
        scaled = importances / np.where(totals > 0, totals, 1)
        mean: NDArray[np.float64] = np.average(scaled, axis=0, weights=self.model_.member_weights)
        return mean

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `fit` consumes itself and passes on to the base models.

        Returns
        -------
        MetadataRouter
            The routing, as for any meta-estimator of scikit-learn.
        """
        passed_on = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(method_mapping=passed_on, **checks.named_bases(self._bases()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        bases = [get_tags(base).input_tags for base in self._bases()]
        tags.input_tags.sparse = all(base.sparse for base in bases)
        tags.input_tags.allow_nan = all(base.allow_nan for base in bases)
        return tags

    def _keep(self, model: Model, labels: ClassCounts) -> Self:
        """The last step of a fit."""
        self.classes_ = labels.classes
        self.class_counts_ = labels.counts
        self.n_features_in_ = model.reader.n_features
        if model.reader.names is not None:
            self.feature_names_in_ = np.array(model.reader.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        self.model_ = model
        return self

    def _checked(self, X: Any) -> Any:
        """The features of training rows in memory."""
        return (check_numbers if self._numbers_only else check_features)(self, X, reset=True)

    def _keep_members(self, members: Sequence[Any], weights: Any, labels: Labels, X: Any) -> Self:
        """The last step of a fit in memory, without rounds and without a calibration."""
        reader = reader_for(X, None, self._bases(), self._numbers_only)
        if reader.names is None and hasattr(self, "feature_names_in_"):  # an array was made of a frame
            reader = replace(reader, names=tuple(self.feature_names_in_.tolist()))
        record = record_of(labels, Roles(), None, members)
        part = Part(tuple(members), weights)
        trained_on = replace(record, categories=reader.categories)
        usual = usual_values(X, np.flatnonzero(labels.codes != labels.rarest))
        return self._keep(Model(reader, (part,), trained_on, usual=usual), labels)

    def _base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _bases(self) -> list[Any]:
        """The base models, which take turns: one, or those of a list."""
        base = self._base()
        return list(base) if isinstance(base, list | tuple) else [base]


def bases_of(ensemble: AveragingEnsemble) -> list[Any]:
    """The base models of an ensemble: those that were given, or its default."""
    return ensemble._bases()


def predicting_in_one_thread(ensemble: Any) -> Any:
    """A copy of a fitted ensemble that predicts in one thread with all its members: its caller uses several."""
    return ensemble.with_model(ensemble.model_.in_one_thread()).set_params(n_jobs=1)
