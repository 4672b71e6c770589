"""Delta tables: the live rows of one version."""

from __future__ import annotations

from collections.abc import Mapping
from os import fspath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, is_url, located, shown
from selfpaced.tables.files import File, open_file, with_deleted
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.lakes import DELTA, lake_of
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan

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
    table = _opened(source, plan.version)
    version, uri = table.version(), table.table_uri.rstrip("/")
    _refuse_unknown_features(table, uri)
    schema = import_arrow().schema(table.schema().to_arrow())
    masks = _deletion_vectors(table)
    actions = import_arrow().table(table.get_add_actions(flatten=True)).sort_by("path").to_pylist()
    if not actions:
        raise TableError(f"Version {version} of the Delta table {shown(uri)} has no rows.")
    root = _root(source, table, uri)
    files = [_file(root, action, schema, masks) for action in actions]
    return Reader(files, snapshot=f"version {version} of the Delta table {shown(uri)}")


def import_delta() -> Any:
    try:
        import deltalake
    except ImportError as error:
        raise ImportError("This is a Delta table, which needs deltalake: pip install 'selfpaced[delta]'") from error
    return deltalake


def _opened(source: Any, version: Any) -> Any:
    deltalake = import_delta()
    if hasattr(source, "file_uris") and version is None:
        return source
    try:
        if hasattr(source, "file_uris"):
            table = deltalake.DeltaTable(source.table_uri)
        else:
            table = deltalake.DeltaTable(fspath(source))
        if version is not None:
            table.load_as_version(version)
    except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
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
            "rows: open_table(DeltaTable(...).scan(), ...). Name an id=, because their order is not fixed."
        )


def _deletion_vectors(table: Any) -> dict[str, NDArray[np.bool_]]:
    """Which rows of each file are kept, by the URL of the file."""
    pa = import_arrow()
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
    except import_delta().exceptions.DeltaProtocolError:  # deletion vectors
        return place
    return RemoteFile(filesystem, "", place.shown)


def _file(root: Place, action: Mapping[str, Any], schema: Any, masks: Mapping[str, Any]) -> File:
    relative = unquote(action["path"])
    place = _below(root, relative)
    partition = {name.removeprefix(PARTITION): value for name, value in action.items() if name.startswith(PARTITION)}
    file = open_file(place, partition)
    # Columns that were added to the table after this file was written.
    missing = {name: None for name in schema.names if name not in file.schema.names}
    if missing:
        file = open_file(place, {**partition, **missing})
    mask = next((mask for uri, mask in masks.items() if uri == relative or uri.endswith(f"/{relative}")), None)
    return file if mask is None else with_deleted(file, mask)


def _below(root: Place, relative: str) -> Place:
    if is_url(relative):  # a clone names the files of another table
        return located(relative)
    if isinstance(root, Path):
        return root / relative
    return RemoteFile(root.filesystem, f"{root.path}/{relative}".lstrip("/"), f"{root}/{relative}")
