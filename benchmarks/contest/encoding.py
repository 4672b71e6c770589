"""How a table reaches models that cannot read its categories as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Encode = Callable[[pd.DataFrame], Any]


class Encoded:
    """A classifier behind an encoder that learns nothing: the categories of a table are part of its column types."""

    def __init__(self, encode: Encode, model: Any) -> None:
        self.encode = encode
        self.model = model

    def fit(self, X: pd.DataFrame, y: Any) -> Encoded:
        self.model.fit(self.encode(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self.encode(X))


def as_numbers(X: pd.DataFrame) -> Any:
    """Categories as their position in alphabetical order, missing ones as NaN: forests read NaN, but no text."""
    codes = {name: X[name].cat.codes.astype("float64").where(X[name].notna()) for name in X.select_dtypes("category")}
    return X.assign(**codes).to_numpy(np.float32)


def as_text(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as strings, a missing one as a string of its own: CatBoost refuses NaN among categories."""
    texts = {name: X[name].astype("object").fillna("missing") for name in X.select_dtypes("category")}
    return X.assign(**texts)


def as_named_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Categories that have a name for the missing ones, too."""
    return as_text(X).astype(dict.fromkeys(X.select_dtypes("category"), "category"))


def text_columns(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes(exclude="number").columns)
