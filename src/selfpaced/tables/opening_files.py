"""Opening files: which columns are features, and of which type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, Unpack

from selfpaced.exceptions import TableError
from selfpaced.tables.conversion import Progress, as_parquet, is_text
from selfpaced.tables.csv_reading import MISSING_VALUES, is_csv
from selfpaced.tables.files import File, LoadedFile, import_arrow, open_file
from selfpaced.tables.look import ColumnLook, ColumnProfile, look_through
from selfpaced.tables.options import FileOptions, ReadingOptions
from selfpaced.tables.paths import Found, find_files
from selfpaced.tables.reader import DEFAULT_BATCH_ROWS, Reader, RowFilter
from selfpaced.tables.roles import Roles, feature_names, names_of
from selfpaced.tables.schema import MOST_CATEGORIES, Schema, feature_types, frozen, unified_fields
from selfpaced.tables.streamed import StreamedTable


def open_files(source: Any, **options: Unpack[FileOptions]) -> StreamedTable:
    """A table in files. The options are those of `open_table`."""
    types = options.get("types")
    reader = open_reader(source, types=types, cache=options.get("cache"), progress=options.get("progress"))
    if types and not any(is_text(file.path) for file in reader.files):
        raise TableError(
            f"types= is for CSV and JSON files, and there are none in {source!r}. Other files contain their types."
        )
    roles = Roles(options.get("target"), options.get("positive"), options.get("weight"), options.get("id"))
    reader = restricted(reader, options)
    check_columns(reader, roles)
    exclude = names_of(options.get("exclude", ()))
    fields = unified_fields(reader.files, exclude)
    names = feature_names(fields, options.get("columns"), exclude, roles)
    schema = frozen_schema(reader, fields, names).in_zone(options.get("timezone"))
    table = StreamedTable(reader, schema, roles)
    return replace(
        table, memory_for_tags=_whole("memory_for_tags", options.get("memory_for_tags", table.memory_for_tags))
    )


def open_like(source: Any, schema: Schema, roles: Roles, **reading: Unpack[ReadingOptions]) -> StreamedTable:
    """Files that must have the features of a schema: to be scored by the model that was trained with it."""
    # A string that looks like a number, as postcodes do in some files, is a string as in training.
    strings = {column.source: "string" for column in schema.columns if column.categories is not None}
    reader = open_reader(source, types=strings, cache=reading.get("cache"), lenient=True)
    for file in reader.files:
        schema.check_columns(file)
        if is_csv(file.path):
            _refuse_unclear_categories(schema, file)
    reader = restricted(reader, reading)
    check_columns(reader, roles)
    return StreamedTable(reader, schema, roles)


def _refuse_unclear_categories(schema: Schema, file: File | LoadedFile) -> None:
    """Refuse a CSV file whose missing values may be strings that the model knows, such as "" or the "NA" of Namibia."""
    for column in schema.columns:
        unclear = set(MISSING_VALUES).intersection(column.categories or ())
        if unclear and column.name not in file.without_gaps:
            raise TableError(
                f"Column {column.name!r} of {file.path} has missing values, and the model was trained with the "
                f"string(s) {sorted(unclear)}, which cannot be told from missing values in a CSV file. Write the rows "
                "to a Parquet file."
            )


def open_reader(
    source: Any,
    *,
    types: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    lenient: bool = False,
) -> Reader:
    """All rows of some files, whose columns are yet to be looked at. Text files are converted."""
    found: Found = find_files(source)
    text_files = [path for path, _ in found if is_text(path)]
    made = as_parquet(text_files, types if text_files else None, cache, progress, lenient=lenient)
    return Reader([open_file(path, added, made.get(path)) for path, added in found])


def restricted(reader: Reader, reading: Mapping[str, Any]) -> Reader:
    """The reader of the rows that satisfy the filter, with batches of the size asked for."""
    condition = row_filter(reading.get("filter"), reader)
    batch_rows = _whole("batch_rows", reading.get("batch_rows", DEFAULT_BATCH_ROWS))
    return replace(reader, filter=condition, batch_rows=batch_rows)


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1; got {value!r}.")
    return int(value)


def check_columns(reader: Reader, roles: Roles) -> None:
    """Refuse roles and a filter whose columns are missing in a file."""
    filtered = () if reader.filter is None else reader.filter.columns
    for name in (*roles.columns, *filtered):
        for file in reader.files:
            if name not in file.schema.names:
                raise TableError(f"{file.path} has no column {name!r}; its columns are {file.schema.names}.")


def row_filter(filter: Any, reader: Reader) -> RowFilter | None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if filter is None:
        return None
    if isinstance(filter, pc.Expression):
        return RowFilter(filter, tuple(reader.column_names))  # only pyarrow knows which columns an expression reads
    if isinstance(filter, list) and all(isinstance(one, tuple) and len(one) == 3 for one in filter):
        return RowFilter(pq.filters_to_expression(filter), tuple(dict.fromkeys(name for name, _, _ in filter)))
    raise TypeError(
        f"filter must be a list of (column, operator, value), all to be satisfied, or a pyarrow.compute.Expression; "
        f"got {filter!r}."
    )


def frozen_schema(
    reader: Reader,
    fields: Mapping[str, Any],
    names: Sequence[str],
    profiles: Mapping[str, ColumnProfile] | None = None,
) -> Schema:
    """The features as models will see them. Columns that have no profile yet are read, if they must be."""
    pa = import_arrow()
    complete = frozenset.intersection(*(file.without_gaps for file in reader.files))
    types = feature_types(fields, names, complete)
    strings = [name for name, kind in types.items() if kind == pa.string()]
    unsure = [name for name, kind in types.items() if kind == pa.float64() and _is_whole(fields[name])]
    if profiles is None:
        looks = {name: ColumnLook(name) for name in [*strings, *unsure]}
        look_through(reader, looks)
        profiles = {name: look.result() for name, look in looks.items()}
    complete |= {name for name in unsure if not profiles[name].n_missing}
    return frozen(fields, names, complete, {name: categories_of(profiles[name]) for name in strings})


def categories_of(profile: ColumnProfile) -> tuple[str, ...]:
    if profile.n_distinct > MOST_CATEGORIES:
        raise TableError(
            f"Column {profile.name!r} has more than {MOST_CATEGORIES} different strings. Is it a name or a free text? "
            f"Exclude it with exclude=[{profile.name!r}]."
        )
    return profile.categories or ()


def _is_whole(kind: Any) -> bool:
    pa = import_arrow()
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))
