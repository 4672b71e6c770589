"""Arrow streams and other sources that give their rows once."""

from __future__ import annotations

import gc

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from selfpaced.exceptions import TableError
from selfpaced.storage import TemporaryFolder
from selfpaced.tables.sources import open_table
from tests.contracts.table_exam import COLUMNS, N_ROWS, ROWS
from tests.tables.three_trees import fitted, members_of

ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)


@pytest.mark.slow
def test_an_ibis_table_has_the_members_of_memory(in_memory):
    import ibis

    table = ibis.polars.connect({"shop": pl.from_arrow(ARROW)}).table("shop")
    assert members_of(fitted(open_table(table, **COLUMNS))) == members_of(in_memory)


@pytest.mark.slow
def test_a_dataset_of_hugging_face_has_the_members_of_memory(in_memory):
    import datasets

    rows = datasets.Dataset(datasets.table.InMemoryTable(ARROW))
    assert members_of(fitted(open_table(rows, **COLUMNS))) == members_of(in_memory)
    assert members_of(fitted(open_table(rows.to_iterable_dataset(), **COLUMNS))) == members_of(in_memory)


def test_only_needed_columns_are_written(tmp_path):
    table = open_table(ARROW.to_reader(), cache=tmp_path, target="label", columns=["a"], where=[("b", ">", 0.0)])
    (written,) = tmp_path.rglob("*.parquet")
    assert pq.read_schema(written).names == ["a", "b", "label"]
    assert table.labels().counts.sum() == (ROWS["b"] > 0).sum()


def test_the_index_of_pandas_is_no_feature():
    rows = pa.Table.from_pandas(ROWS.set_index("tx"))
    assert open_table(rows.to_reader(), target="label", exclude=["kind"]).schema.names[:2] == ["a", "b"]
    assert "tx" not in open_table(rows.to_reader(), target="label").schema.names


def test_an_excluded_column_that_is_not_there_is_refused():
    with pytest.raises(TableError, match="There is no column 'nope'"):
        open_table(ARROW.to_reader(), target="label", exclude=["nope", "tx"])


def test_the_written_file_goes_with_the_table(tmp_path):
    table = open_table(ARROW.to_reader(), cache=tmp_path, **COLUMNS)
    part = table.part(np.arange(N_ROWS) < 10)
    assert len(list(tmp_path.iterdir())) == 1
    del table
    gc.collect()
    assert len(part.features()) == 10
    del part
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path):
    orphan = tmp_path / "selfpaced-table-999999999-abc"
    orphan.mkdir()
    open_table(ARROW.to_reader(), cache=tmp_path, **COLUMNS)
    assert not orphan.exists()


def test_no_process_is_signalled_on_windows(tmp_path, monkeypatch):
    def kill(process, signal):
        raise AssertionError("0 is Ctrl-C there")

    (tmp_path / "selfpaced-table-999999999-abc").mkdir()
    monkeypatch.setattr("os.kill", kill)
    monkeypatch.setattr("sys.platform", "win32")
    TemporaryFolder(tmp_path)
    assert (tmp_path / "selfpaced-table-999999999-abc").is_dir()


def test_only_the_owner_reads_the_written_file(tmp_path):
    table = open_table(ARROW.to_reader(), cache=tmp_path, **COLUMNS)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert table.n_rows == N_ROWS


def test_a_checkpoint_is_resumed_on_the_same_rows_however_they_are_divided(tmp_path, in_memory):
    first = open_table(ARROW.to_reader(max_chunksize=30), **COLUMNS)
    fitted(first, checkpoint=tmp_path / "rounds")
    again = open_table(ARROW.to_reader(max_chunksize=77), **COLUMNS)
    assert again.identity() == first.identity()
    assert members_of(fitted(again, checkpoint=tmp_path / "rounds")) == members_of(in_memory)
    other = open_table(ARROW.slice(1).to_reader(), **COLUMNS)
    assert other.identity() != first.identity()


def test_many_rows_are_written_in_the_same_parts_however_they_come():
    """More than two parts of 2**17 rows."""
    rows = pa.concat_tables([ARROW.select(["a", "label"])] * 1000).combine_chunks()
    one, other = (open_table(rows.to_reader(max_chunksize=size), target="label") for size in (30_000, 200_000))
    assert one.n_rows == 1000 * N_ROWS > 2 * 2**17
    assert one.identity() == other.identity()


def test_a_stream_that_fails_is_one_error_and_leaves_nothing(tmp_path):
    def batches():
        yield from ARROW.slice(0, 10).to_batches()
        raise OSError("the line is dead")

    reader = pa.RecordBatchReader.from_batches(ARROW.schema, batches())
    with pytest.raises(TableError, match="the line is dead"):
        open_table(reader, cache=tmp_path, **COLUMNS)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_stream_without_rows_is_refused_when_it_is_trained_on():
    table = open_table(ARROW.slice(0, 0).to_reader(), target="label", columns=["a"])
    with pytest.raises(TableError, match="no rows"):
        fitted(table)


def test_an_in_memory_dataset_is_read():
    assert open_table(ds.dataset(ARROW), **COLUMNS).labels().counts.sum() == N_ROWS


def test_a_part_of_a_files_row_groups_is_read_alone(tmp_path):
    pq.write_table(ARROW, tmp_path / "rows.parquet", row_group_size=100)
    (fragment,) = ds.dataset(tmp_path / "rows.parquet").get_fragments()
    dataset = ds.FileSystemDataset([fragment.subset(row_group_ids=[1])], fragment.physical_schema, fragment.format)
    assert open_table(dataset, **COLUMNS).features()["a"].tolist() == ROWS["a"].iloc[100:200].tolist()


def test_a_dataset_with_types_of_its_own_is_read_with_them(tmp_path):
    pq.write_table(ARROW, tmp_path / "rows.parquet")
    schema = pa.schema([("a", pa.float32()), ("label", pa.int64())])
    table = open_table(ds.dataset(tmp_path / "rows.parquet", schema=schema), target="label")
    assert [column.type for column in table.schema.columns] == ["float"]


def test_frames_in_memory_go_to_fit():
    for frame in (ROWS, ARROW, pl.from_arrow(ARROW)):
        with pytest.raises(TypeError, match=r"Call fit\(X, y\)"):
            open_table(frame, **COLUMNS)
