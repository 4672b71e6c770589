"""The kinds of tables in memory, each with the few things that are done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Positions = NDArray[np.integer]


@dataclass(frozen=True)
class Kind:
    """How rows are read from one kind of table.

    Attributes
    ----------
    open : what is done once, before the first row is read.
    span : consecutive rows, without a copy where possible.
    take : the rows at some positions.
    stack : several blocks of rows below each other.
    float_columns : name and values of each column of floats; the only ones that can hold an infinity.
    as_floats : name and values of every column, gaps as NaN; None as the values of one that holds no numbers.
    """

    open: Callable[[Any], Any]
    span: Callable[[Any, int, int], Any]
    take: Callable[[Any, Positions], Any]
    stack: Callable[[Sequence[Any]], Any]
    bytes_per_row: Callable[[Any], float]
    float_columns: Callable[[Any], Iterator[tuple[Any, NDArray[Any]]]]
    as_floats: Callable[[Any], Iterator[tuple[Any, NDArray[np.float64] | None]]]


def kind_of(table: Any) -> Kind:
    """By package and class name: whoever has no pandas has no pandas frame either, and nothing is imported for it."""
    for cls in type(table).__mro__:
        kind = KINDS.get((cls.__module__.partition(".")[0], cls.__name__))
        if kind is not None:
            return kind
    return SPARSE if sparse.issparse(table) else ARRAY


def _as_given(table: Any) -> Any:
    return table


def _no_columns(table: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    return iter(())


ARRAY = Kind(
    open=_as_given,
    span=lambda table, start, stop: table[start:stop],
    take=lambda table, positions: table[positions],
    stack=np.concatenate,
    bytes_per_row=lambda table: table.shape[1] * table.itemsize,
    float_columns=_no_columns,
    as_floats=_no_columns,
)


def _narrow(rows: Any) -> Any:
    """The same rows with 32-bit indices: a chunk never needs wider ones, and few models bear them."""
    indices, indptr = rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32, copy=False)
    return type(rows)((rows.data, indices, indptr), shape=rows.shape)


SPARSE = Kind(
    open=_as_given,
    span=lambda table, start, stop: _narrow(table[start:stop]),
    take=lambda table, positions: _narrow(table[positions.astype(np.intp)]),
    stack=lambda blocks: sparse.vstack(blocks, format="csr"),
    bytes_per_row=lambda table: 12 * table.nnz / table.shape[0] + 8,
    float_columns=_no_columns,
    as_floats=_no_columns,
)


def _stack_pandas(blocks: Sequence[Any]) -> Any:
    import pandas as pd

    return pd.concat(blocks, ignore_index=True)


def _float_columns_pandas(table: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    for position, (name, dtype) in enumerate(zip(table.columns, table.dtypes, strict=True)):
        if getattr(dtype, "kind", None) == "f":
            yield name, table.iloc[:, position].to_numpy(dtype=np.float64, na_value=np.nan)


def _as_floats_pandas(table: Any) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
    for position, (name, dtype) in enumerate(zip(table.columns, table.dtypes, strict=True)):
        is_number = getattr(dtype, "kind", None) in tuple("biuf")
        yield name, table.iloc[:, position].to_numpy(dtype=np.float64, na_value=np.nan) if is_number else None


PANDAS = Kind(
    open=_as_given,
    span=lambda table, start, stop: table.iloc[start:stop],
    take=lambda table, positions: table.iloc[positions],
    stack=_stack_pandas,
    bytes_per_row=lambda table: 8 * table.shape[1],
    float_columns=_float_columns_pandas,
    as_floats=_as_floats_pandas,
)


def _stack_polars(blocks: Sequence[Any]) -> Any:
    import polars as pl

    return pl.concat(blocks)


def _as_floats_polars(table: Any) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
    import polars as pl

    for column in table.iter_columns():
        is_number = column.dtype.is_numeric() or column.dtype == pl.Boolean
        yield column.name, column.cast(pl.Float64).to_numpy() if is_number else None


POLARS = Kind(
    open=_as_given,
    span=lambda table, start, stop: table.slice(start, stop - start),
    take=lambda table, positions: table[positions],
    stack=_stack_polars,
    bytes_per_row=lambda table: 8 * table.shape[1],
    float_columns=lambda table: (
        (column.name, column.to_numpy()) for column in table.iter_columns() if column.dtype.is_float()
    ),
    as_floats=_as_floats_polars,
)


def _open_arrow(table: Any) -> Any:
    """One list of categories per column, with signed numbers, and floats for whole numbers with missing values.

    pyarrow makes a column of a pandas frame what its rows need: without this, chunks of one column would differ.
    """
    import pyarrow as pa

    def readable(column: Any, dtype: Any) -> Any:
        if pa.types.is_dictionary(dtype) and pa.types.is_unsigned_integer(dtype.index_type):
            return pa.dictionary(pa.int32(), dtype.value_type, dtype.ordered)  # for pyarrow before 23
        is_whole = pa.types.is_integer(dtype) or pa.types.is_boolean(dtype)
        return pa.float64() if column.null_count and is_whole else dtype

    table = table.unify_dictionaries()
    columns = zip(table.schema, table.columns, strict=True)
    fields = [field.with_type(readable(column, field.type)) for field, column in columns]
    return table.cast(pa.schema(fields))


def _float_columns_arrow(table: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    import pyarrow as pa

    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_floating(field.type):
            yield field.name, column.to_numpy()


def _as_floats_arrow(table: Any) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
    import pyarrow as pa

    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    for field, column in zip(table.schema, table.columns, strict=True):
        numeric = any(is_kind(field.type) for is_kind in is_number)
        yield field.name, column.cast(pa.float64()).to_numpy() if numeric else None


# scikit-learn and most base models do not read pyarrow tables: rows leave them as pandas frames, chunk by chunk.
ARROW = Kind(
    open=_open_arrow,
    span=lambda table, start, stop: table.slice(start, stop - start).to_pandas(),
    take=lambda table, positions: table.take(positions).to_pandas(),
    stack=_stack_pandas,
    bytes_per_row=lambda table: 8 * table.num_columns,
    float_columns=_float_columns_arrow,
    as_floats=_as_floats_arrow,
)

KINDS: dict[tuple[str, str], Kind] = {
    ("pandas", "DataFrame"): PANDAS,
    ("polars", "DataFrame"): POLARS,
    ("pyarrow", "Table"): ARROW,
}
