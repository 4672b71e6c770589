"""A CSV file, read block by block."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.tables.files import import_arrow, naming
from selfpaced.tables.inference import Seen, decide, look

# Arrow reads 32 blocks ahead. A block of many columns is larger, so that each has more than a handful of rows.
BLOCK_BYTES = 2**21
COLUMN_BYTES = 2**9
DELIMITERS = (",", ";", "\t", "|")
COMPRESSIONS = ("", ".gz", ".bz2", ".zst")
ENDINGS = tuple(kind + compression for kind in (".csv", ".tsv") for compression in COMPRESSIONS)

# Gaps are spelled as pandas.read_csv takes them, in quotes or not.
GAPS = (
    *("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>", "NULL", "null", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)


def is_csv(path: Path) -> bool:
    """
    >>> is_csv(Path("bank/Sales.CSV")), is_csv(Path("sales.tsv.gz")), is_csv(Path("sales.csv.parquet"))
    (True, True, False)
    """
    return path.name.lower().endswith(ENDINGS)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file as it was when it was opened.

    Attributes
    ----------
    names : its columns. One without a name is called by its position, as in pandas: "Unnamed: 0".
    n_skipped : records up to the first row: the header, and empty lines before it.
    decimal : what stands before the fraction of a number: a point, or a comma as in much of Europe.
    """

    path: Path
    delimiter: str
    names: tuple[str, ...]
    n_skipped: int
    size: int
    changed_at: int
    decimal: str = "."

    def blocks(self, types: Mapping[str, Any], at: Callable[[int], None] = lambda position: None) -> Iterator[Any]:
        """The rows in record batches, a block each, values converted to Arrow types.

        `at` is told how many bytes of the file have been read.
        """
        import pyarrow.csv as arrow_csv

        pa = import_arrow()
        with naming(self.path, "CSV"), opened(self.path) as (raw, stream):
            try:
                for batch in arrow_csv.open_csv(stream, **self._options(types)):
                    yield batch
                    at(raw.tell())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise TableError(_explained(self, str(error), types)) from error

    def texts(self, at: Callable[[int], None] = lambda position: None) -> Iterator[Any]:
        """The rows with all values as they are written. Refuses a file without rows and one that ends within quotes."""
        last = None
        for batch in self.blocks(dict.fromkeys(self.names, import_arrow().string()), at):
            last = batch if batch.num_rows else last
            yield batch
        if last is None:
            raise TableError(_no_rows(self.path))
        self._refuse_open_quote(last.column(len(self.names) - 1)[-1].as_py())

    @property
    def dialect(self) -> str:
        return self.delimiter + self.decimal

    def types(self, names: Iterable[str], at: Callable[[int], None]) -> dict[str, Any]:
        """The types of some columns, after a look at all rows."""
        seen = dict.fromkeys(names, Seen.NOTHING)
        for batch in self.texts(at):
            open_names = [name for name in seen if Seen.WORD not in seen[name]]
            texts = [self._with_points(batch.column(name)) for name in open_names]
            for name, found in zip(open_names, look(texts), strict=True):
                seen[name] |= found
        return {name: decide(values) for name, values in seen.items()}

    def _with_points(self, texts: Any) -> Any:
        """Texts in which numbers are written with a point; where they have commas, a point makes no number."""
        import pyarrow.compute as pc

        if self.decimal == ".":
            return texts
        return pc.replace_substring(pc.replace_substring(texts, ".", "#"), ",", ".")

    @property
    def block_bytes(self) -> int:
        return max(BLOCK_BYTES, COLUMN_BYTES * len(self.names))

    def _options(self, types: Mapping[str, Any]) -> dict[str, Any]:
        import pyarrow.csv as arrow_csv

        return {
            "read_options": arrow_csv.ReadOptions(
                block_size=self.block_bytes, column_names=list(self.names), skip_rows_after_names=self.n_skipped
            ),
            "parse_options": arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": arrow_csv.ConvertOptions(
                column_types=dict(types), null_values=GAPS, strings_can_be_null=True, decimal_point=self.decimal
            ),
        }

    def _refuse_open_quote(self, last: str | None) -> None:
        """A quote that is never closed makes one value of all rows behind it, and Arrow lets it pass."""
        if last is None or "\n" not in last:
            return
        tail = b""
        with opened(self.path) as (_, stream):
            while block := stream.read(BLOCK_BYTES):
                tail = (tail + block)[-100:].rstrip()
        if not tail.endswith(b'"'):
            raise TableError(f"{self.path} ends within quotes: the one before {last[:40]!r} is never closed. Close it.")


def open_csv(path: Path) -> CsvFile:
    """Look at the first line of a CSV file."""
    with naming(path, "CSV"):
        status = path.stat()
        head = _head(path)
    delimiter, header, n_skipped = _header(path, head)
    names = tuple(name or f"Unnamed: {position}" for position, name in enumerate(header))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{path} has more than one column {', '.join(map(repr, twice))} in line {n_skipped}. Give each a name of "
            "its own. (Is the first line a header? It must be.)"
        )
    decimal = _decimal(head, delimiter)
    return CsvFile(path, delimiter, names, n_skipped, status.st_size, status.st_mtime_ns, decimal)


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The file, whose position tells how far we are, and the stream of its bytes, which may be unpacked ones."""
    pa = import_arrow()
    compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
    with pa.OSFile(str(path)) as raw:
        if compression is None:
            yield raw, raw
        else:
            with pa.CompressedInputStream(raw, compression) as stream:
                yield raw, stream


def _head(path: Path) -> str:
    with opened(path) as (_, stream):
        head = stream.read(4 * BLOCK_BYTES)
    try:
        # Not the last of the bytes: a letter may be cut in two.
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
        raise TableError(f"{path} is empty. Leave it out, or write it again.") from None
    except csv.Error as error:
        raise TableError(f"{path} does not begin with a line of column names: {error}.") from error
    if not text.read().strip():
        raise TableError(_no_rows(path))
    return delimiter, names, number


def _delimiter(path: Path, head: str) -> str:
    """Tab by the file's name, or else what the first line has most of, outside of quotes."""
    if path.name.lower().endswith(tuple(".tsv" + compression for compression in COMPRESSIONS)):
        return "\t"
    line = re.match(r'[\r\n]*((?:"[^"]*"|[^"\r\n])*)', head)
    assert line is not None  # it matches nothing at least
    bare = re.sub(r'"[^"]*"', "", line[1])
    return max(DELIMITERS, key=bare.count)


def _decimal(head: str, delimiter: str) -> str:
    """A comma if values are fractions with one, and none is with a point. Where commas part values, a point.

    >>> _decimal("a;b\\n1,5;x", ";"), _decimal("a;b\\n1,5;2.5", ";"), _decimal("a,b\\n1,5", ",")
    (',', '.', '.')
    """
    if delimiter == ",":
        return "."
    edge = f'[{re.escape(delimiter)}\\r\\n"]'
    with_comma, with_point = (re.search(rf"{edge}\s*-?\d+{sign}\d+\s*(?:{edge}|$)", head) for sign in (",", r"\."))
    return "," if with_comma and not with_point else "."


def _explained(file: CsvFile, message: str, types: Mapping[str, Any]) -> str:
    """What Arrow complains of, with the line or the column where it is, and what to do."""
    column = re.search(r"column #(\d+): .*?conversion error.*?: (.*)", message)
    if column:
        name = file.names[int(column[1])]
        if types[name] != import_arrow().string():
            return (
                f"Column {name!r} of {file.path} does not fit the type {types[name]}: {column[2]}. Give it another "
                f"one, as in types={{{name!r}: 'string'}}."
            )
    return _bad_line(file) or (
        f"{file.path} has a line of more than {file.block_bytes // 2**20} MB. Is a quote never closed?"
        if "straddl" in message
        else f"{file.path} cannot be read as CSV: {message}"
    )


def _bad_line(file: CsvFile) -> str | None:
    """The first line that is not UTF-8 or has too few or too many values; a slow search, in a file already refused."""
    with opened(file.path) as (_, stream), closing(io.BufferedReader(stream)) as lines:
        records = csv.reader((line.decode("utf-8-sig") for line in lines), delimiter=file.delimiter)
        line = 1
        try:
            for record in records:
                if record and len(record) != len(file.names):
                    return (
                        f"{file.path} has {len(record)} values in line {line}, and {len(file.names)} columns in its "
                        f"header (values are told apart by {file.delimiter!r}). Mend the line, or put values that hold "
                        "the delimiter in quotes."
                    )
                line = records.line_num + 1
        except UnicodeDecodeError:
            return _not_utf8(file.path, records.line_num + 1)
        except csv.Error:
            return None
    return None


def _not_utf8(path: Path, line: int) -> str:
    return f"{path} is not UTF-8 (line {line}). Write it as UTF-8, with iconv or the program it comes from."


def _no_rows(path: Path) -> str:
    return f"{path} has a header and no rows. Leave it out, or write it again."
