"""`open_table`: a table from any source of rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from os import PathLike
from typing import Any, Unpack

from numpy import ndarray

from selfpaced.exceptions import TableError, did_you_mean, pa, pc, pq
from selfpaced.tables.files.file import DEFAULT_BATCH_ROWS, File, LoadedFile, Needed, Reader, ReadPlan, RowFilter
from selfpaced.tables.files.streamed import MEMORY_FOR_TAGS, StreamedTable
from selfpaced.tables.files.text import MISSING_VALUES, is_csv
from selfpaced.tables.frames import with_open_categories
from selfpaced.tables.memory import is_dask_frame, is_spark_frame, open_array
from selfpaced.tables.profile import ColumnLook, ColumnProfile, categories_of, look_through
from selfpaced.tables.schema import Schema, feature_types, frozen, unified_fields
from selfpaced.tables.sources.cache import is_text, with_copies
from selfpaced.tables.sources.finding import file_reader
from selfpaced.tables.sources.lakes import delta_reader, iceberg_reader, is_delta, is_iceberg
from selfpaced.tables.sources.streams import is_query, is_stream, query_reader, stream_reader
from selfpaced.tables.table import Progress, ReadingOptions, Roles, Table, check_whole, feature_names, names_of

# The options that a source honours, by the name that errors call it. All others are refused.
_FRAME = frozenset({"target", "columns", "exclude", "weight_column", "id_column", "group_column", "timezone"})
_STREAM = _FRAME | {"pos_label", "time_column", "where", "batch_rows", "memory_for_tags", "cache", "progress"}
_LAKE = _STREAM | {"version", "cache_bytes"}
HONOURED = {
    "an array": frozenset({"target"}),
    "a Dask DataFrame": _FRAME | {"fit_on", "client"},
    "a Spark DataFrame": _FRAME,
    "a query": _STREAM | {"connection"},
    "a Delta table": _LAKE,
    "an Iceberg table": _LAKE,
    "an Arrow stream": _STREAM,
    "files": _STREAM | {"types", "filesystem", "cache_bytes"},
}


@dataclass(frozen=True)
class RowSource:
    """A kind of source whose rows are read batch by batch."""

    name: str  # what error messages call it, and its name in `HONOURED`
    # Whether something is a source of this kind, by itself and the options given.
    recognises: Callable[[Any, Mapping[str, Any]], bool]
    reads: Callable[[Any, ReadPlan], Reader]  # from the source and a plan to a reader of all its rows


ROW_SOURCES = (
    RowSource("a query", is_query, query_reader),
    RowSource("a Delta table", is_delta, delta_reader),
    RowSource("an Iceberg table", is_iceberg, iceberg_reader),
    RowSource("an Arrow stream", is_stream, stream_reader),
    RowSource("files", lambda source, options: True, file_reader),
)


def open_table(
    source: Any,
    *,
    target: Any = None,
    pos_label: Any = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    where: Any = None,
    weight_column: str | None = None,
    id_column: str | None = None,
    group_column: str | None = None,
    time_column: str | None = None,
    timezone: str | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    memory_for_tags: int = MEMORY_FOR_TAGS,
    types: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
    filesystem: Any = None,
    version: Any = None,
    connection: Any = None,
    progress: Progress | None = None,
    fit_on: str = "driver",
    client: Any = None,
) -> Table:
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
        The rows of Dask and Spark DataFrames stay on their cluster. A Spark DataFrame needs an `id_column` unless it is
        read from Parquet files. An array, such as a memory map, is not copied; `target` holds its labels.
    target : str, or array-like for an array
        The column of labels.
    pos_label : label, default=None
        The label to separate from all others, if there are more than two. For all but arrays and clusters.
    columns : list of str, default=None
        The features, in the order in which models see them; all columns by default. For files, Dask and Spark.
    exclude : list of str, default=()
        Columns that are not features. For files, Dask and Spark.
    where : list of (column, operator, value) or pyarrow.compute.Expression, default=None
        The conditions that rows must all satisfy. For files.
    weight_column : str, default=None
        The column of sample weights. For files, Dask and Spark.
    id_column : str, default=None
        A column of whole numbers, each once. Rows are drawn by it, so that neither the order of the rows nor their
        division into files matters. Without one, a row's id is its position. For files, Dask and Spark.
    group_column : str, default=None
        The column of groups: what several rows belong to, such as a card, a customer or a patient. It is not a
        feature. Rows of one group are never on both sides of a split: calibration and the choice of recipes judge
        every row by models that have not seen its group. 7 and "7" are the same group. Every row needs a group. For
        files, Dask and Spark.
    time_column : str, default=None
        The column of dates or numbers that says when a row was. It is not a feature. `AutoSelfPacedClassifier` judges
        every row by models of other times. For files.
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
        The database, if `source` is a query: a URL "postgresql://...", a DuckDB file, or an open connection of ADBC or
        DuckDB.
    progress : callable, default=None
        A function of the bytes read so far and of all bytes to read (None if unknown). It is called while text files
        are converted, remote files are copied, and streams are written.
    fit_on : {"driver", "executor"}, default="driver"
        Where members are trained: in this process, or on a worker of the Dask cluster, to which the training set of
        each member travels. Members that do not depend on each other, those of under-bagging and EasyEnsemble, are
        trained there side by side.
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
    options = {name: value for name, value in locals().items() if name != "source"}
    if isinstance(source, ndarray):
        return open_array(source, **_honoured("an array", options))
    if is_dask_frame(source):
        from selfpaced.clusters.dask import open_dask_frame  # when it is needed: Dask is optional

        return open_dask_frame(source, **_honoured("a Dask DataFrame", options))
    if is_spark_frame(source):
        from selfpaced.clusters.spark import open_spark_frame

        return open_spark_frame(source, **_honoured("a Spark DataFrame", options))
    return _open_rows(source, options)


_DEFAULTS = {"batch_rows": DEFAULT_BATCH_ROWS, "memory_for_tags": MEMORY_FOR_TAGS, "fit_on": "driver"}


def _honoured(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given. Those that a kind of source does not support are refused by name."""
    given = {option: value for option, value in options.items() if not _is_default(option, value)}
    refused = sorted(set(given) - HONOURED[name])
    if refused:
        raise TableError(
            f"open_table does not support {refused[0]}= for {name}. The options for {name} are "
            f"{', '.join(sorted(HONOURED[name]))}."
        )
    return given


def _is_default(name: str, value: Any) -> bool:
    """Whether an option was not given. An empty list counts as not given, but for one of features."""
    if name in _DEFAULTS:
        return bool(value == _DEFAULTS[name])
    return value is None or (name != "columns" and isinstance(value, list | tuple) and not value)


def _open_rows(source: Any, options: Mapping[str, Any]) -> StreamedTable:
    """A table whose rows are read batch by batch."""
    roles = Roles(
        options["target"],
        options["pos_label"],
        weight_column=options["weight_column"],
        id_column=options["id_column"],
        time_column=options["time_column"],
        group_column=options["group_column"],
    )
    exclude = names_of(options["exclude"])
    named = None if options["columns"] is None else names_of(options["columns"])
    reader = _restricted(open_reader(source, options, Needed(named, exclude, roles.columns)), options, roles)
    fields = unified_fields(reader.files, exclude)
    names = feature_names([*fields, *reader.left_out], named, exclude, roles)
    schema = frozen_schema(reader, fields, names).in_zone(options["timezone"])
    return StreamedTable(reader, schema, roles, check_whole("memory_for_tags", options["memory_for_tags"]))


def open_like(source: Any, schema: Schema, roles: Roles, **reading: Unpack[ReadingOptions]) -> StreamedTable:
    """Rows that must have the features of a schema: to be scored by the model that was trained with it."""
    reader = reader_like(source, schema, Needed(schema.sources, (), roles.columns), reading)
    return StreamedTable(_restricted(reader, reading, roles), schema, roles)


def reader_like(source: Any, schema: Schema, needed: Needed, reading: ReadingOptions) -> Reader:
    """A reader of rows that must have the features of a schema, and are read as it says."""
    # A string that looks like a number, as postcodes do in some files, is a string as in training.
    strings = [column.source for column in schema.columns if column.categories is not None]
    reader = open_reader(source, reading, needed, strings)
    for file in reader.files:
        schema.check_columns(file)
        if is_csv(file.path):
            _refuse_unclear_categories(schema, file)
    return reader


def open_like_frame(
    source: Any,
    names: Sequence[str] | None,
    categories: Mapping[str, Sequence[str]],
    roles: Roles,
    **reading: Unpack[ReadingOptions],
) -> StreamedTable:
    """Rows to be scored by a model that was trained on rows in memory, which it read as they were.

    Nothing is read yet: each batch gets its categories, beginning with those in training, when it is converted. `names`
    are the features in their order; None for all columns.
    """
    named = None if names is None else names_of(names)
    reader = open_reader(source, reading, Needed(named, (), roles.columns), list(categories))
    reader = _restricted(reader, reading, roles)
    fields = unified_fields(reader.files)
    features = feature_names([*fields, *reader.left_out], named, (), Roles())
    types = feature_types(fields, features, features)
    # A column of strings stays one if all of them are missing in this table.
    are_categories = [name for name in features if name in categories or types[name] == pa.string()]
    strings = {name: categories.get(name, ()) for name in are_categories}
    schema = frozen(fields, features, features, strings)
    return StreamedTable(reader, with_open_categories(schema), roles)


def _refuse_unclear_categories(schema: Schema, file: File | LoadedFile) -> None:
    """Refuse a CSV file whose missing values may be known categories, such as "" or "NA" (Namibia)."""
    for column in schema.columns:
        unclear = set(MISSING_VALUES).intersection(column.categories or ())
        if unclear and column.name not in file.without_missing:
            raise TableError(
                f"Column {column.name!r} of {file.path} has missing values. The model was trained with the string(s) "
                f"{sorted(unclear)}, which look like missing values in a CSV file. Write the rows to a Parquet file."
            )


def open_reader(
    source: Any,
    options: Mapping[str, Any],
    needed: Callable[[Sequence[str]], list[str]],
    strings: Sequence[str] | None = None,
) -> Reader:
    """A reader of all rows of a source. Options of `open_table` that the source does not support are refused.

    `needed` takes the names of all columns and returns those that will be read. For rows to be scored, `strings` are
    the columns that are read as strings even if they look like numbers.
    """
    kind = next(kind for kind in ROW_SOURCES if kind.recognises(source, options))
    given = _honoured(kind.name, options)
    if given.get("cache_bytes") is not None:
        check_whole("cache_bytes", given["cache_bytes"])
    names = {field.name for field in fields_of(ReadPlan)}
    plan = ReadPlan(**{name: value for name, value in given.items() if name in names})
    plan = replace(plan, needed=_with_condition(needed, given.get("where")))
    if strings is None:
        return with_copies(kind.reads(source, plan), plan)
    asked = plan.types or {}
    plan = replace(plan, types={**dict.fromkeys(strings, "string"), **asked}, lenient=True)
    reader = with_copies(kind.reads(source, plan), plan)
    columns = [*reader.column_names, *reader.left_out]
    for name in asked:  # those of the model may be missing, but not those that were asked for
        if name not in columns or not any(is_text(file.path) for file in reader.files):
            raise TableError(f"types= names {name!r}, but no CSV or JSON file of {source} has this column.")
    return reader


def _with_condition(needed: Any, where: Any) -> Any:
    """The columns that are read, including those of a condition. Only pyarrow knows which ones an expression reads."""
    if where is None:
        return needed
    if not _is_list_of_conditions(where):
        return Needed()
    return replace(needed, others=[*needed.others, *(name for name, _, _ in where)])


def _is_list_of_conditions(where: Any) -> bool:
    return isinstance(where, list) and all(isinstance(one, tuple) and len(one) == 3 for one in where)


def _restricted(reader: Reader, reading: Mapping[str, Any], roles: Roles) -> Reader:
    """The reader of the rows that satisfy the condition, with batches of the size asked for."""
    condition = _row_filter(reading.get("where"), reader)
    batch_rows = check_whole("batch_rows", reading.get("batch_rows", DEFAULT_BATCH_ROWS))
    restricted = replace(reader, filter=condition, batch_rows=batch_rows)
    check_columns(restricted, roles)
    return restricted


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


def _row_filter(where: Any, reader: Reader) -> RowFilter | None:
    if where is None:
        return None
    if isinstance(where, pc.Expression):
        return RowFilter(where, tuple(reader.column_names))  # only pyarrow knows which columns an expression reads
    if _is_list_of_conditions(where):
        return RowFilter(pq.filters_to_expression(where), tuple(dict.fromkeys(name for name, _, _ in where)))
    raise TypeError(
        f"where must be a list of (column, operator, value) or a pyarrow.compute.Expression; got {where!r}."
    )


def frozen_schema(
    reader: Reader,
    fields: Mapping[str, Any],
    names: Sequence[str],
    profiles: Mapping[str, ColumnProfile] | None = None,
) -> Schema:
    """The features as models see them. Columns of strings without a profile are read to find their categories."""
    complete = frozenset.intersection(*(file.without_missing for file in reader.files))
    types = feature_types(fields, names, complete)
    strings = [name for name, kind in types.items() if kind == pa.string()]
    whole = [name for name in names if pa.types.is_integer(fields[name]) or pa.types.is_boolean(fields[name])]
    unsure = [name for name in whole if types[name] == pa.float64()]
    if profiles is None:
        looks = {name: ColumnLook(name) for name in [*strings, *unsure]}
        look_through(reader, looks)
        profiles = {name: look.result() for name, look in looks.items()}
    complete |= {name for name in unsure if not profiles[name].n_missing}
    return frozen(fields, names, complete, {name: categories_of(profiles[name]) for name in strings})
