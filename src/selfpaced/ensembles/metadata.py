"""Metadata of rows for the base model's `fit`: sample weights and other routed metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from selfpaced.tables import Labels
from selfpaced.tables.weights import refuse_bad


def named_bases(bases: Sequence[Any]) -> dict[str, Any]:
    """Base models by the names under which metadata are routed to them."""
    if len(bases) == 1:
        return {"estimator": bases[0]}
    return {f"estimator_{number}": base for number, base in enumerate(bases)}


def fit_metadata(ensemble: Any, bases: Sequence[Any], labels: Labels, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the base models' `fit`, checked: those that they requested, or a sample_weight."""
    given = {name: value for name, value in given.items() if value is not None}
    if "sample_weight" in given:
        given["sample_weight"] = check_weights(given["sample_weight"], labels)
    if not given:
        return {}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(ensemble, "fit", **given)
        return _asked_by_all([dict(routed[name].fit) for name in named_bases(bases)])
    others = sorted(set(given) - {"sample_weight"})
    if others:
        raise TypeError(
            f"fit got {others}, which are not its own arguments. They are passed to base models only with metadata "
            "routing: sklearn.set_config(enable_metadata_routing=True), then set_fit_request on the base model."
        )
    check_takes_weights(bases, "sample_weight was given")
    return given


def weights_only(given: Mapping[str, Any], labels: Labels) -> dict[str, Any]:
    """The sample weights among the arguments of a `fit` that takes no others, checked."""
    others = sorted(set(given) - {"sample_weight"})
    if others:
        raise TypeError(f"fit got {others}. It accepts only X, y, groups and sample_weight.")
    weights = given.get("sample_weight")
    return {} if weights is None else {"sample_weight": check_weights(weights, labels)}


def _asked_by_all(asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The metadata that every base model has requested. All of them must request the same."""
    names = [sorted(each) for each in asked]
    if any(each != names[0] for each in names):
        raise ValueError(f"The base models request different metadata, {names}. Let all of them request the same.")
    return asked[0]


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
    per_row = {name: value for name, value in metadata.items() if _length(value) == n_rows}
    return per_row, {name: value for name, value in metadata.items() if name not in per_row}


def _length(value: Any) -> int | None:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return None
    return len(value)


def check_weights(sample_weight: Any, labels: Labels) -> NDArray[Any]:
    """Weights as numbers that are not negative, and not all 0 in any class."""
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, one number per row; got an array of shape {weights.shape}.")
    if weights.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must be numbers; got an array of {weights.dtype}.")
    check_consistent_length(labels.codes, weights)
    assert_all_finite(weights, input_name="sample_weight")
    refuse_bad(weights, "sample_weight")
    by_class = np.bincount(labels.codes, weights=weights, minlength=labels.classes.size)
    if not by_class.all():
        name = labels.names[int(by_class.argmin())]
        raise ValueError(f"All rows of the class {name!r} have a sample_weight of 0. Give some a positive weight.")
    return weights
