"""Files of JSON lines, made into Parquet files."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from selfpaced.exceptions import TableError
from selfpaced.tables.files.text import Limits, open_json
from selfpaced.tables.sources import open_table
from selfpaced.tables.sources.cache import as_parquet

SMALL = Limits(piece_bytes=32)


@pytest.fixture
def read(tmp_path):
    def read(content, name="events.jsonl", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return pq.read_table(as_parquet([path], **options)[path])

    return read


def lines(*rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


def test_objects_become_rows(read):
    table = read(lines({"a": 1, "b": "x", "ok": True}, {"a": 2, "b": None, "ok": False}))
    assert table.to_pydict() == {"a": [1, 2], "b": ["x", None], "ok": [True, False]}


def test_names_that_come_late_are_columns_with_missing_values_before(read):
    table = read(lines(*[{"a": 1}] * 50, {"a": 2, "late": "x"}), limits=SMALL)
    assert table["late"].null_count == 50
    assert table["late"].to_pylist()[-1] == "x"


def test_a_float_after_many_ints_makes_the_column_floats(read):
    table = read(lines(*[{"a": 1}] * 50, {"a": 2.5}), limits=SMALL)
    assert table["a"].to_pylist() == [1.0] * 50 + [2.5]


def test_compressed_files_and_a_last_line_without_an_end(read):
    assert read(gzip.compress(b'{"a": 1}\n{"a": 2}'), "events.jsonl.gz")["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "has no rows"),
        ("\n\n", "has no rows"),
        ('{"a": 1}\n{"a": \n', "is not a file of JSON lines"),
        ("a,b\n1,2\n", "is not a file of JSON lines"),
        ('{"a": 1}\n{"a": "x"}\n', "is not a file of JSON lines"),
    ],
)
def test_a_file_that_is_not_right_is_refused_by_name(read, content, complaint):
    with pytest.raises(TableError, match=f"events.jsonl {complaint}"):
        read(content)


def test_kinds_that_do_not_go_together_far_apart_are_named(read):
    limits = Limits(piece_bytes=50 * len(lines({"a": 1})))
    with pytest.raises(TableError, match=r"'a' is int64 in some rows of .* and string in others"):
        read(lines(*[{"a": 1}] * 50, *[{"a": "x"}] * 50), limits=limits)


def test_open_table_takes_them(tmp_path):
    (tmp_path / "events.ndjson").write_text(lines(*({"a": i, "label": int(i > 90)} for i in range(100))))
    table = open_table(tmp_path / "events.ndjson", target="label")
    assert table.labels().counts.tolist() == [91, 9]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2024-01-31", "2024-02-01 10:00:00.25"], pa.timestamp("us")),
        (["2024-01-31 10:00:00+02:00", "2024-01-31T08:00:00Z"], pa.timestamp("us", "UTC")),
        (["2024-01-31", "2024-01-31 10:00:00.123456789"], pa.timestamp("ns")),
        (["2024-01-31 00:00Z", "2024-01-31 10:00:00.123456789-05:00"], pa.timestamp("ns", "UTC")),
        (["9999-01-31", "2024-01-31 10:00:00.123456789"], pa.string()),
        (["2024-01-31", "2024-01-31Z"], pa.string()),
        (["2024-01-31", "soon"], pa.string()),
    ],
)
def test_dates_are_found_as_in_csv_files(read, texts, kind):
    from_json = read(lines(*({"when": text} for text in texts)))
    from_csv = read("when,n\n" + "".join(f"{text},1\n" for text in texts), "events.csv")
    assert from_json["when"].type == from_csv["when"].type == kind
    assert from_json["when"].to_pylist() == from_csv["when"].to_pylist()


def test_text_that_begins_with_many_dates_stays_text(read):
    table = read(lines(*[{"a": "2024-01-31"}] * 50, {"a": "x"}), limits=SMALL)
    assert table["a"].to_pylist() == ["2024-01-31"] * 50 + ["x"]


def test_both_passes_over_a_file_tell_how_far_they_are(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(lines(*[{"day": "2024-01-31"}] * 20))
    file, seen, read = open_json(path, SMALL), [], []
    list(file.blocks(file.forms({}, seen.append, False), read.append))
    assert seen == read == sorted(read)
    assert len(read) > 10
    assert read[-1] == path.stat().st_size
