"""Decisions row by row, by probabilities and amounts."""

import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from selfpaced.tables import is_frame, kind_of
from selfpaced.thresholds.costs import Costs

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]

EXAMPLE = "p*amount>5"
PROBABILITY = ("p", "p")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, ")": 0}
# Names stay as they are written, letter by letter.
PARTS = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|`(?P<column>[^`]+)`|(?P<p>p\b)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>[-+*/()<>]))"
)
Part = tuple[str, str]  # its kind, a group of the pattern, and its text


@dataclass(frozen=True)
class Decision:
    """A rule such as `p*amount>5`: the probability, times the cost of missing the row, exceeds the cost of an alert."""

    text: str
    columns: tuple[str, ...]  # that it reads
    # Both sides, each with the operators behind the parts that they combine.
    _loss: tuple[Part, ...]
    _alert: tuple[Part, ...]

    def read(self, X: Any, given: Mapping[str, Any] | None, n_rows: int, option: str) -> dict[str, Floats]:
        """The columns of the rule: those that are given by an option, or else those of X."""
        found = {}
        for name in self.columns:
            values = given[name] if given is not None and name in given else numbers_of(X, name)
            if values is None:
                raise ValueError(f"The rule {self.text!r} reads {name!r}, which is in neither X nor {option}.")
            found[name] = np.asarray(values, dtype=np.float64)
            if found[name].shape != (n_rows,):
                shape = found[name].shape
                raise ValueError(f"{name!r} has the shape {shape}, but there are {n_rows} rows. Give {option}.")
        return found

    def gains(self, probabilities: Floats, columns: Columns) -> Floats:
        """The expected loss of a row minus the cost of its alert. Rows with a positive gain are alerts."""
        _, alert = self._costs(probabilities.size, columns)
        gains: Floats = self._checked(_value(self._loss, probabilities, columns), "expected loss", -np.inf) - alert
        return gains

    def alerts(self, probabilities: Floats, columns: Columns) -> NDArray[np.bool_]:
        alerts: NDArray[np.bool_] = self.gains(probabilities, columns) > 0
        return alerts

    def check(self, n_rows: int, columns: Columns) -> None:
        """Refuse rows whose costs are missing, infinite or negative, whatever their probabilities."""
        self._costs(n_rows, columns)

    def cost(self, is_rare: NDArray[np.bool_], is_alert: NDArray[np.bool_], columns: Columns) -> float:
        """The total cost: the right side for every alert, and the left side at p = 1 for every missed rare row."""
        return Costs.of_alerts(*self._costs(is_rare.size, columns)).total_of_rows(is_rare, is_alert)

    def _costs(self, n_rows: int, columns: Columns) -> tuple[Floats, Floats]:
        """The cost of missing each row if it is rare, and the cost of its alert."""
        missed, alert = (_value(side, np.ones(n_rows), columns) for side in (self._loss, self._alert))
        return self._checked(missed, "cost of a missed row"), self._checked(alert, "cost of an alert")

    def _checked(self, values: Floats, what: str, least: float = 0.0) -> Floats:
        for reason, is_wrong in {
            "not known. One of its columns has missing values, or 0 is divided by 0": np.isnan(values),
            "infinite. The rule divides by 0, or its numbers are too large": np.isinf(values),
            "negative. Costs must be at least 0": values < least,
        }.items():
            if is_wrong.any():
                n_rows = f"{int(is_wrong.sum()):,} of {values.size:,} rows"
                raise ValueError(f"By the rule {self.text!r} the {what} in {n_rows} is {reason}.")
        return values


def parse_decision(text: str) -> Decision:
    """A decision from its text. It may contain numbers, columns, p, + - * / and brackets.

    Put names of columns with spaces or other characters in backticks, as in "p * `amount due` > 5". `p` is always the
    probability: put a column of this name in backticks too.

    >>> decision = parse_decision("p*amount>5")
    >>> decision.alerts(np.array([0.02, 0.9]), {"amount": np.array([500.0, 2.0])}).tolist()
    [True, False]
    """
    found = list(PARTS.finditer(str(text).rstrip()))
    parts = [
        ("column" if part.lastgroup == "name" else str(part.lastgroup), part[str(part.lastgroup)]) for part in found
    ]
    try:
        (place,) = (place for place, part in enumerate(parts) if part in (("sign", "<"), ("sign", ">")))
        loss, alert = _postfix(parts[:place]), _postfix(parts[place + 1 :])
    except ValueError:
        raise _unreadable(text) from None
    if parts[place][1] == "<":
        loss, alert = alert, loss
    is_read = "".join(part[0] for part in found) == str(text).rstrip()
    if not is_read or PROBABILITY not in loss or PROBABILITY in alert:
        raise _unreadable(text)
    if not all(isfinite(float(number)) for kind, number in parts if kind == "number"):
        raise ValueError(f"A number in the rule {text!r} is too large. Write a smaller one.")
    columns = dict.fromkeys(name for kind, name in (*loss, *alert) if kind == "column")
    return Decision(str(text), tuple(columns), loss, alert)


def _unreadable(text: str) -> ValueError:
    return ValueError(
        f"{text!r} is not a rule for decisions. A rule compares the expected loss of a row with the cost of an alert, "
        f"as {EXAMPLE!r}. Use p, the probability, on the larger side, numbers, columns, + - * / and brackets. Put "
        "names of columns with other characters in backticks, and the rule in quotes in a shell."
    )


def _postfix(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts of one side with the operators behind what they combine. So a long rule needs no recursion."""
    done: list[Part] = []
    waiting: list[str] = []
    wants_value = True  # and not an operator
    for kind, text in parts:
        if wants_value != (kind != "sign" or text == "(" or (text == "-" and wants_value)):
            raise ValueError
        if kind != "sign":
            done.append((kind, text))
            wants_value = False
        elif wants_value:
            waiting.append("negate" if text == "-" else text)
        else:
            while waiting and waiting[-1] != "(" and STRENGTH[waiting[-1]] >= STRENGTH[text]:
                done.append(("sign", waiting.pop()))
            if text != ")":
                waiting.append(text)
                wants_value = True
            elif not waiting or waiting.pop() != "(":
                raise ValueError
    if wants_value or "(" in waiting:
        raise ValueError
    return (*done, *(("sign", sign) for sign in reversed(waiting)))


def _value(side: Sequence[Part], p: Floats, columns: Columns) -> Floats:
    """The value of one side in each row."""
    stack: list[Any] = []
    with np.errstate(all="ignore"):  # what is not finite is refused afterwards
        for kind, text in side:
            if kind != "sign":
                stack.append(p if kind == "p" else columns[text] if kind == "column" else np.float64(text))
            elif text == "negate":
                stack.append(-stack.pop())
            else:
                right = stack.pop()
                stack.append(OPERATORS[text](stack.pop(), right))
    return np.broadcast_to(np.asarray(stack.pop(), dtype=np.float64), p.shape)


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
        labels = column_or_1d(y)
        is_routed = bool(fit_params) and get_config()["enable_metadata_routing"]
        routed = dict(process_routing(self, "fit", **fit_params).estimator.fit) if is_routed else fit_params
        self.estimator_ = clone(self.estimator).fit(X, y, **routed)
        self.classes_ = self.estimator_.classes_
        self.pos_label_ = self._rare_label(labels)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if getattr(self.estimator_, "calibrator_", self) is None:
            warnings.warn(
                f"{type(self.estimator_).__name__} is not calibrated, so its scores are far higher than probabilities, "
                'and there will be too many alerts. Set calibration="isotonic", or use recalibrated(X, y).',
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
        others[:, rare] = -np.inf
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
        costs = Costs.of_alerts(missed, _costs(self.alert, X, n_rows, "alert"))
        return costs.gains(probabilities[:, self._rare_number()]), probabilities

    def _features(self, X: Any) -> Any:
        """X without the columns of costs that the classifier does not know."""
        names = getattr(self.estimator_, "feature_names_in_", None)
        if names is None or not is_frame(X):
            return X
        own = kind_of(X).names(X)
        extra = [cost for cost in (self.missed, self.alert) if isinstance(cost, str) and cost not in names]
        kept = [name for name in own if name not in extra]
        return X if len(kept) == len(own) else X.select(kept) if hasattr(X, "select") else X[kept]

    def _rare_label(self, labels: NDArray[Any]) -> Any:
        if self.pos_label is not None:
            if self.pos_label not in self.classes_:
                raise ValueError(f"pos_label={self.pos_label!r} is not one of the labels {self.classes_.tolist()}.")
            return self.pos_label
        if hasattr(self.estimator_, "pos_label_"):
            return self.estimator_.pos_label_
        names, counts = np.unique(labels, return_counts=True)
        return names[counts.size - 1 - counts[::-1].argmin()]

    def _rare_number(self) -> int:
        return int(np.flatnonzero(self.classes_ == self.pos_label_)[0])

    def get_metadata_routing(self) -> MetadataRouter:  # scikit-learn documents it
        passed_on = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=passed_on)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def numbers_of(X: Any, name: str) -> Any:
    """A column of a frame of any kind, as numbers if it has a type of numbers; None if there is no such column."""
    names = kind_of(X).names(X) if is_frame(X) else []
    if name not in names:
        return None
    if names.count(name) > 1:
        raise ValueError(f"X has several columns with the name {name!r}. Give each column its own name.")
    column = kind_of(X).column(X, names.index(name))
    return column.floats() if column.is_number else list(column.objects())


def _costs(cost: Any, X: Any, n_rows: int, name: str) -> Any:
    """A cost as a number, or as a number for each row of X. Missing, negative and infinite ones are refused."""
    if isinstance(cost, str):
        column = numbers_of(X, cost)
        if column is None:
            raise ValueError(f"{name}={cost!r} is not a column of X. Give the name of a column, or a number.")
        cost = column
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
