"""The documentation's code runs, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGES = sorted(
    page for page in [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")] if ".venv" not in page.parts
)
WITH_CODE = [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/guide/*.md"))]


def name(page):
    return str(page.relative_to(REPOSITORY))


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_on_the_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, name(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_on_the_page_lead_to_files_that_are_there(page):
    links = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
