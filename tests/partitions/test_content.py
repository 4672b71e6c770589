"""The sum of hashes by which a checkpoint knows the rows of a cluster."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.clusters.partitions import ContentSum
from selfpaced.pools import Block, Tags
from selfpaced.tables import InMemoryTable

N_ROWS = 70_000  # more than are hashed at once


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    words = pd.Categorical(rng.choice(list("xyz"), N_ROWS), categories=list("xyz"))
    numbers = rng.integers(-5, 5, N_ROWS)
    amounts = np.where(rng.random(N_ROWS) < 0.1, np.nan, rng.normal(size=N_ROWS))
    return pd.DataFrame({"word": words, "number": numbers, "amount": amounts, "flag": numbers > 0})


def content(features, ids=None, classes=None, weights=None):
    n_rows = len(features)
    ids = np.arange(n_rows, dtype=np.uint64) if ids is None else ids
    classes = np.zeros(n_rows, dtype=np.uint8) if classes is None else classes
    metadata = {} if weights is None else {"sample_weight": weights}
    tags = Tags(ids, classes, np.zeros(n_rows, dtype=np.float32))
    return ContentSum()(Block(tags, InMemoryTable(features, metadata)))


def test_it_does_not_depend_on_the_order_of_the_rows(frame):
    order = np.random.default_rng(1).permutation(N_ROWS)
    assert content(frame.iloc[order], ids=order.astype(np.uint64)) == content(frame)


def test_it_does_not_depend_on_the_partitions(frame):
    ids = np.arange(N_ROWS, dtype=np.uint64)
    parts = [content(frame.iloc[some], ids=ids[some]) for some in (slice(0, 7), slice(7, 66_000), slice(66_000, None))]
    assert ContentSum.merge(parts) == content(frame)


@pytest.mark.parametrize(
    ("name", "value"), [("word", "z"), ("number", 7), ("amount", 1e-300), ("amount", np.nan), ("flag", None)]
)
def test_every_value_counts(frame, name, value):
    changed = frame.copy()
    place = int(np.flatnonzero(frame["amount"].notna() & (frame["word"] != "z"))[-1])
    changed.iloc[place, frame.columns.get_loc(name)] = not changed[name].iloc[place] if value is None else value
    assert content(changed) != content(frame)


def test_two_values_that_change_places_count(frame):
    changed = frame.copy()
    changed.loc[[0, 1], "amount"] = [1.0, 2.0]
    other = frame.copy()
    other.loc[[0, 1], "amount"] = [2.0, 1.0]
    assert content(changed) != content(other)


def test_two_columns_that_change_places_count():
    numbers = np.random.default_rng(0).normal(size=(10, 2))
    assert content(numbers) != content(numbers[:, ::-1])


def test_ids_classes_weights_and_types_count():
    numbers = np.arange(20.0).reshape(10, 2)
    others = [
        content(numbers, ids=np.arange(1, 11, dtype=np.uint64)),
        content(numbers, classes=np.arange(10, dtype=np.uint8) % 2),
        content(numbers, weights=np.ones(10)),
        content(numbers, weights=np.arange(10.0)),
        content(numbers.astype(np.float32)),
        content(numbers.astype(np.int64)),
    ]
    assert len({content(numbers), *others}) == 7
