"""Temporary Parquet files that a fit reads once a round. Their format is fast to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selfpaced.tables.formats import import_arrow


def writer_for_rereading(path: Path, schema: Any) -> Any:
    """A writer of files that are read twice as fast as pyarrow's default, are smaller, and are written in a fifth of
    the time.

    Measured on 500,000 x 30 float32 values and on the Credit Fraud table. Dictionaries of floating-point numbers, which
    pyarrow tries first, cost most of the time. LZ4 compresses the bytes of numbers as well as zstd once they are sorted
    by their place in the number.
    """
    import pyarrow.parquet as pq

    pa = import_arrow()
    floats = [field.name for field in schema if pa.types.is_float32(field.type) or pa.types.is_float64(field.type)]
    others = [field.name for field in schema if field.name not in set(floats)]
    return pq.ParquetWriter(path, schema, compression="lz4", use_dictionary=others, use_byte_stream_split=floats)
