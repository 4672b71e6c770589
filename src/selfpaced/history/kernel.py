"""The kernel: facts about the earlier rows of every row, by sorted arrays of whole numbers.

Rows are sorted by entity and time, once for each entity. A window is then a span from one position to another, and both
ends move only forward from row to row. So counts and sums are differences of running sums. For distinct values, each
row counts for a span of later rows: from the first that has it in its window, but not its predecessor of the same
value, to the last that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.history.events import NO_AMOUNT, NO_ENTITY, UNKNOWN, Events, Hashes, Ints
from selfpaced.history.facts import (
    MOST_AMOUNTS,
    EntityFacts,
    Floats,
    WindowFacts,
    entity_features,
    square_halves,
    window_features,
)

if TYPE_CHECKING:
    from selfpaced.history.description import Entity, History


def describe(history: History, events: Events, n_rows: int) -> dict[str, Floats]:
    """The features by name of the last `n_rows` events. The events before them are only looked at."""
    clock = _Clock.of(events.times)
    first = events.size - n_rows
    found: list[Floats] = []
    for entity, others in zip(history.entities, history.others, strict=True):
        found += _of_entity(history, events, first, clock, entity, others)
    return dict(zip(history.feature_names, found, strict=True))


@dataclass(frozen=True)
class _Clock:
    """The different times of a table, in order. The rank of a time is its position among them."""

    times: Ints
    ranks: Ints  # of all events
    by_time: Ints  # the positions of the events in the order of time

    @classmethod
    def of(cls, times: Ints) -> _Clock:
        by_time = np.argsort(times, kind="stable")
        in_order = times[by_time]
        is_new = np.ones(times.size, dtype=bool)
        np.not_equal(in_order[1:], in_order[:-1], out=is_new[1:])
        ranks = np.empty(times.size, dtype=np.int64)
        ranks[by_time] = np.cumsum(is_new) - 1
        return cls(in_order[is_new], ranks, by_time)

    def first_from(self, span: int) -> Ints:
        """For every rank, that of the first time which is at most a span before it."""
        return np.searchsorted(self.times, self.times - span)

    def first_after(self, span: int) -> Ints:
        """For every rank, that of the first time which is less than a span before it, but at most its own."""
        return np.minimum(np.searchsorted(self.times, self.times - span, side="right"), np.arange(self.times.size))


class _Sorted:
    """The events that have an entity, sorted by entity and time, and the rows to describe among them.

    A place is the entity and the time of an event as one number.
    """

    def __init__(self, keys: Hashes, first: int, clock: _Clock) -> None:
        order = clock.by_time[keys[clock.by_time] != NO_ENTITY]
        self.order = order[np.argsort(keys[order], kind="stable")]
        in_order = keys[self.order]
        self.entity = np.zeros(in_order.size, dtype=np.int64)
        np.cumsum(in_order[1:] != in_order[:-1], out=self.entity[1:])
        self.places = self.entity * clock.times.size + clock.ranks[self.order]
        self.asked = np.flatnonzero(self.order >= first)
        self.rows = self.order[self.asked] - first  # where their features belong
        self.ranks = clock.ranks[self.order[self.asked]]
        self._offsets = self.places[self.asked] - self.ranks
        self.here = self.position(np.arange(clock.times.size))  # the first event of the same instant

    def position(self, rank_of: Ints) -> Ints:
        """For every row to describe, the first event of its entity whose rank is at least `rank_of` its own rank."""
        found: Ints = np.searchsorted(self.places, self._offsets + rank_of[self.ranks])
        return found


def _of_entity(
    history: History, events: Events, first: int, clock: _Clock, entity: Entity, others: tuple[Entity, ...]
) -> list[Floats]:
    """The features of one entity in the order of their names."""
    events_in = _Sorted(events.keys[entity], first, clock)
    n_rows = events.size - first
    units = None if events.units is None else events.units[events_in.order]
    same = [_SameValue(events_in, events.keys[other][events_in.order]) for other in others]
    found: list[Floats] = []
    own = None if units is None else units[events_in.asked]
    amounts, labels = _Amounts(units), _Labels(events, events_in, clock, history)
    for window in history.window_ticks:
        start = events_in.position(clock.first_from(window))
        facts = WindowFacts(
            rows=events_in.here - start,
            **amounts.facts(start, events_in.here, name=str(entity)),
            distinct=[_distinct(start, events_in.here, one.before) for one in same],
            **labels.facts(window),
        )
        found += window_features(history, facts, own)
    longest = max(history.window_ticks)
    found += entity_features(_entity_facts(events.times[events_in.order], events_in, longest, same))
    return [_in_rows(values, events_in.rows, n_rows) for values in found]


def _in_rows(values: Floats, rows: Ints, n_rows: int) -> Floats:
    """The values in the order of the rows; NaN for rows without the entity."""
    placed = np.full(n_rows, np.nan, dtype=np.float32)
    placed[rows] = values
    return placed


def _running(values: NDArray[Any]) -> Ints:
    """Sums of the first 0, 1, 2, ... values. They may exceed 64 bits; differences of them are right all the same."""
    sums = np.zeros(values.size + 1, dtype=np.int64)
    np.cumsum(values, dtype=np.int64, out=sums[1:])
    return sums


class _Amounts:
    """Running sums of the amounts, and of their squares."""

    def __init__(self, units: Ints | None) -> None:
        self._units = units
        if units is None:
            return
        is_there = units != NO_AMOUNT
        known = np.where(is_there, units, 0)
        high, low = square_halves(known)
        self._sums = {
            "amounts": _running(is_there),
            "total": _running(known),
            "squares_high": _running(high),
            "squares_low": _running(low),
        }

    def facts(self, start: Ints, stop: Ints, name: str) -> dict[str, Ints]:
        if self._units is None:
            return {}
        found = {what: sums[stop] - sums[start] for what, sums in self._sums.items()}
        if found["amounts"].max(initial=0) > MOST_AMOUNTS:
            raise TableError(
                f"The entity {name} has more than {MOST_AMOUNTS:,} amounts in one window, so their sums would not be "
                "exact. Give shorter windows, or leave out this entity."
            )
        return found | {"largest": _largest(self._units, start, stop)}


def _largest(values: Ints, start: Ints, stop: Ints) -> Ints:
    """The largest value of each span. Spans of 2**k to 2**(k+1) - 1 values are two overlapping ones of 2**k."""
    lengths = stop - start
    found = np.full(start.size, NO_AMOUNT)
    largest, reach = values, 1  # of `reach` values from every position on
    while True:
        chosen = np.flatnonzero((lengths >= reach) & (lengths < 2 * reach))
        found[chosen] = np.maximum(largest[start[chosen]], largest[stop[chosen] - reach])
        if lengths.max(initial=0) < 2 * reach:
            return found
        largest = np.maximum(largest[:-reach], largest[reach:])
        reach *= 2


class _Labels:
    """Running sums of known labels and of rare rows, and where the labels that are known at each row end."""

    def __init__(self, events: Events, events_in: _Sorted, clock: _Clock, history: History) -> None:
        self._delay = history.delay_ticks
        if self._delay is None:
            return
        assert events.labels is not None
        labels = events.labels[events_in.order]
        self._known, self._rare = _running(labels != UNKNOWN), _running(labels == 1)
        self._events_in, self._clock = events_in, clock
        self._stop = events_in.position(clock.first_after(self._delay))

    def facts(self, window: int) -> dict[str, Ints]:
        if self._delay is None:
            return {}
        start = self._events_in.position(self._clock.first_from(self._delay + window))
        return {what: sums[self._stop] - sums[start] for what, sums in (("known", self._known), ("rare", self._rare))}


NONE, MISSING = -1, -2


class _SameValue:
    """For every event, the one before it of the same entity with the same value of another column.

    `before` counts events of the same instant, `earlier` does not. They are `NONE` if there is no such event, and
    `MISSING` for an event without a value.
    """

    def __init__(self, events_in: _Sorted, values: Hashes) -> None:
        order = np.argsort(values, kind="stable")
        in_order, places = values[order], events_in.places[order]
        entity = events_in.entity[order]
        is_same = (in_order[1:] == in_order[:-1]) & (entity[1:] == entity[:-1])
        is_first = np.ones(values.size, dtype=bool)  # of its instant
        is_first[1:] = ~is_same | (places[1:] != places[:-1])
        self.before = np.full(values.size, NONE, dtype=np.int64)
        self.before[order[1:]] = np.where(is_same, order[:-1], NONE)
        self.earlier = np.empty_like(self.before)
        self.earlier[order] = self.before[order[np.maximum.accumulate(np.where(is_first, np.arange(values.size), 0))]]
        for positions in (self.before, self.earlier):
            positions[values == NO_ENTITY] = MISSING


def _distinct(start: Ints, stop: Ints, previous: Ints) -> Ints:
    """The number of different values in each span. A value is counted at its first event in the span."""
    n_rows, n_events = start.size, previous.size
    # How many rows have their start, or their stop, at most here: the first row after them starts, or stops, later.
    started = np.cumsum(np.bincount(start, minlength=n_events)[:n_events])
    stopped = np.cumsum(np.bincount(stop, minlength=n_events)[:n_events])
    begin = np.where(previous >= 0, np.maximum(stopped, started[np.maximum(previous, 0)]), stopped)
    counted = np.flatnonzero((begin < started) & (previous != MISSING))
    change = np.bincount(begin[counted], minlength=n_rows + 1) - np.bincount(started[counted], minlength=n_rows + 1)
    return np.cumsum(change)[:n_rows]


def _entity_facts(times: Ints, events_in: _Sorted, longest: int, same: list[_SameValue]) -> EntityFacts:
    """The time since the last event, and whether pairs were seen. `times` are those of the sorted events."""
    own = times[events_in.asked]
    last = events_in.here - 1
    has_last = (last >= 0) & (events_in.entity[last] == events_in.entity[events_in.asked])
    since = np.where(has_last, own - times[last], NONE)
    seen = []
    for one in same:
        earlier = one.earlier[events_in.asked]
        is_seen = (earlier >= 0) & (own - times[np.maximum(earlier, 0)] <= longest)
        seen.append(np.where(earlier == MISSING, NONE, is_seen))
    return EntityFacts(np.where(since <= longest, since, NONE), seen)
