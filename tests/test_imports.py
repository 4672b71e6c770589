"""What an import loads: sources, clusters, pages and commands are loaded when they are used."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST_MODULES = 60
ESTIMATORS = ["SelfPacedEnsembleClassifier", "UnderBaggingClassifier", "BalanceCascadeClassifier"]
PACKAGE = "import selfpaced"
STATEMENTS = [PACKAGE, *(f"from selfpaced import {name}" for name in ESTIMATORS)]
# Each import happens in a fork of its own. The packages of others are loaded before, once.
PROGRAM = """
import json, os, sys
import sklearn.ensemble, sklearn.linear_model

for statement in json.loads(sys.argv[1]):
    if os.fork() == 0:
        exec(statement)
        loaded = [name for name in sys.modules if name.split(".")[0] == "selfpaced"]
        print(json.dumps([statement, loaded]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded_by():
    """The modules of this package that each statement loads."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(STATEMENTS)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(map(json.loads, said.splitlines()))


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_loads_few_modules(name, loaded_by):
    loaded = loaded_by[f"from selfpaced import {name}"]
    assert len(loaded) <= MOST_MODULES
    others = ("clusters", "cli", "report", "trees", "thresholds", "tables.files", "tables.sources", "tables.text")
    assert not [each for each in loaded if each.removeprefix("selfpaced.").startswith(others)]


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_the_package_alone_loads_nothing(loaded_by):
    assert loaded_by[PACKAGE] == ["selfpaced"]


@pytest.mark.parametrize(("given", "used"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "active"}, "active")])
def test_a_command_asks_waiting_threads_to_sleep_before_openmp_is_loaded(given, used):
    program = """
import os, sys
from selfpaced.cli import main

assert not {"sklearn", "lightgbm"} & set(sys.modules)
main(["inspect", "missing.skops"])
print(os.environ["OMP_WAIT_POLICY"], "sklearn" in sys.modules)
"""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert said.split() == [used, "True"]


def test_tests_are_collected_on_windows_too():
    """Modules that only Unix has are imported where they are used."""
    root, of_unix = Path(__file__).parents[1], {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
    for folder in ("src", "tests", "tools", "benchmarks/contest"):
        for path in (root / folder).rglob("*.py"):
            found = [each for each in ast.parse(path.read_text()).body if isinstance(each, ast.Import | ast.ImportFrom)]
            names = {name.name for each in found for name in each.names}
            assert not (names | {getattr(each, "module", None) for each in found}) & of_unix, path
