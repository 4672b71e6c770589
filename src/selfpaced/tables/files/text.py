"""Text files: CSV and JSON lines, read in blocks of typed columns."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.exceptions import TableError, arrow_csv, arrow_json, pa, pc
from selfpaced.tables.files.file import naming
from selfpaced.tables.files.inference import AMBIGUOUS, Form, fits_any, inferred_forms, narrowed, rewritten_values
from selfpaced.tables.schema import merged_types
from selfpaced.tables.times import iso_dates

MANY_DELIMITERS = 6  # so many in the right places are no accident
DELIMITERS = (",", ";", "\t", "|")
COMPRESSIONS = ("", ".gz", ".bz2", ".zst")
ENDINGS = tuple(kind + compression for kind in (".csv", ".tsv") for compression in COMPRESSIONS)

# As for pandas.read_csv, in quotes or not.
MISSING_VALUES = (
    *("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>", "NULL", "null", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
COMMAS = (
    "The commas in column {names} of {path} may be decimal commas or separate thousands: 170,124 is 170.124 or "
    "170124. Give the column a type, 'decimal comma', 'thousands comma' or 'string': open_table(..., types={{{name}: "
    "'decimal comma'}}) in Python, --types {bare}='decimal comma' on the command line."
)
POINTS = (
    "The points in column {names} of {path} may be decimal points or separate thousands, because other columns have "
    "decimal commas: 1.234 is 1.234 or 1234. Give the column a type, 'float64' or 'string': open_table(..., "
    "types={{{name}: 'float64'}}) in Python, --types {bare}=float64 on the command line. If points separate thousands, "
    "write the numbers without them first."
)


@dataclass(frozen=True)
class Limits:
    """How much of a text file is in memory at once."""

    # Arrow reads 32 blocks ahead. A block of many columns is larger, so that each column has more than a few values.
    block_bytes: int = 2**21
    column_bytes: int = 2**9
    piece_bytes: int = 2**25  # of a file of JSON lines
    # A row group of the Parquet file ends at either of these, so that those of wide tables take little memory.
    group_rows: int = 2**17
    group_bytes: int = 2**26


LIMITS = Limits()


@dataclass(frozen=True)
class _Suspect:
    """A row of which a value has several lines that may be rows themselves."""

    row: int
    column: str
    lines: Sequence[str]


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, described by its first lines."""

    path: Path
    delimiter: str
    names: tuple[str, ...]  # its columns. A column without a name is named by its position, as in pandas: "Unnamed: 0".
    n_skipped: int  # records before the first row: the header, and empty lines before it
    limits: Limits

    def forms(self, given: Mapping[str, Form], at: Callable[[int], None], lenient: bool) -> dict[str, Form]:
        """The form of each column, given or inferred from all rows. `at` is called with the bytes read so far.

        A value that holds whole rows of the file is refused, unless its column is given as strings. `lenient` says
        that the given forms are those of a model.
        """
        candidates = [form for form in inferred_forms() if form.comma is None or self.delimiter != ","]
        # A given type of floats does not say whether they are written with decimal commas.
        unclear = {name for name, form in given.items() if pa.types.is_floating(form.type) and form.comma is None}
        fitting = {name: candidates for name in self.names if name not in given or name in unclear}
        texts = () if lenient else [name for name, form in given.items() if form.type == pa.string()]
        suspects: list[_Suspect] = []
        n_rows = 0
        for batch in self._texts(at):
            fitting = narrowed(fitting, batch)
            new = [suspect for suspect in self._suspects(batch, n_rows) if suspect.column not in texts]
            suspects += self._holding_rows(new, fitting)
            n_rows += batch.num_rows
        for suspect in self._holding_rows(suspects, fitting):
            raise TableError(_swallowing(self, suspect))
        found = {name: next(iter(forms), Form(pa.string())) for name, forms in fitting.items()}
        self._refuse(COMMAS, [name for name, form in found.items() if form.comma == AMBIGUOUS])
        if any(form.comma is not None for form in [*found.values(), *given.values()]):
            self._refuse(POINTS, [name for name, form in found.items() if form.grouped and name not in given])
        for name, form in given.items():
            has_commas = name in unclear and found[name].comma is not None
            found[name] = replace(found[name], type=form.type) if has_commas else form
        return found

    def blocks(self, forms: Mapping[str, Form], at: Callable[[int], None]) -> Iterator[Any]:
        """The rows in record batches, values converted to the types of their forms."""
        types = {name: pa.string() if form.is_rewritten else form.type for name, form in forms.items()}
        with naming(self.path, "CSV"), opened(self.path) as (raw, stream):
            try:
                for batch in arrow_csv.open_csv(stream, **self._options(types)):
                    yield self._with_values(batch, forms)
                    at(raw.tell())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise TableError(_explained(self, str(error), forms)) from error

    def _with_values(self, batch: Any, forms: Mapping[str, Form]) -> Any:
        for position, name in enumerate(self.names):
            if forms[name].is_rewritten:
                try:
                    batch = batch.set_column(position, name, rewritten_values(forms[name], batch.column(position)))
                except pa.ArrowInvalid as error:  # with the wording of Arrow's own errors about columns
                    raise pa.ArrowInvalid(f"column #{position}: conversion error: {error}") from error
        return batch

    def _texts(self, at: Callable[[int], None]) -> Iterator[Any]:
        """The rows with all values as they are written. Refuses a file that ends within quotes."""
        last = None
        for batch in self.blocks(dict.fromkeys(self.names, Form(pa.string())), at):
            last = batch if batch.num_rows else last
            yield batch
        assert last is not None  # a file without rows is refused when it is opened
        self._refuse_open_quote(last.column(len(self.names) - 1)[-1].as_py())

    def _suspects(self, batch: Any, n_before: int) -> Iterator[_Suspect]:
        """Rows with values of several lines, of which each has as many delimiters as a row of the file."""
        # The bytes of all values at once: nearly all files have no line break in any of them.
        bytes_of = {name: batch.column(name).buffers()[2] for name in self.names}
        names = [name for name, values in bytes_of.items() if values is not None and b"\n" in values.to_pybytes()]
        if not names:
            return
        masks = [pc.match_substring(batch.column(name), "\n").fill_null(False) for name in names]
        rows = batch.filter(reduce(pc.or_, masks))
        texts = pc.binary_join_element_wise(*rows.columns, self.delimiter, null_handling="replace")
        n_lines = pc.add(pc.count_substring(texts, "\n"), 1)
        alike = pc.equal(pc.count_substring(texts, self.delimiter), pc.multiply(n_lines, len(self.names) - 1))
        positions = pc.indices_nonzero(reduce(pc.or_, masks)).filter(alike).to_pylist()
        for position, text in zip(positions, texts.filter(alike).to_pylist(), strict=True):
            lines = [line.rstrip("\r") for line in text.split("\n")]
            if all(line.count(self.delimiter) == len(self.names) - 1 for line in lines):
                column = next(name for name in names if "\n" in (batch.column(name)[position].as_py() or ""))
                yield _Suspect(n_before + position, column, lines)

    def _holding_rows(self, suspects: Sequence[_Suspect], fitting: Mapping[str, Sequence[Form]]) -> list[_Suspect]:
        """Those whose lines are rows: the values in them fit the columns that are not text.

        Where all columns are text, the right number of delimiters in many lines is enough.
        """
        if not suspects:
            return []
        known = {name: forms for name, forms in fitting.items() if forms and not pa.types.is_null(forms[0].type)}
        if len(self.names) == 1:  # only the lines themselves can tell
            known = {self.names[0]: inferred_forms()[1:]}
        lines = [line.split(self.delimiter) for suspect in suspects for line in suspect.lines]
        fit = np.ones(len(lines), dtype=bool)
        for name, column in zip(self.names, zip(*lines, strict=True), strict=True):
            if name in known:
                fit &= fits_any(known[name], [None if value in MISSING_VALUES else value for value in column])
        starts = np.cumsum([0, *(len(suspect.lines) for suspect in suspects)])[:-1]
        return [
            suspect
            for suspect, fits in zip(suspects, np.logical_and.reduceat(fit, starts), strict=True)
            if fits and (known or (len(suspect.lines) - 1) * (len(self.names) - 1) >= MANY_DELIMITERS)
        ]

    @property
    def block_bytes(self) -> int:
        return max(self.limits.block_bytes, self.limits.column_bytes * len(self.names))

    def _options(self, types: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "read_options": arrow_csv.ReadOptions(
                block_size=self.block_bytes, column_names=list(self.names), skip_rows_after_names=self.n_skipped
            ),
            # In a file of one column an empty line is a row without a value.
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=len(self.names) > 1
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types=dict(types), null_values=MISSING_VALUES, strings_can_be_null=True
            ),
        }

    def _refuse(self, unclear: str, names: Sequence[str]) -> None:
        """Refuse columns whose numbers can be read in two ways."""
        if names:
            listed = ", ".join(map(repr, names))
            raise TableError(unclear.format(names=listed, path=self.path, name=repr(names[0]), bare=names[0]))

    def _refuse_open_quote(self, last: str | None) -> None:
        """Refuse a quote that is never closed: it turns all rows after it into one value, and Arrow accepts that."""
        if last is None or "\n" not in last:
            return
        tail = b""
        with opened(self.path) as (_, stream):
            while block := stream.read(self.block_bytes):
                tail = (tail + block)[-100:].rstrip()
        if not tail.endswith(b'"'):
            raise TableError(
                f"{self.path} ends inside a quoted value: the quote before {last[:40]!r} is never closed. Close it."
            )


def is_csv(path: Any) -> bool:
    """Whether the name of a file, here or behind a URL, is that of a CSV file."""
    return str(path).lower().endswith(ENDINGS)


def open_csv(path: Path, limits: Limits) -> CsvFile:
    """Look at the first lines of a CSV file."""
    with naming(path, "CSV"):
        head = _head(path, 4 * limits.block_bytes)
    delimiter, header, n_skipped = _header(path, head)
    names = tuple(name or f"Unnamed: {position}" for position, name in enumerate(header))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{path} has more than one column {', '.join(map(repr, twice))} in line {n_skipped}. Give each column its "
            "own name. The first line of the file must be a header."
        )
    return CsvFile(path, delimiter, names, n_skipped, limits)


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The file, whose position is the progress, and the stream of its bytes, decompressed if need be."""
    compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
    with pa.OSFile(str(path)) as raw:
        yield raw, raw if compression is None else pa.CompressedInputStream(raw, compression)


def _head(path: Path, n_bytes: int) -> str:
    with opened(path) as (_, stream):
        head = stream.read(n_bytes)
    try:
        # The last bytes are ignored: they may be only a part of a character.
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError as error:
        raise TableError(_not_utf8(path, head[: error.start].count(b"\n") + 1)) from error


def _header(path: Path, head: str) -> tuple[str, list[str], int]:
    """The delimiter, the names of the columns, and the number of records that this took."""
    delimiter = _delimiter(path, head)
    text = io.StringIO(head, newline="")
    records = csv.reader(text, delimiter=delimiter)
    try:
        number, names = next((number, names) for number, names in enumerate(records, start=1) if names)
    except StopIteration:
        raise TableError(f"{path} is empty. Write it again; if it is one of several files, remove it.") from None
    except csv.Error as error:
        raise TableError(f"{path} does not start with a line of column names: {error}.") from error
    if not text.read().strip():
        raise TableError(f"{path} has a header but no rows. Write it again; if it is one of several files, remove it.")
    return delimiter, names, number


def _delimiter(path: Path, head: str) -> str:
    """A tab if the file name says so, otherwise the most frequent delimiter in the first line outside of quotes."""
    if path.name.lower().endswith(tuple(".tsv" + compression for compression in COMPRESSIONS)):
        return "\t"
    line = re.match(r'[\r\n]*((?:"[^"]*"|[^"\r\n])*)', head)
    assert line is not None  # the pattern matches an empty string too
    bare = re.sub(r'"[^"]*"', "", line[1])
    return max(DELIMITERS, key=bare.count)


def _explained(file: CsvFile, message: str, forms: Mapping[str, Form]) -> str:
    """An error of Arrow, with the line or the column that it is about, and what to do."""
    column = re.search(r"column #(\d+): .*?conversion error.*?: (.*)", message)
    if column:
        name = file.names[int(column[1])]
        if forms[name].type != pa.string():
            return (
                f"Column {name!r} of {file.path} does not fit the type {forms[name].type}: {column[2]}. Give the "
                f"column another type, as in types={{{name!r}: 'string'}}."
            )
    return _bad_line(file) or (
        f"{file.path} has a line of more than {file.block_bytes // 2**20} MB. Check whether a quote is never closed."
        if "straddl" in message
        else f"{file.path} cannot be read as CSV: {message}"
    )


def _bad_line(file: CsvFile) -> str | None:
    """The first line that is not UTF-8 or has too few or too many values. The search is slow: only for bad files."""
    line = 0
    with suppress(csv.Error):
        try:
            for line, record in _records(file):
                if record and len(record) != len(file.names):
                    return (
                        f"{file.path} has {len(record)} values in line {line}, but {len(file.names)} columns in its "
                        f"header (the delimiter is {file.delimiter!r}). Correct the line, or put values that contain "
                        "the delimiter in quotes."
                    )
        except UnicodeDecodeError:
            return _not_utf8(file.path, line + 1)
    return None


def _records(file: CsvFile) -> Iterator[tuple[int, list[str]]]:
    """The records of a file, each with the number of its first line."""
    with opened(file.path) as (_, stream), closing(io.BufferedReader(stream)) as lines:
        records = csv.reader((line.decode("utf-8-sig") for line in lines), delimiter=file.delimiter)
        line, limit = 1, csv.field_size_limit(2**31 - 1)
        try:
            for record in records:
                yield line, record
                line = records.line_num + 1
        finally:
            csv.field_size_limit(limit)


def _swallowing(file: CsvFile, suspect: _Suspect) -> str:
    """The error about a value that holds rows, with the number of the line where it starts."""
    rows = (line for line, record in islice(_records(file), file.n_skipped, None) if record or len(file.names) == 1)
    line = next(islice(rows, suspect.row, None))
    return (
        f"{file.path} has a quoted value of {len(suspect.lines):,} lines in column {suspect.column!r}, which starts in "
        f"line {line}. These lines look like rows of the file, so there is probably a quote too many. Correct it. If "
        "they are one value, give the column the type 'string': open_table(..., "
        f"types={{{suspect.column!r}: 'string'}}) in Python, --types {suspect.column}=string on the command line."
    )


def _not_utf8(path: Path, line: int) -> str:
    return f"{path} is not UTF-8 (line {line}). Convert it to UTF-8, for example with iconv."


JSON_ENDINGS = tuple(kind + compression for kind in (".jsonl", ".ndjson") for compression in COMPRESSIONS)


@dataclass(frozen=True)
class JsonFile:
    """A file of JSON lines."""

    path: Path
    # The type of each column. Every name in any row is a column. Dates are strings here, as they are in JSON.
    types: Mapping[str, Any]
    limits: Limits

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.types)

    def forms(self, given: Mapping[str, Form], at: Callable[[int], None], lenient: bool) -> dict[str, Form]:
        """The form of each column, given or known since the file was opened. Strings that are all dates are dates."""
        dates = [form for form in inferred_forms() if pa.types.is_timestamp(form.type)]
        fitting = {name: dates for name, kind in self.types.items() if kind == pa.string() and name not in given}
        for piece, position in _pieces(self.path, self.limits) if fitting else ():
            for batch in self._read(piece, {}).to_batches():
                fitting = {name: forms for name, forms in narrowed(fitting, batch).items() if forms}
            at(position)
            if not fitting:
                break
        found = {name: forms[0] for name, forms in fitting.items()}
        return {name: Form(kind) for name, kind in self.types.items()} | found | dict(given)

    def blocks(self, forms: Mapping[str, Form], at: Callable[[int], None]) -> Iterator[Any]:
        """The rows in record batches, values converted to the types of their forms."""
        schema = pa.schema([(name, forms[name].type) for name in self.names])
        found = {name for name in self.names if forms[name].pattern is not None}
        given = {name: forms[name].type for name in self.names if name not in found}
        for piece, position in _pieces(self.path, self.limits):
            rows = self._read(piece, given)
            for position_of, name in enumerate(self.names):
                if forms[name].day_first:
                    rows = rows.set_column(position_of, name, iso_dates(rows.column(name)))
            yield from rows.cast(schema).to_batches()
            at(position)

    def _read(self, piece: bytes, given: Mapping[str, Any]) -> Any:
        schema = pa.schema([(name, given.get(name, kind)) for name, kind in self.types.items()])
        return _parsed(self.path, piece, schema).select(list(self.names))


def open_json(path: Path, limits: Limits) -> JsonFile:
    """Look at all rows: any of them may have a name or a kind of value that none before it had."""
    types: dict[str, Any] = {}
    with naming(path, "JSON lines"):
        for piece, _ in _pieces(path, limits):
            for field in _parsed(path, piece, None).schema:
                types[field.name] = _common(path, field, types.get(field.name))
    if not types:
        raise TableError(f"{path} has no rows. Write it again; if it is one of several files, remove it.")
    return JsonFile(path, types, limits)


def _common(path: Path, field: Any, known: Any) -> Any:
    """The type of a name after one more piece of the file. Arrow may read dates in one piece and strings in another."""
    kind = pa.string() if pa.types.is_timestamp(field.type) else field.type
    try:
        return kind if known is None else merged_types(known, kind)
    except pa.ArrowException as error:
        raise TableError(
            f"{field.name!r} is {known} in some rows of {path} and {kind} in others. Write all values with one type."
        ) from error


def _parsed(path: Path, piece: bytes, schema: Any) -> Any:
    read = arrow_json.ReadOptions(block_size=len(piece), use_threads=False)
    try:
        return arrow_json.read_json(io.BytesIO(piece), read, arrow_json.ParseOptions(explicit_schema=schema))
    except pa.ArrowException as error:
        raise TableError(f"{path} is not a file of JSON lines with one object in each line: {error}") from error


def _pieces(path: Path, limits: Limits) -> Iterator[tuple[bytes, int]]:
    """Whole lines together, and how much of the file has been read."""
    rest = b""
    with opened(path) as (raw, stream):
        while block := stream.read(limits.piece_bytes):
            lines, newline, rest = (rest + block).rpartition(b"\n")
            if lines.strip():
                yield lines + newline, raw.tell()
        if rest.strip():
            yield rest + b"\n", raw.tell()
