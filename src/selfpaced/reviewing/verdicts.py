"""The file of verdicts: one line for each verdict, which is on the disk before the reviewer is told so."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfpaced.exceptions import TableError
from selfpaced.storage import lock_file

VERDICTS = ("rare", "common", "unsure")
DISAGREED = "disagreed"  # the outcome for a row that one reviewer calls rare and another one common
MARK = b"\xef\xbb\xbf"  # which spreadsheets write at the beginning of a text file


@dataclass(frozen=True)
class Verdict:
    id: str
    verdict: str
    note: str
    reviewer: str
    time: str  # in UTC, with a Z at the end

    def repeats(self, other: Verdict | None) -> bool:
        """Whether it says the same as another one of the same reviewer, as after a lost answer."""
        return other is not None and (self.verdict, self.note) == (other.verdict, other.note)


@dataclass(frozen=True)
class Layout:
    """The columns of a file of verdicts: with a target, also the label that each verdict means."""

    id_column: str
    target: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)  # by verdict

    @property
    def header(self) -> list[str]:
        labels = [] if self.target is None else [self.target]
        return [self.id_column, "verdict", *labels, "note", "reviewer", "time"]

    def check(self) -> None:
        taken = [name for name in self.header if self.header.count(name) > 1]
        if taken:
            raise TableError(
                f"{taken[0]!r} is a column of ids or labels, but a file of verdicts has its own column of this name. "
                "Rename the column."
            )

    def line(self, verdict: Verdict) -> bytes:
        labels = [] if self.target is None else [self.labels[verdict.verdict]]
        text = io.StringIO()
        values = [verdict.id, verdict.verdict, *labels, verdict.note, verdict.reviewer, verdict.time]
        csv.writer(text, lineterminator="\n").writerow(values)
        return text.getvalue().encode()

    def parsed(self, line: bytes) -> Verdict:
        """The verdict in a line. A line that is damaged raises ValueError, which says what is wrong."""
        values = _values(line)
        if len(values) != len(self.header):
            raise ValueError(f"it has {len(values)} values instead of {len(self.header)}")
        identity, verdict, *labels, note, reviewer, time = values
        if verdict not in VERDICTS:
            raise ValueError(f"its verdict is {verdict!r} instead of {', '.join(VERDICTS[:-1])} or {VERDICTS[-1]}")
        if not identity or not reviewer:
            raise ValueError(f"it has no {'reviewer' if identity else 'id'}")
        if self.target is not None and labels != [self.labels[verdict]]:
            expected = self.labels[verdict] or "empty"
            raise ValueError(f"its verdict is {verdict}, so {self.target!r} must be {expected}, not {labels[0]!r}")
        return Verdict(identity, verdict, note, reviewer, time)


def _values(line: bytes) -> list[str]:
    try:
        found = list(csv.reader([line.decode().rstrip("\r\n")], strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"it is not CSV in UTF-8: {error}") from None
    return found[0] if found else []


def parse(path: Path, lines: Iterable[bytes], layout: Layout) -> list[Verdict]:
    """The verdicts in lines after the header. A damaged one is refused with its number; empty ones are skipped."""
    found = []
    for number, line in enumerate(lines, 2):
        try:
            if line.strip():
                found.append(layout.parsed(line))
        except ValueError as error:
            raise TableError(
                f"Line {number} of {path} is damaged: {error}. Nothing was changed. Correct this line, or remove it."
            ) from None
    return found


def read_verdicts(path: Path, target: str | None, labels: Mapping[str, str]) -> tuple[str, list[Verdict]] | None:
    """The name of the column of ids, and the verdicts; None if the file is not one of verdicts."""
    lines = path.read_bytes().removeprefix(MARK).splitlines(keepends=True)
    try:
        header = _values(lines[0]) if lines else []
    except ValueError:
        return None
    for layout in (Layout(header[0]), Layout(header[0], target, labels)) if header else ():
        if layout.header == header:
            return layout.id_column, parse(path, lines[1:], layout)
    return None


def standing(verdicts: Iterable[Verdict]) -> dict[str, dict[str, Verdict]]:
    """The last verdict of each reviewer about each row, by row and by reviewer."""
    found: dict[str, dict[str, Verdict]] = {}
    for one in verdicts:
        found.setdefault(one.id, {})[one.reviewer] = one
    return found


def outcome(verdicts: Iterable[Verdict]) -> str:
    """What the last verdicts of all reviewers about a row come to. Those who are unsure leave it to the others.

    >>> ann, bob = (Verdict("7", said, "", who, "") for said, who in (("rare", "Ann"), ("common", "Bob")))
    >>> outcome([ann]), outcome([ann, bob])
    ('rare', 'disagreed')
    """
    said = {one.verdict for one in verdicts} - {"unsure"}
    return DISAGREED if len(said) > 1 else said.pop() if said else "unsure"


class VerdictFile:
    """An open file of verdicts, which other processes cannot open for a review.

    Every verdict is appended and synchronised with the disk. A last line without an end, which a power cut may leave,
    was never acknowledged: it is removed, and `removed` holds it.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        layout.check()
        self.path, self.layout, self.removed = path, layout, ""
        try:
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise TableError(f"{path} cannot be opened for verdicts: {error}.") from None
        try:
            self._lock()
            self.verdicts = self._read()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            lock_file(self._file)
        except OSError:
            raise TableError(
                f"Another process reviews into {self.path}. Several people can use its page at the same time, each in "
                "a browser window."
            ) from None

    def _read(self) -> list[Verdict]:
        self._file.seek(0)
        content = self._file.read()
        if not content.strip():
            self._file.truncate(0)
            self._size = 0
            self._write(",".join(_quoted(name) for name in self.layout.header).encode() + b"\n")
            return []
        first, *lines = content.splitlines(keepends=True)
        if _values(first.removeprefix(MARK)) != self.layout.header:
            raise TableError(
                f"{self.path} has the header {first.removeprefix(MARK).decode(errors='replace').strip()!r} instead of "
                f"{','.join(self.layout.header)!r}, so it belongs to another review, or was begun with other options. "
                "Give --id and --model as before, or choose another file: -o FILE."
            )
        self._size = len(content)
        if lines and not lines[-1].endswith(b"\n"):
            self._end(lines)
        return parse(self.path, lines, self.layout)

    def _end(self, lines: list[bytes]) -> None:
        """End the last line if it is whole, as an editor may leave it. Remove it otherwise."""
        try:
            is_whole = self.layout.parsed(lines[-1]).time.endswith("Z")
        except ValueError:
            is_whole = False
        if is_whole:
            self._write(b"\n")
        else:
            torn = lines.pop()
            self.removed = torn.decode(errors="replace")
            self._size -= len(torn)
            self._file.truncate(self._size)

    def append(self, verdict: Verdict) -> None:
        """Add a verdict. When this returns, neither a crash nor a power cut can lose it."""
        try:
            now = os.stat(self.path)
            is_same = os.path.samestat(now, os.fstat(self._file.fileno())) and now.st_size == self._size
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise TableError(
                f"Another program has changed {self.path}, so this verdict was not saved. Restart the review, which "
                "reads the file again."
            )
        self._write(self.layout.line(verdict))
        self.verdicts.append(verdict)

    def _write(self, line: bytes) -> None:
        try:
            n_written = self._file.write(line)
            if n_written != len(line):
                raise OSError(f"{n_written} of {len(line)} bytes were written")
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._size)  # or else the next verdict would continue this line
            raise TableError(f"This verdict was not saved: {self.path} cannot be written ({error}).") from None
        self._size += len(line)

    def close(self) -> None:
        self._file.close()


def _quoted(name: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([name])
    return text.getvalue()
