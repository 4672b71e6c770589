"""Values that do not fit their type in training are refused by column; the same values in another type score alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from selfpaced.exceptions import TableError
from selfpaced.tables import Column, frozen

WHEN = pd.to_datetime(["2024-03-01 23:30", "2024-07-01 00:15", "2024-12-31 12:00"]).tz_localize("America/New_York")


def converted(column: Column, values: pa.Array) -> list:
    return column.converted(values, "rows.parquet").to_pylist()


INT = Column("n", "int64")
BOOL = Column("n", "bool")
DOUBLE = Column("n", "double")


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        (INT, pa.array([1, 2], pa.int8()), [1, 2]),
        (INT, pa.array([1.0, 2.0]), [1, 2]),
        (INT, pa.array([1.0, None]), [1.0, None]),
        (INT, pa.array([1.0, np.nan]), [1.0, None]),
        (INT, pa.array([None, None], pa.null()), [None, None]),
        (INT, pa.array([True, False]), [1, 0]),
        (BOOL, pa.array([0, 1, None]), [0.0, 1.0, None]),
        (BOOL, pa.array([0.0, 1.0]), [False, True]),
        (DOUBLE, pa.array([1, 2**63 - 1]), [1.0, 2.0**63]),
        (DOUBLE, pa.array(np.array([1.5, 2.0], dtype=np.float16)), [1.5, 2.0]),
        (DOUBLE, pa.array(["1.5", "1.5"]).cast(pa.decimal128(5, 2)).dictionary_encode(), [1.5, 1.5]),
        (Column("n", "uint64"), pa.array([2**63 + 1], pa.uint64()), [2**63 + 1]),
    ],
    ids=str,
)
def test_values_that_fit_are_the_same_in_every_type(column, values, expected):
    assert converted(column, values) == expected


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (INT, pa.array([1.5, 2.0])),
        (INT, pa.array([1.5, None])),
        (INT, pa.array([2**63], pa.uint64())),
        (INT, pa.array([0], pa.timestamp("us"))),
        (INT, pa.array([0], pa.duration("s"))),
        (INT, pa.array(["1"])),
        (Column("n", "int8"), pa.array([300])),
        (BOOL, pa.array([0.25, 1.0])),
        (BOOL, pa.array([3, 1])),
        (BOOL, pa.array(["true"])),
        (DOUBLE, pa.array([0], pa.date32())),
        (Column("n", "category", ("a", "b")), pa.array([1, 2])),
        (Column("n", "hour", made_of="n"), pa.array([1, 2])),
    ],
    ids=str,
)
def test_values_that_do_not_fit_are_refused_by_column(column, values):
    with pytest.raises(TableError, match=r"Column 'n' of rows.parquet is .*the values do not fit"):
        converted(column, values)


def schema_of(kind: pa.DataType):
    return frozen({"when": kind}, ["when"], ["when"], {})


def parts(schema, values: pa.Array) -> list[list]:
    batch = pa.record_batch([values], names=["when"])
    return [column.to_pylist() for column in schema.converted(batch, "rows.parquet").columns]


class TestTimeZones:
    @pytest.fixture
    def schema(self):
        return schema_of(pa.timestamp("ns", "America/New_York"))

    def test_hours_are_those_of_the_zone_in_training(self, schema):
        _, weekdays, hours = parts(schema, pa.array(WHEN))
        assert (weekdays, hours) == ([4, 0, 1], [23, 0, 12])

    @pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_the_same_moments_in_another_zone_and_unit_have_the_same_parts(self, schema, zone, unit):
        other = pa.array(WHEN.tz_convert(zone)).cast(pa.timestamp(unit, zone))
        assert parts(schema, other) == parts(schema, pa.array(WHEN))

    def test_text_with_offsets_has_the_same_parts(self, schema):
        assert parts(schema, pa.array(WHEN.astype(str))) == parts(schema, pa.array(WHEN))

    def test_times_without_a_zone_are_refused_where_training_had_one(self, schema):
        for values in (pa.array(WHEN.tz_localize(None)), pa.array(["2024-03-01 23:30"])):
            with pytest.raises(TableError, match=r"Column 'when' .*no time zone, but those in training had one"):
                parts(schema, values)

    def test_times_without_a_zone_in_training_are_utc(self):
        schema = schema_of(pa.timestamp("us"))
        naive = pa.array(WHEN.tz_convert("UTC").tz_localize(None))
        assert parts(schema, pa.array(WHEN)) == parts(schema, naive)

    def test_another_zone_can_be_set(self):
        schema = schema_of(pa.timestamp("us")).in_zone("America/New_York")
        assert parts(schema, pa.array(WHEN)) == parts(schema_of(pa.timestamp("us", "America/New_York")), pa.array(WHEN))
        with pytest.raises(ValueError, match="'Mars' is not the name of a time zone"):
            schema.in_zone("Mars")

    def test_files_in_two_zones_are_read_in_utc(self, tmp_path):
        from selfpaced.tables.sources import open_table

        for zone in ("America/New_York", "Asia/Tokyo"):
            rows = pa.table({"when": pa.array(WHEN.tz_convert(zone)), "y": [0, 1, 0]})
            pa.parquet.write_table(rows, tmp_path / f"{zone.split('/')[1]}.parquet")
        assert {column.zone for column in open_table(tmp_path, target="y").schema.columns} == {"UTC"}

    def test_nanoseconds_are_cut_off(self):
        values = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
        assert parts(schema_of(pa.timestamp("ns")), values)[0] == [1_700_000_000.123456]

    def test_a_moment_too_far_away_is_refused_by_column(self):
        with pytest.raises(TableError, match="Column 'when'"):
            parts(schema_of(pa.timestamp("s")), pa.array([2**60], pa.timestamp("s")))


def test_parts_of_dates_take_names_that_are_free():
    fields = {"when": pa.timestamp("us"), "when.weekday": pa.float64()}
    schema = frozen(fields, list(fields), list(fields), {})
    assert schema.names == ["when", "when.weekday_", "when.hour", "when.weekday"]
