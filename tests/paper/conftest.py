"""The way to the real data and to the paper's text, which are not part of the repository."""

from __future__ import annotations

import pytest

from tests.requirements import BESIDE_THE_REPOSITORY, data_file, required_file


@pytest.fixture(scope="session")
def kddcup_path():
    return data_file("kddcup99_10_percent.parquet")


@pytest.fixture(scope="session")
def latex():
    """The paper's LaTeX."""
    path = BESIDE_THE_REPOSITORY / "paper" / "self-paced-ensemble.tex"
    return required_file(path, "put the paper's LaTeX into shared/paper beside the repository").read_text("utf-8")
