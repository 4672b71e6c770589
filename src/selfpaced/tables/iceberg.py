"""Iceberg tables: the rows of one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, is_local, located, shown
from selfpaced.tables.files import File, open_file
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.lakes import HINT, ICEBERG, METADATA, METADATA_ENDING, lake_of
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.remote_paths import exists
from selfpaced.tables.spooling import spooled


def is_iceberg(source: Any, options: Mapping[str, Any]) -> bool:
    """A table of pyiceberg, the file of its metadata, or its folder."""
    if type(source).__module__.partition(".")[0] == "pyiceberg" and hasattr(source, "scan"):
        return True
    if isinstance(source, str | PathLike) and fspath(source).endswith(METADATA_ENDING):
        return True
    return lake_of(source, options.get("filesystem")) == ICEBERG


def iceberg_reader(source: Any, plan: ReadPlan) -> Reader:
    """The rows of a snapshot, the current one by default, whatever is committed meanwhile."""
    table = _opened(source)
    name = f"the Iceberg table {shown(table.location())}"
    scan = table.scan(snapshot_id=_snapshot_id(table, plan.version, name))
    snapshot = scan.snapshot()
    tasks = sorted(scan.plan_files(), key=lambda task: task.file.file_path)
    if snapshot is None or not tasks:
        raise TableError(f"{name[0].upper()}{name[1:]} has no rows in this snapshot.")
    kept = f"snapshot {snapshot.snapshot_id} of {name}"
    files = _plain_files(table.io, scan, tasks)
    if files is not None:
        return Reader(files, snapshot=kept)
    return replace(_through_pyiceberg(table, scan, tasks, name, plan), snapshot=kept)


def import_iceberg() -> Any:
    try:
        import pyiceberg.io.pyarrow
        import pyiceberg.table
    except ImportError as error:
        raise ImportError(
            "This is an Iceberg table, which needs pyiceberg: pip install 'selfpaced[iceberg]'"
        ) from error
    return pyiceberg


def _opened(source: Any) -> Any:
    pyiceberg = import_iceberg()
    if hasattr(source, "scan"):
        return source
    text = fspath(source)
    place = located(text)
    if not text.endswith(METADATA_ENDING):
        hint = f"{text.rstrip('/')}/{METADATA}/{HINT}"
        if not exists(located(hint)):
            raise TableError(
                f"The folder of the Iceberg table {shown(text)} does not say which of its metadata files is the "
                "current one; only the catalog does. Open the table through the catalog, "
                f"open_table(catalog.load_table('name'), ...), or name a metadata file in {METADATA}/."
            )
    location = str(place.resolve()) if isinstance(place, Path) else text
    try:
        return pyiceberg.table.StaticTable.from_metadata(location)
    except (OSError, ValueError) as error:
        raise TableError(f"The Iceberg table {shown(text)} cannot be read: {error}") from error


def _snapshot_id(table: Any, version: Any, name: str) -> int | None:
    """A snapshot by its number, or by the name of a branch or a tag."""
    if version is None:
        return None
    by_name = table.snapshot_by_name(version) if isinstance(version, str) else None
    found = by_name or (table.snapshot_by_id(version) if isinstance(version, int) else None)
    if found is None:
        known = [one.snapshot_id for one in table.snapshots()]
        raise TableError(f"There is no snapshot {version!r} in {name}. Its snapshots are {known}.")
    return int(found.snapshot_id)


def _plain_files(io: Any, scan: Any, tasks: list[Any]) -> list[File] | None:
    """The files of a snapshot, if they can be read as they are: no rows deleted, no columns renamed or added since."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    wanted = schema_to_pyarrow(scan.projection(), include_field_ids=False)
    if any(task.delete_files or task.file.file_format != "PARQUET" for task in tasks) or not hasattr(
        io, "fs_by_scheme"
    ):
        return None
    files = [open_file(_place(io, task.file.file_path), {}) for task in tasks]
    return files if all(_has_types_of(file, wanted) for file in files) else None


def _place(io: Any, url: str) -> Place:
    """A file with the credentials that the catalog gives."""
    scheme, host, path = io.parse_location(url, io.properties)
    filesystem = io.fs_by_scheme(scheme, host)
    return Path(path) if is_local(filesystem) else RemoteFile(filesystem, path, shown(url))


def _has_types_of(file: File, wanted: Any) -> bool:
    """The same names in the same order of fields; text may be of either width."""
    pa = import_arrow()

    def plain(kind: Any) -> Any:
        return pa.string() if pa.types.is_large_string(kind) else kind

    own = [(field.name, plain(field.type)) for field in file.schema]
    return own == [(field.name, plain(field.type)) for field in wanted]


def _through_pyiceberg(table: Any, scan: Any, tasks: list[Any], name: str, plan: ReadPlan) -> Reader:
    """Rows that pyiceberg puts together are written once, file by file, in the order of their names."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow

    needed = plan.needed([field.name for field in scan.projection().fields])
    projection = scan.select(*needed).projection()
    reading = ArrowScan(table.metadata, table.io, projection, AlwaysTrue(), True)
    batches = (batch for task in tasks for batch in reading.to_record_batches([task]))
    return spooled(name, schema_to_pyarrow(scan.projection(), include_field_ids=False), batches, plan)
