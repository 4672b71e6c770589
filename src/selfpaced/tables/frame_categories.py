"""The categories of frames in memory that models read as they are, without a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from selfpaced.tables.as_trained import as_arrow
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.kinds import ARROW, PANDAS, kind_of
from selfpaced.tables.new_categories import NewCategories
from selfpaced.tables.open_categories import OpenColumn
from selfpaced.tables.schema import Schema

Categories = Mapping[str, Sequence[str]]


def categories_in(frame: Any) -> dict[str, tuple[str, ...]]:
    """The categories of each column of categories whose values are strings; empty for anything but a frame.

    >>> import pandas as pd
    >>> categories_in(pd.DataFrame({"shop": pd.Categorical(["web"], categories=["web", "phone"]), "amount": [1.5]}))
    {'shop': ('web', 'phone')}
    """
    readers = {PANDAS: _of_pandas, ARROW: _of_arrow}
    found = readers.get(kind_of(frame), lambda _: iter(()))(frame)
    return {name: own for name, own in found if own and all(isinstance(each, str) for each in (name, *own))}


def warn_of_new(known: Categories, frame: Any, stacklevel: int) -> None:
    """Warn of the rows whose categories are not among those that are known. Mostly only the types are compared.

    `stacklevel` counts from the caller, as for `warnings.warn`.
    """
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
        new.warn(stacklevel=stacklevel + 1)


def _of_pandas(frame: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    for name, column in frame.items():
        if type(column.dtype).__name__ == "CategoricalDtype":
            yield name, tuple(column.cat.categories)


def _of_arrow(table: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    pa = import_arrow()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            chunks = (chunk.dictionary.drop_null().to_pylist() for chunk in column.chunks)
            yield name, tuple(dict.fromkeys(category for own in chunks for category in own))
