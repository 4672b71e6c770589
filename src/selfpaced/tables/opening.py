"""`open_table`: the only place that asks what kind of source the user gives."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from numpy import ndarray

from selfpaced.tables.arrays import open_array
from selfpaced.tables.dask import is_dask_frame, open_dask_frame
from selfpaced.tables.opening_rows import open_rows
from selfpaced.tables.options import ArrayOptions, ClusterOptions, DaskOptions, Source, TableOptions, check_options
from selfpaced.tables.row_sources import ROW_SOURCES
from selfpaced.tables.spark import is_spark_frame, open_spark_frame
from selfpaced.tables.table import Table

SOURCES = (
    Source("an array", lambda source, _: isinstance(source, ndarray), open_array, ArrayOptions.__optional_keys__),
    Source("a Dask DataFrame", lambda source, _: is_dask_frame(source), open_dask_frame, DaskOptions.__optional_keys__),
    Source(
        "a Spark DataFrame",
        lambda source, _: is_spark_frame(source),
        open_spark_frame,
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
    positive : label, default=None
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
