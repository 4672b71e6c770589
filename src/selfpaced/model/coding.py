"""Pandas frames of known names and types as columns of numbers, without the checks that the first one has passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import pa
from selfpaced.tables import Column, Schema, as_trained, is_missing
from selfpaced.trees import LARGEST_WHOLE, CodedRows, are_exact, as_numbers

Floats = NDArray[np.float64]
# In the place of the code of a category that is not known.
NEW = -1.0


@dataclass
class FramePlan:
    """How frames with the same names and types as an earlier one become columns of numbers.

    Attributes
    ----------
    names, types : Any
        Of the columns of the frame.
    schema : Schema or None
        How a frame becomes features; None if the columns are the features.
    plain : list of (int, int)
        The features that are numbers of the frame, and the positions of their columns.
    narrow : list of int
        The features that are rounded to 32 bits.
    whole : dict of int to (int, int)
        The features that must be whole numbers, and the smallest and largest of them.
    codes : dict of int to (int, Floats or None)
        The features that are categories of the frame: the position of the column, and the code of each of its
        categories, with NaN for missing values at the end; None if the codes are those of the frame.
    texts : dict of int to int
        The features that are categories and strings of the frame: the position of the column.
    dates : dict of int to int
        The features that are parts of dates: the position of the column.
    categories : dict of int to tuple
        The categories of the features.
    """

    names: Any
    types: list[Any]
    schema: Schema | None
    plain: list[tuple[int, int]] = field(default_factory=list)
    narrow: list[int] = field(default_factory=list)
    whole: dict[int, tuple[int, int]] = field(default_factory=dict)
    codes: dict[int, tuple[int, Floats | None]] = field(default_factory=dict)
    texts: dict[int, int] = field(default_factory=dict)
    dates: dict[int, int] = field(default_factory=dict)
    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    def fits(self, X: Any) -> bool:
        return len(X) > 0 and self.types == list(X.dtypes) and self.names.equals(X.columns)

    def __call__(self, X: Any) -> CodedRows | None:
        """The features; None if the frame must be read in the usual way, which warns of its values or refuses them."""
        n_features = len(self.plain) + len(self.categories) + len(self.dates)
        numbers = np.empty((n_features, len(X)))
        features, places = [at for at, _ in self.plain], [place for _, place in self.plain]
        numbers[features] = X.iloc[:, places].to_numpy(np.float64).T
        is_exact = are_exact(numbers[features], [self.types[place] for place in places])
        with np.errstate(over="ignore"):
            numbers[self.narrow] = numbers[self.narrow].astype(np.float32)
        for at, (low, high) in self.whole.items():
            own = numbers[at][~np.isnan(numbers[at])]
            if not ((own == np.rint(own)) & (own >= low) & (own <= high)).all():
                return None
        for at, (place, code_of) in self.codes.items():
            own = X.iloc[:, place].array.codes
            numbers[at] = as_numbers(own) if code_of is None else code_of.take(own)
        for at, place in self.texts.items():
            numbers[at] = _codes_of_texts(X.iloc[:, place].tolist(), self.categories[at])
        for at, place in self.dates.items():
            assert self.schema is not None
            moments = pa.array(X.iloc[:, place], from_pandas=True)
            numbers[at] = self.schema.columns[at].converted(moments, "X").to_numpy(zero_copy_only=False)
        if np.isinf(numbers[features]).any() or any((numbers[at] == NEW).any() for at in self.categories):
            return None
        whole_frame = (lambda: X) if self.schema is None else partial(as_trained, self.schema, X)
        return CodedRows(numbers, self.categories, whole_frame, is_exact)


def _codes_of_texts(texts: Sequence[Any], known: tuple[str, ...]) -> list[float]:
    """The codes of strings; NEW for anything that is neither known nor missing."""
    code_of = {category: float(code) for code, category in enumerate(known)}
    return [code_of.get(text, NEW) if isinstance(text, str) else np.nan if is_missing(text) else NEW for text in texts]


def plan_for(
    X: Any, names: Sequence[str] | None, schema: Schema | None, categories: Mapping[str, Sequence[Any]]
) -> FramePlan | None:
    """The plan for frames like one that has passed all checks; None if it has columns of other kinds."""
    if names is None or not X.columns.is_unique:
        return None
    plan = FramePlan(X.columns, list(X.dtypes), schema)
    if schema is None:
        features = [(at, at, Column(str(name), "double")) for at, name in enumerate(names)]
    else:
        places = {name: place for place, name in enumerate(X.columns)}
        features = [(at, places[column.source], column) for at, column in enumerate(schema.columns)]
    is_known = all(_add(plan, at, place, column, categories.get(X.columns[place])) for at, place, column in features)
    return plan if is_known else None


def _add(plan: FramePlan, at: int, place: int, column: Column, own: Sequence[Any] | None) -> bool:
    """Add a feature to a plan, unless it is of another kind. `own` are its categories where there is no schema."""
    kind = plan.types[place]
    if column.made_of is not None:
        plan.dates[at] = place
        return bool(getattr(kind, "kind", "O") == "M")
    if hasattr(kind, "categories"):
        of_frame = tuple(kind.categories.tolist())
        if plan.schema is None:
            plan.codes[at], plan.categories[at] = (place, None), of_frame
            return own is not None and set(of_frame) <= set(own)
        if column.categories is None:
            return False
        codes = np.array([*_codes_of_texts(of_frame, column.categories), np.nan])
        plan.codes[at], plan.categories[at] = (place, codes), column.categories
        return all(isinstance(category, str) for category in of_frame)
    if column.categories is not None:
        plan.texts[at], plan.categories[at] = place, column.categories
        return str(kind) in ("object", "str", "string")
    if not (isinstance(kind, np.dtype) and kind.kind in "biuf"):
        return False
    plan.plain.append((at, place))
    return _add_number(plan, at, kind, number_type(column))


def _add_number(plan: FramePlan, at: int, kind: Any, wanted: Any) -> bool:
    """Add what is to be done with numbers of a type that have another type in training."""
    if wanted.kind == "f":
        if wanted.itemsize < 8:
            plan.narrow.append(at)
        return bool(wanted.itemsize == 8 or kind.kind == "f" or kind.itemsize < 4)
    if not np.can_cast(kind, wanted):
        plan.whole[at] = whole_range(wanted)
    return True


def number_type(column: Column) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(pa.type_for_alias(column.type).to_pandas_dtype())
    return kind


def whole_range(wanted: Any) -> tuple[int, int]:
    """The whole numbers of a type that floats hold."""
    if wanted.kind == "b":
        return 0, 1
    limits = np.iinfo(wanted)
    return max(int(limits.min), -LARGEST_WHOLE), min(int(limits.max), LARGEST_WHOLE)
