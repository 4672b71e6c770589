"""Check layers, doors and budgets of the packages, and names that exist twice. `make check` runs this.

- **Layers**: a package uses packages of lower layers, and those that stand before it in its own.
- **Doors**: a module of another package is imported through the `__init__` of a package, never directly.
- **Budgets**: a package has at most so many lines and files. To raise a budget is a decision: explain it in the commit.
- **Private names** (`_name`) belong to the package that defines them. A class name exists once.
- Internal functions have at most eight parameters. Public functions and constructors have as many as users need, by
  keyword.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# From the lowest up.
LAYERS = [
    ["exceptions", "datasets", "metrics", "algorithms", "storage"],
    ["calibration", "callbacks", "trees", "scoring", "pools", "tables", "history"],
    ["model", "reasons", "thresholds", "predicting"],
    ["ensembles", "baselines"],
    ["monitoring", "backtesting", "explaining", "persistence", "onnx_export", "clusters"],
    # "selfpaced" has the public names in __init__.py.
    ["selfpaced", "report", "serving", "reviewing", "cli", "__main__"],
]
PLACE = {package: (layer, place) for layer, some in enumerate(LAYERS) for place, package in enumerate(some)}
# Imports of a higher layer, allowed only inside a function.
LATE = {
    ("ensembles", "report"),  # model.report(X, y)
    ("tables", "clusters"),  # open_table(frame of a cluster)
    ("history", "clusters"),  # history.add(frame of a cluster)
}
# Lines and files of each package; modules of the top are counted together.
BUDGETS = {
    "top": (1850, 8),
    "algorithms": (450, 7),
    "backtesting": (510, 3),
    "baselines": (650, 4),
    "cli": (5900, 26),
    "clusters": (2560, 16),
    "ensembles": (5224, 18),
    "history": (2470, 10),
    "model": (860, 6),
    "monitoring": (830, 3),
    "onnx_export": (710, 4),
    "persistence": (990, 5),
    "pools": (1410, 7),
    "predicting": (880, 4),
    "reasons": (730, 4),
    "report": (3901, 15),
    "reviewing": (650, 5),
    "scoring": (1210, 6),
    "serving": (1900, 11),
    "storage": (850, 4),
    "tables": (5169, 21),
    "thresholds": (2170, 9),
    "trees": (1296, 6),
}
ALGORITHMS_USE = {"numpy"}  # what `algorithms` may import from outside, besides the standard library
MOST_PARAMETERS = 8
# Private names of other libraries that have no public equivalent.
ALLOWED_PRIVATE = {
    "_dummy",  # pyspark.ml.param.Params: how every estimator of Spark declares a parameter
    "_set",  # pyspark.ml.param.Params: how parameters are set
    "_resetUid",  # pyspark.ml.util.Identifiable: a model has the name of the estimator that fitted it
    "_predictors",  # HistGradientBoostingClassifier: the trees have no public access
    "_baseline_prediction",  # and neither has the value they start from
    "_preprocessor",  # nor the categories that they know
    "_getframe",  # sys: how a warning finds the line of the caller
}


def package_of(module: str) -> str:
    """
    >>> package_of("selfpaced.pools.keys"), package_of("selfpaced")
    ('pools', 'selfpaced')
    """
    return (module.split(".") * 2)[1]


def imports(node: ast.AST, late: bool = False) -> Iterator[tuple[str, list[str], bool]]:
    """The modules that are imported, with the names taken from each, and whether only in a function or for types."""
    late = (
        late
        or isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    )
    if isinstance(node, ast.Import):
        yield from ((name.name, [], late) for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module == "selfpaced" and node.names[0].name in PLACE:
        yield from ((f"selfpaced.{name.name}", [], late) for name in node.names)  # whole packages
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module, [name.name for name in node.names], late
    for child in ast.iter_child_nodes(node):
        yield from imports(child, late)


def is_private(name: str) -> bool:
    """
    >>> [is_private(name) for name in ("_means", "__init__", "means", "_")]
    [True, False, False, False]
    """
    return name.startswith("_") and not name.startswith("__") and len(name) > 1


def own_private_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Private names that a module defines: functions, classes, variables, attributes of `self`, fields, parameters."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def used_private_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Private names of other objects than `self` and `cls`, and private names that are imported, with their lines."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            is_super = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
            if not (is_own or is_super):
                yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.name, node.lineno) for alias in node.names if is_private(alias.name))


def parameters(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.FunctionDef, int]]:
    """Every function with the number of its parameters, without `self` and `cls`.

    >>> [n for _, n in parameters(ast.parse("def f(self, a, /, b, *rest, c, **more): ...").body)]
    [5]
    """
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            given = node.args
            named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            n_named = sum(one.arg not in ("self", "cls") for one in named)
            yield node, n_named + (given.vararg is not None) + (given.kwarg is not None)


def is_public(function: ast.FunctionDef) -> bool:
    """Whether a function is documented for users: constructors, and functions with numpydoc sections.

    >>> [is_public(node) for node in ast.parse("def __init__(self): ...\\ndef f(): ...").body]
    [True, False]
    """
    documented = "Parameters\n" in (ast.get_docstring(function) or "")
    return function.name == "__init__" or (documented and not is_private(function.name))


def complaints(root: Path) -> Iterator[str]:
    """One line for everything that breaks a rule."""
    modules: dict[Path, tuple[str, ast.Module]] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = "selfpaced" if parts == ("__init__",) else parts[0]
        if name in PLACE:
            modules[path] = name, ast.parse(path.read_text())
        else:
            yield f"{path}: the package {name!r} has no layer; give it one in {Path(__file__).name}"
    private = {name: set(ALLOWED_PRIVATE) for name, _ in modules.values()}
    nodes = {path: list(ast.walk(tree)) for path, (_, tree) in modules.items()}
    for path, (name, _) in modules.items():
        private[name].update(own_private_names(nodes[path]))
    for path, (name, tree) in modules.items():
        yield from (f"{path}: {complaint}" for complaint in wrong_imports(name, tree, root))
        for used, line in used_private_names(nodes[path]):
            if used not in private[name]:
                yield f"{path}:{line}: {used} is a private name of another package"
        for function, n_parameters in parameters(nodes[path]):
            if n_parameters > MOST_PARAMETERS and not is_public(function):
                yield f"{path}:{function.lineno}: {function.name} has {n_parameters} parameters; make a record of some"
    yield from repeated_classes(modules)
    yield from over_budget(root)


def wrong_imports(package: str, tree: ast.Module, root: Path) -> Iterator[str]:
    for module, names, late in imports(tree):
        outside = module.partition(".")[0]
        if outside == "selfpaced":
            other = package_of(module)
            if other == package:
                continue
            if PLACE.get(other, (len(LAYERS), 0)) >= PLACE[package] and not (late and (package, other) in LATE):
                yield f"{package} must not use {other} ({module})"
            inside = root.joinpath(*module.split(".")[1:])
            if module.count(".") > 1 and not (inside / "__init__.py").exists():
                yield f"{package} must import {', '.join(names)} from a package, not from its module {module}"
        elif package == "algorithms" and outside not in ALGORITHMS_USE | set(sys.stdlib_module_names):
            yield f"algorithms use only numpy, but here {module}"


def repeated_classes(modules: dict[Path, tuple[str, ast.Module]]) -> Iterator[str]:
    homes: dict[str, list[Path]] = {}
    for path, (_, tree) in modules.items():
        for node in tree.body:  # not the classes inside of functions
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path)
    for name, paths in homes.items():
        if len(paths) > 1:
            yield f"The class name {name} exists {len(paths)} times: {', '.join(map(str, paths))}"


def sizes(root: Path) -> dict[str, tuple[int, int]]:
    """The lines and files of each package."""
    found: dict[str, tuple[int, int]] = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        name = parts[0] if len(parts) > 1 else "top"
        lines, files = found.get(name, (0, 0))
        found[name] = lines + path.read_text().count("\n"), files + 1
    return found


def over_budget(root: Path) -> Iterator[str]:
    found = sizes(root)
    for name, (lines, files) in sorted(found.items()):
        most_lines, most_files = BUDGETS.get(name, (0, 0))
        if lines > most_lines or files > most_files:
            yield f"{name} has {lines} lines in {files} files; its budget is {most_lines} lines in {most_files} files"


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "selfpaced")
    found = list(complaints(root))
    lines, files = (sum(each) for each in zip(*sizes(root).values(), strict=True))
    print("\n".join(found) or f"Layers, doors and budgets are kept: {lines} lines in {files} files.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
