"""What different files say about the package agrees: versions, requirements, supported Pythons."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}


def bounds(requirements):
    """The lower bounds of requirements, by package; extras of a package and other bounds are not compared."""
    found = (re.match(r"([\w.-]+)(?:\[[^]]*\])? ?>=([\d.]+)", each) for each in requirements)
    return {each[1]: each[2] for each in found if each}


def with_own_extras(name):
    """The requirements of an extra, with those of the extras that it names."""
    for requirement in PROJECT["optional-dependencies"][name]:
        if requirement.startswith("selfpaced["):
            for other in requirement[len("selfpaced[") : -1].split(","):
                yield from with_own_extras(other)
        else:
            yield requirement


def test_the_conda_recipe_has_the_version_of_the_package():
    assert RECIPE["context"]["version"] == PROJECT["version"]


def test_the_citation_has_the_version_of_the_package():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == PROJECT["version"]


def test_the_conda_recipe_requires_what_the_package_requires():
    run = [each for each in RECIPE["requirements"]["run"] if not each.startswith("python ")]
    assert bounds(run) == bounds(PROJECT["dependencies"])
    assert len(run) == len(PROJECT["dependencies"])
    assert PROJECT["requires-python"] == f">={RECIPE['context']['python_min']}"


def test_the_conda_recipe_constrains_what_the_commands_require():
    constraints = RECIPE["requirements"]["run_constraints"]
    assert bounds(constraints) == bounds(with_own_extras("cli"))
    tested = RECIPE["tests"][1]["requirements"]["run"]
    assert sorted(tested) == sorted(bounds(constraints))


def test_an_extra_and_another_that_names_the_same_package_have_one_lower_bound():
    oldest: dict[str, set[str]] = {}
    for extra in PROJECT["optional-dependencies"]:
        for package, version in bounds(with_own_extras(extra)).items():
            oldest.setdefault(package, set()).add(version)
    assert {package: versions for package, versions in oldest.items() if len(versions) > 1} == {}


def test_every_python_that_is_declared_is_tested_by_the_workflow():
    declared = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", each)}
    jobs = WORKFLOWS["tests"]["jobs"]
    newest = [step["with"]["python-version"] for step in jobs["newest"]["steps"] if "with" in step]
    assert declared == {*jobs["fast"]["strategy"]["matrix"]["python"], *newest}


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    may = [
        (name, job)
        for name, workflow in WORKFLOWS.items()
        for job, settings in workflow["jobs"].items()
        if "id-token" in {**workflow.get("permissions", {}), **settings.get("permissions", {})}
    ]
    assert may == [("publish", "publish")]
