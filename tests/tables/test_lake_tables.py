"""Lake tables: one version, its live rows, and nothing of the files that are left from others."""

from __future__ import annotations

import json
import string
import struct
import sys
from base64 import b85encode

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.types import DoubleType
from pyroaring import BitMap

from selfpaced.callbacks import Callback
from selfpaced.cli import main
from selfpaced.exceptions import TableError
from selfpaced.persistence import read_card, save_model
from selfpaced.tables.files.file import open_file, with_deleted
from selfpaced.tables.sources import open_table
from tests.contracts.lake_tables import ARROW, delta_table, iceberg_table
from tests.contracts.table_exam import COLUMNS, N_EARLIER, N_ROWS, ROWS
from tests.tables.three_trees import fitted, members_of


@pytest.fixture
def delta(tmp_path):
    return delta_table(tmp_path / "delta")


@pytest.mark.parametrize("form", ["path", "url", "object"])
def test_rows_that_were_replaced_are_not_read(delta, in_memory, form):
    source = {"path": delta, "url": delta.as_uri(), "object": deltalake.DeltaTable(delta)}[form]
    assert members_of(fitted(open_table(source, **COLUMNS))) == members_of(in_memory)


def test_an_earlier_version_is_read_by_its_number(delta):
    assert open_table(delta, version=0, **COLUMNS).n_rows == N_EARLIER
    with pytest.raises(TableError, match="in version 7"):
        open_table(delta, version=7, **COLUMNS)


@pytest.mark.parametrize("version", [-1, 10**30])
def test_a_number_that_is_not_a_version_of_a_delta_table_is_refused(delta, version):
    with pytest.raises(TableError, match=rf"version={version} is not a version of a Delta table"):
        open_table(delta, version=version, **COLUMNS)


def test_a_fit_reads_one_version_whatever_is_committed_meanwhile(delta, in_memory):
    class Append(Callback):
        def on_round_end(self, *given):
            deltalake.write_deltalake(delta, ARROW, mode="append")

    assert members_of(fitted(open_table(delta, **COLUMNS), callbacks=[Append()])) == members_of(in_memory)
    assert deltalake.DeltaTable(delta).version() > 1


def test_the_version_is_kept_in_the_card(delta, tmp_path, capsys):
    path = save_model(fitted(open_table(delta, **COLUMNS)), tmp_path / "model.skops")
    assert read_card(path).snapshot == f"version 1 of the Delta table {delta.as_uri()}"
    assert main(["inspect", str(path)]) == 0
    assert "version 1 of the Delta table" in capsys.readouterr().out


def test_partitions_are_columns(tmp_path):
    rows = ARROW.append_column("shop", pa.array(["a b", "c"] * (N_ROWS // 2)))
    deltalake.write_deltalake(tmp_path / "delta", rows, partition_by=["shop"])
    table = open_table(tmp_path / "delta", target="label", columns=["a", "shop"])
    frame = table.features()
    shops = dict(zip(ROWS["a"], rows.column("shop").to_pylist(), strict=True))
    assert [shops[a] for a in frame["a"]] == frame["shop"].tolist()


def test_a_column_that_was_added_later_has_missing_values_in_earlier_files(tmp_path):
    deltalake.write_deltalake(tmp_path / "delta", pa.table({"a": [1, 2], "y": [0, 1]}))
    more = pa.table({"a": [3, 4], "y": [0, 1], "b": [5.0, 6.0]})
    deltalake.write_deltalake(tmp_path / "delta", more, mode="append", schema_mode="merge")
    frame = open_table(tmp_path / "delta", target="y").features().sort_values("a")
    np.testing.assert_array_equal(frame["b"], [np.nan, np.nan, 5, 6])


def rewrite_log(delta, change):
    """Change the actions of the first commit, as another writer would have written them."""
    path = delta / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    for action in actions:
        change(action)
    path.write_text("\n".join(map(json.dumps, actions)))


def deletion_vector(positions):
    """In the log itself: a magic number and a roaring bitmap of 64-bit numbers, as Z85."""
    bitmap = BitMap(positions).serialize()
    content = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    padded = content + bytes(-len(content) % 4)
    digits = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
    others = string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~"
    text = b85encode(padded).decode().translate(str.maketrans(others, digits))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(content), "cardinality": len(positions)}


def test_deletion_vectors_are_applied(tmp_path):
    deltalake.write_deltalake(tmp_path / "delta", ARROW)

    def delete(action):
        if "add" in action:
            action["add"]["deletionVector"] = deletion_vector(np.flatnonzero(ROWS["a"] < 0).tolist())
        if "protocol" in action:
            features = ["deletionVectors", "timestampNtz"]
            action["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }

    rewrite_log(tmp_path / "delta", delete)
    table = open_table(tmp_path / "delta", **COLUMNS)
    assert table.features()["a"].tolist() == ROWS.loc[ROWS["a"] >= 0, "a"].tolist()


def test_marked_rows_are_left_out(tmp_path):
    """As a writer with deletion vectors would mark them."""
    pq.write_table(ARROW, tmp_path / "rows.parquet", row_group_size=70)
    file = with_deleted(open_file(tmp_path / "rows.parquet", {}), (ROWS["a"] >= 0).to_numpy())
    read = pa.Table.from_batches(file.batches(["a"], 64)).column("a").to_pylist()
    assert read == ROWS.loc[ROWS["a"] >= 0, "a"].tolist()
    assert file.n_rows == len(read)


def test_mapped_columns_are_refused(tmp_path):
    deltalake.write_deltalake(tmp_path / "delta", ARROW.select(["a", "b", "label"]))

    def rename(action):
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
            schema = json.loads(action["metaData"]["schemaString"])
            for number, field in enumerate(schema["fields"]):
                field["metadata"] = {
                    "delta.columnMapping.id": number,
                    "delta.columnMapping.physicalName": field["name"],
                }
            action["metaData"]["schemaString"] = json.dumps(schema)
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}

    rewrite_log(tmp_path / "delta", rename)
    with pytest.raises(TableError, match="uses columnMapping, which is not supported"):
        open_table(tmp_path / "delta", target="label")


@pytest.mark.parametrize("part", ["*.parquet", "year=1"])
def test_a_part_of_a_delta_table_is_refused(tmp_path, part):
    deltalake.write_deltalake(
        tmp_path / "delta", ARROW.append_column("year", pa.array([1] * N_ROWS)), partition_by=["year"]
    )
    with pytest.raises(TableError, match=r"part of the Delta table .*delta\. .*Open the folder of the table itself"):
        open_table(tmp_path / "delta" / ("year=1/*.parquet" if "*" in part else part), **COLUMNS)


def test_a_folder_with_a_delta_table_in_it_is_refused(tmp_path):
    delta_table(tmp_path / "all" / "shop" / "delta")
    with pytest.raises(TableError, match=r"all/shop/delta is the folder of a Delta table"):
        open_table(tmp_path / "all", **COLUMNS)


def test_a_hudi_table_is_refused(tmp_path):
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie" / "hoodie.properties").touch()
    pq.write_table(ARROW, tmp_path / "rows.parquet")
    with pytest.raises(TableError, match=r"Hudi table\. .*Read it with Spark"):
        open_table(tmp_path, **COLUMNS)


def test_without_deltalake_the_extra_is_named(delta, monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ImportError, match=r"selfpaced\[delta\]"):
        open_table(delta, **COLUMNS)


@pytest.fixture
def iceberg(tmp_path):
    return iceberg_table(tmp_path)


def test_a_metadata_file_names_a_snapshot(iceberg, in_memory):
    assert members_of(fitted(open_table(iceberg.metadata_location, **COLUMNS))) == members_of(in_memory)


def test_an_iceberg_folder_needs_its_catalog(iceberg):
    folder = iceberg.location().removeprefix("file://")
    with pytest.raises(TableError, match=r"does not say which of its metadata files .*catalog.load_table"):
        open_table(folder, **COLUMNS)
    with pytest.raises(TableError, match="part of the Iceberg table"):
        open_table(f"{folder}/data", **COLUMNS)


def test_a_fit_reads_one_snapshot_whatever_is_committed_meanwhile(iceberg, in_memory):
    pinned = iceberg.current_snapshot().snapshot_id

    class Append(Callback):
        def on_round_end(self, *given):
            iceberg.append(ARROW)

    model = fitted(open_table(iceberg, **COLUMNS), callbacks=[Append()])
    assert members_of(model) == members_of(in_memory)
    assert model.trained_on_.snapshot.startswith(f"snapshot {pinned} of the Iceberg table")


def test_deleted_rows_and_renamed_columns_are_read_as_they_are_now(iceberg):
    iceberg.delete(EqualTo("kind", 2))
    with iceberg.update_schema() as update:
        update.rename_column("a", "amount")
        update.add_column("new", DoubleType())
    table = open_table(iceberg, target="label", columns=["amount", "new"])
    frame = table.features()
    assert sorted(frame["amount"]) == sorted(ROWS.loc[ROWS["kind"] != 2, "a"])
    assert frame["new"].isna().all()


def test_an_unknown_snapshot_is_refused_with_the_known_ones(iceberg):
    known = [one.snapshot_id for one in iceberg.snapshots()]
    with pytest.raises(TableError, match=f"no snapshot 7 in .*{known[0]}"):
        open_table(iceberg, version=7, **COLUMNS)
    assert open_table(iceberg, version="main", **COLUMNS).n_rows == N_ROWS


def test_without_pyiceberg_the_extra_is_named(iceberg, monkeypatch):
    location = iceberg.metadata_location
    for name in ("pyiceberg", "pyiceberg.table", "pyiceberg.io.pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"selfpaced\[iceberg\]"):
        open_table(location, **COLUMNS)


@pytest.mark.slow
def test_the_command_line_trains_on_a_snapshot(delta, tmp_path, capsys):
    model = str(tmp_path / "model.skops")
    train = [
        "train",
        str(delta),
        "--target",
        "label",
        "--exclude",
        "kind,weight,when,tx",
        "-o",
        model,
        "--snapshot",
        "0",
    ]
    assert main([*train, "--base", "tree", "--members", "2", "--calibration", "none"]) == 0
    assert f"{N_EARLIER} rows" in capsys.readouterr().out
    assert read_card(model).snapshot.startswith("version 0 of the Delta table")
