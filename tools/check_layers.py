"""Check that every room of the house uses only the rooms below it. `make check` runs this.

The order is the one of ARCHITECTURE.md. A module may import from its own room and from rooms that stand before it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

# From the ground up. Rooms on one line stand side by side and do not use each other.
FLOORS = [
    ["algorithms", "calibration", "datasets", "exceptions", "metrics", "versions", "whole_files"],
    ["thresholds"],
    ["scoring"],
    ["pools"],
    ["tables"],
    ["rounds"],
    ["callbacks"],
    ["ensembles"],
    ["explaining", "persistence"],
    ["onnx_export"],
    ["selfpaced"],  # the public names in __init__.py
    ["dask", "spark"],
    ["report"],
    ["jobs"],
    ["cli"],
    ["__main__"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Doors that open upwards, and only when they are knocked at: no import at the top of a file.
LATE = {("ensembles", "report")}  # model.report(X, y)
PAPER_USES = {"numpy"}  # what `algorithms` may import from outside, besides the standard library


def room_of(module: str) -> str:
    """
    >>> room_of("selfpaced.pools.keys"), room_of("selfpaced")
    ('pools', 'selfpaced')
    """
    return (module.split(".") * 2)[1]


def imports(node: ast.AST, late: bool = False) -> Iterator[tuple[str, bool]]:
    """The names of all modules that are imported, and whether only in a function or for the type checker."""
    late = (
        late
        or isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    )
    if isinstance(node, ast.Import):
        yield from ((name.name, late) for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module, late
    for child in ast.iter_child_nodes(node):
        yield from imports(child, late)


def complaints(package: Path) -> Iterator[str]:
    """One line for every import that goes upwards, sideways, or out of the paper's room."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        room = "selfpaced" if parts == ("__init__",) else parts[0]
        if room not in FLOOR_OF:
            yield f"{path}: the room {room!r} has no floor; give it one in {Path(__file__).name}"
            continue
        for module, late in imports(ast.parse(path.read_text())):
            outside = module.partition(".")[0]
            if outside == "selfpaced":
                other = room_of(module)
                if late and (room, other) in LATE:
                    continue
                if other != room and FLOOR_OF.get(other, len(FLOORS)) >= FLOOR_OF[room]:
                    yield f"{path}: {room} must not use {other} ({module})"
            elif room == "algorithms" and outside not in PAPER_USES | set(sys.stdlib_module_names):
                yield f"{path}: the paper's room is plain numpy, but uses {module}"


def main() -> int:
    package = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "selfpaced")
    found = list(complaints(package))
    print("\n".join(found) or "Every room uses only the rooms below it.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
