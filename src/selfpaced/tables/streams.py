"""Arrow streams: sources that give their rows once, batch by batch, such as a DuckDB relation or a polars LazyFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.tables.formats import FORMATS, import_arrow
from selfpaced.tables.memory import is_frame
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.spooling import spooled

BATCH_ROWS = 2**16
Batches = tuple[Any, Iterable[Any]]  # the Arrow schema, and record batches or tables


def is_stream(source: Any, options: Mapping[str, Any]) -> bool:
    """Whether something gives rows once. Frames in memory do too, but they go to `fit`."""
    return not is_frame(source) and _batches_by(source) is not None


def stream_reader(source: Any, plan: ReadPlan) -> Reader:
    """Write the rows to a Parquet file, which is read every round."""
    batches_of = _batches_by(source)
    assert batches_of is not None
    name = f"the {type(source).__name__}"
    pa = import_arrow()
    try:
        schema, batches = batches_of(source)
        return spooled(name, schema, batches, plan)
    except pa.ArrowException as error:
        raise TableError(f"{name} cannot be read as an Arrow stream: {error}") from error


def _batches_by(source: Any) -> Callable[[Any], Batches] | None:
    """The function that reads the rows of a source; None if the source is not a stream."""
    package = type(source).__module__.partition(".")[0]
    if package == "polars" and hasattr(source, "collect_schema") and hasattr(source, "lazy") and not is_frame(source):
        return _of_lazy_frame
    if package == "datasets" and hasattr(source, "with_format") and hasattr(source, "iter"):
        return _of_hugging_face
    if hasattr(source, "get_fragments"):
        return None if is_plain_dataset(source) else _of_dataset
    return _of_stream if hasattr(source, "__arrow_c_stream__") else None


def _of_stream(source: Any) -> Batches:
    reader = import_arrow().RecordBatchReader.from_stream(source)
    return reader.schema, reader


def _of_lazy_frame(frame: Any) -> Batches:
    """polars computes the rows piece by piece, in their order."""
    if not hasattr(frame, "collect_batches"):
        raise TableError(
            "Reading a LazyFrame needs its method collect_batches, which this version of polars does not have. Install "
            "a newer version: pip install -U polars"
        )
    schema = frame.collect_schema().to_frame(eager=True).to_arrow().schema
    return schema, (batch.to_arrow() for batch in frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))


def _of_hugging_face(source: Any) -> Batches:
    tables = source.with_format("arrow").iter(batch_size=BATCH_ROWS)
    first = next(tables, None)
    if first is None:
        raise TableError("The dataset has no rows.")
    return first.schema, chain([first], tables)


def _of_dataset(dataset: Any) -> Batches:
    """A pyarrow dataset that is filtered, in memory, made of text files, or has other types than its files."""
    reader = dataset.scanner(batch_size=BATCH_ROWS).to_reader()
    return reader.schema, reader


def is_plain_dataset(dataset: Any) -> bool:
    """Whether a pyarrow dataset holds all rows of its files unchanged, so that the files can be read every round."""
    import pyarrow.dataset as ds

    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # pyarrow gives no fragments of a filtered dataset
        return False
    return all(
        isinstance(fragment, ds.FileFragment)
        and fragment.path.lower().endswith(tuple(FORMATS))
        and _is_whole(fragment)
        and _has_types_of(dataset.schema, fragment)
        for fragment in fragments
    )


def _is_whole(fragment: Any) -> bool:
    """Whether a fragment is a whole file, not some row groups of a Parquet file."""
    if not hasattr(fragment, "row_groups"):
        return True
    return bool(len(fragment.row_groups) == fragment.metadata.num_row_groups)


def _has_types_of(schema: Any, fragment: Any) -> bool:
    """Whether a file has the columns of the dataset, but for those that its folder adds."""
    import pyarrow.dataset as ds

    added = set(ds.get_partition_keys(fragment.partition_expression))
    own = {field.name: field.type for field in fragment.physical_schema if field.name not in added}
    return bool(own == {field.name: field.type for field in schema if field.name not in added})
