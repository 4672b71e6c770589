"""The documentation's code runs, and its links lead somewhere."""

import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import selfpaced
from selfpaced.cli import main
from tests.few_recipes import FEW_RECIPES, use_recipes
from tools import architecture, draw_history
from tools.check_docstrings import NAMED, found_by, public_names
from tools.check_layers import LAYERS

REPOSITORY = Path(__file__).parents[1]
PAGES = sorted(
    page for page in [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")] if ".venv" not in page.parts
)
WITH_CODE = [REPOSITORY / "README.md", REPOSITORY / "docs" / "how-to.md", *sorted(REPOSITORY.glob("docs/guide/*.md"))]


def name(page):
    return str(page.relative_to(REPOSITORY))


def thinned(payments):
    """Every second fraud and every twentieth of the other payments, in the order of time."""
    fraud = payments["Class"] == 1
    return payments[np.where(fraud, fraud.cumsum() % 2 == 0, np.arange(len(payments)) % 20 == 0)]


def run_here(command, *, run=subprocess.run, **how):
    """A command of a page in this process: a program of its own would import everything again, for seconds.

    Libraries start other programs, such as uname.
    """
    if list(command[:3]) != [sys.executable, "-m", "selfpaced"]:
        return run(command, **how)
    assert how["check"]
    said = StringIO()
    with redirect_stdout(said):
        assert main(command[3:]) == 0
    return subprocess.CompletedProcess(command, 0, said.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_on_the_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path, request):
    monkeypatch.chdir(tmp_path)
    if "credit_fraud.parquet" in "".join(re.findall(r"read_parquet\((.*?)\)", page.read_text())):
        thinned(pd.read_parquet(request.getfixturevalue("credit_fraud_path"))).to_parquet("credit_fraud.parquet")
    if page.name == "README.md":  # tests/cli/test_recipes.py has the default recipes, which take a minute
        use_recipes(monkeypatch, FEW_RECIPES)
    monkeypatch.setattr(subprocess, "run", run_here)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, name(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_on_the_page_lead_to_files_that_are_there(page):
    links = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_picture_of_a_history_shows_the_features_that_the_library_computes():
    assert draw_history.FILE.read_text() == "\n".join(draw_history.lines()) + "\n"


@pytest.mark.parametrize("page", sorted(REPOSITORY.glob("docs/decisions/0*.md")), ids=name)
def test_the_modules_that_a_record_names_are_there(page):
    named = re.findall(r"`([\w./]+\.py|[a-z_]+/(?:[a-z_]+/)*)`", page.read_text())
    folders = (REPOSITORY / "src" / "selfpaced", REPOSITORY)
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


def recorded_lines(name):
    recorded = json.loads((REPOSITORY / "benchmarks" / "results" / f"{name}.json").read_text())["lines"]
    return {line for lines in recorded.values() for line in lines}


def blocks_of(name, kind):
    page = (REPOSITORY / "docs" / "guide" / f"{name}.md").read_text()
    return "".join(re.findall(rf"^```{kind}\n(.*?)^```", page, re.M | re.S))


@pytest.mark.parametrize(("page", "script"), [("service", "service"), ("thresholds", "decisions")])
def test_the_figures_of_the_worked_example_are_those_of_its_script(page, script):
    shown = blocks_of(page, "text").splitlines()
    assert len(shown) >= 40
    assert set(filter(None, shown)) <= recorded_lines(script)


def test_the_commands_of_the_worked_example_are_those_of_its_script():
    commands = re.sub(r"\s*\\\n\s*", " ", blocks_of("service", "sh")).splitlines()
    ran = [command for command in commands if "--group" not in command]  # Credit Fraud has no cards
    assert len(ran) == len(commands) - 1 == 8
    assert {f"$ {command}" for command in ran} <= recorded_lines("service")


PUBLIC_MODULES = [
    "selfpaced",
    "selfpaced.backtesting",
    "selfpaced.baselines",
    "selfpaced.calibration",
    "selfpaced.callbacks",
    "selfpaced.clusters.dask",
    "selfpaced.clusters.spark",
    "selfpaced.datasets",
    "selfpaced.exceptions",
    "selfpaced.explaining",
    "selfpaced.history",
    "selfpaced.metrics",
    "selfpaced.monitoring",
    "selfpaced.onnx_export",
    "selfpaced.persistence",
    "selfpaced.reasons",
    "selfpaced.report",
    "selfpaced.thresholds",
]
LISTED_NAMES = [*public_names(), *public_names(NAMED)]


def exported(module):
    """The names in the `__all__` of a module, without those that are listed as names of `selfpaced` itself."""
    names = set(import_module(module).__all__) - {"__version__"}
    return {f"{module}.{name}" for name in names if module == "selfpaced" or name not in selfpaced.__all__}


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_the_api_reference_lists_exactly_the_public_names_of_the_module(module):
    if module == "selfpaced.clusters.spark":
        pytest.importorskip("pyspark")
    listed = {name for name in LISTED_NAMES if name.rpartition(".")[0] == module}
    assert listed - exported(module) == set(), "on the page, but not in __all__"
    assert exported(module) - listed == set(), "in __all__, but not on the page"


def test_the_api_reference_lists_every_name_once():
    assert sorted(LISTED_NAMES) == sorted(set(LISTED_NAMES))


def test_the_api_reference_lists_names_of_public_modules_only():
    assert {name.rpartition(".")[0] for name in LISTED_NAMES} <= set(PUBLIC_MODULES)


@pytest.mark.parametrize("module", PUBLIC_MODULES[1:])
def test_a_name_of_the_top_level_is_the_same_in_its_own_module(module):
    if module == "selfpaced.clusters.spark":
        pytest.importorskip("pyspark")
    own = import_module(module)
    shared = set(own.__all__) & set(selfpaced.__all__)
    assert [name for name in shared if getattr(own, name) is not getattr(selfpaced, name)] == []


@pytest.mark.parametrize("name", LISTED_NAMES)
def test_a_public_name_can_be_imported(name):
    if name.startswith("selfpaced.clusters.spark"):
        pytest.importorskip("pyspark")
    assert found_by(name) is not None


PACKAGE = REPOSITORY / "src" / "selfpaced"
ARCHITECTURE = architecture.PAGE.read_text("utf-8")


def test_the_tables_of_the_architecture_are_those_of_the_docstrings():
    assert architecture.rewritten(ARCHITECTURE, PACKAGE) == ARCHITECTURE, "run `make architecture`"


def test_the_tables_of_the_architecture_name_every_module_once():
    named = re.findall(r"^\| `([\w/]+\.py)` \| \S.* \|$", ARCHITECTURE, re.M)
    there = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    assert sorted(named) == sorted(there)


def test_the_layers_of_the_architecture_are_those_that_are_checked():
    rows = re.search(r"^\| layer \| packages \| idea \|\n\|---\|---\|---\|\n((?:\|.*\n)*)", ARCHITECTURE, re.M).group(1)
    named = [[name.rstrip("/") for name in re.findall(r"`(\w+/?)`", row.split("|")[2])] for row in rows.splitlines()]
    assert named == [[name for name in layer if name not in ("selfpaced", "__main__")] for layer in LAYERS]


def test_a_file_of_the_architecture_that_has_no_docstring_is_named(tmp_path):
    (tmp_path / "silent.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"no docstring: silent\.py"):
        architecture.tables(tmp_path)


def test_the_first_page_has_at_most_600_words():
    assert len((REPOSITORY / "README.md").read_text().split()) <= 600


def test_the_first_page_has_the_two_commands():
    assert {"make demo", "make test"} <= set(re.findall(r"make \w+", (REPOSITORY / "README.md").read_text()))
