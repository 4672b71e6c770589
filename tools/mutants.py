"""Change the code in one place at a time, and see whether a test fails. What survives, no test has noticed.

Usage: python tools/mutants.py [--minutes 60] [--jobs 2] [--only thresholds/costs.py] [--report]

Each module is changed in memory, in a fork of a process that has loaded numpy and the like, and only the tests run that
reach the changed line. If they pass, all tests of the module run. The findings are in `.mutants/`, one line each; the
same command goes on where it was stopped, and begins anew with a module that has changed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / "src" / "selfpaced"
FOUND = REPOSITORY / ".mutants"
READING_TEXT = [
    f"tests/tables/test_{name}.py"
    for name in ("csv", "dotted_dates", "json_lines", "mixed_files", "bad_files", "schema", "types_at_predict")
]
# The modules to change, by folder or name, and the tests that must notice.
TESTED_BY = {
    "backtesting": ["tests/backtesting", "tests/cli/test_backtest.py"],
    "calibration.py": ["tests/test_calibration.py", "tests/ensembles/test_calibration.py"],
    "monitoring": ["tests/monitoring", "tests/cli/test_monitor.py"],
    **dict.fromkeys(["tables/files/text.py", "tables/files/inference.py", "tables/times.py"], READING_TEXT),
    "thresholds": [
        "tests/thresholds",
        "tests/test_deciding.py",
        "tests/cli/test_deciding.py",
        "tests/cli/test_rules.py",
    ],
}
LOADED_BEFORE = ["distributed", "joblib", "lightgbm", "numpy", "pandas", "pyarrow.parquet", "pytest", "scipy.stats"]
LOADED_BEFORE += ["sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "sklearn.tree", "skops.io"]
# By the exit code of pytest. A change that makes a module fail when it is imported stops pytest before the first test.
OUTCOMES = {0: "survived", 1: "killed", 2: "killed", None: "too long"}
FORKING = threading.Lock()
OPPOSITES: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div},
    **{ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


class Mutator(ast.NodeTransformer):
    """Finds the places of a module that can be changed, and changes the one with a number.

    >>> tree = ast.parse("def f(a):\\n    return a < 1")
    >>> [line for line, _ in Mutator.places(tree)]
    [2, 2, 2]
    >>> ast.unparse(Mutator(1).visit(tree)).splitlines()[1].strip()
    'return a <= 1'
    """

    def __init__(self, number: int = -1) -> None:
        self.number = number
        self.found: list[tuple[int, str]] = []

    @classmethod
    def places(cls, tree: ast.AST) -> list[tuple[int, str]]:
        """The line and the change of every place."""
        finder = cls()
        finder.visit(tree)
        return finder.found

    def _change(self, node: Any, new: Any, what: str | None = None) -> Any:
        """The new node if this is the place; else the old one."""
        is_place = len(self.found) == self.number
        self.found.append((node.lineno, what or f"{ast.unparse(node)} -> {ast.unparse(new)}"))
        return ast.fix_missing_locations(ast.copy_location(new, node)) if is_place else node

    def _body(self, node: Any) -> Any:
        """Docstrings, annotations and decorators are left as they are."""
        if ast.get_docstring(node) is not None:
            node.body = [node.body[0], *self._visited(node.body[1:])]
        else:
            node.body = self._visited(node.body)
        if isinstance(node, ast.FunctionDef):
            node.args.defaults = self._visited(node.args.defaults)
            node.args.kw_defaults = [each and self.visit(each) for each in node.args.kw_defaults]
        return node

    def _visited(self, nodes: list[Any]) -> list[Any]:
        return [self.visit(node) for node in nodes]

    visit_Module = visit_ClassDef = visit_FunctionDef = _body  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return node
        changed = self._change(node, ast.Return(ast.Constant(None)), f"{ast.unparse(node)[:60]} -> return None")
        return self.generic_visit(node) if changed is node else changed

    def visit_Raise(self, node: ast.Raise) -> Any:
        return self._change(node, ast.Pass(), f"{ast.unparse(node)[:60]} -> pass")  # messages are left as they are

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not isinstance(node.value, ast.Call):
            return self.generic_visit(node)
        changed = self._change(node, ast.Pass(), f"{ast.unparse(node)[:60]} -> pass")
        return self.generic_visit(node) if changed is node else changed

    def visit_Compare(self, node: ast.Compare) -> Any:
        for place, operator in enumerate(node.ops):
            new = [*node.ops[:place], OPPOSITES[type(operator)](), *node.ops[place + 1 :]]
            changed = self._change(node, ast.Compare(node.left, new, node.comparators))
            if changed is not node:
                return changed
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        if type(node.op) not in OPPOSITES or _is_text(node.left):
            return self.generic_visit(node)
        changed = self._change(node, ast.BinOp(node.left, OPPOSITES[type(node.op)](), node.right))
        return self.generic_visit(node) if changed is node else changed

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        changed = self._change(node, ast.BoolOp(OPPOSITES[type(node.op)](), node.values))
        return self.generic_visit(node) if changed is node else changed

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        changed = self._change(node, node.operand)
        return self.generic_visit(node) if changed is node else changed

    def visit_If(self, node: Any) -> Any:
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            node.test = self._change(node.test, ast.UnaryOp(ast.Not(), node.test))
        return self.generic_visit(node)

    visit_IfExp = visit_While = visit_If  # noqa: N815

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bool):
            return self._change(node, ast.Constant(not node.value))
        if isinstance(node.value, int | float):
            return self._change(node, ast.Constant(node.value + 1))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


class Loader(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports one module as it has been changed, and every other as it is."""

    def __init__(self, name: str, path: Path, number: int) -> None:
        super().__init__(name, str(path))
        self.number = number

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(
            name, self, origin=self.path, is_package=self.path.endswith("__init__.py")
        )

    def get_code(self, fullname: str) -> Any:
        tree = Mutator(self.number).visit(ast.parse(Path(self.path).read_text()))
        return compile(tree, self.path, "exec")


class Reached:
    """A plugin of pytest: which tests reach which lines of a module. Imports and fixtures count for the first test."""

    def __init__(self, path: Path) -> None:
        import coverage

        self.path = str(path)
        self.coverage = coverage.Coverage(data_file=None, include=[self.path], config_file=False)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def by_line(self) -> dict[int, list[str]]:
        return self.coverage.get_data().contexts_by_lineno(self.path)


def pytest_of(tests: list[str], plugins: list[Any] | None = None) -> int:
    """The exit code of the tests, in this process. Pytest says nothing."""
    import pytest

    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], plugins=plugins))


def forked(work: Any) -> tuple[int, int]:
    """The process and the pipe of some work in a fork. It writes its result to the pipe, as JSON."""
    with FORKING:  # else a fork would hold the pipes of another, whose end would then not be seen
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            return process, reading
    code = 70
    try:
        os.setsid()  # what tests leave behind can be ended with them
        os.close(reading)
        with os.fdopen(writing, "w") as result:
            json.dump(work(), result)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def result_of(process: int, reading: int, seconds: float) -> Any:
    """The result of a fork; None if it took too long or died."""
    try:
        ready, _, _ = select.select([reading], [], [], seconds)
        text = os.fdopen(reading).read() if ready else ""
        return json.loads(text) if text else None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)


def reached(path: Path, tests: list[str]) -> Any:
    """The seconds that the tests of a module take, and the tests that reach each line; None if a test fails."""
    plugin, begin = Reached(path), time.monotonic()
    with plugin.coverage.collect():
        code = pytest_of(tests, [plugin])
    return None if code else {"seconds": time.monotonic() - begin, "lines": plugin.by_line()}


def code_with(path: Path, number: int, tests: list[str]) -> int:
    """The exit code of some tests with a change of a module."""
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    sys.meta_path.insert(0, Loader(name, path, number))
    return pytest_of(tests)


def examined(path: Path, tests: list[str], jobs: int, end: float) -> None:
    """Change a module in all places that are not examined yet, and note for each whether a test has failed."""
    text = path.read_text()
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    notes = FOUND / f"{'.'.join(path.relative_to(SOURCE).with_suffix('').parts)}-{key}.jsonl"
    lines = text.splitlines()
    places = Mutator.places(ast.parse(text))
    done = {json.loads(line)["number"] for line in notes.read_text().splitlines()} if notes.exists() else set()
    todo = [number for number in range(len(places)) if number not in done]
    if not todo or time.monotonic() > end:
        return
    random.Random(0).shuffle(todo)  # if the time is over, what was examined is a fair sample
    known = result_of(*forked(lambda: reached(path, tests)), 1200)
    if known is None:
        print(f"{path}: its tests fail without a change, or take too long; they are {' '.join(tests)}")
        return

    def one(number: int) -> None:
        if time.monotonic() > end:
            return
        line, change = places[number]
        near = [test for test in known["lines"].get(str(line), []) if test]
        at_import = "" in known["lines"].get(str(line), [""])
        outcome = "not reached"
        if near or at_import:
            most = 10 + 4 * known["seconds"]
            for chosen in [tests] if at_import else [near, tests]:
                code = result_of(*forked(partial(code_with, path, number, chosen)), most)
                outcome = OUTCOMES.get(code, "error")
                if outcome in ("killed", "too long"):
                    break
        note = {"number": number, "line": line, "change": change, "outcome": outcome, "code": lines[line - 1].strip()}
        with notes.open("a") as file:
            file.write(json.dumps(note) + "\n")

    with ThreadPool(jobs) as pool:
        pool.map(one, todo, chunksize=1)


def report() -> None:
    """Print for each module how many changes no test has noticed, and those changes."""
    for notes in sorted(FOUND.glob("*.jsonl")):
        rows = sorted(map(json.loads, notes.read_text().splitlines()), key=lambda row: (row["line"], row["number"]))
        left = [row for row in rows if row["outcome"] not in ("killed", "too long")]
        print(f"\n{notes.stem.rpartition('-')[0]}: {len(rows) - len(left)} of {len(rows)} changes were noticed")
        for row in left:
            print(f"  {row['line']}: {row['change']} ({row['outcome']})")


def modules(only: str | None) -> Iterator[tuple[Path, list[str]]]:
    for name, tests in TESTED_BY.items():
        place = SOURCE / name
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            if only is None or path.match(f"*{only}"):
                yield path, tests


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60, help="when to stop (default 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time (default: as many as cores)")
    parser.add_argument("--only", help="one module, such as thresholds/costs.py")
    parser.add_argument("--report", action="store_true", help="print what was found so far, and change nothing")
    options = parser.parse_args()
    if not options.report:
        FOUND.mkdir(exist_ok=True)
        os.chdir(REPOSITORY)
        sys.path.insert(0, str(SOURCE.parent))
        os.environ.update(OMP_NUM_THREADS="1", SCIPY_ARRAY_API="1", NUMBA_DISABLE_JIT="1")
        for name in LOADED_BEFORE:
            importlib.import_module(name)
        end = time.monotonic() + 60 * options.minutes
        for path, tests in modules(options.only):
            examined(path, [test for test in tests if Path(test).exists()], options.jobs, end)
    report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
