"""Check the docstrings of the public API with numpydoc.

The public API is what `docs/api.md` lists. The checks are in pyproject.toml, under `tool.numpydoc_validation`. Methods and properties count too, if they are defined in this package.

Usage: python tools/check_docstrings.py
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from numpydoc.validate import validate

REPOSITORY = Path(__file__).parents[1]
LISTED = re.compile(r"^   ((?:[a-z_]+\.)?[A-Za-z_]+)$", re.MULTILINE)


def public_names() -> list[str]:
    """The names that the API reference lists, with `selfpaced.` before them."""
    return [f"selfpaced.{name}" for name in LISTED.findall((REPOSITORY / "docs" / "api.md").read_text("utf-8"))]


def documented_names(name: str) -> Iterator[str]:
    """A public name, and the public methods and properties of a class that this package defines."""
    yield name
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute)
    if not inspect.isclass(found):
        return
    for owner in found.__mro__:
        if not owner.__module__.startswith("selfpaced."):
            continue
        for member, value in vars(owner).items():
            if not member.startswith("_") and _has_a_docstring_of_its_own(value):
                yield f"{owner.__module__}.{owner.__qualname__}.{member}"


def _has_a_docstring_of_its_own(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, classmethod | staticmethod | property)


def complaints(checks: list[str]) -> list[str]:
    """A line for each check that a docstring fails."""
    names = {each: None for name in public_names() for each in documented_names(name)}
    return [
        f"{name}: {code} {message}" for name in names for code, message in validate(name)["errors"] if code in checks
    ]


def main() -> int:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["numpydoc_validation"]
    found = complaints(settings["checks"])
    for line in found:
        print(line)
    print(f"{len(found)} complaints about docstrings" if found else "the docstrings of the public API are complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
