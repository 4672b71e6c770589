"""The features of a history on a cluster, where all rows of an entity are brought into one partition."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.history import NO_ENTITY, Events, History, check_columns, check_labels, read_events, refuse_taken
from selfpaced.pools import row_keys
from selfpaced.tables import is_dask_frame

Places = NDArray[np.int64]

PLACE = "__selfpaced_place__"  # the column that says which rows must be together


def add_history(history: History, frame: Any, y: Any, pos_label: Any) -> Any:
    """The rows of a Dask or Spark DataFrame, in another order, with their features as further columns."""
    check_columns(history, list(frame.columns))
    refuse_taken(history, list(frame.columns))
    check_labels(history, y is not None, y if isinstance(y, str) else None)
    if y is not None and (not isinstance(y, str) or y not in frame.columns):
        raise TableError(
            f"On a cluster, labels are a column of the frame, given by its name; got {y!r}. The columns are "
            f"{list(frame.columns)}."
        )
    if is_dask_frame(frame):
        from selfpaced.clusters.dask import describe_dask_frame  # when it is needed: both clusters are optional

        return describe_dask_frame(history, frame, y, pos_label)
    from selfpaced.clusters.spark import describe_spark_frame

    return describe_spark_frame(history, frame, y, pos_label)


def by_entity(history: History) -> list[History]:
    """A history of each entity. Their features, one after the other, are those of the history."""
    return [replace(history, entities=(entity,), distinct=((entity, others),)) for entity, others in history.distinct]


def place_events(events: Events, entity: Any) -> Places:
    """A number for every event, the same for all events of an entity.

    Rows without an entity see no others and can be anywhere: their times spread them over all partitions. Their
    positions would not do, because Spark may compute a part of the rows again in another order.
    """
    keys, anywhere = events.keys[entity], row_keys(events.times.view(np.uint64), 0, 0)
    return np.where(keys == NO_ENTITY, anywhere, keys).view(np.int64)


def place_rows(history: History, rows: Any) -> tuple[list[Places], Places]:
    """The places of the rows of a frame for each entity, and their times."""
    events = read_events(replace(history, amount_column=None, distinct=(), delay=None), rows)
    return [place_events(events, entity) for entity in history.entities], events.times


def still_seen(history: History, events: Events) -> Events:
    """Of events in the order of places and times, for one entity, those that events after them may see."""
    places = place_events(events, history.entities[0])
    return events.take((places == places[-1]) & (events.times >= events.times[-1] - history.reach))
