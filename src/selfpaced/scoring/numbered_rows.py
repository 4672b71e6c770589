"""A view of rows by the numbers of their values, which all models that share it number once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.scoring.arrow_rows import ArrowRows
from selfpaced.scoring.bitvectors import Numbering, Numbers
from selfpaced.scoring.columns import FrameColumns, is_pandas


@dataclass(frozen=True)
class Numbered:
    """Some rows by the numbers of their features."""

    numbers: Numbers
    n_rows: int


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """A view of arrays and frames by the numbers of their values. Other rows are left as they are.

    Attributes
    ----------
    of_frame, of_array
        Read the columns as floats.
    """

    numbering: Numbering
    of_frame: FrameColumns
    of_array: Callable[[NDArray[Any]], NDArray[np.float64]] | None

    def __call__(self, features: Any) -> Numbered | Any:
        if isinstance(features, np.ndarray) and self.of_array is not None:
            return Numbered(self.numbering(self.of_array(features)), len(features))
        is_frame = isinstance(features, ArrowRows) or is_pandas(features)
        columns = self.of_frame(features, self.numbering.positions) if is_frame else None
        if columns is not None:
            return Numbered(self.numbering(columns), len(features))
        return features.to_pandas() if isinstance(features, ArrowRows) else features
