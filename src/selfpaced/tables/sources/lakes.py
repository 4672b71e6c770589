"""Delta and Iceberg tables: the live rows of one version."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, fs, need, pa
from selfpaced.storage import Place, RemoteFile, explaining, is_local, is_url, located, patiently, shown
from selfpaced.tables.files.file import FORMATS, File, Reader, ReadPlan, open_file, with_deleted
from selfpaced.tables.sources.cache import TEXT_ENDINGS
from selfpaced.tables.sources.streams import spooled

# Table features that do not change how files are read. Deletion vectors are applied here, and types are widened as for
# all files. Models do not read variant columns. The configuration of the table shows mapped columns.
KNOWN_FEATURES = {
    *("columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint"),
    *("vacuumProtocolCheck", "variantShredding", "variantShredding-preview", "variantType", "variantType-preview"),
}
PARTITION = "partition."


def is_delta(source: Any, options: Mapping[str, Any]) -> bool:
    """A `deltalake.DeltaTable`, or the path or URL of one."""
    if type(source).__module__.partition(".")[0] == "deltalake" and hasattr(source, "file_uris"):
        return True
    return lake_of(source, options.get("filesystem")) == DELTA


def delta_reader(source: Any, plan: ReadPlan) -> Reader:
    """The live rows of a version, the newest one by default. Files of later versions are not read."""
    table = _opened_delta(source, plan.version)
    version, uri = table.version(), table.table_uri.rstrip("/")
    _refuse_unknown_features(table, uri)
    schema = pa.schema(table.schema().to_arrow())
    masks = _deletion_vectors(table)
    actions = pa.table(table.get_add_actions(flatten=True)).sort_by("path").to_pylist()
    if not actions:
        raise TableError(f"Version {version} of the Delta table {shown(uri)} has no rows.")
    root = _root(source, table, uri)
    files = [_file(root, action, schema, masks) for action in actions]
    return Reader(files, snapshot=f"version {version} of the Delta table {shown(uri)}")


def _opened_delta(source: Any, version: Any) -> Any:
    deltalake = need("deltalake", "delta", "Reading a Delta table")
    if hasattr(source, "file_uris") and version is None:
        return source
    if isinstance(version, int) and not 0 <= version < 2**63:
        raise TableError(f"version={version} is not a version of a Delta table: its versions are 0, 1, 2 and so on.")
    try:
        table = deltalake.DeltaTable(source.table_uri if hasattr(source, "file_uris") else fspath(source))
        if version is not None:
            table.load_as_version(version)
    except (deltalake.exceptions.DeltaError, OSError, ValueError, TypeError) as error:
        which = "" if version is None else f" in version {version}"
        raise TableError(f"The Delta table {shown(str(source))} cannot be read{which}: {error}") from error
    return table


def _refuse_unknown_features(table: Any, uri: str) -> None:
    protocol = table.protocol()
    unknown = sorted(set(protocol.reader_features or ()) - KNOWN_FEATURES)
    if (table.metadata().configuration or {}).get("delta.columnMapping.mode", "none") != "none":
        unknown.append("columnMapping")
    if unknown:
        raise TableError(
            f"The Delta table {shown(uri)} uses {', '.join(unknown)}, which is not supported. Let deltalake read the "
            "rows: open_table(DeltaTable(...).scan(), ...). Name an id_column=, because their order is not fixed."
        )


def _deletion_vectors(table: Any) -> dict[str, NDArray[np.bool_]]:
    """Which rows of each file are kept, by the URL of the file."""
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    if not hasattr(table, "deletion_vectors"):
        raise TableError("The Delta table has deletion vectors, which need a newer deltalake: pip install -U deltalake")
    found = pa.RecordBatchReader.from_stream(table.deletion_vectors()).read_all()
    masks = zip(found.column(0).to_pylist(), found.column(1), strict=True)
    return {unquote(uri): np.asarray(mask.values, dtype=bool) for uri, mask in masks}


def _root(source: Any, table: Any, uri: str) -> Place:
    """The folder of the table. A `DeltaTable` that the user opened is read with its own credentials."""
    place = located(uri)
    if isinstance(place, Path) or source is not table:
        return place
    try:
        filesystem = table.to_pyarrow_dataset().filesystem
    except need("deltalake", "delta", "Reading a Delta table").exceptions.DeltaProtocolError:  # deletion vectors
        return place
    return RemoteFile(filesystem, "", place.shown)


def _file(root: Place, action: Mapping[str, Any], schema: Any, masks: Mapping[str, Any]) -> File:
    relative = unquote(action["path"])
    place = located(relative) if is_url(relative) else root / relative  # a clone names the files of another table
    partition = {name.removeprefix(PARTITION): value for name, value in action.items() if name.startswith(PARTITION)}
    file = open_file(place, partition)
    # Columns that were added to the table after this file was written.
    missing = {name: None for name in schema.names if name not in file.schema.names}
    if missing:
        file = open_file(place, {**partition, **missing})
    mask = next((mask for uri, mask in masks.items() if uri == relative or uri.endswith(f"/{relative}")), None)
    return file if mask is None else with_deleted(file, mask)


def is_iceberg(source: Any, options: Mapping[str, Any]) -> bool:
    """A table of pyiceberg, the file of its metadata, or its folder."""
    if type(source).__module__.partition(".")[0] == "pyiceberg" and hasattr(source, "scan"):
        return True
    if isinstance(source, str | PathLike) and fspath(source).endswith(METADATA_ENDING):
        return True
    return lake_of(source, options.get("filesystem")) == ICEBERG


def iceberg_reader(source: Any, plan: ReadPlan) -> Reader:
    """The rows of a snapshot, the current one by default, whatever is committed meanwhile."""
    table = _opened_iceberg(source)
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


def _opened_iceberg(source: Any) -> Any:
    need("pyiceberg.io.pyarrow", "iceberg", "Reading an Iceberg table")
    if hasattr(source, "scan"):
        return source
    text = fspath(source)
    place = located(text)
    if not text.endswith(METADATA_ENDING) and HINT not in _names_in(place, METADATA):
        raise TableError(
            f"The folder of the Iceberg table {shown(text)} does not say which of its metadata files is the current "
            "one; only the catalog does. Open the table through the catalog, "
            f"open_table(catalog.load_table('name'), ...), or name a metadata file in {METADATA}/."
        )
    location = str(place.resolve()) if isinstance(place, Path) else text
    try:
        return need("pyiceberg.table", "iceberg", "Reading an Iceberg table").StaticTable.from_metadata(location)
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


DELTA, HUDI, ICEBERG = "Delta table", "Hudi table", "Iceberg table"
MARKS = {"_delta_log": DELTA, ".hoodie": HUDI}
METADATA = "metadata"  # the folder of an Iceberg table's descriptions
METADATA_ENDING = ".metadata.json"
HINT = "version-hint.text"
NOT_LIVE = "Its files also hold rows that have been deleted or replaced."
HOW_TO = {
    DELTA: "Open the folder of the table itself, with where= for a part of it (needs the extra 'delta').",
    ICEBERG: "Open the table through its catalog, or the folder of the table itself (needs the extra 'iceberg').",
    HUDI: "Hudi tables are not supported. Read it with Spark and open the Spark DataFrame, or write the live rows to "
    "Parquet files.",
}


def lake_of(source: Any, filesystem: Any = None) -> str | None:
    """The kind of lake table in the folder of a path or URL; None for other folders, files and patterns."""
    if not isinstance(source, str | PathLike):
        return None
    text = fspath(source)
    if any(letter in text for letter in "*[") or text.lower().endswith((*TEXT_ENDINGS, *FORMATS)):
        return None
    return _kind_of(located(text, filesystem))


def _kind_of(folder: Place) -> str | None:
    marks = _present(folder, (*MARKS, METADATA))
    known = next((kind for mark, kind in MARKS.items() if mark in marks), None)
    if known is None and METADATA in marks:
        names = _names_in(folder, METADATA)
        known = ICEBERG if any(_describes_iceberg(name) for name in names) else None
    return known


def _describes_iceberg(name: str) -> bool:
    return name.endswith(METADATA_ENDING) or name == HINT


def _present(folder: Place, names: Iterable[str]) -> set[str]:
    """Which of some names are in a folder. Of another file system all are asked for at once."""
    if isinstance(folder, Path):
        return {name for name in names if (folder / name).is_dir()}
    with explaining(folder, "read"):
        asked = [f"{folder.path}/{name}" for name in names]
        found = patiently(lambda: folder.filesystem.get_file_info(asked))
    return {PurePosixPath(one.path).name for one in found if one.type == fs.FileType.Directory}


def _names_in(folder: Place, name: str) -> list[str]:
    if isinstance(folder, Path):
        try:
            return [path.name for path in (folder / name).iterdir()]
        except PermissionError:  # a parent folder of another user
            return []
    selector = fs.FileSelector(f"{folder.path}/{name}")
    return [PurePosixPath(one.path).name for one in patiently(lambda: folder.filesystem.get_file_info(selector))]


def refuse_lakes_inside(folder: Place, files: Iterable[PurePath]) -> None:
    """Refuse a folder with a lake table among its folders. `files` are all files in it, by their relative paths."""
    for path in files:
        for depth, part in enumerate(path.parts[:-1]):
            kind = MARKS.get(part)
            if part == METADATA and depth == len(path.parts) - 2 and _describes_iceberg(path.name):
                kind = ICEBERG
            if kind is not None:
                where = "/".join([str(folder), *path.parts[:depth]])
                raise TableError(f"{where} is the folder of a {kind}. {NOT_LIVE} {HOW_TO[kind]}")


def refuse_lake_above(folder: Place) -> None:
    """Refuse a folder or a pattern that selects only some files of a lake table."""
    above = folder.resolve().parents if isinstance(folder, Path) else _parents(folder)
    for one in above:
        kind = _kind_of(one)
        if kind is not None:
            raise TableError(f"{folder} is a part of the {kind} {one}. {NOT_LIVE} {HOW_TO[kind]}")


def _parents(place: RemoteFile) -> list[RemoteFile]:
    """The folders above, without the bucket."""
    url, found = place.shown, []
    for parent in PurePosixPath(place.path).parents:
        url = url.rpartition("/")[0]
        if len(parent.parts) > 1:
            found.append(RemoteFile(place.filesystem, str(parent), url))
    return found
