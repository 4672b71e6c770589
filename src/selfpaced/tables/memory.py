"""Rows in memory, with and without labels, in every kind of array and frame."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from selfpaced.exceptions import TableError, pa, pc
from selfpaced.pools import GROUP, TIME, MemoryPool, Rows
from selfpaced.storage import fingerprint
from selfpaced.tables.labels import Labels, read_labels
from selfpaced.tables.schema import Schema, are_numbers
from selfpaced.tables.table import ClassSplit, Roles, SplitPlan
from selfpaced.tables.times import are_dates, is_missing

Positions = NDArray[np.integer]


@dataclass(frozen=True)
class ColumnReader:
    """One column of a table. Its values are only converted when they are asked for."""

    type: str  # as the table's own library names it
    is_number: bool  # numeric or boolean
    is_float: bool  # only these types can hold infinities
    floats: Callable[[], NDArray[np.float64]]  # NaN for missing values; for numbers, and seconds since 1970 for dates
    objects: Callable[[], Iterable[Any]]
    is_date: bool = False
    categories: Callable[[], Sequence[Any]] | None = None  # of a column of categories, in their order

    def texts(self) -> list[str | None]:
        """The values as text; None for missing ones."""
        return [None if is_missing(value) else str(value) for value in self.objects()]


@dataclass(frozen=True)
class Kind:
    """The operations on one kind of table. Columns go by position, because names may be duplicated."""

    span: Callable[[Any, int, int], Any]  # consecutive rows, without a copy where possible
    take: Callable[[Any, Positions], Any]  # the rows at some positions
    below: Callable[[Sequence[Any]], Any]  # several blocks of rows below each other
    names: Callable[[Any], list[Any]]  # of any type; x0, x1, ... for a table without names
    select: Callable[[Any, Sequence[int]], Any]  # the same rows with the columns at some positions
    column: Callable[[Any, int], ColumnReader]
    open: Callable[[Any], Any] = lambda table: table  # done once, before the first row is read
    bytes_per_row: Callable[[Any], float] = lambda table: 8 * table.shape[1]
    # The same table with the values of one column in another order; None where it would copy too much.
    permuted: Callable[[Any, int, Positions], Any] | None = None

    def columns(self, table: Any) -> Iterator[tuple[Any, ColumnReader]]:
        """Name and column, one after the other."""
        for position, name in enumerate(self.names(table)):
            yield name, self.column(table, position)


def kind_of(table: Any) -> Kind:
    """The kind of a table, by package and class name. So pandas and others need not be imported to recognise it."""
    for cls in type(table).__mro__:
        kind = KINDS.get((cls.__module__.partition(".")[0], cls.__name__))
        if kind is not None:
            return kind
    return SPARSE if sparse.issparse(table) else ARRAY


def _numbered_names(table: Any) -> list[Any]:
    return [f"x{position}" for position in range(table.shape[1])]


def _seconds(moments: NDArray[Any]) -> NDArray[np.float64]:
    """Moments as seconds since 1970; NaN for missing ones."""
    seconds = moments.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(moments), np.nan, seconds)


def _array_column(values: NDArray[Any]) -> ColumnReader:
    kind, floats = values.dtype.kind, partial(values.astype, np.float64, copy=False)
    return ColumnReader(str(values.dtype), kind in "biuf", kind == "f", floats, lambda: values)


def _permuted_array(table: Any, position: int, order: Positions) -> Any:
    changed = table.copy()
    changed[:, position] = table[order, position]
    return changed


ARRAY = Kind(
    span=lambda table, start, stop: table[start:stop],
    take=lambda table, positions: table[positions],
    below=np.concatenate,
    bytes_per_row=lambda table: table.shape[1] * table.itemsize,
    names=_numbered_names,
    select=lambda table, positions: table[:, positions],
    column=lambda table, position: _array_column(np.asarray(table[:, position])),
    permuted=_permuted_array,
)


def _narrow(rows: Any) -> Any:
    """The same rows with 32-bit indices: a chunk never needs wider ones, and few models accept them."""
    indices, indptr = rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32, copy=False)
    return type(rows)((rows.data, indices, indptr), shape=rows.shape)


SPARSE = Kind(
    span=lambda table, start, stop: _narrow(table[start:stop]),
    take=lambda table, positions: _narrow(table[positions.astype(np.intp)]),
    below=lambda blocks: sparse.vstack(blocks, format="csr"),
    bytes_per_row=lambda table: 12 * table.nnz / table.shape[0] + 8,
    names=_numbered_names,
    select=lambda table, positions: table[:, positions],
    column=lambda table, position: _array_column(table[:, [position]].toarray().ravel()),
)


def _stack_pandas(blocks: Sequence[Any]) -> Any:
    return import_module("pandas").concat(blocks, ignore_index=True)


def _pandas_column(table: Any, position: int) -> ColumnReader:
    column = table.iloc[:, position]
    kind = getattr(column.dtype, "kind", "O")  # some extension types have none
    categories = (lambda: list(column.cat.categories)) if type(column.dtype).__name__ == "CategoricalDtype" else None

    def floats() -> Any:
        if kind != "M":
            return column.to_numpy(np.float64, na_value=np.nan)
        has_days = str(column.dtype).startswith(("date32", "date64"))  # Arrow's, which numpy does not read
        return _seconds(np.asarray(column.astype("M8[us]") if has_days else column, "M8[us]"))

    return ColumnReader(str(column.dtype), kind in "biuf", kind == "f", floats, column.tolist, kind == "M", categories)


def _permuted_pandas(table: Any, position: int, order: Positions) -> Any:
    changed = table.copy()
    changed.isetitem(position, table.iloc[order, position].set_axis(table.index))
    return changed


PANDAS = Kind(
    span=lambda table, start, stop: table.iloc[start:stop],
    take=lambda table, positions: table.iloc[positions],
    below=_stack_pandas,
    names=lambda table: list(table.columns),
    select=lambda table, positions: table.iloc[:, list(positions)],
    column=_pandas_column,
    permuted=_permuted_pandas,
)


def _polars_column(table: Any, position: int) -> ColumnReader:
    import polars as pl

    column = table.to_series(position)
    dtype, is_number = column.dtype, column.dtype.is_numeric() or column.dtype == pl.Boolean
    is_date = dtype in (pl.Date, pl.Datetime)

    def floats() -> Any:
        values = column.cast(pl.Datetime("us") if is_date else pl.Float64).to_numpy()
        return _seconds(values) if is_date else values

    # Without categories: all columns of polars may share one list of them.
    return ColumnReader(str(dtype), is_number, dtype.is_float(), floats, column.to_list, is_date)


POLARS = Kind(
    span=lambda table, start, stop: table.slice(start, stop - start),
    take=lambda table, positions: table[positions],
    below=lambda blocks: import_module("polars").concat(blocks),
    names=lambda table: table.columns,
    select=lambda table, positions: table[:, list(positions)],
    column=_polars_column,
    permuted=lambda table, position, order: table.with_columns(table.to_series(position)[order]),
)


def _open_arrow(table: Any) -> Any:
    """One list of categories per column, with signed numbers, and floats for whole numbers with missing values.

    pyarrow makes a column of a pandas frame what its rows need: without this, chunks of one column would differ.
    """

    def readable(column: Any, dtype: Any) -> Any:
        if pa.types.is_dictionary(dtype) and pa.types.is_unsigned_integer(dtype.index_type):
            return pa.dictionary(pa.int32(), dtype.value_type, dtype.ordered)  # for pyarrow before 23
        is_whole = pa.types.is_integer(dtype) or pa.types.is_boolean(dtype)
        return pa.float64() if column.null_count and is_whole else dtype

    table = table.unify_dictionaries()
    columns = zip(table.schema, table.columns, strict=True)
    fields = [field.with_type(readable(column, field.type)) for field, column in columns]
    return table.cast(pa.schema(fields))


def _arrow_column(table: Any, position: int) -> ColumnReader:
    column = table.column(position)
    kind, is_date = column.type, are_dates(column.type)

    def floats() -> Any:
        values = column.cast(pa.timestamp("us") if is_date else pa.float64(), safe=False).to_numpy()
        return _seconds(values) if is_date else values

    def categories() -> list[Any]:
        chunks = (chunk.dictionary.drop_null().to_pylist() for chunk in column.chunks)
        return list(dict.fromkeys(category for own in chunks for category in own))

    own = categories if pa.types.is_dictionary(kind) else None
    is_float = pa.types.is_floating(kind)
    return ColumnReader(str(kind), are_numbers(kind), is_float, floats, column.to_pylist, is_date, own)


# scikit-learn and most base models do not read pyarrow tables: rows leave them as pandas frames, chunk by chunk.
ARROW = Kind(
    open=_open_arrow,
    span=lambda table, start, stop: table.slice(start, stop - start).to_pandas(),
    take=lambda table, positions: table.take(positions).to_pandas(),
    below=_stack_pandas,
    names=lambda table: table.column_names,
    select=lambda table, positions: table.select(list(positions)),
    column=_arrow_column,
)

KINDS: dict[tuple[str, str], Kind] = {
    ("pandas", "DataFrame"): PANDAS,
    ("polars", "DataFrame"): POLARS,
    ("pyarrow", "Table"): ARROW,
}


def is_dask_frame(thing: Any) -> bool:
    return is_dask(thing) and hasattr(thing, "columns") and hasattr(thing, "to_delayed")


def is_dask_array(thing: Any) -> bool:
    return is_dask(thing) and hasattr(thing, "chunks")


def is_dask(thing: Any) -> bool:
    return type(thing).__module__.partition(".")[0] == "dask"


def is_spark_frame(thing: Any) -> bool:
    """Also of a Connect session, whose frames are of another type."""
    return type(thing).__module__.startswith("pyspark.sql.") and hasattr(thing, "mapInArrow")


class InMemoryTable:
    """Features with the metadata that goes with each row. The id of a row is its position."""

    def __init__(self, features: Any, metadata: Mapping[str, Any] | None = None) -> None:
        self._kind = kind_of(features)
        self._features = self._kind.open(features)
        self._metadata = dict(metadata or {})
        self.n_rows = int(features.shape[0])
        self.bytes_per_row = max(self._kind.bytes_per_row(features), 1.0)

    @property
    def groups(self) -> NDArray[np.uint64] | None:
        """The hash of each row's group; None if the rows have no groups."""
        return self._metadata.get(GROUP)

    @property
    def times(self) -> NDArray[np.float64] | None:
        """When each row was, as a number; None if the rows have no times."""
        return self._metadata.get(TIME)

    def with_metadata(self, metadata: Mapping[str, Any]) -> Self:
        table = copy(self)
        table._metadata = dict(metadata)
        return table

    def span(self, start: int, stop: int) -> Any:
        return self._kind.span(self._features, start, stop)

    def take(self, positions: Positions) -> Any:
        return self._kind.take(self._features, positions)

    def rows(self, positions: Positions) -> Rows:
        metadata = {name: np.asarray(values)[positions] for name, values in self._metadata.items()}
        return Rows(positions, self.take(positions), metadata)


def as_arrow(frame: Any) -> Any:
    kind = kind_of(frame)
    if kind is PANDAS:
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame if kind is ARROW else frame.to_arrow()


def polars_as_arrow(features: Any) -> Any:
    """A polars frame as a pyarrow table, whose rows reach base models as pandas frames; anything else as it is."""
    return features.to_arrow() if kind_of(features) is POLARS else features


def is_frame(features: Any) -> bool:
    """Whether the features are a data frame, whose columns have names and types."""
    return kind_of(features) in KINDS.values()


def not_numbers(features: Any) -> list[Any]:
    """The names of the columns of a frame that do not hold numbers; empty for an array.

    >>> import pandas as pd
    >>> not_numbers(pd.DataFrame({"amount": [1.5], "shop": ["web"]}))
    ['shop']
    """
    if not is_frame(features):
        return []
    return [name for name, column in kind_of(features).columns(features) if not column.is_number]


def float_columns(frame: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Name and values of each column of floats in a frame."""
    return ((name, column.floats()) for name, column in kind_of(frame).columns(frame) if column.is_float)


def refuse_infinity(values: Any, what: str) -> None:
    """Refuse floats, of numpy or Arrow, of which one is infinite. `what` is what the error calls them."""
    is_infinite = np.isinf(values).any() if isinstance(values, np.ndarray) else pc.any(pc.is_inf(values)).as_py()
    if is_infinite:
        raise TableError(
            f"{what} contains infinity. Replace it by a finite number, or by a missing value if the base model accepts "
            "missing values."
        )


def float_array(frame: Any) -> NDArray[np.float64]:
    """All columns of a frame as one array; missing values are NaN. All columns must hold numbers."""
    array = np.empty(frame.shape)
    for position, (name, column) in enumerate(kind_of(frame).columns(frame)):
        if not column.is_number:
            raise ValueError(
                f"Column {name!r} of X does not hold numbers. Encode it first, for instance with OneHotEncoder, or "
                "drop it."
            )
        array[:, position] = column.floats()
    return array


def stack(blocks: Sequence[Rows]) -> Rows:
    """Several blocks of rows below each other."""
    return Rows(
        np.concatenate([block.ids for block in blocks]),
        kind_of(blocks[0].features).below([block.features for block in blocks]),
        {name: np.concatenate([block.metadata[name] for block in blocks]) for name in blocks[0].metadata},
    )


@dataclass(frozen=True)
class LabelledTable:
    """Rows in memory whose labels are known."""

    rows: InMemoryTable
    known_labels: Labels
    # The array that holds the rows. A resumed fit recognises them by it. None if a fit cannot be resumed.
    source: Any = None
    schema: Schema | None = None  # how the rows were read from a frame with strings or dates; None for other rows
    roles: Roles = field(default_factory=Roles)
    snapshot: None = None

    @property
    def bytes_in_memory(self) -> int:
        return int(self.rows.n_rows * self.rows.bytes_per_row)

    def labels(self) -> Labels:
        return self.known_labels

    def split(self, plan: SplitPlan) -> ClassSplit:
        return split_classes(self.rows, self.known_labels, plan.seed, plan.n_threads, plan.minority)

    def identity(self) -> dict[str, Any]:
        """A memory map is identified by its file and its offset in the file, any other array by its content."""
        path = getattr(self.source, "filename", None)
        content = _in_file(self.source, Path(path)) if path else joblib.hash(np.ascontiguousarray(self.source))
        labels = joblib.hash((self.known_labels.classes, self.known_labels.codes))
        return {"shape": self.source.shape, "features": content, "labels": labels}


def _in_file(array: Any, path: Path) -> dict[str, Any]:
    whole = array
    while isinstance(whole.base, np.ndarray):  # an array that is a part of a memory map
        whole = whole.base
    start = array.offset + array.ctypes.data - whole.ctypes.data
    return {"file": str(path), **fingerprint(path), "start": start, "strides": array.strides, "type": str(array.dtype)}


def open_array(array: Any, target: Any = None) -> LabelledTable:
    """An array, such as a memory map, which is read where it is. `target` are its labels."""
    checked = check_array(array, dtype="numeric", ensure_all_finite="allow-nan", input_name="X")
    return LabelledTable(InMemoryTable(checked), read_labels(target, checked), array)


def split_classes(
    rows: InMemoryTable, labels: Labels, seed: int, n_threads: int, minority: Rows | None = None
) -> ClassSplit:
    """The rarest class is the minority. Its rows are taken from the table, unless they are given."""
    pools = {
        number: MemoryPool(rows, labels.ids(number), number, seed, n_threads)
        for number in range(labels.classes.size)
        if number != labels.rarest
    }
    if minority is None:
        minority = rows.rows(labels.ids(labels.rarest))
    return ClassSplit(labels.names, labels.counts.tolist(), labels.rarest, minority, pools)
