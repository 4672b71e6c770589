"""Change the code in one place at a time, and see whether a test fails. What survives, no test has noticed.

Usage: python tools/mutants.py [--minutes 60] [--jobs 2] [--only thresholds/costs.py] [--tests PATH ...] [--report]

A process collects the tests of a module, and forks for every change: the fork exchanges the code of one function, and
runs the tests that reach its line; if they pass, all tests of their files. What is computed when the module is imported
is changed in a fork that has not imported it. The findings are in `.mutants/`, one line each; the same command goes on
where it was stopped, and begins anew with a module that has changed.
"""

from __future__ import annotations

import argparse
import ast
import gc
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / "src" / "selfpaced"
FOUND = REPOSITORY / ".mutants"
READING_TEXT = [
    *(f"tests/tables/test_{name}.py" for name in ("bad_files", "csv", "csv_lines", "dotted_dates", "json_lines")),
    *(f"tests/tables/test_{name}.py" for name in ("inference", "mixed_files", "schema", "types_at_predict")),
    "tests/cli/test_types.py",
]
# The modules to change, by folder or name, and the tests that must notice.
TESTED_BY = {
    "backtesting": ["tests/backtesting", "tests/cli/test_backtest.py"],
    "calibration.py": ["tests/test_calibration.py", "tests/ensembles/test_calibration.py"],
    "monitoring": ["tests/monitoring", "tests/cli/test_monitor.py"],
    "tables/files/inference.py": READING_TEXT,
    "tables/files/text.py": READING_TEXT,
    "tables/times.py": [*READING_TEXT, "tests/tables/test_times.py", "tests/cli/test_times.py", "tests/backtesting"],
    "thresholds": [
        "tests/thresholds",
        "tests/test_deciding.py",
        "tests/cli/test_deciding.py",
        "tests/cli/test_rules.py",
    ],
}
LOADED_BEFORE = ["distributed", "joblib", "lightgbm", "numpy", "pandas", "pyarrow.parquet", "pytest", "scipy.stats"]
LOADED_BEFORE += ["sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "sklearn.tree", "skops.io"]
FORKING = threading.Lock()
OPPOSITES: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div},
    **{ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


@dataclass(frozen=True)
class Change:
    """A place of a module: its line, what is changed, and whether that is inside a function."""

    line: int
    what: str
    is_in_function: bool


class Mutator(ast.NodeTransformer):
    """Finds the places of a module that can be changed, and changes the one with a number.

    >>> tree = ast.parse("def f(a):\\n    return a < 1")
    >>> [place.line for place in Mutator.places(tree)]
    [2, 2, 2]
    >>> ast.unparse(Mutator(1).visit(tree)).splitlines()[1].strip()
    'return a <= 1'
    """

    def __init__(self, number: int = -1) -> None:
        self.number = number
        self.found: list[Change] = []
        self._depth = 0

    @classmethod
    def places(cls, tree: ast.AST) -> list[Change]:
        finder = cls()
        finder.visit(tree)
        return finder.found

    def _change(self, node: Any, new: Any, what: str | None = None) -> Any:
        """The new node if this is the place; else the old one."""
        is_place = len(self.found) == self.number
        what = what or f"{ast.unparse(node)} -> {ast.unparse(new)}"
        self.found.append(Change(node.lineno, what, self._depth > 0))
        return ast.fix_missing_locations(ast.copy_location(new, node)) if is_place else node

    def _body(self, node: Any) -> Any:
        """Docstrings, annotations and decorators are left as they are."""
        is_function = isinstance(node, ast.FunctionDef)
        if is_function:
            node.args.defaults = self._visited(node.args.defaults)
            node.args.kw_defaults = [each and self.visit(each) for each in node.args.kw_defaults]
        self._depth += is_function
        n_kept = int(ast.get_docstring(node) is not None)
        node.body = [*node.body[:n_kept], *self._visited(node.body[n_kept:])]
        self._depth -= is_function
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


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """The code of all functions in a code."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes_of(each)


def functions_of(path: Path) -> list[FunctionType]:
    """The functions and methods of an imported module, decorated or not."""
    functions = (each for each in gc.get_objects() if isinstance(each, FunctionType))
    return [each for each in functions if each.__code__.co_filename == str(path)]


def exchange(functions: Sequence[FunctionType], path: Path, number: int) -> None:
    """Give the functions of a module the code that they have after a change."""
    tree = Mutator(number).visit(ast.parse(path.read_text()))
    codes = {(each.co_qualname, each.co_firstlineno): each for each in codes_of(compile(tree, str(path), "exec"))}
    for function in functions:
        # Methods that a dataclass writes itself have no code in the file.
        place = function.__code__.co_qualname, function.__code__.co_firstlineno
        function.__code__ = codes.get(place, function.__code__)


class Collected:
    """A plugin of pytest that does something else with the tests of a module than to run them once."""

    def __init__(self, path: Path, work: Callable[[Collected], None]) -> None:
        self.path, self.work = path, work
        self.items: list[Any] = []
        self.functions: list[FunctionType] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        self.session, self.items, self.functions = session, session.items, functions_of(self.path)
        gc.freeze()  # the forks share the memory of what is loaded
        self.work(self)
        return True

    def run(self, numbers: Sequence[int], before: Callable[[int], None] = lambda number: None) -> bool:
        """Whether some tests pass, up to the first that does not."""
        chosen = [self.items[number] for number in numbers]
        for number, item, following in zip(numbers, chosen, [*chosen[1:], None], strict=True):
            before(number)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.session.testsfailed:
                return False
        return True

    def reached(self) -> Any:
        """The processor time of each test, and the numbers of those that reach a line; None if one fails."""
        import coverage

        measured = coverage.Coverage(data_file=None, include=[str(self.path)], config_file=False)
        begins = []

        def begin(number: int) -> None:
            begins.append(time.process_time())
            measured.switch_context(str(number))

        with measured.collect():
            passes = self.run(range(len(self.items)), begin)
        if not passes:
            return None
        by_line = measured.get_data().contexts_by_lineno(str(self.path)).items()
        lines = {line: sorted(int(number) for number in numbers if number) for line, numbers in by_line}
        ends = [*begins[1:], time.process_time()]
        return {"seconds": [end - begin for begin, end in zip(begins, ends, strict=True)], "lines": lines}

    def outcome(self, number: int, chosen: Sequence[int], seconds: Sequence[float]) -> str:
        """What the tests say of a change: those that reach it, and others in their files, which share fixtures.

        The files with the quickest tests come first. A change may make a loop endless, so the time is limited.
        """
        import resource  # which Windows lacks

        exchange(self.functions, self.path, number)
        costs: dict[Path, float] = dict.fromkeys((self.items[each].path for each in chosen), 0.0)
        beside = [each for each, item in enumerate(self.items) if item.path in costs]
        for each in beside:
            costs[self.items[each].path] += seconds[each]
        limit = int(time.process_time() + 10 + 3 * sum(costs.values()))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        near = frozenset(chosen)
        order = sorted(beside, key=lambda each: (costs[self.items[each].path], each not in near, each))
        return "survived" if self.run(order) else "killed"


def silenced(work: Callable[[], Any]) -> Callable[[], Any]:
    """The work without what it prints."""

    def silent() -> Any:
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        return work()

    return silent


def forked(work: Callable[[], Any], seconds: float) -> Any:
    """The result of some work in a fork, which can be written as JSON; None if it takes too long or dies."""
    with FORKING:  # else a fork would hold the pipes of another, whose end would then not be seen
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
    if not process:
        try:
            os.setsid()  # what tests leave behind can be ended with them
            os.close(reading)
            with os.fdopen(writing, "w") as result:
                json.dump(work(), result)
        finally:
            os._exit(0)
    try:
        ready, _, _ = select.select([reading], [], [], seconds)
        with os.fdopen(reading) as result:
            text = result.read() if ready else ""
        return json.loads(text) if text else None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)


def pytest_of(tests: Sequence[str], plugins: Sequence[Any] = ()) -> int:
    import pytest

    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], plugins=list(plugins)))


def imported_anew(path: Path, number: int, tests: Sequence[str]) -> str:
    """What the tests say of a change that counts when the module is imported."""
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    sys.meta_path.insert(0, Loader(name, path, number))
    # A change that makes the import fail stops pytest before the first test, or when it reads conftest.py.
    return {0: "survived", 1: "killed", 2: "killed", 4: "killed"}.get(pytest_of(tests), "error")


@dataclass
class Module:
    """A module, the tests that must notice its changes, and what has been found."""

    path: Path
    tests: Sequence[str]
    jobs: int
    end: float

    def __post_init__(self) -> None:
        text = self.path.read_text()
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.notes = FOUND / f"{'.'.join(self.path.relative_to(SOURCE).with_suffix('').parts)}-{key}.jsonl"
        self.places = Mutator.places(ast.parse(text))
        done = (
            {json.loads(line)["number"] for line in self.notes.read_text().splitlines()} if self.notes.exists() else ()
        )
        self.todo = [number for number in range(len(self.places)) if number not in done]
        random.Random(0).shuffle(self.todo)  # if the time is over, what was examined is a fair sample

    def examine(self) -> None:
        """Make all changes that are not examined yet."""
        inside = [number for number in self.todo if self.places[number].is_in_function]
        if inside:
            plugin = Collected(self.path, lambda tests: self._examine_functions(tests, inside))
            forked(silenced(lambda: pytest_of(self.tests, [plugin])), 60 + self.end - time.monotonic())
        anew = [number for number in self.todo if number not in inside]
        self._each(anew, lambda number: forked(silenced(partial(imported_anew, self.path, number, self.tests)), 600))

    def _examine_functions(self, tests: Collected, numbers: Sequence[int]) -> None:
        known = forked(tests.reached, 3600)
        if known is None:
            self._note(-1, "the tests fail without a change, or take too long")
            return

        def outcome(number: int) -> str | None:
            near = known["lines"].get(str(self.places[number].line))
            return forked(partial(tests.outcome, number, near, known["seconds"]), 1800) if near else "not reached"

        self._each(numbers, outcome)

    def _each(self, numbers: Sequence[int], outcome: Callable[[int], str | None]) -> None:
        def one(number: int) -> None:
            if time.monotonic() < self.end:
                self._note(number, outcome(number) or "too long")

        with ThreadPool(self.jobs) as pool:
            pool.map(one, numbers, chunksize=1)

    def _note(self, number: int, outcome: str) -> None:
        place = self.places[number] if number >= 0 else Change(0, "none", False)
        with self.notes.open("a") as file:
            note = {"number": number, "line": place.line, "change": place.what, "outcome": outcome}
            file.write(json.dumps(note) + "\n")


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
    parser.add_argument(
        "--tests", nargs="+", help="only these tests, which are quicker than all that are about a module"
    )
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
            Module(path, options.tests or tests, options.jobs, end).examine()
    report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
