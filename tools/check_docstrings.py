"""Check the docstrings of the public API with numpydoc.

The public API is what `docs/api.md` lists. Methods and properties count too, if this package defines them. The checks
are in pyproject.toml, under `tool.numpydoc_validation`. Two further checks are made here:

- A public function or method that raises an error by name has a section Raises.
- In all docstrings of the package, a parameter or attribute has its description below it, not in the place of its type.

What numpydoc cannot see is taken into account:

- Fields of a dataclass are documented as attributes.
- A method that overrides a documented one has its docstring.
- An ensemble on Dask has the parameters of the ensemble in memory.
- Options that a function takes as `**options` are documented by their own names.

The functions and estimators that `docs/api.md` lists need the sections See Also and Examples. Their methods, exceptions
and dataclasses do not: the function that returns a dataclass shows it.

Usage: python tools/check_docstrings.py
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
# Names that the site documents, and names of Spark, which is not installed where the site is built.
LISTED = re.compile(r"^   ((?:[a-z_]+\.)*[A-Za-z_]+)$", re.MULTILINE)
NAMED = re.compile(r"^- `((?:[a-z_]+\.)*[A-Za-z_]+)`", re.MULTILINE)
# See Also and Examples.
CHECKS_OF_LISTED_NAMES = ("SA01", "EX01")
# An entry of the sections Parameters and Attributes, and a line that continues it.
ENTRY = re.compile(r"^\*{0,2}\w+(?:, \*{0,2}\w+)*(?: : .*)?$")


def public_names(pattern: re.Pattern[str] = LISTED) -> list[str]:
    """The names that the API reference lists, with `selfpaced.` before them."""
    return [f"selfpaced.{name}" for name in pattern.findall((REPOSITORY / "docs" / "api.md").read_text("utf-8"))]


def found_by(name: str) -> Any:
    """The class or function of a public name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def documented(name: str) -> Iterator[tuple[str, Any]]:
    """A public name and what it stands for, and the public methods and properties that this package defines for it."""
    found = found_by(name)
    yield name, found
    if not inspect.isclass(found):
        return
    for place, owner in enumerate(found.__mro__):
        if not owner.__module__.startswith("selfpaced."):
            continue
        for member, value in vars(owner).items():
            if member.startswith("_") or not _is_code(value):
                continue
            if value.__doc__ is None and any(hasattr(base, member) for base in found.__mro__[place + 1 :]):
                continue
            yield f"{owner.__module__}.{owner.__qualname__}.{member}", value


def _is_code(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, classmethod | staticmethod | property)


def is_exception(what: Any) -> bool:
    return inspect.isclass(what) and issubclass(what, Exception)


def is_shown_elsewhere(what: Any) -> bool:
    return is_exception(what) or is_dataclass(what)


def applies(code: str, message: str, what: Any) -> bool:
    """Whether a complaint of numpydoc is justified."""
    if code == "PR01" and is_exception(what):
        return False  # users catch exceptions, and do not make them
    if code == "EX01" and getattr(what, "__module__", "") == "selfpaced.clusters.dask.estimators":
        return False  # one of these classes has an example for all, because it starts a cluster
    if code == "PR01" and (
        is_dataclass(what) or getattr(what, "__module__", "") == "selfpaced.clusters.dask.estimators"
    ):
        return not inspect.isclass(what)
    if code in ("PR01", "PR02") and inspect.isfunction(what):
        options = [each.name for each in inspect.signature(what).parameters.values() if each.kind is each.VAR_KEYWORD]
        if options:
            return code == "PR01" and message != f"Parameters {{'**{options[0]}'}} not documented"
    return True


def raises_without_a_section(what: Any) -> bool:
    """Whether a function or method raises an error by name and its docstring has no section Raises."""
    function = what.fget if isinstance(what, property) else getattr(what, "__func__", what)
    if not inspect.isfunction(function):
        return False
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(body))
    return raised and "Raises\n" not in (function.__doc__ or "")


def entries_without_a_description(docstring: str) -> Iterator[str]:
    """The parameters and attributes of a docstring that have no description below them.

    >>> list(entries_without_a_description("Parameters\\n----------\\na : int\\n    Rows.\\nb : the columns."))
    ['b : the columns.']
    """
    lines = docstring.split("\n")
    section = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            section = line
        elif section in ("Parameters", "Attributes") and ENTRY.match(line) and not following.startswith("    "):
            yield line


def complaints_about_entries() -> Iterator[str]:
    """A line for each parameter or attribute, in any docstring of the package, that has no description below it."""
    for path in sorted((REPOSITORY / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for entry in entries_without_a_description(ast.get_docstring(node) or ""):
                    yield f"{path.relative_to(REPOSITORY)}: {node.name}: no description below {entry!r}"


def complaints(checks: list[str]) -> list[str]:
    """A line for each check that a docstring fails."""
    from numpydoc.validate import validate  # here, because pytest imports this file also where numpydoc is missing

    listed = public_names()
    public = {name: what for each in listed for name, what in documented(each)}
    found = [
        f"{name}: {code} {message}"
        for name, what in public.items()
        for code, message in validate(name)["errors"]
        if code in (*checks, *(CHECKS_OF_LISTED_NAMES if name in listed and not is_shown_elsewhere(what) else ()))
        and applies(code, message, what)
    ]
    found += [f"{name}: no section Raises" for name, what in public.items() if raises_without_a_section(what)]
    return [*found, *complaints_about_entries()]


def main() -> int:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["numpydoc_validation"]
    found = complaints(settings["checks"])
    for line in found:
        print(line)
    print(f"{len(found)} complaints about docstrings" if found else "the docstrings of the public API are complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
