"""`open_table`: a table from any source of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from functools import partial
from numbers import Integral
from typing import Any, Unpack

from numpy import ndarray

from selfpaced.exceptions import TableError, did_you_mean, import_arrow
from selfpaced.tables.files.file import File, LoadedFile
from selfpaced.tables.files.reader import DEFAULT_BATCH_ROWS, Needed, Reader, ReadPlan, RowFilter
from selfpaced.tables.files.streamed import StreamedTable
from selfpaced.tables.frames import with_open_categories
from selfpaced.tables.memory import is_dask_frame, is_spark_frame, open_array
from selfpaced.tables.profile import ColumnLook, ColumnProfile, categories_of, look_through
from selfpaced.tables.schema import Schema, feature_types, frozen, unified_fields
from selfpaced.tables.sources.copies import with_copies
from selfpaced.tables.sources.databases import is_query, query_reader
from selfpaced.tables.sources.finding import file_reader
from selfpaced.tables.sources.lakes import delta_reader, iceberg_reader, is_delta, is_iceberg
from selfpaced.tables.sources.streams import is_stream, stream_reader
from selfpaced.tables.table import (
    ArrayOptions,
    ClusterOptions,
    DaskOptions,
    FilesOptions,
    LakeOptions,
    QueryOptions,
    ReadingOptions,
    Roles,
    RowOptions,
    Source,
    StreamOptions,
    Table,
    TableOptions,
    check_options,
    feature_names,
    names_of,
)
from selfpaced.tables.text.csv import MISSING_VALUES, is_csv


@dataclass(frozen=True)
class RowSource:
    """A kind of source.

    Attributes
    ----------
    name : str
        What error messages call it.
    recognises : Callable[[Any, Mapping[str, Any]], bool]
        Whether something is a source of this kind, by itself and the options given.
    reads : Callable[[Any, ReadPlan], Reader]
        From the source and a plan to a reader of all its rows.
    honours : frozenset[str]
        The names of the options that it honours. All others are refused.
    """

    name: str
    recognises: Callable[[Any, Mapping[str, Any]], bool]
    reads: Callable[[Any, ReadPlan], Reader]
    honours: frozenset[str]


ROW_SOURCES = (
    RowSource("a query", is_query, query_reader, QueryOptions.__optional_keys__),
    RowSource("a Delta table", is_delta, delta_reader, LakeOptions.__optional_keys__),
    RowSource("an Iceberg table", is_iceberg, iceberg_reader, LakeOptions.__optional_keys__),
    RowSource("an Arrow stream", is_stream, stream_reader, StreamOptions.__optional_keys__),
    RowSource("files", lambda source, options: True, file_reader, FilesOptions.__optional_keys__),
)


def row_source_of(source: Any, options: Mapping[str, Any]) -> RowSource:
    """The first kind that recognises a source."""
    return next(kind for kind in ROW_SOURCES if kind.recognises(source, options))


def open_rows(kind: RowSource, source: Any, **options: Unpack[RowOptions]) -> StreamedTable:
    """A table whose rows are read batch by batch. The options are those of `open_table`."""
    given: dict[str, Any] = {name: options.get(name) for name in ("target", "pos_label", "weight", "id", "group")}
    roles = Roles(**given)
    columns, exclude = options.get("columns"), names_of(options.get("exclude", ()))
    named = None if columns is None else names_of(columns)
    needed = needed_for(Needed(named, exclude, roles.columns), options.get("filter"))
    reader = restricted(open_reader(kind, source, replace(plan_of(options), needed=needed)), options)
    check_columns(reader, roles)
    fields = unified_fields(reader.files, exclude)
    names = feature_names([*fields, *reader.left_out], named, exclude, roles)
    schema = frozen_schema(reader, fields, names).in_zone(options.get("timezone"))
    table = StreamedTable(reader, schema, roles)
    return replace(
        table, memory_for_tags=_whole("memory_for_tags", options.get("memory_for_tags", table.memory_for_tags))
    )


def open_like(source: Any, schema: Schema, roles: Roles, **reading: Unpack[ReadingOptions]) -> StreamedTable:
    """Rows that must have the features of a schema: to be scored by the model that was trained with it."""
    # A string that looks like a number, as postcodes do in some files, is a string as in training.
    strings = [column.source for column in schema.columns if column.categories is not None]
    reader = _reader_to_score(source, Needed(schema.sources, (), roles.columns), strings, reading)
    for file in reader.files:
        schema.check_columns(file)
        if is_csv(file.path):
            _refuse_unclear_categories(schema, file)
    reader = restricted(reader, reading)
    check_columns(reader, roles)
    return StreamedTable(reader, schema, roles)


def open_like_frame(
    source: Any,
    names: Sequence[str] | None,
    categories: Mapping[str, Sequence[str]],
    roles: Roles,
    **reading: Unpack[ReadingOptions],
) -> StreamedTable:
    """Rows to be scored by a model that was trained on rows in memory, which it read as they were.

    Nothing is read yet: each batch gets its categories, beginning with those that are known, when it is converted.

    Parameters
    ----------
    names : Sequence[str] | None
        The features in their order; None for all columns.
    categories : Mapping[str, Sequence[str]]
        The categories of some features in training.
    """
    named = None if names is None else names_of(names)
    reader = _reader_to_score(source, Needed(named, (), roles.columns), list(categories), reading)
    reader = restricted(reader, reading)
    check_columns(reader, roles)
    fields = unified_fields(reader.files)
    features = feature_names([*fields, *reader.left_out], named, (), Roles())
    types = feature_types(fields, features, features)
    # A column of strings stays one if all of them are missing in this table.
    are_categories = [name for name in features if name in categories or types[name] == import_arrow().string()]
    strings = {name: categories.get(name, ()) for name in are_categories}
    schema = frozen(fields, features, features, strings)
    return StreamedTable(reader, with_open_categories(schema), roles)


def _reader_to_score(source: Any, needed: Needed, strings: Sequence[str], reading: ReadingOptions) -> Reader:
    """A reader of the columns that a model needs. `strings` are read as strings even if they look like numbers."""
    kind = row_source_of(source, reading)
    check_options(kind, reading)
    types = dict.fromkeys(strings, "string")
    needed = needed_for(needed, reading.get("filter"))
    return open_reader(kind, source, replace(plan_of(reading), types=types, lenient=True, needed=needed))


def _refuse_unclear_categories(schema: Schema, file: File | LoadedFile) -> None:
    """Refuse a CSV file whose missing values may be known categories, such as "" or "NA" (Namibia)."""
    for column in schema.columns:
        unclear = set(MISSING_VALUES).intersection(column.categories or ())
        if unclear and column.name not in file.without_missing:
            raise TableError(
                f"Column {column.name!r} of {file.path} has missing values. The model was trained with the string(s) "
                f"{sorted(unclear)}, which look like missing values in a CSV file. Write the rows to a Parquet file."
            )


def open_reader(kind: RowSource, source: Any, plan: ReadPlan) -> Reader:
    """A reader of all rows of a source. It reads copies, if a folder for copies is named."""
    return with_copies(kind.reads(source, plan), plan)


def plan_of(options: Mapping[str, Any]) -> ReadPlan:
    """The options about reading."""
    if options.get("cache_bytes") is not None:
        _whole("cache_bytes", options["cache_bytes"])
    names = {field.name for field in fields_of(ReadPlan)}
    return ReadPlan(**{name: value for name, value in options.items() if name in names and value is not None})


def needed_for(needed: Needed, filter: Any) -> Needed:
    """The columns that are read, including those of the filter. Only pyarrow knows which ones an expression reads."""
    if filter is None:
        return needed
    if not _is_list_of_conditions(filter):
        return Needed()
    return replace(needed, others=[*needed.others, *(name for name, _, _ in filter)])


def _is_list_of_conditions(filter: Any) -> bool:
    return isinstance(filter, list) and all(isinstance(one, tuple) and len(one) == 3 for one in filter)


def restricted(reader: Reader, reading: Mapping[str, Any]) -> Reader:
    """The reader of the rows that satisfy the filter, with batches of the size asked for."""
    condition = row_filter(reading.get("filter"), reader)
    batch_rows = _whole("batch_rows", reading.get("batch_rows", DEFAULT_BATCH_ROWS))
    return replace(reader, filter=condition, batch_rows=batch_rows)


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1; got {value!r}.")
    return int(value)


def check_columns(reader: Reader, roles: Roles) -> None:
    """Refuse roles and a filter whose columns are missing in a file."""
    filtered = () if reader.filter is None else reader.filter.columns
    for name in (*roles.columns, *filtered):
        for file in reader.files:
            if name not in file.schema.names:
                names = file.schema.names
                raise TableError(
                    f"{file.path} has no column {name!r}; its columns are {names}.{did_you_mean(name, names)}"
                )


def row_filter(filter: Any, reader: Reader) -> RowFilter | None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if filter is None:
        return None
    if isinstance(filter, pc.Expression):
        return RowFilter(filter, tuple(reader.column_names))  # only pyarrow knows which columns an expression reads
    if _is_list_of_conditions(filter):
        return RowFilter(pq.filters_to_expression(filter), tuple(dict.fromkeys(name for name, _, _ in filter)))
    raise TypeError(
        f"filter must be a list of (column, operator, value) or a pyarrow.compute.Expression; got {filter!r}."
    )


def frozen_schema(
    reader: Reader,
    fields: Mapping[str, Any],
    names: Sequence[str],
    profiles: Mapping[str, ColumnProfile] | None = None,
) -> Schema:
    """The features as models see them. Columns of strings without a profile are read to find their categories."""
    pa = import_arrow()
    complete = frozenset.intersection(*(file.without_missing for file in reader.files))
    types = feature_types(fields, names, complete)
    strings = [name for name, kind in types.items() if kind == pa.string()]
    unsure = [name for name, kind in types.items() if kind == pa.float64() and _is_whole(fields[name])]
    if profiles is None:
        looks = {name: ColumnLook(name) for name in [*strings, *unsure]}
        look_through(reader, looks)
        profiles = {name: look.result() for name, look in looks.items()}
    complete |= {name for name in unsure if not profiles[name].n_missing}
    return frozen(fields, names, complete, {name: categories_of(profiles[name]) for name in strings})


def _is_whole(kind: Any) -> bool:
    pa = import_arrow()
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _open_dask_frame(frame: Any, **options: Unpack[DaskOptions]) -> Table:
    from selfpaced.clusters.dask import open_dask_frame  # when it is needed: Dask is optional

    return open_dask_frame(frame, **options)


def _open_spark_frame(frame: Any, **options: Unpack[ClusterOptions]) -> Table:
    from selfpaced.clusters.spark import open_spark_frame  # when it is needed: Spark is optional

    return open_spark_frame(frame, **options)


SOURCES = (
    Source("an array", lambda source, _: isinstance(source, ndarray), open_array, ArrayOptions.__optional_keys__),
    Source(
        "a Dask DataFrame", lambda source, _: is_dask_frame(source), _open_dask_frame, DaskOptions.__optional_keys__
    ),
    Source(
        "a Spark DataFrame",
        lambda source, _: is_spark_frame(source),
        _open_spark_frame,
        ClusterOptions.__optional_keys__,
    ),
    *(Source(kind.name, kind.recognises, partial(open_rows, kind), kind.honours) for kind in ROW_SOURCES),
)


def open_table(source: Any, **options: Unpack[TableOptions]) -> Table:
    """Open a table for `fit_table`. Of files, only the metadata and the categories are read.

    An option that a source does not support raises an error that names it.

    Parameters
    ----------
    source : path, URL, pattern, folder, list of these, dataset, lake table, stream, query, cluster frame or ndarray
        Files are Parquet (`.parquet`, `.pq`), Arrow IPC (`.feather`, `.arrow`, `.ipc`), CSV (`.csv`, `.tsv`) or JSON
        lines (`.jsonl`, `.ndjson`). CSV and JSON lines may be compressed (`.gz`, `.bz2`, `.zst`). Folders are searched
        with all their subfolders. Subfolders such as `year=2024` become columns. Files are read in the order of their
        names.
        Strings become categories, and dates become seconds since 1970, weekday and hour. A text file is converted to
        a Parquet file beside it, `NAME.csv.selfpaced.parquet`, which is used until the text file changes.
        URLs are those of pyarrow (`s3://`, `gs://`, `abfs://`, `file://`) and of fsspec. A Delta or Iceberg table is
        read in one version. Arrow streams, such as a DuckDB relation or a polars LazyFrame, and the rows of a query
        are written once to a temporary Parquet file.
        The rows of Dask and Spark DataFrames stay on their cluster. A Spark DataFrame needs an `id` unless it is read
        from Parquet files. An array, such as a memory map, is not copied; `target` holds its labels.
    **options : dict
        The options that follow.
    target : str, or array-like for an array
        The column of labels.
    pos_label : label, default=None
        The label to separate from all others, if there are more than two. For all but arrays and clusters.
    columns : list of str, default=None
        The features, in the order in which models see them; all columns by default. For files, Dask and Spark.
    exclude : list of str, default=()
        Columns that are not features. For files, Dask and Spark.
    filter : list of (column, operator, value) or pyarrow.compute.Expression, default=None
        The conditions that rows must all satisfy. For files.
    weight : str, default=None
        The column of sample weights. For files, Dask and Spark.
    id : str, default=None
        A column of whole numbers, each once. Rows are drawn by it, so that neither the order of the rows nor their
        division into files matters. Without one, a row's id is its position. For files, Dask and Spark.
    group : str, default=None
        The column of groups: what several rows belong to, such as a card, a customer or a patient. It is not a
        feature. Rows of one group are never on both sides of a split: calibration and the choice of recipes judge
        every row by models that have not seen its group. 7 and "7" are the same group. Every row needs a group. For
        files, Dask and Spark.
    timezone : str, default=None
        The time zone of weekdays and hours. By default it is the time zone of the column, and UTC if the column has
        none. It is saved with the model. For files, Dask and Spark.
    batch_rows : int, default=65536
        The number of rows that are decoded and scored at once. For files.
    memory_for_tags : int, default=2**31
        The limit in bytes of the memory for running sums, 4 bytes for each row. If a fit needs more, the sums are kept
        in a temporary file. For files.
    types : dict of str to str, default=None
        The Arrow types of columns of text files, as in `{"zip": "string"}`; or "decimal comma" or "thousands comma".
        The types of other columns are inferred from all values: bool, int64, uint64, float64, timestamp (2024-01-31 or
        31.01.2024, also with a time) or string. "007" is a string. Missing values are those of `pandas.read_csv`.
    cache : path, default=None
        The folder for Parquet files that are made of text files, streams and queries, and for copies of remote Parquet
        files. By default the Parquet file of a text file is put beside it, streams are written to a temporary folder,
        and remote Parquet files are not copied.
    cache_bytes : int, default=None
        The largest size in bytes of all copies of remote files in that folder; by default 90% of the free space. For
        files and lake tables.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, default=None
        The file system of the paths. By default the URL names it, and credentials come from the environment. For files.
    version : int or str, default=None
        The version of a Delta table, or the snapshot, branch or tag of an Iceberg table; by default the newest.
    connection : str, path or connection, default=None
        The database, if `source` is a query: a URL "postgresql://...", a DuckDB file, or an open connection of ADBC,
        DB-API or DuckDB.
    progress : callable, default=None
        A function of the bytes read so far and of all bytes to read (None if unknown). It is called while text files
        are converted, remote files are copied, and streams are written.
    fit_on : {"driver", "executor"}, default="driver"
        Where members are trained: in this process, or on a worker or an executor of the cluster, to which the training
        set of each member travels. Members that do not depend on each other, those of under-bagging and EasyEnsemble,
        are trained there side by side. For Dask and Spark.
    client : distributed.Client, default=None
        The client of the cluster of a Dask frame; by default the active one.

    Returns
    -------
    Table
        The table, for `fit_table`.

    See Also
    --------
    SelfPacedEnsembleClassifier.fit_table : Trains on the table.
    selfpaced.tables.DatabaseTable : A table of a database, to write scores to.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from selfpaced import SelfPacedEnsembleClassifier, open_table
    >>> from selfpaced.datasets import make_fraud
    >>> X, y = make_fraud(n_rows=2000, n_frauds=40, n_features=4, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "transactions.parquet")
    ...     pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(is_fraud=y).to_parquet(path)
    ...     table = open_table(path, target="is_fraud")
    ...     model = SelfPacedEnsembleClassifier(random_state=0).fit_table(table)
    >>> model.trained_on_.counts
    {0: 1960, 1: 40}
    """
    kind = next(kind for kind in SOURCES if kind.recognises(source, options))
    return kind.opens(source, **check_options(kind, options))
