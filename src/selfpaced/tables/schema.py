"""The schema of a table, frozen once: which columns are features, of which type, with which categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from selfpaced.exceptions import TableError, did_you_mean, pa, pc
from selfpaced.tables.times import are_dates, are_strings, as_utc

MOST_CATEGORIES = 10_000


@dataclass(frozen=True)
class Column:
    """A feature."""

    name: str
    # The name of its Arrow type, such as "float" or "int64"; "category" for strings; for dates the part of them that it
    # is, "seconds", "weekday" or "hour".
    type: str
    categories: tuple[str, ...] | None = None  # the known strings, in their order; None for numbers
    made_of: str | None = None  # the column of dates that it is a part of; None if it is a column itself
    zone: str = "UTC"  # the time zone in which weekday and hour are taken
    has_zone: bool = False  # whether the times in training had a time zone

    @property
    def source(self) -> str:
        """The column of the table that is read for it."""
        return self.name if self.made_of is None else self.made_of

    def converted(self, array: Any, where: str) -> Any:
        """Convert values to the form that they had in training: the same type, the same categories in the same order.

        Values that do not fit are refused. A batch of whole numbers with missing values becomes floats.
        """
        try:
            if self.categories is not None:
                return self._category(array)
            return (_number if self.made_of is None else _part_of_dates)(self, plain(array))
        except (pa.ArrowException, ValueError) as error:
            expected = {"category": "strings"}.get(self.type, self.type if self.made_of is None else "dates")
            raise TableError(
                f"Column {self.source!r} of {where} is {array.type}, but the model was trained with {expected}, and "
                f"the values do not fit: {error}"
            ) from error

    def n_new(self, before: Any, after: Any) -> int:
        """The number of rows with a category that was not there in training, given the column and its conversion.

        A new category is read as a missing value. So the missing values are counted, and the strings are not read.
        """
        return int(after.null_count) - _n_missing(before)

    def _category(self, array: Any) -> Any:
        """The codes of the strings: their positions among the known categories. Unknown strings are missing values."""
        assert self.categories is not None
        known = pa.array(self.categories, pa.string())
        return coded(array, pc.index_in(strings_of(array), value_set=known), known)


@dataclass(frozen=True)
class Schema:
    """The features of a table in the order in which models see them."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def sources(self) -> list[str]:
        """The columns of the table that are read for the features."""
        return list(dict.fromkeys(column.source for column in self.columns))

    @property
    def has_categories(self) -> bool:
        return any(column.categories is not None for column in self.columns)

    def in_zone(self, zone: str | None) -> Schema:
        """The same features with weekdays and hours of another time zone."""
        if zone is None:
            return self
        try:
            ZoneInfo(zone)
        except (ValueError, OSError, KeyError) as error:
            raise ValueError(f"timezone={zone!r} is not the name of a time zone such as 'Europe/Paris'.") from error
        return Schema(
            tuple(column if column.made_of is None else replace(column, zone=zone) for column in self.columns)
        )

    def converted(self, batch: Any, where: str) -> Any:
        """The features of some rows as a record batch of the frozen types. `where` names the file in errors."""
        arrays = [column.converted(batch.column(column.source), where) for column in self.columns]
        return pa.RecordBatch.from_arrays(arrays, names=self.names)

    def check_columns(self, file: Described) -> None:
        """Refuse a file that lacks one of the features."""
        missing = [name for name in self.sources if name not in file.schema.names]
        if missing:
            raise TableError(
                f"{file.path} has no column {', '.join(map(repr, missing))}, which the model was trained with. "
                f"Its columns are {file.schema.names}.{did_you_mean(missing[0], file.schema.names)}"
            )


class Described(Protocol):
    """Rows whose columns are known: a file or a partition. `path` is what errors call them."""

    @property
    def path(self) -> Any: ...

    @property
    def schema(self) -> Any: ...


def unified_fields(files: Sequence[Described], exclude: Sequence[str] = ()) -> Mapping[str, Any]:
    """One type for every column: the type in all files, or one that holds the values of all files without loss.

    Excluded columns may differ, and may be missing.
    """
    fields: dict[str, tuple[Any, Described]] = {}
    for file in files:
        for field in file.schema:
            if field.name in exclude:
                fields.setdefault(field.name, (field.type, file))
                continue
            known = fields.get(field.name)
            try:
                merged = field.type if known is None else merged_types(known[0], field.type)
            except pa.ArrowException as error:
                assert known is not None
                raise TableError(
                    f"Column {field.name!r} is {known[0]} in {known[1].path} and {field.type} in {file.path}. "
                    "These types cannot be combined. Write one of the files again, or exclude the column. "
                    f"For CSV files, give it a type: types={{{field.name!r}: 'string'}}."
                ) from error
            fields[field.name] = merged, known[1] if known and merged == known[0] else file
    for file in files:
        _refuse_other_columns({name: fields[name] for name in fields if name not in exclude}, file)
    return {name: merged for name, (merged, _) in fields.items()}


def merged_types(one: Any, other: Any) -> Any:
    """A type that the values of two columns fit into, as models read them: times to microseconds, numbers as floats."""
    if one == other:
        return one
    if {one, other} == {pa.uint64(), pa.int64()}:  # no integer type holds both
        return pa.float64()
    if are_dates(one) and are_dates(other):
        # Nanoseconds would not hold all years that other units do.
        one, other = (
            pa.timestamp("us", kind.tz) if getattr(kind, "unit", "") == "ns" else kind for kind in (one, other)
        )
    if getattr(one, "tz", None) and getattr(other, "tz", None) and one.tz != other.tz:
        one, other = (pa.timestamp(kind.unit, "UTC") for kind in (one, other))  # the files have different zones
    one, other = (kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other))
    schemas = [pa.schema([pa.field("column", kind)]) for kind in (one, other)]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def _refuse_other_columns(fields: Mapping[str, Any], file: Described) -> None:
    missing = sorted(set(fields) - set(file.schema.names))
    if missing:
        owner = next(path for name, (_, path) in fields.items() if name == missing[0])
        raise TableError(
            f"{file.path} has no column {missing[0]!r}, which {owner.path} has. All files of a table need the same "
            "columns; exclude it, or name the ones to use with columns=."
        )


def feature_types(fields: Mapping[str, Any], names: Sequence[str], without_missing: Iterable[str]) -> dict[str, Any]:
    """The frozen type of each feature. Strings and dates keep their type; integers with missing values are floats."""
    full = set(without_missing)
    types = {}
    for name in names:
        kind = fields[name]
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if are_strings(kind):
            types[name] = pa.string()
        elif pa.types.is_decimal(kind) or pa.types.is_float16(kind):
            types[name] = pa.float64()
        elif pa.types.is_floating(kind) or are_dates(kind):
            types[name] = kind
        elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            types[name] = kind if name in full else pa.float64()
        elif pa.types.is_null(kind):
            types[name] = pa.float64()
        else:
            raise TableError(
                f"Column {name!r} is {kind}, which models cannot read. Exclude it with exclude=[{name!r}], or convert "
                "it to numbers or strings first."
            )
    return types


def frozen(
    fields: Mapping[str, Any],
    names: Sequence[str],
    without_missing: Iterable[str],
    categories: Mapping[str, Iterable[str]],
) -> Schema:
    """The schema of some columns. `categories` has the ordered categories of each column of strings."""
    columns: list[Column] = []
    for name, kind in feature_types(fields, names, without_missing).items():
        if name in categories:
            columns.append(Column(name, "category", tuple(categories[name])))
        elif are_dates(kind):
            columns += _parts_of_dates(name, kind, fields)
        else:
            columns.append(Column(name, str(kind)))
    return Schema(tuple(columns))


def _parts_of_dates(name: str, kind: Any, taken: Iterable[str]) -> list[Column]:
    """The features that are made of a date: seconds since 1970, weekday, and hour if the column has times."""
    parts = ["weekday"] if pa.types.is_date(kind) else ["weekday", "hour"]
    zone, has_zone = getattr(kind, "tz", None) or "UTC", getattr(kind, "tz", None) is not None
    names = {"seconds": name, **{part: _free(f"{name}.{part}", taken) for part in parts}}
    return [Column(names[part], part, made_of=name, zone=zone, has_zone=has_zone) for part in names]


def _free(name: str, taken: Iterable[str]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "_"
    return name


def _part_of_dates(column: Column, array: Any) -> Any:
    """A feature of a date. Seconds do not depend on time zones; weekday and hour are those of the frozen time zone."""
    moments = as_utc(array, column.has_zone)
    if column.type == "seconds":
        return pc.divide(moments.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
    part = pc.hour if column.type == "hour" else pc.day_of_week
    return part(moments.cast(pa.timestamp("us", column.zone))).cast(pa.float64())


def _number(column: Column, array: Any) -> Any:
    """Numbers and booleans of any type whose values fit, missing ones included."""
    wanted = pa.type_for_alias(column.type)
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if not are_numbers(array.type):
        raise ValueError("they are not numbers.")
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type):
        array = array.cast(pa.float64())
    if pa.types.is_floating(wanted):
        fitting = array.cast(wanted, safe=False)  # large whole numbers are rounded, as they were in training
        if wanted == pa.float32() != array.type and pc.any(pc.is_inf(fitting)).as_py():
            raise ValueError("they are not all within the range of 32 bits.")
        return fitting
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    to_booleans = pa.types.is_boolean(wanted) and not pa.types.is_boolean(array.type)
    if to_booleans and pc.all(pc.or_(pc.equal(array, 0), pc.equal(array, 1))).as_py() is False:
        raise ValueError("they are not all 0 or 1.")
    fitting = array.cast(wanted)
    return fitting.cast(pa.float64(), safe=False) if fitting.null_count else fitting


def strings_of(array: Any) -> Any:
    """The strings that are looked up: of a dictionary each one once."""
    strings = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not (are_strings(strings.type) or pa.types.is_null(strings.type)):
        raise ValueError("they are not strings.")
    return strings.cast(pa.string())


def coded(array: Any, numbers: Any, known: Any) -> Any:
    """The categories of an array, given the numbers of the strings that were looked up."""
    in_dictionary = pa.types.is_dictionary(array.type)
    return pa.DictionaryArray.from_arrays(numbers.take(array.indices) if in_dictionary else numbers, known)


def _n_missing(column: Any) -> int:
    """The number of missing values of an array or a chunked array. A dictionary may hold one, too."""
    if pa.types.is_dictionary(column.type):
        chunks = getattr(column, "chunks", [column])
        if any(chunk.dictionary.null_count for chunk in chunks):
            return sum(chunk.dictionary_decode().null_count for chunk in chunks)
    return int(column.null_count)


def are_numbers(kind: Any) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


def plain(array: Any) -> Any:
    """An array or a chunked array without a dictionary: its strings or numbers one by one."""
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
