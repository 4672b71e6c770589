"""Print how much of the package a run of the tests covers, and the public functions that it never calls.

`make coverage` runs the tests first, in all their processes: python tools/covered.py MEASURED.json
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tools.check_docstrings import NAMED, documented, public_names  # noqa: E402


def code_of(what: Any) -> CodeType | None:
    """The code of a function, method or property as it was written, without its decorators; none of a class.

    >>> code_of(code_of).co_qualname, code_of(Path)
    ('code_of', None)
    """
    function = what.fget if isinstance(what, property) else getattr(what, "__func__", what)
    function = inspect.unwrap(function)
    return function.__code__ if inspect.isfunction(function) else None


def public_code() -> Iterator[tuple[str, CodeType]]:
    """The public functions, methods and properties, by name, with their code."""
    for listed in (*public_names(), *public_names(NAMED)):
        for name, what in documented(listed):
            code = code_of(what)
            if code is not None and "selfpaced" in code.co_filename:
                yield name, code


def called(measured: dict[str, Any]) -> set[tuple[str, str]]:
    """The file and the name of each function of which at least one line has run."""
    return {
        (str((REPOSITORY / path).resolve()), name)
        for path, file in measured["files"].items()
        for name, function in file["functions"].items()
        if function["executed_lines"] or not function["summary"]["num_statements"]
    }


def main(path: Path) -> int:
    measured = json.loads(path.read_text())
    total = measured["totals"]
    lines = f"{total['covered_lines']:,} of {total['num_statements']:,} statements"
    branches = f"{total['covered_branches']:,} of {total['num_branches']:,} branches"
    print(f"{total['percent_covered']:.1f}% covered: {lines}, {branches}")
    for name, file in sorted(measured["files"].items(), key=lambda each: each[1]["summary"]["percent_covered"])[:10]:
        print(f"  {file['summary']['percent_covered']:5.1f}%  {name}")
    seen = called(measured)
    never = {
        name for name, code in public_code() if (str(Path(code.co_filename).resolve()), code.co_qualname) not in seen
    }
    print(f"{len(never)} public functions are never called" + "".join(f"\n  {name}" for name in sorted(never)))
    return 1 if never else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
