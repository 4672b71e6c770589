"""The documentation's code runs, and its links lead somewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import selfpaced
from tools.check_docstrings import public_names

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


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_on_the_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path, request):
    monkeypatch.chdir(tmp_path)
    if "credit_fraud.parquet" in "".join(re.findall(r"read_parquet\((.*?)\)", page.read_text())):
        thinned(pd.read_parquet(request.getfixturevalue("credit_fraud_path"))).to_parquet("credit_fraud.parquet")
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, name(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_on_the_page_lead_to_files_that_are_there(page):
    links = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


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


def test_the_api_reference_lists_every_public_name():
    public = {f"selfpaced.{name}" for name in selfpaced.__all__ if name != "__version__"}
    assert public - set(public_names()) == set()
