"""The way to the real data and to the paper's text, which are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def must_be_there(path: Path, how: str) -> Path:
    """The path; where it is absent the test is skipped with that reason, or fails in CI."""
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"In CI {path.name} must be in {path.parent.name}, but it is not.")
        pytest.skip(f"{path.name} is not here; {how}")
    return path


@pytest.fixture(scope="session")
def kddcup_path():
    folder = Path(os.environ.get("SELFPACED_DATA", REPOSITORY.parent / "shared" / "data"))
    return must_be_there(folder / "kddcup99_10_percent.parquet", "set SELFPACED_DATA to the folder that holds it")


@pytest.fixture(scope="session")
def latex():
    """The paper's LaTeX."""
    path = REPOSITORY.parent / "shared" / "paper" / "self-paced-ensemble.tex"
    return must_be_there(path, "put the paper's LaTeX into shared/paper beside the repository").read_text("utf-8")
