"""Opening rows that are read batch by batch: which columns are features, and of which type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from numbers import Integral
from typing import Any, Unpack

from selfpaced.exceptions import TableError
from selfpaced.suggesting import did_you_mean
from selfpaced.tables.copies import with_copies
from selfpaced.tables.csv_reading import MISSING_VALUES, is_csv
from selfpaced.tables.files import File, LoadedFile
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.look import ColumnLook, ColumnProfile, look_through
from selfpaced.tables.open_categories import with_open_categories
from selfpaced.tables.options import ReadingOptions, RowOptions, check_options
from selfpaced.tables.reader import DEFAULT_BATCH_ROWS, Reader, RowFilter
from selfpaced.tables.reading import Needed, ReadPlan
from selfpaced.tables.roles import Roles, feature_names, names_of
from selfpaced.tables.row_sources import RowSource, row_source_of
from selfpaced.tables.schema import MOST_CATEGORIES, Schema, feature_types, frozen, unified_fields
from selfpaced.tables.streamed import StreamedTable


def open_rows(kind: RowSource, source: Any, **options: Unpack[RowOptions]) -> StreamedTable:
    """A table whose rows are read batch by batch. The options are those of `open_table`."""
    given: dict[str, Any] = {name: options.get(name) for name in ("target", "positive", "weight", "id", "group")}
    roles = Roles(**given)
    columns, exclude = options.get("columns"), names_of(options.get("exclude", ()))
    named = None if columns is None else names_of(columns)
    needed = needed_for(Needed(named, exclude, roles.columns), options.get("filter"))
    reader = restricted(open_reader(kind, source, replace(plan_of(options), needed=needed)), options)
    check_columns(reader, roles)
    fields = unified_fields(reader.files, exclude)
    names = feature_names([*fields, *reader.left_out], named, exclude, roles)
    schema = frozen_schema(reader, fields, names).in_zone(options.get("timezone"))
    table = StreamedTable(reader, schema, roles)
    return replace(
        table, memory_for_tags=_whole("memory_for_tags", options.get("memory_for_tags", table.memory_for_tags))
    )


def open_like(source: Any, schema: Schema, roles: Roles, **reading: Unpack[ReadingOptions]) -> StreamedTable:
    """Rows that must have the features of a schema: to be scored by the model that was trained with it."""
    # A string that looks like a number, as postcodes do in some files, is a string as in training.
    strings = [column.source for column in schema.columns if column.categories is not None]
    reader = _reader_to_score(source, Needed(schema.sources, (), roles.columns), strings, reading)
    for file in reader.files:
        schema.check_columns(file)
        if is_csv(file.path):
            _refuse_unclear_categories(schema, file)
    reader = restricted(reader, reading)
    check_columns(reader, roles)
    return StreamedTable(reader, schema, roles)


def open_like_frame(
    source: Any,
    names: Sequence[str] | None,
    categories: Mapping[str, Sequence[str]],
    roles: Roles,
    **reading: Unpack[ReadingOptions],
) -> StreamedTable:
    """Rows to be scored by a model that was trained on rows in memory, which it read as they were.

    Nothing is read yet: each batch gets its categories, beginning with those that are known, when it is converted.

    Parameters
    ----------
    names : Sequence[str] | None
        The features in their order; None for all columns.
    categories : Mapping[str, Sequence[str]]
        The categories of some features in training.
    """
    named = None if names is None else names_of(names)
    reader = _reader_to_score(source, Needed(named, (), roles.columns), list(categories), reading)
    reader = restricted(reader, reading)
    check_columns(reader, roles)
    fields = unified_fields(reader.files)
    features = feature_names([*fields, *reader.left_out], named, (), Roles())
    types = feature_types(fields, features, features)
    # A column of strings stays one if all of them are missing in this table.
    are_categories = [name for name in features if name in categories or types[name] == import_arrow().string()]
    strings = {name: categories.get(name, ()) for name in are_categories}
    schema = frozen(fields, features, features, strings)
    return StreamedTable(reader, with_open_categories(schema), roles)


def _reader_to_score(source: Any, needed: Needed, strings: Sequence[str], reading: ReadingOptions) -> Reader:
    """A reader of the columns that a model needs. `strings` are read as strings even if they look like numbers."""
    kind = row_source_of(source, reading)
    check_options(kind, reading)
    types = dict.fromkeys(strings, "string")
    needed = needed_for(needed, reading.get("filter"))
    return open_reader(kind, source, replace(plan_of(reading), types=types, lenient=True, needed=needed))


def _refuse_unclear_categories(schema: Schema, file: File | LoadedFile) -> None:
    """Refuse a CSV file whose missing values may be known categories, such as "" or "NA" (Namibia)."""
    for column in schema.columns:
        unclear = set(MISSING_VALUES).intersection(column.categories or ())
        if unclear and column.name not in file.without_missing:
            raise TableError(
                f"Column {column.name!r} of {file.path} has missing values. The model was trained with the string(s) "
                f"{sorted(unclear)}, which look like missing values in a CSV file. Write the rows to a Parquet file."
            )


def open_reader(kind: RowSource, source: Any, plan: ReadPlan) -> Reader:
    """A reader of all rows of a source. It reads copies, if a folder for copies is named."""
    return with_copies(kind.reads(source, plan), plan)


def plan_of(options: Mapping[str, Any]) -> ReadPlan:
    """The options about reading."""
    if options.get("cache_bytes") is not None:
        _whole("cache_bytes", options["cache_bytes"])
    names = {field.name for field in fields_of(ReadPlan)}
    return ReadPlan(**{name: value for name, value in options.items() if name in names and value is not None})


def needed_for(needed: Needed, filter: Any) -> Needed:
    """The columns that are read, including those of the filter. Only pyarrow knows which ones an expression reads."""
    if filter is None:
        return needed
    if not _is_list_of_conditions(filter):
        return Needed()
    return replace(needed, others=[*needed.others, *(name for name, _, _ in filter)])


def _is_list_of_conditions(filter: Any) -> bool:
    return isinstance(filter, list) and all(isinstance(one, tuple) and len(one) == 3 for one in filter)


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
                names = file.schema.names
                raise TableError(
                    f"{file.path} has no column {name!r}; its columns are {names}.{did_you_mean(name, names)}"
                )


def row_filter(filter: Any, reader: Reader) -> RowFilter | None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if filter is None:
        return None
    if isinstance(filter, pc.Expression):
        return RowFilter(filter, tuple(reader.column_names))  # only pyarrow knows which columns an expression reads
    if _is_list_of_conditions(filter):
        return RowFilter(pq.filters_to_expression(filter), tuple(dict.fromkeys(name for name, _, _ in filter)))
    raise TypeError(
        f"filter must be a list of (column, operator, value) or a pyarrow.compute.Expression; got {filter!r}."
    )


def frozen_schema(
    reader: Reader,
    fields: Mapping[str, Any],
    names: Sequence[str],
    profiles: Mapping[str, ColumnProfile] | None = None,
) -> Schema:
    """The features as models see them. Columns of strings without a profile are read to find their categories."""
    pa = import_arrow()
    complete = frozenset.intersection(*(file.without_missing for file in reader.files))
    types = feature_types(fields, names, complete)
    strings = [name for name, kind in types.items() if kind == pa.string()]
    unsure = [name for name, kind in types.items() if kind == pa.float64() and _is_whole(fields[name])]
    if profiles is None:
        looks = {name: ColumnLook(name) for name in [*strings, *unsure]}
        look_through(reader, looks)
        profiles = {name: look.result() for name, look in looks.items()}
    complete |= {name for name in unsure if not profiles[name].n_missing}
    return frozen(fields, names, complete, {name: categories_of(profiles[name]) for name in strings})


def categories_of(profile: ColumnProfile, exclude: str = "Exclude it with exclude=[{!r}].") -> tuple[str, ...]:
    """The categories of a column of strings. `exclude` tells how to exclude a column that has too many."""
    if profile.n_distinct > MOST_CATEGORIES:
        raise TableError(
            f"Column {profile.name!r} has more than {MOST_CATEGORIES} different strings, like a name or free text. "
            f"{exclude.format(profile.name)}"
        )
    return profile.categories or ()


def _is_whole(kind: Any) -> bool:
    pa = import_arrow()
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))
