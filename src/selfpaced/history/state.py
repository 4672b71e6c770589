"""The state of a history for service: the rows that later rows can see, in memory and in a folder."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import StateError, TableError, warn
from selfpaced.history.description import History, _frame_like, check_labels
from selfpaced.history.events import (
    NO_AMOUNT,
    NO_ENTITY,
    TICKS,
    UNKNOWN,
    Events,
    Ints,
    labels_in,
    read_events,
)
from selfpaced.history.facts import entity_features, window_features
from selfpaced.history.journal import JournalFolder
from selfpaced.history.kernel import describe
from selfpaced.history.single import read_id, read_ids, read_row
from selfpaced.history.trails import ALWAYS, KEYS, LABEL, NEVER, TIME, UNITS, Asked, RowLog
from selfpaced.tables import is_frame, span_parts, span_ticks

VERSION = 1  # of the records in a folder
FEWEST_CHANGES = 2**14  # between two snapshots
N_LATEST = 100  # the latest row but 99 says what is forgotten, so that a few wrong clocks do no harm


class Learned(NamedTuple):
    """What `HistoryState.learn` did."""

    n_learned: int
    n_unknown: int


class HistoryState:
    """The rows that later rows can see, kept for service. `History.state` makes one, and `open` reads it from a folder.

    Rows are kept as whole numbers, with hashes of entities and ids. In a folder, each change is written to a journal
    before its call returns. So a process that is killed loses nothing: the next one that opens the folder has the rows
    and labels of all calls that returned, once each.

    Threads can share a state. One process at a time can have a folder open.

    Parameters
    ----------
    history : History
        The description.
    id_column : str or None
        The column with the id of a row, by which its label is learned.
    pos_label : label
        The label of rare rows.
    lateness : int
        How much earlier than the last row a row may be, in microseconds, or in millionths of times that are numbers.

    See Also
    --------
    History.state : Makes the state of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> history = History("day", ["card"], windows=[7], delay=2, base_rate=0.01)
    >>> payments = pd.DataFrame({"day": [1, 2], "card": ["a", "b"], "payment": ["p1", "p2"]})
    >>> state = history.state(payments, [0, 0], id_column="payment")
    >>> state.update({"day": 3, "card": "a", "payment": "p3"})
    1
    >>> state.learn(["p3"], [1])
    Learned(n_learned=1, n_unknown=0)
    >>> features = state.features({"day": 5, "card": "a"})
    >>> features["card_rows_7"], features["card_rare_7"]
    (2.0, 1.0)
    """

    def __init__(self, history: History, id_column: str | None, pos_label: Any, lateness: int) -> None:
        self.history, self.id_column = history, id_column
        self._pos_label, self._lateness = pos_label, lateness
        self._log, self._asked = RowLog(history, id_column is not None), Asked(history)
        self._order = _order(history)
        self._last_time = self._horizon = NEVER  # rows before the horizon are forgotten
        self._has_zone: bool | None = None
        self._n_changes, self._most_changes = 0, FEWEST_CHANGES
        self._folder: JournalFolder | None = None
        self._is_closed = False
        self._lock = RLock()

    @classmethod
    def _made(
        cls,
        history: History,
        X: Any,
        y: Any,
        *,
        id_column: str | None,
        pos_label: Any,
        lateness: Any,
        folder: Any,
        sync_every: float,
    ) -> Self:
        """A new state with the rows of a frame."""
        if history.delay is not None or y is not None:
            check_labels(history, given=True)
        if lateness is None:
            lateness = min(history.windows, key=lambda window: span_ticks(window, "A window"))
        if (span_parts(lateness, "lateness")[1] != "") != history.has_dates:
            raise ValueError(f"lateness must be written like the windows {history.windows}; got {lateness!r}.")
        pos_label = getattr(pos_label, "item", lambda: pos_label)()
        state = cls(history, id_column, pos_label, span_ticks(lateness, "lateness"))
        if folder is not None:
            state._folder = JournalFolder(folder, sync_every)
        try:
            if state._folder is not None and state._folder.has_snapshot():
                raise StateError(f"{folder} has a state already. Open it with HistoryState.open.")
            rows, state._has_zone = state._read(X, y)
            state._extend(rows[:, state._is_new(rows)])
            state.compact()
        except BaseException:
            state.close()
            raise
        return state

    @classmethod
    def open(cls, folder: Any, history: History | None = None, *, sync_every: float = 1.0) -> Self:
        """The state in a folder, with all changes that were made to it.

        Loading runs no code of the files. If a process was killed while it wrote to the journal, the record that it did
        not finish is removed with a warning.

        Parameters
        ----------
        folder : path
            The folder.
        history : History, default=None
            The description that the state must have.
        sync_every : float, default=1.0
            Seconds between two calls of fsync, as for `History.state`.

        Returns
        -------
        HistoryState
            The state. No other process can open it until it is closed.

        Raises
        ------
        StateError
            If there is no state, another process has it open, a file is damaged, or the description is another.
        """
        if not Path(folder).is_dir():
            raise StateError(f"There is no folder {folder}. Make a state with History.state(X, folder=...).")
        journal = JournalFolder(folder, sync_every)
        try:
            return cls._loaded(journal, history)
        except BaseException:
            journal.close()
            raise

    @classmethod
    def _loaded(cls, journal: JournalFolder, history: History | None) -> Self:
        if not journal.has_snapshot():
            raise StateError(f"{journal.path} has no state. Make one with History.state(X, folder=...).")
        records = journal.load()
        head, rows = next(records)
        if head["version"] != VERSION:
            raise StateError(f"{journal.path} was written by another version of selfpaced. Make a new state.")
        own = History.from_dict(head["history"])
        for name, value in {} if history is None else history.as_dict().items():
            if value != head["history"][name]:
                raise StateError(
                    f"The state in {journal.path} belongs to another history: its {name} is {head['history'][name]!r}, "
                    f"and not {value!r}. Make a new state for the new history."
                )
        state = cls(own, head["id_column"], head["pos_label"], head["lateness"])
        state._last_time, state._horizon, state._has_zone = head["last_time"], head["horizon"], head["has_zone"]
        state._extend(rows)
        for head, numbers in records:
            state._n_changes += numbers.shape[1]
            if "has_zone" in head:
                state._has_zone = head["has_zone"]
                state._extend(numbers)
            else:
                state._log.rows[LABEL, numbers[0]] = numbers[1]
        state._log.index()
        state._folder = journal
        return state

    @property
    def n_rows(self) -> int:
        """The number of rows that are kept."""
        return self._log.n_rows

    @property
    def last_time(self) -> Any:
        """The latest time of a row: a datetime64 in UTC, or a number. None if there was no row."""
        return None if self._last_time == NEVER else self._moment(self._last_time)

    @property
    def last_tick(self) -> int:
        """The latest time of a row as events have it."""
        return self._last_time

    def has(self, rows: Any) -> NDArray[np.bool_]:
        """Which rows the state has, by their ids.

        Parameters
        ----------
        rows : frame of pandas, polars or pyarrow
            Rows with the column of ids.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            Whether the state has a row with this id. Rows that were forgotten, or have no id, count as new.

        Raises
        ------
        ValueError
            If the state has no ids.
        """
        if self.id_column is None:
            raise ValueError("The state has no id_column, so it does not know which rows it has. Make one with ids.")
        with self._lock:
            return np.asarray(self._log.find(read_ids(rows, self.id_column)) >= 0)

    def features(self, rows: Any) -> Any:
        """The features of one row, or of the rows of a frame. They do not change the state.

        Parameters
        ----------
        rows : mapping, or frame of pandas, polars or pyarrow
            The values of one row by column, or many rows. A row of a frame sees the earlier rows of the frame, too.

        Returns
        -------
        dict or frame
            For a mapping, the features by name. For a frame, a frame of the same kind, as `History.features` gives.

        Raises
        ------
        TableError
            If a column is missing or has a value that cannot be used. Also if a row comes so late that rows which it
            would see are forgotten.
        """
        if isinstance(rows, Mapping):
            return self._of_row(rows)
        events = read_events(self.history, _checked_frame(rows))
        with self._lock:
            self._check(events.has_zone, int(events.times.min(initial=ALWAYS)))
            log = self._log.rows.copy()
        past = Events(
            log[TIME],
            {key: log[KEYS + at].view(np.uint64) for at, key in enumerate(self.history.keys)},
            None if events.units is None else log[UNITS],
            None if events.labels is None else log[LABEL].astype(np.int8),
            self._has_zone,
        )
        return _frame_like(rows, describe(self.history, Events.joined([past, events]), events.size))

    def _of_row(self, given: Mapping[str, Any]) -> dict[str, float]:
        row, has_zone = read_row(self.history, given)
        with self._lock:
            self._check(has_zone, row[TIME])
            of_windows, of_entities = self._log.facts(row, self._asked)
        found = np.array(window_features(self.history, of_windows, np.array(row[UNITS])))
        others = np.array(entity_features(of_entities))
        if NO_ENTITY in row:
            is_missing = self._log.is_missing(row)
            found[:, is_missing], others[:, is_missing] = np.nan, np.nan
        values = np.concatenate([found.ravel(), others.ravel()]).take(self._order)
        return dict(zip(self.history.feature_names, values.tolist(), strict=True))

    def update(self, rows: Any, y: Any = None) -> int:
        """Add one row, or the rows of a frame. Rows of later times see them.

        When the call returns, the rows are in the journal. If it raises an error, none of them is added. A row is
        skipped if the state has a row with its id, or if it comes so late that no row can see it. So with ids, a call
        can be repeated if it is not known whether it was finished.

        Parameters
        ----------
        rows : mapping, or frame of pandas, polars or pyarrow
            The values of one row by column, or many rows.
        y : label or array-like of shape (n_rows,), default=None
            The labels, if they are known already.

        Returns
        -------
        int
            The number of rows that were added.

        Raises
        ------
        TableError
            If a column is missing or has a value that cannot be used.
        StateError
            If the journal cannot be written.
        """
        if y is not None:
            check_labels(self.history, given=True)
        numbers, has_zone = self._read(rows, y)
        with self._lock:
            self._check(has_zone)
            numbers = numbers[:, self._is_new(numbers)]
            n_new: int = numbers.shape[1]
            if n_new:
                has_zone = self._has_zone if has_zone is None else has_zone
                with self._committing({"has_zone": has_zone}, numbers):
                    self._has_zone = has_zone
                    self._extend(numbers)
                    self._log.note(n_new)
        return n_new

    def learn(self, ids: Any, labels: Any) -> Learned:
        """Add labels that have arrived. A label counts from the time of its row plus the delay on, or else from now on.

        A second label of a row replaces the first. A missing label makes the label of the row unknown.

        Parameters
        ----------
        ids : array-like of shape (n_labels,)
            The ids of the rows.
        labels : array-like of shape (n_labels,)
            Their labels.

        Returns
        -------
        Learned
            `n_learned`, the number of rows whose labels were given, and `n_unknown`, the number of labels whose ids the
            state does not have: it never got the rows, or no row can see them any more.

        Raises
        ------
        ValueError
            If the history uses no labels, or the state has no ids.
        StateError
            If the journal cannot be written.
        """
        check_labels(self.history, given=True)
        if self.id_column is None:
            raise ValueError("The state has no id_column, so it cannot find the rows of labels. Make one with ids.")
        keys, new = read_ids(ids, self.id_column), labels_in(labels, self._pos_label)
        if keys.size != new.size:
            raise TableError(f"There are {new.size:,} labels for {keys.size:,} ids. Give one for each id.")
        with self._lock:
            self._check()
            positions = self._log.find(keys)
            is_known = positions >= 0
            label_of = dict(zip(positions[is_known].tolist(), new[is_known].tolist(), strict=True))
            if label_of:
                numbers = np.array([[*label_of], [*label_of.values()]])
                with self._committing({}, numbers):
                    self._log.relabel(*numbers)
        return Learned(len(label_of), int((~is_known).sum()))

    def compact(self) -> None:
        """Forget the rows that no row can see any more. In a folder, write a new snapshot and begin a new journal.

        An update does this when there are more changes since the last time than there were rows then. Call it at a
        quiet hour to keep it away from busy ones.

        Raises
        ------
        StateError
            If the snapshot cannot be written. The state has not changed then.
        """
        with self._lock:
            self._check()
            times = self._log.rows[TIME]
            if times.size >= N_LATEST:
                latest = int(np.partition(times, times.size - N_LATEST)[-N_LATEST])
                self._horizon = max(self._horizon, latest - self.history.reach - self._lateness)
            kept = self._log.rows[:, times >= self._horizon]
            try:
                if self._folder is not None:
                    self._folder.save(self._head(), kept)
                self._log.replace(kept)
                self._n_changes, self._most_changes = 0, max(FEWEST_CHANGES, kept.shape[1])
            except StateError:
                raise  # nothing was written
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Write what is not yet on the disk, and let other processes open the folder. Further calls are refused."""
        with self._lock:
            self._is_closed = True
            if self._folder is not None:
                self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("A state cannot be pickled. Keep it in a folder, and open it there with HistoryState.open.")

    def _head(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "history": self.history.as_dict(),
            "id_column": self.id_column,
            "pos_label": self._pos_label,
            "lateness": self._lateness,
            "has_zone": self._has_zone,
            "last_time": self._last_time,
            "horizon": self._horizon,
        }

    def _read(self, rows: Any, y: Any) -> tuple[Ints, bool | None]:
        """Rows as whole numbers, a column each."""
        if isinstance(rows, Mapping):
            row, has_zone = read_row(self.history, rows)
            if y is not None:
                row[LABEL] = int(labels_in([y], self._pos_label)[0])
            if self.id_column is not None:
                row.append(read_id(rows, self.id_column))
            return np.array([row]).T, has_zone
        events = read_events(self.history, _checked_frame(rows), y, self._pos_label)
        labels = np.full(events.size, UNKNOWN) if events.labels is None else events.labels
        units = np.full(events.size, NO_AMOUNT) if events.units is None else events.units
        keys = [events.keys[key].view(np.int64) for key in self.history.keys]
        ids = [] if self.id_column is None else [read_ids(rows, self.id_column)]
        return np.stack([events.times, labels, units, *keys, *ids]), events.has_zone

    def _is_new(self, numbers: Ints) -> Any:
        """Which rows are to be added: those that some row can see, once each."""
        is_new = numbers[TIME] >= self._horizon
        if self.id_column is not None:
            ids = numbers[-1]
            is_first = np.zeros(ids.size, dtype=bool)
            is_first[np.unique(ids, return_index=True)[1]] = True
            is_new &= (is_first & (self._log.find(ids) < 0)) | (ids == NO_ENTITY)
        return is_new

    def _extend(self, numbers: Ints) -> None:
        self._log.extend(numbers)
        self._last_time = max(self._last_time, int(numbers[TIME].max(initial=NEVER)))

    def _check(self, has_zone: bool | None = None, first: int = ALWAYS) -> None:
        """Refuse rows whose times cannot be compared, or of which the first is so late that its past is forgotten."""
        if self._is_closed:
            raise StateError("The state is closed. Open its folder again.")
        if None not in (has_zone, self._has_zone) and has_zone != self._has_zone:
            given, own = ("a", "none") if has_zone else ("no", "one")
            raise TableError(f"The rows have times with {given} time zone, but those of the state have {own}.")
        if first - self.history.reach < self._horizon:
            raise TableError(
                f"A row of {self._moment(first)} comes too late: rows before {self._moment(self._horizon)}, which it "
                "would see, are forgotten. Make the state with a greater lateness."
            )

    def _moment(self, ticks: int) -> Any:
        return np.datetime64(int(ticks), "us") if self.history.has_dates else ticks / TICKS

    @contextmanager
    def _committing(self, head: dict[str, Any], numbers: Ints) -> Iterator[None]:
        """Write a change to the journal; the block makes it in memory. Either both is done, or the state is closed."""
        try:
            if self._folder is not None:
                self._folder.append(head, numbers)
            yield
        except StateError:
            raise  # nothing was written
        except BaseException:
            self.close()
            raise
        self._n_changes += numbers.shape[1]
        if self._n_changes > self._most_changes:
            self._most_changes *= 2  # if there is no space for a snapshot, it is tried again later
            try:
                self.compact()
            except StateError as error:
                warn(f"The change is in the journal, which goes on growing because {error}")


def _checked_frame(rows: Any) -> Any:
    if not is_frame(rows):
        raise TypeError(f"Give a row as a mapping by column names, or a frame of rows; got {type(rows)}.")
    return rows


def _order(history: History) -> Ints:
    """Where each feature of a single row is among its features by fact, entity and window, and by fact and entity."""
    n_entities, n_windows, counts = len(history.entities), len(history.windows), list(map(len, history.others))
    before = 1 + 5 * (history.amount_column is not None)  # facts before the counts of other columns
    n_facts = before + max(counts) + 3 * (history.delay is not None)
    of_windows = np.arange(n_facts * n_entities * n_windows).reshape(n_facts, n_entities, n_windows)
    others = of_windows.size + np.arange((1 + max(counts)) * n_entities).reshape(-1, n_entities)
    found: list[Ints] = []
    for entity, n_others in enumerate(counts):
        facts = [*range(before + n_others), *range(before + max(counts), n_facts)]
        found += [of_windows[facts, entity].T.ravel(), others[: 1 + n_others, entity]]
    return np.concatenate(found)
