"""Sources of rows besides files: lake tables, databases and streams."""

from selfpaced.tables.sources.finding import find_files
from selfpaced.tables.sources.lakes import lake_of
from selfpaced.tables.sources.opening import (
    check_columns,
    frozen_schema,
    open_like,
    open_like_frame,
    open_reader,
    open_table,
    reader_like,
)
from selfpaced.tables.sources.streams import is_database
from selfpaced.tables.sources.writing import batch_of, refuse_own_source, refuse_taken, write_batches
