"""Queries of databases: the rows of one SELECT."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from selfpaced.remote_files import shown
from selfpaced.tables.databases import connected, driver_of, explained, is_database
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.spooling import spooled

_SELECT = re.compile(r"\s*(select|with)\s", re.IGNORECASE)


def is_query(source: Any, options: Mapping[str, Any]) -> bool:
    """Whether a source is a query: text with a connection. A query or a database alone is refused when it is opened."""
    alone = is_database(source) or (isinstance(source, str) and _SELECT.match(source) is not None)
    return options.get("connection") is not None or alone


def query_reader(source: Any, plan: ReadPlan) -> Reader:
    """Run a query once, and write its rows to Parquet files, which are read every round."""
    if plan.connection is None and is_database(source):
        raise ValueError(
            f"{shown(source)} is a database. Name the rows with a query: open_table('SELECT ...', connection=...) in "
            "Python, --query 'SELECT ...' on the command line."
        )
    if plan.connection is None:
        raise ValueError(
            f"{source!r} looks like a query, but connection= is missing: open_table('SELECT ...', connection=...)."
        )
    if not isinstance(source, str) or isinstance(source, PathLike):
        raise TypeError(f"With connection=, the source must be a query as a string; got {type(source).__name__}.")
    with connected(plan.connection) as connection:
        try:
            with driver_of(connection).rows(connection, source) as (schema, batches):
                return spooled("the query", schema, batches, plan)
        except Exception as error:
            raise explained(error, f"The query {source!r} failed") from error
