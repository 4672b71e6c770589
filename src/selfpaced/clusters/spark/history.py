"""The features of a history for the rows of a Spark DataFrame."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from pyspark.sql import types

from selfpaced.clusters.history import PLACE, by_entity, place_rows, still_seen
from selfpaced.clusters.partitions import ROWS_AT_ONCE
from selfpaced.clusters.spark.table import safe_names
from selfpaced.exceptions import pa
from selfpaced.history import Events, History, describe, read_events

TIME = "__selfpaced_time__"


def describe_spark_frame(history: History, frame: Any, y: str | None, pos_label: Any) -> Any:
    """The rows with their features. They are shuffled once for each entity."""
    names = [*frame.columns, *history.feature_names]
    safe = safe_names(len(names))
    columns, features = safe[: len(frame.columns)], safe[len(frame.columns) :]
    fields = [types.StructField(name, field.dataType) for name, field in zip(columns, frame.schema, strict=True)]
    sorted_by = [f"{PLACE}{number}" for number in range(len(history.entities))]
    fields += [types.StructField(name, types.LongType()) for name in (*sorted_by, TIME)]
    rows = frame.toDF(*columns).mapInArrow(partial(_placed, history, frame.columns), types.StructType(fields))
    for one, place in zip(by_entity(history), sorted_by, strict=True):
        fields += [types.StructField(features.pop(0), types.FloatType()) for _ in one.feature_names]
        together = rows.repartition(place).sortWithinPartitions(place, TIME)
        described = partial(_described, one, frame.columns, y, pos_label, [field.name for field in fields])
        rows = together.mapInArrow(described, types.StructType(fields))
    return rows.select(*safe).toDF(*names)


def _placed(history: History, names: Sequence[str], batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        found, times = place_rows(history, pa.Table.from_batches([batch.rename_columns(names)]))
        added = {f"{PLACE}{number}": pa.array(place) for number, place in enumerate(found)} | {TIME: pa.array(times)}
        yield pa.record_batch([*batch.columns, *added.values()], names=[*batch.schema.names, *added])


def _described(
    history: History, names: Sequence[str], y: str | None, pos_label: Any, all_names: list[str], batches: Iterator[Any]
) -> Iterator[Any]:
    """Add the features of one entity to rows in the order of places and times. `names` are those of the first columns.

    Of the rows before a chunk only those are kept that the next rows may see. A chunk has at least as many rows, so
    that an entity with many rows in its windows costs at most twice the time.
    """
    past: Events | None = None
    while taken := _next_rows(batches, max(ROWS_AT_ONCE, 0 if past is None else past.size)):
        rows = pa.Table.from_batches(taken)
        own = rows.select(range(len(names))).rename_columns(names)
        events = read_events(history, own, None if y is None else own.column(y), pos_label)
        seen = events if past is None else Events.joined([past, events])
        features = map(pa.array, describe(history, seen, events.size).values())
        yield from pa.table([*rows.columns, *features], names=all_names).combine_chunks().to_batches()
        past = still_seen(history, seen)


def _next_rows(batches: Iterator[Any], at_least: int) -> list[Any]:
    taken, n_rows = [], 0
    while n_rows < at_least and (batch := next(batches, None)) is not None:
        taken.append(batch)
        n_rows += batch.num_rows
    return taken
