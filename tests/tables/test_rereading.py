"""Parquet files of our own hold the same values as any others, in the encodings that are read fastest."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from selfpaced.tables.files.file import writer_for_rereading


@pytest.fixture
def table():
    numbers = np.array([1.5, np.nan, np.inf, -np.inf, -0.0, 5e-324] * 50)
    return pa.table(
        {
            "a.b": pa.array(numbers),
            "single": pa.array(numbers.astype(np.float32)),
            "half": pa.array(numbers.astype(np.float16)),
            "gaps": pa.array([None, 0.1, 0.2] * 100),
            "count": pa.array(range(300)),
            "city": pa.array(["Bern", None, "Uri"] * 100),
        }
    )


@pytest.fixture
def path(table, tmp_path):
    with writer_for_rereading(tmp_path / "rows.parquet", table.schema) as writer:
        writer.write_table(table)
    return tmp_path / "rows.parquet"


def test_every_value_comes_back_bit_for_bit(path, table):
    again = pq.read_table(path)
    assert again.schema == table.schema
    for name in table.column_names:
        written, read = (each[name].combine_chunks() for each in (table, again))
        assert written.is_valid().equals(read.is_valid())
        assert [repr(value) for value in written.to_pylist()] == [repr(value) for value in read.to_pylist()]


def test_floats_are_split_by_bytes_and_have_no_dictionary(path):
    columns = [pq.read_metadata(path).row_group(0).column(i) for i in range(6)]
    split = {column.path_in_schema for column in columns if "BYTE_STREAM_SPLIT" in column.encodings}
    assert split == {"a.b", "single", "gaps"}
    assert {column.path_in_schema for column in columns if column.has_dictionary_page} == {"half", "count", "city"}
    assert {column.compression for column in columns} == {"LZ4"}
