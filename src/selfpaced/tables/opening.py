"""Opening what the user points at: the only place that asks for its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from glob import glob, has_magic
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from re import fullmatch
from typing import Any
from urllib.parse import unquote

import numpy as np

from selfpaced.exceptions import TableError
from selfpaced.tables.conversion import TEXT_ENDINGS, Progress, as_parquet, is_cache, is_text
from selfpaced.tables.dask import active_client, is_dask_frame, open_dask_frame
from selfpaced.tables.files import FORMATS, File, import_arrow, open_file
from selfpaced.tables.partitions import PartitionedTable
from selfpaced.tables.schema import MOST_CATEGORIES, Schema, feature_types, frozen, unified_fields
from selfpaced.tables.spark import is_spark_frame, open_spark_frame
from selfpaced.tables.streamed import ID, WEIGHT, ArrayTable, Roles, StreamedTable

DEFAULT_BATCH_ROWS = 2**16
Found = list[tuple[Path, Mapping[str, Any]]]
KNOWN_ENDINGS = (*TEXT_ENDINGS, *FORMATS)


def open_table(
    source: Any,
    *,
    target: Any = None,
    positive: Any = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    filter: Any = None,
    weight: str | None = None,
    id: str | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    memory_for_tags: int = 2**31,
    types: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> StreamedTable | ArrayTable | PartitionedTable:
    """Open files of rows for `fit_table`, without reading more than their descriptions.

    Parameters
    ----------
    source : path, glob pattern, folder, list of these, or pyarrow.dataset.Dataset
        Parquet (`.parquet`, `.pq`), Arrow IPC (`.feather`, `.arrow`, `.ipc`), CSV (`.csv`, `.tsv`) or JSON lines
        (`.jsonl`, `.ndjson`), the latter two also packed as `.gz`, `.bz2`, `.zst`. Folders are searched through; names
        such as `year=2024` in their paths become columns. Files are read in the order of their names. Words become
        categories, and dates become seconds since 1970, weekday and hour. A text file is read whole and made into a
        Parquet file beside it, `NAME.csv.selfpaced.parquet`, which serves until the text file changes.
        An array, such as a memory map, is read where it lies; `target` are its labels, and no other option applies.
        A Dask DataFrame is asked on its cluster; of the options target, columns, exclude, weight, id and client apply.
        So is a Spark DataFrame, which needs an id unless it is read from Parquet files; it has no client.
    target : the column with the labels.
    positive : the label to tell from all others, if there are more than two.
    columns : the features, in the order models see them; all columns by default.
    exclude : columns that are no features.
    filter : list of (column, operator, value), all to be satisfied, or a pyarrow.compute.Expression.
    weight : a column with sample weights.
    id : a column of whole numbers, each once. Rows are drawn by it, so that neither the order of the rows nor their
        division into files matters. Without one, a row's id is its position.
    batch_rows : rows that are decoded and scored at once.
    memory_for_tags : bytes
        4 bytes are remembered of every row during a fit; where that is more than this, in a temporary file instead.
    types : Arrow types for columns of text files, as in `{"zip": "string"}`, or "decimal comma", "thousands comma".
        Others are inferred from all values: bool, int64, uint64, float64, timestamp (2024-01-31, also with a time) or
        string; "007" is a string. Missing values are spelled as for `pandas.read_csv`.
    cache : a folder for the Parquet files made of CSV files.
    progress : called with the bytes of CSV files read so far and to be read in all, while they are made into Parquet.
    client : for a Dask frame, the client of its cluster; by default the one that is active.
    """
    if isinstance(source, np.ndarray):
        return ArrayTable(source, target)
    if is_dask_frame(source):
        return _open_dask(source, target, columns, exclude, weight, id, client)
    if is_spark_frame(source):
        features = _features_of_frame(source, target, columns, exclude, weight, id)
        return open_spark_frame(source, target, weight, id, features)
    found = _found(source)
    if types and not any(is_text(path) for path, _ in found):
        raise TableError(
            f"types= is for CSV and JSON files, and none is in {source!r}. Other files know the types they hold."
        )
    files = _opened(found, types, cache, progress)
    columns, exclude = None if columns is None else names_of(columns), names_of(exclude)
    batch_rows = check_batch_rows(batch_rows)
    roles = _roles(target, weight, id, filter, files)
    fields = unified_fields(files, exclude)
    names = _feature_names(fields, columns, exclude, roles)
    schema = _frozen(files, fields, names, roles, batch_rows)
    return StreamedTable(files, schema, roles, positive, batch_rows, memory_for_tags)


def open_bare(source: Any, *, cache: Any = None, progress: Progress | None = None) -> StreamedTable:
    """Files whose columns are yet to be looked at: there are no features and no target."""
    return StreamedTable(_opened(_found(source), None, cache, progress), Schema(()), Roles())


def open_like(
    source: Any,
    schema: Schema,
    *,
    target: str | None = None,
    positive: Any = None,
    keep: Sequence[str] = (),
    filter: Any = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    cache: str | PathLike[str] | None = None,
) -> StreamedTable:
    """Open files that must have the features of a schema: to be scored by the model that was trained with it."""
    # A word that looks like a number, as zip codes may in some files, is a word as in training.
    words = {column.name: "string" for column in schema.columns if column.categories is not None}
    files = _opened(_found(source), words, cache, None, lenient=True)
    for file in files:
        schema.check_columns(file)
    keep = names_of(keep)
    _refuse_missing(keep, files)
    roles = replace(_roles(target, None, None, filter, files), keep=tuple(keep))
    table = StreamedTable(files, schema, roles, positive, check_batch_rows(batch_rows))
    if filter is None:
        table.n_rows = sum(file.n_rows for file in files)
    return table


def schema_of(source: Any, names: Sequence[str] | None) -> Schema:
    """The schema of files by themselves, for a model that was trained in memory and has none."""
    table = open_table(source, columns=None if names is None else list(names))
    if not isinstance(table, StreamedTable):
        raise TypeError("Arrays in memory, memory maps included, go to predict_proba(X).")
    return table.schema


def _open_dask(
    frame: Any, target: Any, columns: Any, exclude: Any, weight: str | None, id: str | None, client: Any
) -> PartitionedTable:
    features = _features_of_frame(frame, target, columns, exclude, weight, id)
    return open_dask_frame(frame, target, weight, id, features, active_client(client))


def _features_of_frame(
    frame: Any, target: Any, columns: Any, exclude: Any, weight: str | None, id: str | None
) -> list[str]:
    if target is None:
        raise ValueError("Which column holds the labels? open_table(frame, target='...')")
    fields = dict.fromkeys(frame.columns)
    for name in (target, weight, id):
        if name is not None and name not in fields:
            raise TableError(f"There is no column {name!r}; the columns are {list(fields)}.")
    roles = Roles(target, weight, id)
    return _feature_names(fields, None if columns is None else names_of(columns), names_of(exclude), roles)


def _found(source: Any) -> Found:
    found = list(_paths(source))
    if not found:
        raise TableError(f"No file of a known kind ({', '.join(sorted(KNOWN_ENDINGS))}) is in {source!r}.")
    return found


def _opened(
    found: Found,
    types: Mapping[str, str] | None,
    cache: str | PathLike[str] | None,
    progress: Progress | None,
    *,
    lenient: bool = False,
) -> list[File]:
    made = as_parquet([path for path, _ in found if is_text(path)], types, cache, progress, lenient=lenient)
    return [open_file(path, added, made.get(path)) for path, added in found]


def names_of(columns: str | Sequence[str]) -> list[str]:
    """Names of columns; a single one may come without a list around it."""
    return [columns] if isinstance(columns, str) else list(columns)


def check_batch_rows(batch_rows: Any) -> int:
    if not isinstance(batch_rows, Integral) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a whole number >= 1; got {batch_rows!r}.")
    return int(batch_rows)


def _refuse_missing(names: Sequence[str], files: Sequence[File]) -> None:
    for name in names:
        for file in files:
            if name not in file.schema.names:
                raise TableError(f"{file.path} has no column {name!r}; its columns are {file.schema.names}.")


def _paths(source: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """All files in the order of their names, with the columns that their folders' names add."""
    if hasattr(source, "columns") or isinstance(source, np.ndarray):
        raise TypeError(f"open_table opens files; a {type(source).__name__} in memory goes to fit(X, y).")
    if hasattr(source, "get_fragments"):
        found = [_fragment(part) for part in source.get_fragments()]
    elif isinstance(source, str | PathLike):
        found = [(path, hive_columns(path, root)) for path, root in _matching(fspath(source))]
    elif isinstance(source, Iterable):
        found = [pair for one in source for pair in _paths(one)]
    else:
        raise TypeError(
            f"open_table takes a path, a pattern, a list of them or a pyarrow dataset; got {type(source).__name__}. "
            "Arrays and frames go to fit."
        )
    paths = [path.resolve() for path, _ in found]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise TableError(f"{twice} is named more than once: its rows would count more than once.")
    yield from sorted(_typed_alike(found), key=lambda pair: str(pair[0]))


def _typed_alike(found: Found) -> Found:
    """Values from folders' names: whole numbers if all of a name are, else words."""
    words = {name for _, added in found for name, value in added.items() if isinstance(value, str)}

    def typed(name: str, value: Any) -> Any:
        return str(value) if name in words and value is not None else value

    return [(path, {name: typed(name, value) for name, value in added.items()}) for path, added in found]


def _fragment(fragment: Any) -> tuple[Path, Mapping[str, Any]]:
    import pyarrow.dataset as ds

    path = Path(fragment.path)
    if is_text(path):  # the dataset's own way of reading it would be lost
        raise TableError(f"{path} is in a dataset; text files are opened by their paths, with types= where needed.")
    return path, dict(ds.get_partition_keys(fragment.partition_expression))


def _matching(source: str) -> Iterator[tuple[Path, Path]]:
    """The files that a path or pattern means, each with the folder that its own folders are counted from."""
    if has_magic(source):
        matches = sorted(path for path in map(Path, glob(source, recursive=True)) if not is_cache(path))
        if not matches:
            raise TableError(f"No file matches {source!r}.")
        root = Path(source[: next(i for i, letter in enumerate(source) if letter in "*?[")]).parent
    else:
        root = Path(source)
        matches = [root]
        if not root.exists():
            raise TableError(f"{source} is not there.")
    for match in matches:
        if match.is_dir():
            yield from ((path, root) for path in _inside(match))
        else:
            yield match, root


def _inside(folder: Path) -> list[Path]:
    """The files of known kinds in a folder, without the ones made of CSV files that are there themselves."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not is_cache(path))
    # What programs put aside, such as .ipynb_checkpoints or _temporary, is nobody's data.
    found = (path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts))
    paths = [path for path in found if path.name.lower().endswith(KNOWN_ENDINGS)]
    known: dict[Path, Path] = {}
    for path in paths:
        twin = known.setdefault(path.with_name(_bare_name(path)), path)
        if twin is not path:
            raise TableError(
                f"{folder} holds both {twin.name} and {path.name}: the same rows twice? Move one away, or name the "
                "files to read by a pattern or in a list."
            )
    return paths


def _bare_name(path: Path) -> str:
    """
    >>> _bare_name(Path("2024/Sales.CSV.gz")), _bare_name(Path("part.0.parquet"))
    ('Sales', 'part.0')
    """
    name = path.name.lower()
    return path.name[: -len(next(ending for ending in KNOWN_ENDINGS if name.endswith(ending)))]


def hive_columns(path: Path, root: Path) -> dict[str, Any]:
    """
    >>> hive_columns(Path("data/year=2024/shop=a/part.parquet"), Path("data"))
    {'year': 2024, 'shop': 'a'}
    """
    folders = path.relative_to(root).parts[:-1] if path.is_relative_to(root) else ()
    pairs = [folder.partition("=") for folder in folders]
    return {unquote(name): _hive_value(unquote(value)) for name, equals, value in pairs if equals}


def _hive_value(value: str) -> int | str | None:
    """
    >>> [_hive_value(value) for value in ("7", "-3", "007", "a", "__HIVE_DEFAULT_PARTITION__")]
    [7, -3, '007', 'a', None]
    """
    if value == "__HIVE_DEFAULT_PARTITION__":
        return None
    return int(value) if fullmatch("0|-?[1-9][0-9]{0,17}", value) else value


def _roles(target: str | None, weight: str | None, id: str | None, filter: Any, files: Sequence[File]) -> Roles:
    expression, columns = _expression(filter, files)
    roles = Roles(target, weight, id, expression, columns)
    _refuse_missing([name for name in (target, weight, id, *columns) if name is not None], files)
    return roles


def _expression(filter: Any, files: Sequence[File]) -> tuple[Any, tuple[str, ...]]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if filter is None:
        return None, ()
    if isinstance(filter, pc.Expression):
        return filter, tuple(files[0].schema.names)  # what an expression looks at, only pyarrow knows
    if isinstance(filter, list) and all(isinstance(one, tuple) and len(one) == 3 for one in filter):
        return pq.filters_to_expression(filter), tuple(dict.fromkeys(name for name, _, _ in filter))
    raise TypeError(
        f"filter must be a list of (column, operator, value), all to be satisfied, or a pyarrow.compute.Expression; "
        f"got {filter!r}."
    )


def _feature_names(
    fields: Mapping[str, Any], columns: Sequence[str] | None, exclude: Sequence[str], roles: Roles
) -> list[str]:
    if columns is not None and len(set(columns)) < len(columns):
        raise TableError(f"columns names a feature twice: {list(columns)}.")
    for name in [*(columns or ()), *exclude]:
        if name not in fields:
            raise TableError(f"There is no column {name!r}; the columns are {list(fields)}.")
    others = {roles.target, roles.weight, roles.id, *exclude}
    names = [name for name in (fields if columns is None else columns) if name not in others]
    if not names:
        raise TableError(f"No column is left as a feature; the columns are {list(fields)}.")
    if {ID, WEIGHT} & set(names):
        raise TableError(f"No column may be called {ID!r} or {WEIGHT!r}.")
    return names


def _frozen(
    files: Sequence[File], fields: Mapping[str, Any], names: Sequence[str], roles: Roles, batch_rows: int
) -> Schema:
    pa = import_arrow()
    without_gaps = frozenset.intersection(*(file.without_gaps for file in files))
    types = feature_types(fields, names, without_gaps)
    words = [name for name, kind in types.items() if kind == pa.string()]
    unsure = [name for name, kind in types.items() if kind == pa.float64() and _is_whole(fields[name])]
    facts = _look_through(StreamedTable(files, Schema(()), roles, batch_rows=batch_rows), words, unsure)
    without_gaps |= set(unsure) - facts.with_gaps
    return frozen(fields, names, without_gaps, {name: sorted(found) for name, found in facts.words.items()})


def _is_whole(kind: Any) -> bool:
    pa = import_arrow()
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


class _Facts:
    def __init__(self, words: Sequence[str]) -> None:
        self.words: dict[str, set[str]] = {name: set() for name in words}
        self.with_gaps: set[str] = set()


def _look_through(table: StreamedTable, words: Sequence[str], unsure: Sequence[str]) -> _Facts:
    """Read the columns of words for their categories, and those of whole numbers whose gaps no description counts."""
    facts = _Facts(words)
    if not (words or unsure):
        return facts
    for file, batch in table._read([*words, *unsure]):
        facts.with_gaps |= {name for name in unsure if batch.column(name).null_count}
        for name in words:
            facts.words[name] |= set(batch.column(name).unique().drop_null().to_pylist())
            if len(facts.words[name]) > MOST_CATEGORIES:
                raise TableError(
                    f"Column {name!r} has more than {MOST_CATEGORIES} different words (seen up to {file.path}). "
                    f"Is it a name or a text? Exclude it with exclude=[{name!r}]."
                )
    return facts
