"""What goes along with each row to the base model's `fit`: sample weights and other routed metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from selfpaced.tables import Labels
from selfpaced.tables.weights import refuse_bad


def fit_metadata(ensemble: Any, base: Any, labels: Labels, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the base model's `fit`, checked: only those it asked for, or a sample_weight it takes."""
    given = {name: value for name, value in given.items() if value is not None}
    if "sample_weight" in given:
        given["sample_weight"] = check_weights(given["sample_weight"], labels)
    if not given:
        return {}
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(ensemble, "fit", **given).estimator.fit)
    others = sorted(set(given) - {"sample_weight"})
    if others:
        raise TypeError(
            f"fit got {others}, which are no arguments of its own, and are passed on to base models only with routing: "
            "sklearn.set_config(enable_metadata_routing=True), then set_fit_request on the base model."
        )
    check_takes_weights(base)
    return given


def check_takes_weights(base: Any) -> None:
    if not has_fit_parameter(base, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but the base model {type(base).__name__} takes none in fit. Leave it out, "
            "choose another base model, or, for a Pipeline, enable metadata routing and request it on the step."
        )


def split_by_row(metadata: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metadata with one value per row, to be drawn along with the rows, and the rest, the same for every member."""
    per_row = {name: value for name, value in metadata.items() if _length(value) == n_rows}
    return per_row, {name: value for name, value in metadata.items() if name not in per_row}


def _length(value: Any) -> int | None:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return None
    return len(value)


def check_weights(sample_weight: Any, labels: Labels) -> NDArray[Any]:
    """Weights as numbers that are not negative, and not all 0 in any class: a class without weight is not there."""
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
        raise ValueError(f"All rows of the class {name!r} have a sample_weight of 0; give some of them a positive one.")
    return weights
