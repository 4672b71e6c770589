"""The result of a benchmark as a small JSON file in `benchmarks/results/`."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    return {"python": platform.python_version()} | {package: version(package) for package in packages}


def recorded(name: str) -> dict[str, Any]:
    """What was saved under a name. Nothing, if nothing was."""
    path = RESULTS / f"{name}.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return known


def save(name: str, result: dict[str, Any], versions: dict[str, Any]) -> Path:
    """Write the result with what is needed to read it later: versions and the number of cores."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    facts = {"benchmark": name, "cpu_count": os.cpu_count(), "versions": versions}
    path.write_text(json.dumps(facts | result, indent=2, default=_plain_number) + "\n")
    return path.relative_to(RESULTS.parent.parent)


def _plain_number(value: Any) -> Any:
    """Whatever numpy has counted or measured: json knows plain numbers only."""
    return value.item()


def significant(value: float, digits: int = 4) -> float:
    """More digits than a repeated run confirms only make two results hard to compare.

    >>> significant(1.23456)
    1.235
    """
    return float(f"{value:.{digits}g}")
