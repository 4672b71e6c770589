"""A classifier that decides row by row, by the costs of each row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from selfpaced.tables import is_frame

Floats = NDArray[np.float64]
Cost = float | str | Callable[[Any], Any]


class CostDecisionClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that raises an alert if the probability, times the cost of missing the row, exceeds an alert's cost.

    One threshold for all rows is not the best choice if the costs of rows differ. An alert that costs 5 is worth it for
    a payment of 500 at a probability of 2%, but not for a payment of 2 at 90%. With calibrated probabilities the best
    decision is made row by row, and no rows are needed to choose a threshold.

    Parameters
    ----------
    estimator : classifier
        The classifier whose probabilities are used. It should be calibrated, as
        `SelfPacedEnsembleClassifier(calibration="isotonic")` is. Wrap a fitted classifier in
        `sklearn.frozen.FrozenEstimator`.
    missed : float, str, callable or None, default=None
        The cost of missing a rare row: a number; the name of a column of X, which is also a feature unless the
        estimator was fitted without it; a function of X that gives a number for each row; or None if `predict` is
        given `amounts`.
    alert : float, str or callable, default=1.0
        The cost of an alert, whether it is right or not.
    pos_label : label, default=None
        The label of the rare class; by default the label with the fewest rows.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    pos_label_ : label
        The label of the rare class.

    See Also
    --------
    selfpaced.choose_threshold : one threshold for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced import CostDecisionClassifier, SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_fraud
    >>> X, y = make_fraud(n_rows=4000, n_frauds=80, random_state=0)
    >>> amounts = np.random.default_rng(0).lognormal(3, 1, len(y))
    >>> ensemble = SelfPacedEnsembleClassifier(calibration="sigmoid", random_state=0)
    >>> model = CostDecisionClassifier(ensemble, alert=5).fit(X[:2000], y[:2000])
    >>> alerts = model.predict(X[2000:], amounts=amounts[2000:])
    >>> bool((model.gains(X[2000:], amounts=amounts[2000:])[alerts == 1] > 0).all())
    True
    """

    def __init__(self, estimator: Any, *, missed: Cost | None = None, alert: Cost = 1.0, pos_label: Any = None) -> None:
        self.estimator = estimator
        self.missed = missed
        self.alert = alert
        self.pos_label = pos_label

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features)
            Features, as for the classifier.
        y : array-like of shape (n_rows,)
            Labels.
        **fit_params : dict
            Arguments of the `fit` of the classifier.

        Returns
        -------
        self : estimator
            The fitted classifier.

        Raises
        ------
        ValueError
            If the estimator has no `predict_proba`.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"{self.estimator!r} has no predict_proba. Give a classifier with probabilities.")
        labels = column_or_1d(y, warn=True)
        routed = _routed(self, fit_params)
        self.estimator_ = clone(self.estimator).fit(X, y, **routed)
        self.classes_ = self.estimator_.classes_
        self.pos_label_ = self._rare_label(labels)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if getattr(self.estimator_, "calibrator_", self) is None:
            warnings.warn(
                f"{type(self.estimator_).__name__} is not calibrated, so its scores are far higher than probabilities, "
                'and there will be too many alerts. Set calibration="isotonic", or call calibrate(X, y).',
                stacklevel=2,
            )
        return self

    def predict(self, X: Any, *, amounts: Any = None) -> NDArray[Any]:
        """The rare label for rows that are worth an alert; for others the most probable of the other labels.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features)
            Rows, as for the classifier.
        amounts : array-like of shape (n_rows,), default=None
            The cost of missing each row, if `missed` is None. In scikit-learn's pipelines and searches it is routed
            with `set_predict_request(amounts=True)`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels of `classes_`.
        """
        gains, probabilities = self._gains(X, amounts)
        rare = self._rare_number()
        others = probabilities.copy()
        others[:, rare] = -1
        labels: NDArray[Any] = self.classes_[np.where(gains > 0, rare, others.argmax(axis=1))]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classifier.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features)
            Rows, as for the classifier.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One column for each of `classes_`.
        """
        check_is_fitted(self)
        probabilities: Floats = self.estimator_.predict_proba(self._features(X))
        return probabilities

    def gains(self, X: Any, *, amounts: Any = None) -> Floats:
        """The expected loss of a row minus the cost of its alert. It ranks alerts if there are too many.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features)
            Rows, as for the classifier.
        amounts : array-like of shape (n_rows,), default=None
            The cost of missing each row, if `missed` is None.

        Returns
        -------
        ndarray of shape (n_rows,)
            The expected gain of an alert. `predict` gives the rare label to rows with a positive gain.
        """
        return self._gains(X, amounts)[0]

    def _gains(self, X: Any, amounts: Any) -> tuple[Floats, Floats]:
        probabilities = self.predict_proba(X)
        if (self.missed is None) == (amounts is None):
            if amounts is None:
                raise ValueError("The cost of missing a row is not known. Give missed=, or amounts= to predict.")
            raise ValueError("The cost of missing a row was given twice, by missed= and by amounts=. Omit one of them.")
        n_rows = probabilities.shape[0]
        missed = _costs(self.missed, X, n_rows, "missed") if amounts is None else _costs(amounts, X, n_rows, "amounts")
        gains = probabilities[:, self._rare_number()] * missed - _costs(self.alert, X, n_rows, "alert")
        return gains, probabilities

    def _features(self, X: Any) -> Any:
        """X without the columns of costs that the classifier does not know."""
        names = getattr(self.estimator_, "feature_names_in_", None)
        if names is None or not hasattr(X, "columns"):
            return X
        extra = [cost for cost in (self.missed, self.alert) if isinstance(cost, str) and cost not in names]
        return X[[name for name in X.columns if name not in extra]] if extra else X

    def _rare_label(self, labels: NDArray[Any]) -> Any:
        if self.pos_label is not None:
            if self.pos_label not in self.classes_:
                raise ValueError(f"pos_label={self.pos_label!r} is not one of the labels {self.classes_.tolist()}.")
            return self.pos_label
        if hasattr(self.estimator_, "minority_class_"):
            return self.estimator_.minority_class_
        names, counts = np.unique(labels, return_counts=True)
        return names[counts.size - 1 - counts[::-1].argmin()]

    def _rare_number(self) -> int:
        return int(np.flatnonzero(self.classes_ == self.pos_label_)[0])

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `predict` consumes, and those that `fit` passes on.

        Returns
        -------
        MetadataRouter
            The routing, as for any meta-estimator of scikit-learn.
        """
        passed_on = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=passed_on)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _routed(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    from sklearn import get_config

    if not given or not get_config()["enable_metadata_routing"]:
        return given
    return dict(process_routing(model, "fit", **given).estimator.fit)


def _costs(cost: Any, X: Any, n_rows: int, name: str) -> Any:
    """A cost as a number, or as a number for each row of X. Missing, negative and infinite ones are refused."""
    if isinstance(cost, str):
        if not is_frame(X) or cost not in X.columns:
            raise ValueError(f"{name}={cost!r} is not a column of X. Give the name of a column, or a number.")
        cost = X[cost]
    elif callable(cost):
        cost = cost(X)
    try:
        values = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}, the cost of a row, must be numbers; {error}") from error
    if values.ndim and values.shape != (n_rows,):
        raise ValueError(f"{name} must have a number for each of {n_rows} rows; got an array of shape {values.shape}.")
    wrong = int((~((values >= 0) & (values < np.inf))).sum())
    if wrong:
        raise ValueError(f"{name} must be numbers >= 0; {wrong} of {values.size} are missing, negative or infinite.")
    return values
