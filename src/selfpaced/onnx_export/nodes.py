"""A graph under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Graph:
    """Nodes and constants in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        name = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def columns(self, array: str, numbers: Sequence[int] | NDArray[np.integer]) -> str:
        """Some columns of an array."""
        return self.add("Gather", array, self.constant(np.asarray(numbers, dtype=np.int64)), axis=1)
