"""Rows that can be read only once, such as those of a stream, written to Parquet files that can be read every round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.tables.files import index_columns, open_file
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.rereading import writer_for_rereading
from selfpaced.tables.temporary import TemporaryFolder

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
    pa = import_arrow()
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
    pa = import_arrow()
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
    pa = import_arrow()
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
    pa = import_arrow()
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
