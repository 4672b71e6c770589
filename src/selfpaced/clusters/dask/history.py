"""The features of a history for the rows of a Dask DataFrame."""

from typing import Any

import numpy as np

from selfpaced.clusters.dask.table import import_dask
from selfpaced.clusters.history import PLACE, by_entity, place_rows
from selfpaced.history import History


def describe_dask_frame(history: History, frame: Any, y: str | None, pos_label: Any) -> Any:
    """The rows with their features. They are shuffled once for each entity."""
    import_dask()
    from dask.dataframe.utils import make_meta

    for one in by_entity(history):
        features = {name: np.empty(0, dtype=np.float32) for name in one.feature_names}
        empty = make_meta(frame)
        placed = frame.map_partitions(_placed, one, meta=empty.assign(**{PLACE: np.empty(0, dtype=np.int64)}))
        together = placed.shuffle(on=PLACE)
        frame = together.map_partitions(_described, one, y, pos_label, meta=empty.assign(**features))
    return frame


def _placed(rows: Any, history: History) -> Any:
    return rows.assign(**{PLACE: place_rows(history, rows)[0][0]})


def _described(rows: Any, history: History, y: str | None, pos_label: Any) -> Any:
    labels = None if y is None else rows[y]
    return history.add(rows.drop(columns=PLACE), labels, pos_label=pos_label)
