"""Fitted members in the form of graphs, by kind of model."""

from __future__ import annotations

from selfpaced.onnx_export.readers.reading import read_member

__all__ = ["read_member"]
