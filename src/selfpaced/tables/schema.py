"""The schema of a table, frozen once: which columns are features, of which type, with which categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from selfpaced.exceptions import TableError
from selfpaced.tables.files import import_arrow

MOST_CATEGORIES = 10_000


@dataclass(frozen=True)
class Column:
    """A feature.

    Attributes
    ----------
    type : the name of its Arrow type, such as "float" or "int64"; "category" for words; for dates the part of them
        that it is, "seconds", "weekday" or "hour".
    categories : the words that are known, sorted; None for numbers.
    made_of : the column of dates that it is a part of; None if it is a column itself.
    """

    name: str
    type: str
    categories: tuple[str, ...] | None = None
    made_of: str | None = None

    @property
    def source(self) -> str:
        """The column of the table that is read for it."""
        return self.name if self.made_of is None else self.made_of

    def converted(self, array: Any, where: str) -> Any:
        """A part of the column as it was at the beginning: the same type, the same categories in the same order."""
        pa = import_arrow()
        if self.categories is not None:
            return _as_categories(self, array, where)
        if self.made_of is not None:
            return _part_of_dates(self, array, where)
        wanted = pa.type_for_alias(self.type)
        if array.null_count and not pa.types.is_floating(wanted):
            wanted = pa.float64()  # a gap is NaN, and NaN is a float
        try:
            return _plain(array).cast(wanted)
        except pa.ArrowException as error:
            raise TableError(
                f"Column {self.name!r} of {where} is {array.type}, which does not fit {self.type}, "
                f"the type it had in training: {error}"
            ) from error


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

    def converted(self, batch: Any, where: str) -> Any:
        """The features of some rows as a record batch of the frozen types. `where` names the file in errors."""
        pa = import_arrow()
        arrays = [column.converted(batch.column(column.source), where) for column in self.columns]
        return pa.RecordBatch.from_arrays(arrays, names=self.names)

    def check_columns(self, file: Described) -> None:
        """Refuse a file that lacks one of the features."""
        missing = [name for name in self.sources if name not in file.schema.names]
        if missing:
            raise TableError(
                f"{file.path} has no column {', '.join(map(repr, missing))}, which the model was trained with. "
                f"Its columns are {file.schema.names}."
            )


class Described(Protocol):
    """Rows whose columns are known: a file or a partition. `path` is what errors call them."""

    @property
    def path(self) -> Any: ...

    @property
    def schema(self) -> Any: ...


def unified_fields(files: Sequence[Described], exclude: Sequence[str] = ()) -> Mapping[str, Any]:
    """One type for every column: that of all files, or one that all of them fit into without loss.

    Excluded columns may differ, and may be missing.
    """
    pa = import_arrow()
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
                    f"Column {field.name!r} is {known[0]} in {known[1].path} and {field.type} in {file.path}: "
                    "they have no type in common. Write one of the files again, or exclude the column. "
                    f"For CSV files, give it a type: types={{{field.name!r}: 'string'}}."
                ) from error
            fields[field.name] = merged, known[1] if known and merged == known[0] else file
    for file in files:
        _refuse_other_columns({name: fields[name] for name in fields if name not in exclude}, file)
    return {name: merged for name, (merged, _) in fields.items()}


def merged_types(one: Any, other: Any) -> Any:
    pa = import_arrow()
    if one == other:
        return one
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


def feature_types(fields: Mapping[str, Any], names: Sequence[str], without_gaps: Iterable[str]) -> dict[str, Any]:
    """The type that each feature is frozen to. Words and dates stay as they are; whole numbers with gaps are floats."""
    pa = import_arrow()
    full = set(without_gaps)
    types = {}
    for name in names:
        kind = fields[name]
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if are_words(kind):
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
                f"Column {name!r} is {kind}, which no model reads. Exclude it with exclude=[{name!r}], or make numbers "
                "or words of it first."
            )
    return types


def frozen(
    fields: Mapping[str, Any], names: Sequence[str], without_gaps: Iterable[str], words: Mapping[str, Iterable[str]]
) -> Schema:
    """The schema of some columns, by what is known of all their rows. `words` are the categories, in their order."""
    columns: list[Column] = []
    for name, kind in feature_types(fields, names, without_gaps).items():
        if name in words:
            columns.append(Column(name, "category", tuple(words[name])))
        elif are_dates(kind):
            columns += _parts_of_dates(name, kind)
        else:
            columns.append(Column(name, str(kind)))
    return Schema(tuple(columns))


def are_dates(kind: Any) -> bool:
    pa = import_arrow()
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _parts_of_dates(name: str, kind: Any) -> list[Column]:
    """What models read of a date: seconds since 1970, the day of the week, and the hour if there is one."""
    parts = {name: "seconds", f"{name}.weekday": "weekday", f"{name}.hour": "hour"}
    if import_arrow().types.is_date(kind):
        del parts[f"{name}.hour"]
    return [Column(part_name, part, made_of=name) for part_name, part in parts.items()]


def _parsed_dates(column: Column, words: Any, where: str) -> Any:
    """Dates that were read as words, as by pandas.read_csv."""
    pa = import_arrow()
    try:
        return words.cast(pa.timestamp("us"))
    except pa.ArrowInvalid as error:
        raise TableError(
            f"Column {column.made_of!r} of {where} is {words.type}; dates were there in training, such as "
            f"2024-01-31 23:59: {error}"
        ) from error


def _part_of_dates(column: Column, array: Any, where: str) -> Any:
    import pyarrow.compute as pc

    pa = import_arrow()
    if are_words(array.type):
        array = _parsed_dates(column, array, where)
    if not (are_dates(array.type) or pa.types.is_null(array.type)):
        raise TableError(f"Column {column.made_of!r} of {where} is {array.type}; dates were there in training.")
    zone = getattr(array.type, "tz", None)
    moments = array.cast(pa.timestamp("us", zone))
    if column.type == "seconds":
        return pc.divide(moments.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
    part = pc.hour if column.type == "hour" else pc.day_of_week
    return part(moments).cast(pa.float64())


def are_words(kind: Any) -> bool:
    pa = import_arrow()
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _plain(array: Any) -> Any:
    """An array without a dictionary: what its words or numbers are, one by one."""
    pa = import_arrow()
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _as_categories(column: Column, array: Any, where: str) -> Any:
    """The numbers of the words among the known ones; words that are not known are gaps."""
    import pyarrow.compute as pc

    pa = import_arrow()
    words = _plain(array)
    if not (are_words(words.type) or pa.types.is_null(words.type)):
        raise TableError(
            f"Column {column.name!r} of {where} is {array.type}; words were there when the model was trained."
        )
    known = pa.array(column.categories, pa.string())
    numbers = pc.index_in(words.cast(pa.string()), value_set=known)
    return pa.DictionaryArray.from_arrays(numbers, known)
