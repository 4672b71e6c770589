"""What tests of several kinds of tables compare with."""

import pytest

from selfpaced.storage import remote
from tests.contracts.table_exam import ROWS
from tests.tables.three_trees import three_trees


@pytest.fixture
def short_pauses(monkeypatch):
    """A server that does not answer is asked again soon, and not for eight seconds."""
    monkeypatch.setattr(remote, "PAUSES", (0.01, 0.02))


@pytest.fixture(scope="session")
def in_memory():
    """The model of the rows that all tables of these tests hold."""
    return three_trees().fit(ROWS[["a", "b"]], ROWS["label"])
