"""Ensembles of trees as ONNX graphs, so that they score rows where there is no Python."""

from __future__ import annotations

from selfpaced.onnx_export.export import export_onnx

__all__ = ["export_onnx"]
