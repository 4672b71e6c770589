"""Random tables of transactions, and the frames that they are given as."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from selfpaced.history import History
from tests.history.reference import SECOND

START = datetime(2024, 3, 30, 22, tzinfo=UTC)  # clocks change in Berlin three hours later
COLUMNS = ["when", "customer", "terminal", "shop", "amount"]


def rows(most=40):
    """Few times, so that many rows share an instant; gaps of days; all sizes of entities; everything may be missing."""
    times = st.one_of(st.integers(0, 12), st.integers(0, 400), st.just(10_000)).map(lambda at: at * 1800 * SECOND)
    moments = st.one_of(times, times.map(lambda at: at + 1), times.map(lambda at: at - 1))  # a microsecond beside
    amounts = st.one_of(
        st.none(),
        st.integers(-20_000, 20_000).map(lambda cents: cents / 100),
        st.floats(-(10**10), 10**10),
        st.just(49.99),
    )
    row = st.fixed_dictionaries(
        {
            "ticks": moments,
            "customer": st.sampled_from(["a", "a", "b", "7", None]),
            "terminal": st.sampled_from([1, 2, 3, None]),
            "shop": st.sampled_from(["x", "y", None]),
            "amount": amounts,
            "label": st.sampled_from([0, 0, 1, None]),
        }
    )
    return st.lists(row, max_size=most)


histories = st.builds(
    History,
    st.just("when"),
    st.sampled_from(
        [
            ("customer",),
            ("customer", "terminal"),
            ("customer", ("customer", "terminal")),
            ("terminal", "shop", "customer"),
        ]
    ),
    amount_column=st.sampled_from([None, "amount"]),
    windows=st.sampled_from([("1h",), ("1d", "30min", "9d"), ("3h", "2h")]),
    distinct=st.one_of(st.none(), st.just({"customer": ["shop", ("terminal", "shop")]}), st.just({})),
    delay=st.sampled_from([None, "0s", "90min", "30h"]),
    base_rate=st.just(0.01),
    decimals=st.sampled_from([0, 2]),
).filter(lambda history: "customer" in history.entities)


def pandas_frame(some, zone=None):
    moments = pd.Series(pd.to_datetime([START + timedelta(microseconds=row["ticks"]) for row in some], utc=True))
    frame = pd.DataFrame(some, columns=["ticks", "customer", "terminal", "shop", "amount", "label"])
    frame["when"] = moments.dt.tz_convert(zone) if zone else moments.dt.tz_localize(None)
    return frame[COLUMNS].astype({"terminal": "Int64", "amount": "float64", "customer": "str", "shop": "str"})


def arrow_table(some, zone=None):
    moments = [START + timedelta(microseconds=row["ticks"]) for row in some]
    if zone is None:
        moments = [moment.replace(tzinfo=None) for moment in moments]
    kinds = {"customer": pa.string(), "terminal": pa.int32(), "shop": pa.string(), "amount": pa.float64()}
    arrays = {name: pa.array([row[name] for row in some], kind) for name, kind in kinds.items()}
    return pa.table({"when": pa.array(moments, pa.timestamp("us", zone))} | arrays)


def polars_frame(some, zone=None):
    return pl.DataFrame(arrow_table(some, zone))


def text_frame(some, zone=None):
    """A frame of objects: times as text with an offset, or without, and numbers of terminals as text."""
    zone = ZoneInfo(zone) if zone else None
    moments = [(START + timedelta(microseconds=row["ticks"])).astimezone(zone or UTC) for row in some]
    texts = [(moment if zone else moment.replace(tzinfo=None)).isoformat() for moment in moments]
    terminals = [None if row["terminal"] is None else str(row["terminal"]) for row in some]
    changed = {"when": texts, "terminal": terminals}
    return pd.DataFrame(changed | {name: [row[name] for row in some] for name in ("customer", "shop", "amount")})


FRAMES = {"pandas": pandas_frame, "polars": polars_frame, "arrow": arrow_table, "text": text_frame}


def labels_of(history, some):
    """The labels of rows as floats; None if the history uses no labels."""
    return None if history.delay is None else np.array([row["label"] for row in some], dtype=float)


def bits(features):
    """Every value of a frame of features as 32 bits, so that equal means equal bit for bit, and NaN equals NaN."""
    if isinstance(features, pa.Table | pl.DataFrame):
        features = features.to_pandas()
    return {name: np.asarray(features[name], dtype=np.float32).view(np.int32).tolist() for name in features}
