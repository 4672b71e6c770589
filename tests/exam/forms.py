"""The same rows in other forms: files, compression, order of columns, types that hold the same values, frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

# What `pandas.read_csv` reads as a missing value cannot be told from one in a text file; the exam's strings avoid it.
Form = Callable[[pa.Table, Path], Any]


def parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def small_row_groups(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet", row_group_size=7, compression="zstd", use_dictionary=False)
    return folder / "rows.parquet"


def several_files(table: pa.Table, folder: Path) -> Path:
    for number, start in enumerate(range(0, len(table), 25)):
        pq.write_table(table.slice(start, 25), folder / f"{number}.parquet")
    return folder


def reversed_columns(table: pa.Table, folder: Path) -> Path:
    return parquet(table.select(table.column_names[::-1]), folder)


def more_columns(table: pa.Table, folder: Path) -> Path:
    return parquet(table.append_column("other", pa.array(range(len(table)))), folder)


def feather(table: pa.Table, folder: Path) -> Path:
    pyarrow.feather.write_feather(table, folder / "rows.feather", compression="lz4", chunksize=11)
    return folder / "rows.feather"


def csv(table: pa.Table, folder: Path) -> Path:
    pd.DataFrame(_written(table), dtype=object).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def tsv(table: pa.Table, folder: Path) -> Path:
    pd.DataFrame(_written(table), dtype=object).to_csv(folder / "rows.tsv.gz", index=False, sep="\t")
    return folder / "rows.tsv.gz"


def semicolons(table: pa.Table, folder: Path) -> Path:
    """With decimal commas, as Excel writes it in half of Europe."""
    frame = pd.DataFrame(_written(table), dtype=object)
    floats = [field.name for field in table.schema if _written_as_float(field.type)]
    for name in floats:
        frame[name] = [None if value is None else str(value).replace(".", ",") for value in frame[name]]
    frame.to_csv(folder / "rows.csv.bz2", index=False, sep=";")
    return folder / "rows.csv.bz2"


def json_lines(table: pa.Table, folder: Path) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written_rows(table)))
    return folder / "rows.jsonl"


def written_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as JSON has them, one by one."""
    return rows_of(_written(table))


def rows_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _written(table: pa.Table) -> dict[str, list]:
    """As text has them: whole numbers whole, floats in all digits, times with their offsets, missing values missing."""
    return {name: _plain(table.column(name).combine_chunks()) for name in table.column_names}


def _plain(column: pa.Array) -> list:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):
        return column.cast(pa.date32()).cast(pa.string()).to_pylist()
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%d %H:%M:%S" + ("%z" if column.type.tz else "")).to_pylist()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_floating(column.type):
        # The shortest text that is this number in the width in which models read it: halves are read as doubles.
        return [None if value is None or value != value else float(str(value)) for value in _own_width(column)]
    return column.to_pylist()


def _written_as_float(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _own_width(column: pa.Array) -> list:
    width = np.float32 if column.type == pa.float32() else np.float64
    return [None if value is None else width(value) for value in column.to_pylist()]


def arrow_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def dictionaries(table: pa.Table, folder: Path) -> Path:
    return parquet(_cast(table, is_text, lambda column: column.cast(pa.string()).dictionary_encode()), folder)


def unusual_dictionaries(table: pa.Table, folder: Path) -> Path:
    """In another order, with strings that no row has, and with a missing value among the strings."""

    def encoded(column: pa.Array) -> pa.Array:
        strings = ["nobody", None, *column.cast(pa.string()).unique().drop_null().to_pylist()[::-1]]
        missing = pa.array([1], pa.int8())[0]  # rows without a value point at the one that is missing, or at nothing
        numbers = pc.index_in(column.cast(pa.string()), pa.array(strings)).cast(pa.int8())
        halves = numbers.slice(0, len(numbers) // 2).fill_null(missing), numbers.slice(len(numbers) // 2)
        return pa.DictionaryArray.from_arrays(pa.concat_arrays(halves), pa.array(strings))

    feather_of = _cast(table, is_text, encoded)
    pyarrow.feather.write_feather(feather_of, folder / "rows.feather", compression="uncompressed")
    return folder / "rows.feather"


def plain_strings(table: pa.Table, folder: Path) -> Path:
    def decoded(column: pa.Array) -> pa.Array:
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column.cast(pa.string())

    return parquet(_cast(table, lambda kind: is_text(kind) or pa.types.is_dictionary(kind), decoded), folder)


def wider_numbers(table: pa.Table, folder: Path) -> Path:
    table = _cast(table, pa.types.is_signed_integer, lambda column: column.cast(pa.int64()))
    return parquet(_cast(table, _is_narrow_float, lambda column: column.cast(pa.float64())), folder)


def integers_as_floats(table: pa.Table, folder: Path) -> Path:
    """As pandas has them after one missing value; those that a float holds."""

    def as_floats(column: pa.Array) -> pa.Array:
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            return column

    return parquet(_cast(table, pa.types.is_integer, as_floats), folder)


def booleans_as_numbers(table: pa.Table, folder: Path) -> Path:
    return parquet(_cast(table, pa.types.is_boolean, lambda column: column.cast(pa.int8())), folder)


def another_zone(table: pa.Table, folder: Path) -> Path:
    def moved(column: pa.Array) -> pa.Array:
        return column.cast(pa.timestamp(column.type.unit, "Asia/Tokyo"))

    return parquet(_cast(table, lambda kind: getattr(kind, "tz", None) is not None, moved), folder)


def finer_unit(table: pa.Table, folder: Path) -> Path:
    def finer(column: pa.Array) -> pa.Array:
        return column.cast(pa.timestamp({"s": "us", "ms": "ns"}.get(column.type.unit, "ns"), column.type.tz))

    return parquet(_cast(table, pa.types.is_timestamp, finer), folder)


def dates_as_times(table: pa.Table, folder: Path) -> Path:
    return parquet(_cast(table, pa.types.is_date, lambda column: column.cast(pa.timestamp("s"))), folder)


def _cast(table: pa.Table, wanted: Callable[[pa.DataType], bool], cast: Callable[[pa.Array], pa.Array]) -> pa.Table:
    """The same table with the columns of some types in another form. The labels stay as they are."""
    for place, field in enumerate(table.schema):
        if wanted(field.type) and field.name != "label":
            table = table.set_column(place, field.name, cast(table.column(place).combine_chunks()))
    return table


def is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_narrow_float(kind: pa.DataType) -> bool:
    return pa.types.is_float16(kind) or pa.types.is_float32(kind)


def arrow(table: pa.Table, folder: Path) -> pa.Table:
    return table


def chunked_arrow(table: pa.Table, folder: Path) -> pa.Table:
    return pa.concat_tables([table.slice(0, 0), table.slice(0, 31), table.slice(31, 1), table.slice(32)])


def pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def nullable_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=NULLABLE.get)


def classic_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    """Floats for integers with missing values, objects for strings, and an index that counts nothing."""
    frame = table.to_pandas()
    return frame.set_axis(range(len(frame), 0, -1))


def polars(table: pa.Table, folder: Path) -> pl.DataFrame:
    """Polars has decimals of 128 bits only."""
    return pl.from_arrow(_cast(table, pa.types.is_decimal256, lambda column: column.cast(pa.decimal128(38, 7))))


NULLABLE = {pa.bool_(): pd.BooleanDtype(), pa.float32(): pd.Float32Dtype(), pa.float64(): pd.Float64Dtype()}
NULLABLE |= {getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)}
NULLABLE |= {getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)}
NULLABLE |= {pa.string(): pd.StringDtype()}
# Forms that do not say which type a number has, so that some numbers do not fit any more.
UNTYPED = ("csv", "tsv", "semicolons", "json_lines", "classic_pandas")
FORMS: dict[str, Form] = {
    form.__name__: form
    for form in (
        parquet,
        small_row_groups,
        several_files,
        reversed_columns,
        more_columns,
        feather,
        csv,
        tsv,
        semicolons,
        json_lines,
        dictionaries,
        unusual_dictionaries,
        plain_strings,
        wider_numbers,
        integers_as_floats,
        booleans_as_numbers,
        another_zone,
        finer_unit,
        dates_as_times,
        arrow,
        chunked_arrow,
        pandas,
        nullable_pandas,
        classic_pandas,
        polars,
    )
}
