"""Frames read by the schema of a model, and categories that it was not trained with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from selfpaced.exceptions import NewCategoryWarning, TableError, pa, pc, warn
from selfpaced.tables.memory import PANDAS, as_arrow, is_frame, kind_of
from selfpaced.tables.profile import ColumnLook, categories_of
from selfpaced.tables.schema import Column, Schema, coded, frozen, strings_of
from selfpaced.tables.times import are_strings

Categories = Mapping[str, Sequence[str]]


def categories_in(frame: Any) -> dict[str, tuple[str, ...]]:
    """The categories of each column of categories whose values are strings; empty for anything but a frame.

    >>> import pandas as pd
    >>> categories_in(pd.DataFrame({"shop": pd.Categorical(["web"], categories=["web", "phone"]), "amount": [1.5]}))
    {'shop': ('web', 'phone')}
    """
    if not is_frame(frame):
        return {}
    columns = kind_of(frame).columns(frame)
    found = {name: tuple(column.categories()) for name, column in columns if column.categories is not None}
    return {name: own for name, own in found.items() if own and all(isinstance(each, str) for each in (name, *own))}


def warn_of_new(known: Categories, frame: Any) -> None:
    """Warn of the rows whose categories are not among those that are known. Mostly only the types are compared."""
    here = categories_in(frame)
    columns = [
        OpenColumn(name, "category", tuple(own))
        for name, own in known.items()
        if not set(own).issuperset(here.get(name, ()))
    ]
    if columns:
        schema, new = Schema(tuple(columns)), NewCategories()
        for batch in as_arrow(frame[schema.names] if kind_of(frame) is PANDAS else frame).to_batches():
            new.count(schema, batch, schema.converted(batch, "X"))
        new.warn()


@dataclass(frozen=True)
class OpenColumn(Column):
    """A column of strings whose known categories are not all that there can be.

    Strings that are not known become further categories of their batch, as they are in a frame: the model decides what
    they mean. The known categories are none if they were strings in training.
    """

    def n_new(self, before: Any, after: Any) -> int:
        assert self.categories is not None
        chunks = getattr(after, "chunks", [after])
        n_known = len(self.categories)
        return sum(pc.sum(pc.greater_equal(one.indices, n_known)).as_py() or 0 for one in chunks) if n_known else 0

    def _category(self, array: Any) -> Any:
        strings, known = strings_of(array), pa.array(self.categories, pa.string())
        numbers = pc.index_in(strings, value_set=known)
        if numbers.null_count > strings.null_count:
            new = strings.filter(pc.is_null(numbers)).unique().drop_null()
            known = pa.concat_arrays([known, new.take(pc.array_sort_indices(new))])
            numbers = pc.index_in(strings, value_set=known)
        return coded(array, numbers, known)


def with_open_categories(schema: Schema) -> Schema:
    """The same features, with new strings as categories of their own."""
    return Schema(
        tuple(
            column if column.categories is None else OpenColumn(column.name, column.type, column.categories)
            for column in schema.columns
        )
    )


class NewCategories:
    """Counts the rows with new categories, by column. Threads can share it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._n_rows = 0
        self._lock = Lock()

    def count(self, schema: Schema, before: Any, after: Any) -> None:
        """Count the columns of categories in some rows, given before and after their conversion by the schema."""
        found = {
            column.source: column.n_new(before.column(column.source), after.column(column.name))
            for column in schema.columns
            if column.categories is not None
        }
        with self._lock:
            self._n_rows += after.num_rows
            for name, n_rows in found.items():
                if n_rows:
                    self.counts[name] = self.counts.get(name, 0) + n_rows

    def warn(self) -> None:
        """Warn once about all columns."""
        if self.counts:
            warn(NewCategoryWarning(self.counts, self._n_rows))


def schema_of_frame(frame: Any) -> Schema | None:
    """The schema of a frame with strings, categories or dates; None if all columns are numbers.

    Strings become categories, and dates become seconds since 1970, weekday and hour. Categories that are numbers become
    numbers, as in files.
    """
    if all(column.is_number for _, column in kind_of(frame).columns(frame)):
        return None
    names = kind_of(frame).names(frame)
    odd = [name for name in names if not isinstance(name, str)]
    if odd or len(set(names)) < len(names):
        raise TableError(f"A frame with strings or dates needs one name for each column, as a string; got {names}.")
    try:
        table = as_arrow(frame)
    except pa.ArrowException as error:
        raise TableError(f"A column of X has values of several types: {error}") from error
    fields = {field.name: field.type for field in table.schema}
    complete = [name for name in names if not table.column(name).null_count]
    strings = {}
    for name, kind in fields.items():
        if are_strings(kind.value_type if pa.types.is_dictionary(kind) else kind):
            look = ColumnLook(name)
            for chunk in table.column(name).chunks:
                look.add(chunk)
            strings[name] = categories_of(look.result(), "Drop it before the fit: X.drop(columns=[{!r}]).")
    return frozen(fields, names, complete, strings)


def as_trained(schema: Schema, frame: Any) -> Any:
    """A pandas frame of the features. Columns that have been converted already stay as they are.

    A warning counts the rows with categories that the schema does not have.
    """
    batch = as_arrow(frame)
    arrays = [_converted(column, batch) for column in schema.columns]
    table = pa.Table.from_arrays(arrays, names=schema.names)
    new = NewCategories()
    new.count(schema, batch, table)
    new.warn()
    return table.to_pandas()


def _converted(column: Column, batch: Any) -> Any:
    """A feature, made from its source column; or the feature itself, if the frame already holds it."""
    if column.source not in batch.column_names:
        raise TableError(f"X has no column {column.source!r}, which the model was trained with.")
    source = batch.column(column.source).combine_chunks()
    if column.made_of is not None and column.name in batch.column_names and pa.types.is_floating(source.type):
        return batch.column(column.name)
    return column.converted(source, "X")
