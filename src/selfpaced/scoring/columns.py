"""The columns of some rows as floats, as gradient boosters read them: of arrays, and of frames with categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NUMBERS = "biuf"


class FrameColumns:
    """Reads columns of pandas frames as floats: numbers as they are, categories as their codes among known ones.

    Parameters
    ----------
    known : the categories of each categorical column in the order of the columns, as they were in training.
    at : the positions of these columns; None where they are not known.
    """

    def __init__(self, known: Sequence[Sequence[Any]], at: Sequence[int] | None = None) -> None:
        self._code_of = [{category: float(code) for code, category in enumerate(own)} for own in known]
        self._at = at
        # By categorical column, the categories that came last and their codes: chunks of a frame share them.
        self._last: dict[int, tuple[Any, Floats]] = {}

    def __call__(self, frame: Any, positions: Collection[int]) -> dict[int, Floats] | None:
        """The columns at some positions; None if there are columns that are neither numbers nor known categories."""
        columns: dict[int, Floats] = {}
        n_categorical = 0
        for position, (_, column) in enumerate(frame.items()):
            if type(column.dtype).__name__ == "CategoricalDtype":
                if n_categorical == len(self._code_of) or (
                    self._at is not None and self._at[n_categorical] != position
                ):
                    return None
                if position in positions:
                    columns[position] = self._codes(n_categorical, column.cat)
                n_categorical += 1
            elif not isinstance(column.dtype, np.dtype) or column.dtype.kind not in NUMBERS:
                return None
            elif position in positions:
                columns[position] = np.ascontiguousarray(column.to_numpy(), dtype=np.float64)
        return columns if n_categorical == len(self._code_of) else None

    def _codes(self, number: int, column: Any) -> Floats:
        """The codes of a categorical column, NaN for missing values and for categories that are not known."""
        own, (last, codes) = column.categories, self._last.get(number, (None, np.empty(0)))
        if last is not own:
            codes = codes_among(self._code_of[number], own)
            self._last[number] = own, codes
        taken: Floats = codes.take(column.codes.to_numpy())  # the code of missing values, -1, takes the last
        return taken


def codes_among(code_of: Mapping[Any, float], categories: Sequence[Any]) -> Floats:
    """The code of each category, NaN for those that are not known, and a NaN at the end.

    >>> codes_among({"a": 0.0, "b": 1.0}, ["b", "c"]).tolist()
    [1.0, nan, nan]
    """
    return np.array([*(code_of.get(category, np.nan) for category in categories), np.nan])


def float64_columns(features: NDArray[Any]) -> Floats:
    """One row a feature."""
    return np.ascontiguousarray(features.T, dtype=np.float64)


def lightgbm_columns(features: NDArray[Any]) -> Floats:
    """The same as LightGBM reads them: it takes floats as they are, and makes anything else a float32."""
    return float64_columns(features if features.dtype in (np.float32, np.float64) else features.astype(np.float32))


def is_pandas(features: Any) -> bool:
    return type(features).__name__ == "DataFrame" and type(features).__module__.partition(".")[0] == "pandas"
