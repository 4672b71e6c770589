"""What tests of several kinds of tables compare with."""

import pytest

from tests.contracts.table_exam import ROWS
from tests.tables.three_trees import three_trees


@pytest.fixture(scope="session")
def in_memory():
    """The model of the rows that all tables of these tests hold."""
    return three_trees().fit(ROWS[["a", "b"]], ROWS["label"])
