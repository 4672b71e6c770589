"""Why a row has its score: SHAP values of an ensemble."""

from __future__ import annotations

from selfpaced.explaining.values import shap_values

__all__ = ["shap_values"]
