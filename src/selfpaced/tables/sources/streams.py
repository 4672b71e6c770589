"""Streams of rows that can be read only once, written to temporary Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, ds, pa
from selfpaced.storage import TemporaryFolder
from selfpaced.tables.files.file import index_columns, open_file
from selfpaced.tables.files.formats import FORMATS, writer_for_rereading
from selfpaced.tables.files.reader import Reader, ReadPlan
from selfpaced.tables.memory import is_frame

GROUP_ROWS = 2**17
PIECE_BYTES = 2**20


def spooled(name: str, schema: Any, batches: Iterable[Any], plan: ReadPlan) -> Reader:
    """A reader of rows that can be read only once.

    They are written to `plan.cache` or a temporary folder, and removed together with the reader.

    Parameters
    ----------
    name : str
        What messages call the source.
    schema : Any
        Of all columns, also of those that are not needed.
    batches : Iterable[Any]
        Record batches or tables. Where their types change, a new file begins.
    """
    folder = TemporaryFolder(plan.cache)
    paths = _written(name, schema, batches, plan, folder.path)
    files = [open_file(name, {}, path, digest=_digest(path)) for path in paths]
    kept = set(plan.needed(schema.names))
    return Reader(files, left_out=tuple(name for name in schema.names if name not in kept), holds=(folder,))


def _written(name: str, schema: Any, batches: Iterable[Any], plan: ReadPlan, folder: Path) -> list[Path]:
    paths: list[Path] = []
    n_bytes, writer = 0, None
    try:
        for group in _groups(name, schema, batches, plan):
            if writer is None or writer.schema != group.schema:
                if writer is not None:
                    writer.close()
                paths.append(folder / f"{len(paths):04}.parquet")
                writer = writer_for_rereading(paths[-1], group.schema)
            writer.write_table(group, row_group_size=GROUP_ROWS)
            n_bytes += group.nbytes
            plan.tell(n_bytes, None)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"The rows of {name} cannot be written to {folder.parent}, which a fit needs: {error}"
        ) from error
    finally:
        if writer is not None:
            writer.close()
    return paths


def _groups(name: str, schema: Any, batches: Iterable[Any], plan: ReadPlan) -> Iterator[Any]:
    """Tables of exactly `GROUP_ROWS` rows, except the last of each type, so that the same rows give the same files."""
    waiting: list[Any] = []
    n_waiting = 0
    empty = True
    for batch in _with_needed_columns(name, batches, plan):
        if waiting and batch.schema != waiting[0].schema:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, n_waiting = [], 0
        waiting.append(batch)
        n_waiting, empty = n_waiting + batch.num_rows, False
        while n_waiting >= GROUP_ROWS:
            whole = pa.concat_tables(waiting).combine_chunks()
            yield whole.slice(0, GROUP_ROWS)
            n_waiting -= GROUP_ROWS
            waiting = [whole.slice(GROUP_ROWS)] if n_waiting else []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()
    if empty:
        yield from _with_needed_columns(name, [schema.empty_table()], plan, keep_empty=True)


def _with_needed_columns(name: str, batches: Iterable[Any], plan: ReadPlan, keep_empty: bool = False) -> Iterator[Any]:
    for batch in batches:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        if len(set(table.column_names)) < len(table.column_names):
            raise TableError(
                f"Two columns of {name} have the same name: {table.column_names}. Give each column its own name."
            )
        indices = index_columns(table.schema)
        names = [name for name in plan.needed(table.column_names) if name not in indices]
        table = table.select(names).replace_schema_metadata(None)
        if table.num_rows or keep_empty:
            yield table.cast(pa.schema([_storable(field) for field in table.schema]))


def _storable(field: Any) -> Any:
    """A field without metadata, of a type that Parquet files have."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type  # each batch may have its own dictionary
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        kind = pa.string()
    return pa.field(field.name, kind)


def _digest(path: Path) -> str:
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


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
    reader = pa.RecordBatchReader.from_stream(source)
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
    added = set(ds.get_partition_keys(fragment.partition_expression))
    own = {field.name: field.type for field in fragment.physical_schema if field.name not in added}
    return bool(own == {field.name: field.type for field in schema if field.name not in added})
