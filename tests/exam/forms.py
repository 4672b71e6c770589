"""The same rows in other forms: files, compression, order of columns, types that hold the same values, frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def json_lines(table: pa.Table, folder: Path) -> Path:
    columns = _written(table)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


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
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_floating(column.type):
        # The shortest text that is this number in its own width.
        return [None if value is None or value != value else float(str(value)) for value in _own_width(column)]
    return column.to_pylist()


def _own_width(column: pa.Array) -> list:
    width = column.type.to_pandas_dtype()
    return [None if value is None else width(value) for value in column.to_pylist()]


def dictionaries(table: pa.Table, folder: Path) -> Path:
    strings = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
    for name in strings:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).combine_chunks().dictionary_encode())
    return parquet(table, folder)


def plain_strings(table: pa.Table, folder: Path) -> Path:
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return parquet(table, folder)


def wider_numbers(table: pa.Table, folder: Path) -> Path:
    for place, field in enumerate(table.schema):
        if pa.types.is_signed_integer(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
        elif pa.types.is_float16(field.type) or pa.types.is_float32(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.float64()))
    return parquet(table, folder)


def another_zone(table: pa.Table, folder: Path) -> Path:
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz:
            moved = table.column(place).cast(pa.timestamp(field.type.unit, "Asia/Tokyo"))
            table = table.set_column(place, field.name, moved)
    return parquet(table, folder)


def finer_unit(table: pa.Table, folder: Path) -> Path:
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit in ("s", "ms"):
            table = table.set_column(place, field.name, table.column(place).cast(pa.timestamp("us", field.type.tz)))
    return parquet(table, folder)


def arrow(table: pa.Table, folder: Path) -> pa.Table:
    return table


def pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def polars(table: pa.Table, folder: Path) -> pl.DataFrame:
    return pl.from_arrow(table)


TEXT = ("csv", "tsv", "json_lines")
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
        json_lines,
        dictionaries,
        plain_strings,
        wider_numbers,
        another_zone,
        finer_unit,
        arrow,
        pandas,
        polars,
    )
}
