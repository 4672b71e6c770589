"""The options about the rows to read and the place to write to."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence

from selfpaced._jobs.data import Data
from selfpaced.ensembles.table_scoring import ScoringOptions
from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, explaining, located, patiently, shown
from selfpaced.tables import DatabaseTable
from selfpaced.tables.databases import is_database


def data_in(options: Namespace) -> Data:
    """The rows to read. With a query, DATA is the database."""
    reading: ScoringOptions = {}
    if options.cache is not None:
        reading["cache"] = options.cache
    if options.snapshot is not None:
        reading["version"] = int(options.snapshot) if options.snapshot.lstrip("-").isdigit() else options.snapshot
    if options.query is None:
        return Data(options.data, reading)
    return Data(options.query, {**reading, "connection": options.data})


def what_is_done(options: Namespace, otherwise: str) -> str:
    """The text of the progress bar while rows are read."""
    if options.query is not None:
        return "reading the query"
    return otherwise if options.cache is None else f"reading into {options.cache}"


def scores_output(options: Namespace) -> Place | DatabaseTable:
    """The file, or the table of a database, that scores are written to."""
    if not is_database(options.output):
        if options.table is not None or options.if_exists != "fail":
            raise TableError(f"--table and --if-exists are for a database, but {options.output} is a file. Omit them.")
        return check_output(options.output, [".parquet", ".csv"])
    if options.table is None:
        raise TableError(f"{shown(options.output)} is a database. Name the table for the scores: --table scores")
    return DatabaseTable(options.output, options.table, options.if_exists)


def check_output(path: str, endings: Sequence[str]) -> Place:
    """Refuse a file that cannot be written, before an hour of work."""
    output = located(path)
    if output.suffix.lower() not in endings:
        raise TableError(f"{shown(path)} has a wrong ending. Name a file that ends in {' or '.join(endings)}.")
    if isinstance(output, RemoteFile):
        _check_bucket(output)
        return output
    folder = output.parent
    if not folder.is_dir():
        raise TableError(f"The folder {folder} for {output.name} does not exist. Make it first: mkdir -p {folder}")
    if output.is_dir() or not os.access(folder, os.W_OK):
        raise TableError(f"{path} cannot be written: {'it is a folder' if output.is_dir() else 'no permission'}.")
    return output


def _check_bucket(output: RemoteFile) -> None:
    """Refuse an output in a bucket that does not exist. Folders in a bucket need not exist."""
    from pyarrow import fs

    if output.filesystem.type_name not in ("s3", "gcs", "abfs"):
        return
    bucket = output.path.partition("/")[0]
    with explaining(output, "written"):
        found = patiently(lambda: output.filesystem.get_file_info(bucket))
    if found.type == fs.FileType.NotFound:
        raise TableError(f"{output} cannot be written: there is no bucket {bucket!r}. Make it first.")
