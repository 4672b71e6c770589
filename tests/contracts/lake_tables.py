"""The rows of the exam in lake tables, whose first version has the first rows only."""

from __future__ import annotations

import pyarrow as pa

from tests.contracts.table_exam import N_EARLIER, ROWS

ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)


def delta_table(uri, **options):
    """A Delta table in a folder or behind a URL; the files of the first version are still there."""
    import deltalake

    deltalake.write_deltalake(uri, ARROW.slice(0, N_EARLIER), **options)
    deltalake.write_deltalake(uri, ARROW, mode="overwrite", **options)
    return uri


def iceberg_table(folder, **properties):
    """A table of a catalog in a folder; its rows are there too, unless the properties say otherwise."""
    from pyiceberg.catalog.sql import SqlCatalog

    properties = {"warehouse": folder.as_uri(), **properties}
    catalog = SqlCatalog("default", uri=f"sqlite:///{folder}/catalog.db", **properties)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.transactions", ARROW.schema)
    table.append(ARROW.slice(0, N_EARLIER))
    table.overwrite(ARROW)
    return table
