"""Rows in memory as whole numbers, found by their entity: its trail says what they mean for another row."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from selfpaced.exceptions import TableError
from selfpaced.history.events import NO_AMOUNT, NO_ENTITY, UNKNOWN, Ints
from selfpaced.history.facts import MOST_AMOUNTS, EntityFacts, WindowFacts, square_halves

if TYPE_CHECKING:
    from selfpaced.history.description import History

# A row as whole numbers: its time, its label, its amount, the hashes of its keys, and that of its id if it has one.
TIME, LABEL, UNITS, KEYS = 0, 1, 2, 3
NEVER, ALWAYS = -(2**63), 2**63 - 1  # before and after all times
MOST_CACHED = 2**20  # rows in trails


class RowLog:
    """Rows in the order of their arrival, a column each."""

    def __init__(self, history: History, has_ids: bool) -> None:
        places = {key: KEYS + at for at, key in enumerate(history.keys)}
        others = [[places[other] for other in some] for some in history.others]
        self._entities = list(zip([places[entity] for entity in history.entities], others, strict=True))
        self._has_ids = has_ids
        self.n_rows = 0
        self._numbers = np.empty((KEYS + len(places) + has_ids, 0), np.int64)
        self.index()

    @property
    def rows(self) -> Ints:
        """All rows. They are to be changed by `relabel` only."""
        return self._numbers[:, : self.n_rows]

    def replace(self, rows: Ints) -> None:
        """Keep these rows only."""
        self._numbers, self.n_rows = rows, rows.shape[1]
        self.index()

    def extend(self, rows: Ints) -> None:
        """Add rows. They are not found before `index` or `note` is called."""
        n_rows = self.n_rows + rows.shape[1]
        if n_rows > self._numbers.shape[1]:
            larger = np.empty((rows.shape[0], max(n_rows, self._numbers.shape[1] * 3 // 2)), np.int64)
            larger[:, : self.n_rows] = self.rows
            self._numbers = larger
        self._numbers[:, self.n_rows : n_rows] = rows
        self.n_rows = n_rows

    def index(self) -> None:
        """Sort all rows by their entities and ids."""
        times = self.rows[TIME]
        self._positions = [_Positions(self.rows[place], times) for place, _ in self._entities]
        self._ids = _Positions(self.rows[-1] if self._has_ids else times[:0], times[: self.n_rows * self._has_ids])
        self._new_ids: dict[int, int] = {}
        self._trails: dict[tuple[int, int], Trail] = {}
        self._n_cached = 0

    def note(self, n_new: int) -> None:
        """Have the last rows found, too."""
        if n_new > 1000 and 16 * n_new > self.n_rows:
            self.index()
            return
        for position in range(self.n_rows - n_new, self.n_rows):
            row = self._numbers[:, position].tolist()
            if self._has_ids:
                self._new_ids[row[-1]] = position
            for number, (place, others) in enumerate(self._entities):
                if row[place] != NO_ENTITY:
                    self._positions[number].later.setdefault(row[place], array("q")).append(position)
                    trail = self._trails.get((number, row[place]))
                    if trail is not None and trail.append(position, row, others):
                        self._n_cached += 1
                    elif trail is not None:  # a late row; the trail is made anew when it is asked for
                        self._drop((number, row[place]))

    def find(self, ids: Ints) -> Ints:
        """The positions of the rows with some ids; -1 for ids that are not known, or missing."""
        found = self._ids.firsts(ids)
        for at in np.flatnonzero(found < 0).tolist() if self._new_ids else ():
            found[at] = self._new_ids.get(int(ids[at]), -1)
        found[ids == NO_ENTITY] = -1
        return found

    def relabel(self, positions: Ints, labels: Ints) -> None:
        """Change the labels of some rows."""
        for position, label in zip(positions.tolist(), labels.tolist(), strict=True):
            row = self._numbers[:, position]
            for number, (place, _) in enumerate(self._entities):
                trail = self._trails.get((number, int(row[place])))
                if trail is not None:
                    trail.relabel(position, int(row[LABEL]), label)
            row[LABEL] = label

    def facts(self, row: list[int], asked: Asked) -> tuple[WindowFacts, EntityFacts]:
        """What the rows say about another row. The first axis of the facts has the entities, the second the windows."""
        found = [
            self._trail(number, row[place]).facts(row, asked, others)
            for number, (place, others) in enumerate(self._entities)
        ]
        return asked.named(np.array([of_windows for of_windows, _ in found]), np.array([rest for _, rest in found]))

    def is_missing(self, row: list[int]) -> list[bool]:
        """For each entity, whether the row has none."""
        return [row[place] == NO_ENTITY for place, _ in self._entities]

    def _trail(self, number: int, key: int) -> Trail:
        others = self._entities[number][1]
        if key == NO_ENTITY:  # rows without an entity are in nobody's trail
            return Trail(self._numbers[TIME, :0], self._numbers[:, :0], others)
        trail = self._trails.pop((number, key), None)
        if trail is None:
            positions = self._positions[number].positions(key)
            trail = Trail(positions, self._numbers[:, positions], others)
            self._n_cached += trail.size
        self._trails[number, key] = trail  # the last one used is the last one dropped
        while self._n_cached > MOST_CACHED and len(self._trails) > len(self._entities):
            self._drop(next(iter(self._trails)))
        return trail

    def _drop(self, name: tuple[int, int]) -> None:
        self._n_cached -= self._trails.pop(name).size


class _Positions:
    """Where the rows of each value of a key are: sorted as of the last `index`, and those that came later."""

    def __init__(self, keys: Ints, times: Ints) -> None:
        self._order = np.lexsort((times, keys)).astype(np.min_scalar_type(keys.size))
        in_order = keys[self._order]
        is_new = np.ones(keys.size, dtype=bool)
        np.not_equal(in_order[1:], in_order[:-1], out=is_new[1:])
        self._starts = np.append(np.flatnonzero(is_new), keys.size)
        self._keys = in_order[is_new]
        self.later: dict[int, array[int]] = {}

    def positions(self, key: int) -> Ints:
        """The positions of all rows of a value."""
        at = int(self._keys.searchsorted(key))
        is_there = at < self._keys.size and self._keys[at] == key
        found = self._order[self._starts[at] : self._starts[at + 1]] if is_there else self._order[:0]
        return np.concatenate([found.astype(np.int64), np.array(self.later.get(key, ()), np.int64)])

    def firsts(self, keys: Ints) -> Ints:
        """The position of the first row of each of some values, as of the last `index`; -1 if there is none."""
        if not self._keys.size:
            return np.full(keys.size, -1)
        at = np.minimum(self._keys.searchsorted(keys), self._keys.size - 1)
        return np.where(self._keys[at] == keys, self._order[self._starts[at]].astype(np.int64), -1)


class Asked:
    """Where the windows of a history start and end, relative to the time of a row, and which facts it asks for."""

    def __init__(self, history: History) -> None:
        self.windows = list(history.window_ticks)
        self.longest = int(np.argmax(self.windows))
        self.has_amounts, delay = history.amount_column is not None, history.delay_ticks
        self.has_labels = delay is not None
        # An entity with fewer other columns gets facts of nothing, so that all entities have facts of one shape.
        self.n_others = max(map(len, history.others))
        # The windows of rows, and their end; those of labels, and their end, which is also before the row.
        of_labels = [] if delay is None else [*(-delay - window for window in self.windows), min(1 - delay, 0)]
        self.offsets = np.array([*(-window for window in self.windows), 0, *of_labels])

    def named(self, of_windows: Ints, others: Ints) -> tuple[WindowFacts, EntityFacts]:
        """The facts by name, as `Trail.facts` gives them for each entity."""
        names = ["rows"] + ["amounts", "total", "squares_high", "squares_low", "largest"] * self.has_amounts
        names += ["known", "rare"] * self.has_labels
        facts = of_windows.swapaxes(0, 1)
        named = dict(zip(names, facts, strict=False))
        return WindowFacts(**named, distinct=[*facts[len(names) :]]), EntityFacts(others[:, 0], [*others[:, 1:].T])


# The numbers of a row in a trail: its position in the log, its time, its amount, for each other column its value and
# the time of the row before with this value, and running sums: rows with an amount, their amounts, both halves of the
# squares of these, known labels, rare rows.
POSITION, WHEN, AMOUNT, OTHERS, N_SUMS = 0, 1, 2, 3, 6


class Trail:
    """The rows of one value of an entity in the order of time.

    Sums over a window are differences of two running sums. The rest is looked for in all rows of the window: in 100,000
    rows this takes some 20 microseconds.
    """

    __slots__ = ("_data", "_n")

    def __init__(self, positions: Ints, rows: Ints, others: list[int]) -> None:
        order = np.argsort(rows[TIME], kind="stable")
        rows = rows[:, order]
        self._n = order.size
        # Column 0 stands before all rows, so that running sums begin with 0.
        self._data = np.zeros((OTHERS + 2 * len(others) + N_SUMS, 1 + self._n + max(4, self._n // 4)), np.int64)
        own = self._data[:, 1 : self._n + 1]
        own[:OTHERS] = positions[order], rows[TIME], rows[UNITS]
        for at, other in enumerate(others):
            own[OTHERS + 2 * at : OTHERS + 2 * at + 2] = rows[other], _before(rows[other], rows[TIME])
        np.cumsum(_summands(rows), axis=1, out=own[-N_SUMS:])

    @property
    def size(self) -> int:
        """What it counts for among the trails that are kept: its rows, and itself."""
        return self._n + 16

    def append(self, position: int, row: list[int], others: list[int]) -> bool:
        """Add a row, if its place is at the end. Return whether it is."""
        last = self._n
        if last and row[TIME] < self._data[WHEN, last]:
            return False
        if last + 1 == self._data.shape[1]:
            self._data = np.pad(self._data, ((0, 0), (0, max(4, last // 4))))
        new = self._data[:, last + 1]
        new[:OTHERS] = position, row[TIME], row[UNITS]
        for at, other in enumerate(others):
            same = np.flatnonzero(self._data[OTHERS + 2 * at, 1 : last + 1] == row[other])
            before = self._data[WHEN, 1 + same[-1]] if same.size else NEVER
            new[OTHERS + 2 * at : OTHERS + 2 * at + 2] = row[other], ALWAYS if row[other] == NO_ENTITY else before
        new[-N_SUMS:] = self._data[-N_SUMS:, last] + _summands(np.array([row]).T)[:, 0]
        self._n = last + 1
        return True

    def relabel(self, position: int, before: int, after: int) -> None:
        """Change the label of the row at a position of the log."""
        at = int(np.flatnonzero(self._data[POSITION, 1 : self._n + 1] == position)[0]) + 1
        self._data[-2, at:] += (after != UNKNOWN) - (before != UNKNOWN)
        self._data[-1, at:] += (after == 1) - (before == 1)

    def facts(self, row: list[int], asked: Asked, others: list[int]) -> tuple[list[Any], list[int]]:
        """What the rows of the trail say about another row: some facts for each window, and those without a window."""
        data, now, n_windows = self._data, row[TIME], len(asked.windows)
        cuts = data[WHEN, 1 : self._n + 1].searchsorted(asked.offsets + now)
        sums = data[-N_SUMS:].take(cuts, axis=1)
        start, stop = cuts[:n_windows], int(cuts[n_windows])
        inside = [slice(first + 1, stop + 1) for first in start.tolist()]
        longest = inside[asked.longest]
        found: list[Any] = [stop - start]
        if asked.has_amounts:
            found += [*(sums[:-2, n_windows, np.newaxis] - sums[:-2, :n_windows])]
            found.append([np.maximum.reduce(data[AMOUNT, some], initial=NO_AMOUNT) for some in inside])
            if self._n > MOST_AMOUNTS and found[1].max() > MOST_AMOUNTS:
                raise TableError(
                    f"An entity has more than {MOST_AMOUNTS:,} amounts in a window, so sums would not be exact."
                )
        if asked.has_labels:
            found += [*(sums[-2:, -1:] - sums[-2:, n_windows + 1 : -1])]
        rest = [now - int(data[WHEN, stop]) if longest.start < longest.stop else UNKNOWN]
        for at, other in enumerate(others):
            values, before = data[OTHERS + 2 * at], data[OTHERS + 2 * at + 1]
            firsts = [now - window for window in asked.windows]
            found.append([np.count_nonzero(before[some] < first) for some, first in zip(inside, firsts, strict=True)])
            is_seen = np.count_nonzero(values[longest] == row[other]) > 0
            rest.append(UNKNOWN if row[other] == NO_ENTITY else int(is_seen))
        n_more = asked.n_others - len(others)
        return found + [[0] * n_windows] * n_more, rest + [UNKNOWN] * n_more


def _before(values: Ints, times: Ints) -> Ints:
    """The time of the row before with the same value: `NEVER` if there is none, `ALWAYS` for missing values.

    >>> _before(np.array([7, 8, 7, 0]), np.array([1, 2, 3, 4])).tolist() == [NEVER, NEVER, 1, ALWAYS]
    True
    """
    order = np.argsort(values, kind="stable")
    before = np.full(values.size, NEVER)
    before[order[1:]] = np.where(values[order[1:]] == values[order[:-1]], times[order[:-1]], NEVER)
    before[values == NO_ENTITY] = ALWAYS
    return before


def _summands(rows: Ints) -> Ints:
    """What the running sums add up for each row."""
    is_there = rows[UNITS] != NO_AMOUNT
    units = np.where(is_there, rows[UNITS], 0)
    return np.stack([is_there, units, *square_halves(units), rows[LABEL] != UNKNOWN, rows[LABEL] == 1])
