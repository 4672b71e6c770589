"""One exam for every kind of table in memory."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from selfpaced.tables import InMemoryTable, float_array, float_columns, is_frame, kind_of, stack

NUMBERS = np.arange(24, dtype=np.float64).reshape(8, 3)
TABLES = {
    "array": NUMBERS,
    "sparse": sparse.csr_array(NUMBERS),
    "pandas": pd.DataFrame(NUMBERS, columns=list("abc"), index=np.arange(8)[::-1]),
    "polars": pl.DataFrame(NUMBERS, schema=list("abc")),
    "pyarrow": pa.table(dict(zip("abc", NUMBERS.T, strict=True))),
}


def as_array(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


@pytest.fixture(params=TABLES)
def features(request):
    return TABLES[request.param]


def test_a_span_holds_consecutive_rows(features):
    np.testing.assert_array_equal(as_array(InMemoryTable(features).span(2, 5)), NUMBERS[2:5])


def test_rows_are_taken_by_position(features):
    positions = np.array([6, 0, 3], dtype=np.uint32)
    np.testing.assert_array_equal(as_array(InMemoryTable(features).take(positions)), NUMBERS[[6, 0, 3]])


def test_metadata_goes_with_its_rows(features):
    weights = np.linspace(0, 1, 8)
    rows = InMemoryTable(features, {"sample_weight": weights}).rows(np.array([1, 4], dtype=np.uint32))
    assert rows.metadata["sample_weight"].tolist() == weights[[1, 4]].tolist()
    assert rows.ids.tolist() == [1, 4]


def test_blocks_are_stacked_in_order_with_their_metadata(features):
    table = InMemoryTable(features, {"sample_weight": np.arange(8)})
    stacked = stack([table.rows(np.array(ids, dtype=np.uint32)) for ids in ([5, 7], [0], [2, 3])])
    np.testing.assert_array_equal(as_array(stacked.features), NUMBERS[[5, 7, 0, 2, 3]])
    assert stacked.metadata["sample_weight"].tolist() == [5, 7, 0, 2, 3]
    assert len(stacked) == 5


def test_the_number_of_rows_is_known(features):
    assert InMemoryTable(features).n_rows == 8


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_frames_are_recognised_and_their_float_columns_named(name):
    assert is_frame(TABLES[name])
    assert [column for column, _ in float_columns(TABLES[name])] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["array", "sparse"])
def test_arrays_and_matrices_are_no_frames(name):
    assert not is_frame(TABLES[name])


def test_a_subclass_of_a_frame_is_a_frame():
    class Frame(pd.DataFrame):
        pass

    assert is_frame(Frame(NUMBERS))


def test_a_memory_map_is_read_in_place(tmp_path):
    np.save(tmp_path / "rows.npy", NUMBERS)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.shares_memory(InMemoryTable(mapped).span(2, 5), mapped)


def test_a_sparse_matrix_too_large_for_32_bit_indices_gives_chunks_that_are_not():
    wide = sparse.csr_array(NUMBERS)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    table = InMemoryTable(wide)
    for rows in (table.span(2, 5), table.take(np.array([2, 3, 4], dtype=np.uint32))):
        assert rows.indices.dtype == rows.indptr.dtype == np.int32
        np.testing.assert_array_equal(rows.toarray(), NUMBERS[2:5])


def test_categories_of_a_pyarrow_table_are_the_same_in_every_chunk():
    chunks = [pa.array(values).dictionary_encode() for values in (["x", "y"], ["z", "x"])]
    table = InMemoryTable(pa.table({"kind": pa.chunked_array(chunks)}))
    dtypes = {str(table.span(start, start + 1)["kind"].cat.categories.tolist()) for start in range(4)}
    assert dtypes == {"['x', 'y', 'z']"}


def test_whole_numbers_with_missing_values_are_floats_in_every_chunk_of_a_pyarrow_table():
    table = InMemoryTable(pa.table({"n": pa.array([1, 2, None]), "b": pa.array([True, None, False])}))
    dtypes = {tuple(map(str, table.span(start, start + 1).dtypes)) for start in range(3)}
    assert dtypes == {("float64", "float64")}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_numbers_is_an_array_of_floats(kind):
    np.testing.assert_array_equal(float_array(TABLES[kind]), NUMBERS)


@pytest.mark.parametrize("to_kind", [lambda table: table.to_pandas(), pl.from_arrow, lambda table: table])
def test_missing_numbers_of_any_type_are_nan_in_an_array_of_floats(to_kind):
    gaps = pa.table({"n": pa.array([1, None], pa.int8()), "x": pa.array([None, 0.5], pa.float32())})
    np.testing.assert_array_equal(float_array(to_kind(gaps)), [[1, np.nan], [np.nan, 0.5]])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_dates_texts_and_chosen_columns_are_read_from_every_kind_of_frame(kind):
    table = pa.table(
        {
            "when": pa.array([datetime(1970, 1, 2), None], pa.timestamp("us")),
            "shop": pa.array(["web", None]),
            "amount": pa.array([1.5, None]),
        }
    )
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[kind]()
    kinds = kind_of(frame)
    when, shop = (kinds.column(frame, position) for position in (0, 1))
    assert (when.is_date, when.is_number, shop.is_date) == (True, False, False)
    np.testing.assert_array_equal(when.floats(), [86_400.0, np.nan])
    assert shop.texts() == ["web", None]
    assert kinds.names(kinds.select(frame, [2, 0])) == ["amount", "when"]


def test_categories_are_known_in_their_order_without_reading_values():
    frame = pd.DataFrame({"shop": pd.Categorical(["web"], categories=["web", "phone"]), "amount": [1.5]})
    for table in (frame, pa.Table.from_pandas(frame)):
        shop, amount = (kind_of(table).column(table, position) for position in (0, 1))
        assert list(shop.categories()) == ["web", "phone"]
        assert amount.categories is None


def columns_of_every_kind():
    """Columns with a missing value each, and what they hold: seconds or numbers, or text."""
    moments = [datetime(2024, 1, 1), pd.NaT, datetime(2024, 1, 2)]
    days = [date(2024, 1, 1), None, date(2024, 1, 2)]
    seconds = [1704067200.0, None, 1704153600.0]
    decimals = [Decimal("1.5"), None, Decimal(2)]
    return {
        "whole": (pd.Series([1, None, 2], dtype="Int64"), [1.0, None, 2.0]),
        "large": (pd.Series([2**60 + 1, None, 2], dtype="Int64"), [2.0**60, None, 2.0]),
        "flag": (pd.Series([True, None, False], dtype="boolean"), [1.0, None, 0.0]),
        "float": (pd.Series([1.5, np.nan, 2.0]), [1.5, None, 2.0]),
        "decimal": (pd.Series(decimals, dtype=pd.ArrowDtype(pa.decimal128(5, 2))), ["1.50", None, "2.00"]),
        "moment": (pd.Series(moments), seconds),
        "zoned": (pd.Series(moments).dt.tz_localize("UTC").dt.tz_convert("Europe/Paris"), seconds),
        "day": (pd.Series(days, dtype=pd.ArrowDtype(pa.date32())), seconds),
        "text": (pd.Series(["a", pd.NA, "b"], dtype="string"), ["a", None, "b"]),
        "object": (pd.Series(["a", None, "b"], dtype=object), ["a", None, "b"]),
        "category": (pd.Series(pd.Categorical(["a", None, "b"])), ["a", None, "b"]),
    }


@pytest.mark.parametrize("name", columns_of_every_kind())
@pytest.mark.parametrize("form", ["pandas", "pyarrow", "polars"])
def test_a_column_holds_the_same_values_and_misses_the_same_ones_in_every_frame(name, form):
    column, expected = columns_of_every_kind()[name]
    rows = pd.DataFrame({name: column})
    if form != "pandas":
        rows = pa.Table.from_pandas(rows, preserve_index=False)
        rows = rows if form == "pyarrow" else pl.from_arrow(rows)
    read = kind_of(rows).column(rows, 0)
    if read.is_number or read.is_date:
        expected = [None if value is None else float(value) for value in expected]
        assert [None if np.isnan(value) else value for value in read.floats()] == expected
    else:
        assert read.texts() == expected
