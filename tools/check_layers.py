"""Check that every package uses only packages of lower layers, and no private names of others. `make check` runs this.

The order of the layers is the one of ARCHITECTURE.md. A module may import from its own package and from packages of
lower layers. A name that begins with an underscore belongs to the package that defines it.

No function has more than eight parameters, but for the constructors of estimators, whose signature is their parameters
for scikit-learn and Spark.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

# From the lowest up. Packages of one layer do not use each other.
LAYERS = [
    ["algorithms", "calibration", "datasets", "exceptions", "metrics", "suggesting", "versions"],
    ["remote_files"],
    ["whole_files"],
    ["private_folders", "safe_files", "thresholds"],
    ["scoring"],
    ["pools"],
    ["tables"],
    ["bases", "deciding", "rounds"],
    ["callbacks"],
    ["ensembles"],
    ["monitoring"],
    ["backtesting", "explaining", "persistence"],
    ["onnx_export"],
    ["selfpaced"],  # the public names in __init__.py
    ["dask", "spark"],
    ["report"],
    ["_jobs"],
    ["cli"],
    ["__main__"],
]
LAYER_OF = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}
# Imports of a higher layer, allowed only inside a function.
LATE = {("ensembles", "report")}  # model.report(X, y)
ALGORITHMS_USE = {"numpy"}  # what `algorithms` may import from outside, besides the standard library
MOST_PARAMETERS = 8
ESTIMATORS = {"deciding", "ensembles", "dask", "spark"}  # packages whose constructors may have more
# Private names of other libraries that have no public equivalent.
ALLOWED_PRIVATE = {
    "_dummy",  # pyspark.ml.param.Params: how every estimator of Spark declares a parameter
    "_resetUid",  # pyspark.ml.util.Identifiable: a model has the name of the estimator that fitted it
    "_predictors",  # HistGradientBoostingClassifier: the trees have no public access
    "_baseline_prediction",  # and neither has the value they start from
    "_preprocessor",  # nor the categories that they know
}


def package_of(module: str) -> str:
    """
    >>> package_of("selfpaced.pools.keys"), package_of("selfpaced")
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


def is_private(name: str) -> bool:
    """
    >>> [is_private(name) for name in ("_means", "__init__", "means", "_")]
    [True, False, False, False]
    """
    return name.startswith("_") and not name.startswith("__") and len(name) > 1


def own_private_names(tree: ast.AST) -> Iterator[str]:
    """Private names that a module defines: functions, classes, variables, attributes of `self`, fields, parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def used_private_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Private names of other objects than `self` and `cls`, and private names that are imported, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            is_super = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
            if not (is_own or is_super):
                yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.name, node.lineno) for alias in node.names if is_private(alias.name))


def parameters(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, int]]:
    """Every function with the number of its parameters, without `self` and `cls`.

    >>> [n for _, n in parameters(ast.parse("def f(self, a, /, b, *rest, c, **more): ..."))]
    [5]
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            n_named = sum(one.arg not in ("self", "cls") for one in named)
            yield node, n_named + (given.vararg is not None) + (given.kwarg is not None)


def complaints(package: Path) -> Iterator[str]:
    """One line for every import that goes up or sideways, and for every private name of another package."""
    modules: dict[Path, tuple[str, ast.Module]] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        name = "selfpaced" if parts == ("__init__",) else parts[0]
        if name in LAYER_OF:
            modules[path] = name, ast.parse(path.read_text())
        else:
            yield f"{path}: the package {name!r} has no layer; give it one in {Path(__file__).name}"
    private = {name: set(ALLOWED_PRIVATE) for name, _ in modules.values()}
    for name, tree in modules.values():
        private[name].update(own_private_names(tree))
    for path, (name, tree) in modules.items():
        yield from (f"{path}: {complaint}" for complaint in wrong_imports(name, tree))
        for used, line in used_private_names(tree):
            if used not in private[name]:
                yield f"{path}:{line}: {used} is a private name of another package"
        for function, n_parameters in parameters(tree):
            is_free = name in ESTIMATORS and function.name == "__init__"
            if n_parameters > MOST_PARAMETERS and not is_free:
                yield f"{path}:{function.lineno}: {function.name} has {n_parameters} parameters; make a record of some"


def wrong_imports(package: str, tree: ast.Module) -> Iterator[str]:
    for module, late in imports(tree):
        outside = module.partition(".")[0]
        if outside == "selfpaced":
            other = package_of(module)
            if late and (package, other) in LATE:
                continue
            if other != package and LAYER_OF.get(other, len(LAYERS)) >= LAYER_OF[package]:
                yield f"{package} must not use {other} ({module})"
        elif package == "algorithms" and outside not in ALGORITHMS_USE | set(sys.stdlib_module_names):
            yield f"algorithms use only numpy, but here {module}"


def main() -> int:
    package = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "selfpaced")
    found = list(complaints(package))
    kept = f"no private names of others, and functions of at most {MOST_PARAMETERS} parameters."
    print("\n".join(found) or f"Every package uses only lower layers, {kept}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
