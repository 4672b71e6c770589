"""Groups of rows as hashes: the same for a group however and wherever it is written."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from selfpaced.exceptions import TableError
from selfpaced.tables import column_groups, group_hashes
from selfpaced.tables.sources import open_table

WRITTEN = {
    "int": [7, 40, 7],
    "int8": np.array([7, 40, 7], dtype=np.int8),
    "float": [7.0, 40.0, 7.0],
    "text": ["7", "40", "7"],
    "object": np.array([7, "40", 7.0], dtype=object),
    "decimal": [Decimal("7"), Decimal("40.0"), Decimal(7)],
    "categories": pd.Categorical(["7", "40", "7"], categories=["x", "40", "7"]),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_number_is_one_group_however_it_is_written(written):
    expected = group_hashes(np.array([7, 40, 7])).tolist()
    assert group_hashes(WRITTEN[written]).tolist() == expected
    if written != "object":
        assert column_groups(pa.array(WRITTEN[written]), "groups").tolist() == expected


@pytest.mark.parametrize("card", [4000001234567899, 10**18 + 7, 2**63 - 1, -5])
def test_long_card_numbers_are_the_same_group_as_numbers_and_as_text(card):
    assert group_hashes([card]) == group_hashes([str(card)]) == column_groups(pa.array([card]), "groups")


def test_other_texts_are_other_groups():
    texts = ["7", "07", "7.0", "7 ", "", "card 7", "0"]
    assert np.unique(group_hashes(texts)).size == len(texts)


def test_moments_are_the_same_group_in_memory_and_in_arrow():
    days = [datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1, 12)]
    expected = column_groups(pa.array(days), "groups").tolist()
    assert group_hashes(np.array(days, dtype="datetime64[ns]")).tolist() == expected
    assert group_hashes(np.array(days, dtype=object)).tolist() == expected


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_row_without_a_group_is_refused(missing):
    with pytest.raises(TableError, match="groups has no value in 1 of 2 rows"):
        group_hashes(np.array(["a", missing], dtype=object))


def test_a_row_without_a_group_is_refused_in_files_even_if_it_is_not_drawn(tmp_path):
    from selfpaced.ensembles import UnderBaggingClassifier

    rows = pd.DataFrame({"a": np.arange(500.0), "card": ["x"] * 499 + [None], "label": np.arange(500) < 5})
    rows.to_parquet(tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet", target="label", group_column="card")
    with pytest.raises(TableError, match=r"The group column 'card' of .*rows.parquet has no value in 1 of 500 rows"):
        UnderBaggingClassifier(n_estimators=1, random_state=0).fit_table(table)
