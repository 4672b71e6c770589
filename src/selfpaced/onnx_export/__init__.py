"""Ensembles as ONNX graphs, which score rows without Python."""

from selfpaced.onnx_export.export import export_onnx

__all__ = ["export_onnx"]
