"""Rows of a service: single rows that wait together, and batches of Arrow, scored in one pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import pa
from selfpaced.model import Model
from selfpaced.predicting.rows import NamedRow, RowScorer
from selfpaced.predicting.tables import streamed
from selfpaced.scoring import CodedRows, coded
from selfpaced.tables import InMemoryTable, Roles, is_missing
from selfpaced.tables.files import LoadedFile, Reader, StreamedTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReadRow:
    """A row that has passed all checks of a model."""

    values: Any  # as they were given
    table: InMemoryTable
    numbers: Floats | None  # its features, with codes for categories; None if the model reads other types


def read_row(scorer: RowScorer, row: Any) -> ReadRow:
    """Check a row, which has the features of its history if there is one."""
    table = scorer._read(row)
    rows = coded(table.span(0, 1))
    return ReadRow(row, table, None if rows is None else rows.numbers[:, 0])


def score_together(scorer: RowScorer, rows: Sequence[ReadRow]) -> Floats:
    """The probabilities of rows, one column for each class: those of each row alone.

    They are the same bit for bit, but for linear models and neural networks, whose sums are rounded by the number of
    rows: these differ in the last digit of a float.

    Rows of the usual values are scored in one pass. Rows with others, such as new categories of a frame, are scored one
    by one.
    """
    model, found = scorer._model, np.empty((len(rows), len(scorer.classes_)))
    read, parts = scorer._read, [row.table.span(0, 1) for row in rows]
    usual = read._categories if isinstance(read, NamedRow) else None
    stacked = [at for at, part in enumerate(parts) if isinstance(part, CodedRows) and part.categories is usual]
    if isinstance(read, NamedRow) and len(stacked) > 1:
        try:
            found[stacked] = _means(model, _stack(read, [parts[at] for at in stacked], rows, stacked))
        except (ValueError, TypeError, OverflowError, pa.ArrowException):
            stacked = []  # together they do not make a frame: one value is a number and another one text
    else:
        stacked = []
    for at in sorted({*range(len(rows))} - {*stacked}):
        found[at] = _means(model, rows[at].table)[0]
    return found


def _means(model: Model, table: InMemoryTable) -> Floats:
    return model.calibrated(model.means_of(table, 1))


def _stack(read: NamedRow, parts: Sequence[CodedRows], rows: Sequence[ReadRow], places: Sequence[int]) -> InMemoryTable:
    """Coded rows as one table. The frame is made only for members that do not read numbers."""
    values = [rows[at].values for at in places]
    numbers = np.concatenate([part.numbers for part in parts], axis=1)
    is_exact = all(part.is_exact for part in parts)
    return InMemoryTable(CodedRows(numbers, parts[0].categories, lambda: _frame(read, values), is_exact))


def _frame(read: NamedRow, rows: Sequence[Any]) -> Any:
    import pandas as pd

    named = [row if isinstance(row, Mapping) else read._by_name(row) for row in rows]
    if read._reader.schema is None:
        frame = pd.concat([read._frame(row) for row in named], ignore_index=True)
    else:
        columns = {name: [row[name] for row in named] for name in read._columns}
        frame = pd.DataFrame({name: [None if is_missing(one) else one for one in own] for name, own in columns.items()})
    return read._reader(frame).span(0, len(rows))


def score_arrow(model: Model, rows: Any, name: str) -> Iterator[tuple[Any, Floats]]:
    """Batches of an Arrow table with their probabilities, checked as `predict` checks files. `name` is for errors.

    A batch is that of a file, from which the features can be read; or some rows, if the model was trained on rows in
    memory without strings or dates.
    """
    schema = model.trained_on.schema
    if schema is None:
        rows = rows.select([*(model.reader.names or rows.column_names)])
        for at, own in enumerate(rows.schema):
            if own.name in model.reader.all_categories and own.type in (pa.string(), pa.large_string()):
                rows = rows.set_column(at, own.name, rows.column(at).dictionary_encode())  # as in training
        yield rows, model.probabilities(rows, 1)
        return
    file = LoadedFile(name, rows)
    schema.check_columns(file)
    yield from streamed(model, StreamedTable(Reader([file]), schema, Roles()), 1)
