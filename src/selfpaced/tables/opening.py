"""Opening what the user points at: the only place that asks what kind of source it is."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from numpy import ndarray

from selfpaced.tables.arrays import open_array
from selfpaced.tables.dask import is_dask_frame, open_dask_frame
from selfpaced.tables.opening_rows import open_rows
from selfpaced.tables.options import ArrayOptions, DaskOptions, FrameOptions, Source, TableOptions, check_options
from selfpaced.tables.row_sources import ROW_SOURCES
from selfpaced.tables.spark import is_spark_frame, open_spark_frame
from selfpaced.tables.table import Table

SOURCES = (
    Source("an array", lambda source, _: isinstance(source, ndarray), open_array, ArrayOptions.__optional_keys__),
    Source("a Dask DataFrame", lambda source, _: is_dask_frame(source), open_dask_frame, DaskOptions.__optional_keys__),
    Source(
        "a Spark DataFrame", lambda source, _: is_spark_frame(source), open_spark_frame, FrameOptions.__optional_keys__
    ),
    *(Source(kind.name, kind.recognises, partial(open_rows, kind), kind.honours) for kind in ROW_SOURCES),
)


def open_table(source: Any, **options: Unpack[TableOptions]) -> Table:
    """Open a table for `fit_table`, without reading more of files than their descriptions and categories.

    An option that a source cannot honour is refused by name.

    Parameters
    ----------
    source : path, URL, pattern, folder, list of these, dataset, lake table, stream, query, cluster frame or ndarray
        Files are Parquet (`.parquet`, `.pq`), Arrow IPC (`.feather`, `.arrow`, `.ipc`), CSV (`.csv`, `.tsv`) or JSON
        lines (`.jsonl`, `.ndjson`), the latter two also compressed as `.gz`, `.bz2`, `.zst`. Folders are searched
        through; names such as `year=2024` in their paths become columns. Files are read in the order of their names.
        Strings become categories, and dates become seconds since 1970, weekday and hour. A text file is read whole and
        converted into a Parquet file beside it, `NAME.csv.selfpaced.parquet`, which is used until the text changes.
        URLs are those of pyarrow (`s3://`, `gs://`, `abfs://`, `file://`) and of fsspec. A Delta or Iceberg table is
        read in one version. Arrow streams, such as a DuckDB relation or a polars LazyFrame, and the rows of a query
        are written once to a temporary Parquet file.
        A Dask DataFrame is asked on its cluster, and so is a Spark DataFrame, which needs an id unless it is read
        from Parquet files. An array, such as a memory map, is read where it is; `target` are its labels.
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
        The column of what several rows belong to, such as a card, a customer or a patient. It is not a feature. Rows of
        one group are never on both sides of a split: calibration and the choice of recipes judge every row by models
        that have not seen its group. Values that are written alike are one group, 7 and "7" too; every row needs one.
        For files, Dask and Spark.
    timezone : str, default=None
        The time zone in which weekday and hour of dates are taken; by default the one that a column has itself, and UTC
        if it has none. It is kept with the model. For files, Dask and Spark.
    batch_rows : int, default=65536
        Rows that are decoded and scored at once. For files.
    memory_for_tags : int, default=2**31
        Bytes. During a fit 4 bytes of every row are kept; if that is more than this, in a temporary file. For files.
    types : dict of str to str, default=None
        Arrow types for columns of text files, as in `{"zip": "string"}`, or "decimal comma", "thousands comma". Others
        are inferred from all values: bool, int64, uint64, float64, timestamp (2024-01-31, also with a time) or string;
        "007" is a string. Missing values are spelled as for `pandas.read_csv`.
    cache : path, default=None
        The folder for the Parquet files made of text files, streams and queries, and for copies of remote Parquet files
        with the needed columns. By default a text file has its Parquet file beside it, streams are written to a
        temporary folder, and remote Parquet files are not copied.
    cache_bytes : int, default=None
        The most bytes that copies of remote files may take in that folder; by default 90% of the free space. For files
        and lake tables.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, default=None
        Where paths lead; by default URLs say it, and credentials come from the environment. For files.
    version : int or str, default=None
        The version of a Delta table, or the snapshot, branch or tag of an Iceberg table; by default the newest.
    connection : str, path or connection, default=None
        The database that is asked by the query that `source` is: "postgresql://...", a file of DuckDB, or an open
        connection of ADBC, DB-API or DuckDB.
    progress : callable, default=None
        Called with the bytes read so far and to be read in all, or None if nobody knows, while text files are
        converted, copies made, and streams written.
    client : distributed.Client, default=None
        The client of a Dask frame's cluster; by default the one that is active.

    Returns
    -------
    Table
        What `fit_table` accepts.

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
