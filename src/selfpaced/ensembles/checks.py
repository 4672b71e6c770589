"""Checks of parameters, labels, features and metadata."""

import inspect
import re
from collections.abc import Mapping, Sequence
from inspect import Parameter
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from selfpaced import tables
from selfpaced.exceptions import warn
from selfpaced.pools import GROUP, TIME
from selfpaced.tables import check_whole as check_whole

Kind = TypeVar("Kind", bound=type)


def parameters_of(kind: type[Any]) -> Mapping[str, Parameter]:
    """The named parameters of a constructor, in order."""
    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    _, *parameters = inspect.signature(kind.__init__).parameters.values()  # the first one is self
    return {each.name: each for each in parameters if each.kind in named}


def described(kind: type[Any], section: str) -> dict[str, str]:
    """The entries of a section of the numpydoc of a class, such as those of its parameters, by name."""
    text = re.search(rf"(?ms)^{section}\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(kind) or "")
    entries = re.finditer(r"(?m)^(\w+) : .*\n(?:    .*\n?)+", "" if text is None else text[1] + "\n")
    return {entry[1]: entry[0] for entry in entries}


def summaries_of(kind: type[Any]) -> Mapping[str, str]:
    """What the numpydoc of a class says about each parameter, up to the first full stop.

    >>> from selfpaced.ensembles import SelfPacedEnsembleClassifier
    >>> summaries_of(SelfPacedEnsembleClassifier)["estimator"]
    'The base model.'
    """
    texts = {name: " ".join(entry.partition("\n")[2].split()) for name, entry in described(kind, "Parameters").items()}
    return {name: re.split(r"(?<=\.)\s", text)[0] for name, text in texts.items()}


def with_inherited_entries(kind: Kind) -> Kind:
    """A class whose docstring also describes the parameters and attributes that only its base classes describe."""
    parts = re.split(r"(?m)^(\w[\w ]+)\n-+\n", inspect.getdoc(kind) or "")
    sections = {"Parameters": "", "Attributes": ""} | dict(zip(parts[1::2], parts[2::2], strict=True))
    for title in ("Parameters", "Attributes"):
        known: dict[str, str] = {}
        for each in reversed(kind.__mro__):
            known |= described(each, title)
        # Attributes of the class itself come first.
        names = parameters_of(kind) if title == "Parameters" else {**described(kind, title), **known}
        sections[title] = "".join(known[name] for name in names if name in known) + "\n"
    kind.__doc__ = parts[0] + "".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items())
    return kind


def give_constructor(kind: type[Any], parameters: Sequence[Parameter]) -> None:
    """Make the constructor of a class take exactly these parameters. It passes them to the constructor above it.

    scikit-learn, `help` and editors read the parameters from its signature.
    """
    signature = inspect.Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *parameters])

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        signature.bind(self, *values, **named)  # raises TypeError
        super(kind, self).__init__(*values, **named)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = __init__


Counted = TypeVar("Counted", bound=tables.ClassCounts)

FEWEST_MINORITY_ROWS = 2
FEW_TO_CALIBRATE_BY = 20


def check_groups(groups: Any, labels: tables.Labels) -> dict[str, NDArray[np.uint64]]:
    """The hash of each row's group, as metadata of the rows; empty without groups. Missing groups are refused."""
    if groups is None:
        return {}
    values = column_or_1d(groups)
    check_consistent_length(labels.codes, values)
    return {GROUP: tables.group_hashes(values)}


def check_times(times: Any, labels: tables.Labels) -> dict[str, NDArray[np.float64]]:
    """When each row was, as metadata of the rows; empty without times. Missing times are refused."""
    if times is None:
        return {}
    moments = tables.checked_moments(times)
    check_consistent_length(labels.codes, moments)
    return {TIME: tables.numbers_of(moments)}


def roles_with(groups: Any) -> tables.Roles:
    """The roles of a table in memory, by its groups: their column has the name of the array, if it has one."""
    return tables.Roles(group_column=None if groups is None else str(getattr(groups, "name", None) or "groups"))


def check_positive(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


def check_share(share: Any) -> float:
    if not isinstance(share, Real) or isinstance(share, bool) or not 0 < float(share) <= 1:
        raise ValueError(
            f"share, the share of the members in the middle, must be above 0 and at most 1; got {share!r}."
        )
    return float(share)


def check_jobs(n_jobs: Any) -> Any:
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0; got {n_jobs!r}.")
    return n_jobs


def check_classifier(estimator: Any) -> Any:
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise ValueError(f"estimator must be an instance of a classifier, not a class; got {estimator!r}.")
    return estimator


def check_classifiers(estimators: list[Any]) -> list[Any]:
    if not estimators:
        raise ValueError("estimator is an empty list. Give a classifier, or a list of classifiers that take turns.")
    return [check_classifier(each) for each in estimators]


def check_weighable(estimator: Any) -> Any:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"Boosting weights rows, but fit of the base model {type(estimator).__name__} does not accept "
            "sample_weight. Choose a base model that does, such as a decision tree."
        )
    return estimator


def check_seed(random_state: Any) -> int:
    """The seed of a fit: the given number itself, or one drawn from the given generator."""
    generator = check_random_state(random_state)
    if isinstance(random_state, Integral):
        return int(random_state)
    high, low = generator.randint(2**32, size=2, dtype=np.uint64).tolist()
    return int(high << 32 | low)


def check_labels(y: Any, X: Any) -> tables.Labels:
    """y as class numbers: at least two classes, and enough rows of the smallest."""
    return check_classes(tables.read_labels(y, X), "y")


def check_classes(labels: Counted, where: str) -> Counted:
    """Refuse fewer than two classes, and too few rows of the smallest. `where` is the name of the labels in errors."""
    names = labels.names
    if len(names) < 2:
        raise ValueError(f"{where} holds one class only, {names}. At least 2 classes are needed.")
    smallest = int(labels.counts.argmin())
    if labels.counts[smallest] < FEWEST_MINORITY_ROWS:
        raise ValueError(
            f"The class {names[smallest]!r} has {labels.counts[smallest]} row; at least {FEWEST_MINORITY_ROWS} are "
            f"needed. The classes found are {names}."
        )
    return labels


def check_table(table: Any) -> None:
    """Refuse anything but a table of `open_table`."""
    if not isinstance(table, tables.Table):
        raise TypeError(
            f"fit_table needs a table that selfpaced.open_table returns; got {type(table).__name__}. "
            "For arrays and frames in memory, call fit(X, y)."
        )


def check_known_labels(y: Any, X: Any, classes: NDArray[Any], where: str = "y") -> tables.Labels:
    """Labels numbered like those of the training rows. `where` is the name of the labels in errors."""
    y = column_or_1d(y)
    check_consistent_length(X, y)
    tables.refuse_missing_labels(y)
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"{where} has labels that the training rows do not have: {unknown.tolist()}. The classes of the training "
            f"rows are {classes.tolist()}."
        )
    return tables.encode_labels(y, classes)


def warn_of_few_rows(labels: tables.ClassCounts) -> None:
    """Warn about a calibration by few rows, which is not reliable."""
    smallest = int(labels.counts.argmin())
    if labels.counts[smallest] < FEW_TO_CALIBRATE_BY:
        warn(
            f"The calibration uses only {labels.counts[smallest]} rows of the class {labels.names[smallest]!r}. With "
            f"fewer than {FEW_TO_CALIBRATE_BY}, the probabilities are not reliable."
        )


def check_present(labels: tables.Labels, class_number: int, where: str, what_for: str) -> None:
    if labels.counts[class_number] == 0:
        raise ValueError(
            f"{where} has no row of the class {labels.names[class_number]!r}, so nothing can be {what_for} it. Split "
            "the rows with stratify=y."
        )


def named_bases(bases: Sequence[Any]) -> dict[str, Any]:
    """Base models by the names under which metadata are routed to them."""
    if len(bases) == 1:
        return {"estimator": bases[0]}
    return {f"estimator_{number}": base for number, base in enumerate(bases)}


def fit_metadata(
    ensemble: Any, bases: Sequence[Any], labels: tables.Labels, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of the base models' `fit`, checked: those that they requested, or a sample_weight."""
    given = {name: value for name, value in given.items() if value is not None}
    if "sample_weight" in given:
        given["sample_weight"] = check_weights(given["sample_weight"], labels)
    if not given:
        return {}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(ensemble, "fit", **given)
        asked = [dict(routed[name].fit) for name in named_bases(bases)]
        names = [sorted(each) for each in asked]
        if any(each != names[0] for each in names):
            raise ValueError(f"The base models request different metadata, {names}. Let all of them request the same.")
        return asked[0]
    others = sorted(set(given) - {"sample_weight"})
    if others:
        raise TypeError(
            f"fit got {others}, which are not its own arguments. They are passed to base models only with metadata "
            "routing: sklearn.set_config(enable_metadata_routing=True), then set_fit_request on the base model."
        )
    check_takes_weights(bases, "sample_weight was given")
    return given


def weights_only(given: Mapping[str, Any], labels: tables.Labels) -> dict[str, Any]:
    """The sample weights among the arguments of a `fit` that takes no others, checked."""
    others = sorted(set(given) - {"sample_weight"})
    if others:
        raise TypeError(f"fit got {others}. It accepts only X, y, groups and sample_weight.")
    weights = given.get("sample_weight")
    return {} if weights is None else {"sample_weight": check_weights(weights, labels)}


def check_takes_weights(bases: Sequence[Any], why: str) -> None:
    for base in bases:
        if weights_argument(base) is None:
            raise ValueError(
                f"{why}, but fit of the base model {type(base).__name__} does not accept sample_weight. Omit the "
                "weights, or choose another base model."
            )


def weights_argument(base: Any) -> str | None:
    """The name of the argument for weights in the `fit` of a base model; None if it does not accept weights.

    The last step of a pipeline gets them. With metadata routing, steps get them if they request them.
    """
    if has_fit_parameter(base, "sample_weight"):
        return "sample_weight"
    if not hasattr(base, "steps"):
        return None
    if get_config()["enable_metadata_routing"]:
        return "sample_weight"
    name, last = base.steps[-1]
    argument = weights_argument(last)
    return None if argument is None else f"{name}__{argument}"


def split_by_row(metadata: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metadata with one value per row, and the rest, which is the same for every member."""
    sized = {
        name: value for name, value in metadata.items() if hasattr(value, "__len__") and not isinstance(value, str)
    }
    per_row = {name: value for name, value in sized.items() if len(value) == n_rows}
    return per_row, {name: value for name, value in metadata.items() if name not in per_row}


def check_weights(sample_weight: Any, labels: tables.Labels) -> NDArray[Any]:
    """Weights as numbers that are not negative, and not all 0 in any class."""
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, one number per row; got an array of shape {weights.shape}.")
    if weights.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must be numbers; got an array of {weights.dtype}.")
    check_consistent_length(labels.codes, weights)
    assert_all_finite(weights, input_name="sample_weight")
    tables.refuse_bad(weights, "sample_weight")
    by_class = np.bincount(labels.codes, weights=weights, minlength=labels.classes.size)
    if not by_class.all():
        name = labels.names[int(by_class.argmin())]
        raise ValueError(f"All rows of the class {name!r} have a sample_weight of 0. Give some a positive weight.")
    return weights
