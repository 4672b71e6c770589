"""Queries of databases: the rows of one SELECT."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from selfpaced.tables.databases import connected, driver_of, explained
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.spooling import spooled

_SELECT = re.compile(r"\s*(select|with)\s", re.IGNORECASE)


def is_query(source: Any, options: Mapping[str, Any]) -> bool:
    """Text with a connection; text that can be nothing else is recognised without, and then refused with the reason."""
    return options.get("connection") is not None or (isinstance(source, str) and bool(_SELECT.match(source)))


def query_reader(source: Any, plan: ReadPlan) -> Reader:
    """Run a query once, and write its rows to Parquet files, which are read every round."""
    if plan.connection is None:
        raise ValueError(
            f"{source!r} looks like a query, and a query needs a connection: open_table('SELECT ...', connection=...)."
        )
    if not isinstance(source, str) or isinstance(source, PathLike):
        raise TypeError(f"With connection=, the source is a query, a text; got {type(source).__name__}.")
    with connected(plan.connection) as connection:
        try:
            with driver_of(connection).rows(connection, source) as (schema, batches):
                return spooled("the query", schema, batches, plan)
        except Exception as error:
            raise explained(error, f"The query {source!r} failed") from error
