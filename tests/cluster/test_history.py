"""The features of a history on real clusters are those of frames, bit for bit."""

from dataclasses import replace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings

from selfpaced.clusters.dask import history as dask_history
from selfpaced.clusters.history import PLACE, by_entity, place_rows, still_seen
from selfpaced.clusters.spark import history as spark_history
from selfpaced.exceptions import TableError
from selfpaced.history import History, read_events
from tests.history.reference import slow_features
from tests.history.tables import arrow_table, bits, histories, labels_of, rows

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

ENGINES = ["dask", "spark"]
HISTORY = History(
    "when",
    ["customer", ("customer", "terminal"), "shop"],
    "amount",
    windows=["2h", "1.5d"],
    distinct={"customer": ["terminal"], "shop": ["customer", ("terminal", "customer")]},
    delay="90min",
    base_rate=0.1,
)
ZONE = "Europe/Berlin"


def some_rows(n_rows=240, seed=0):
    """Rows of the same instant, late rows, missing values, and a customer with a third of all rows."""
    rng = np.random.default_rng(seed)

    def drawn(values, shares=None):
        return [values[place] for place in rng.choice(len(values), size=n_rows, p=shares)]

    columns = {
        "ticks": (rng.integers(0, 150, n_rows) * 1800 * 10**6).tolist(),
        "customer": drawn(["a", "b", "7", None], [0.4, 0.2, 0.2, 0.2]),
        "terminal": drawn([1, 2, 3, None]),
        "shop": drawn(["x", "y", None]),
        "amount": drawn([None, 49.99, 0.01, -3.5, 1234.56]),
        "label": drawn([0, 0, 1, None]),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def table_of(some):
    """The rows with a number each, their labels, and a column whose name has a point."""
    table = arrow_table(some, ZONE).append_column("number", pa.array(np.arange(len(some))))
    table = table.append_column("label", pa.array([row["label"] for row in some], pa.int8()))
    return table.append_column("a.b", pa.array(["text"] * len(some)))


@pytest.fixture(params=ENGINES)
def described(request):
    """A function that gives the features of a table, computed on a cluster, in the order of the numbers of the rows."""
    if request.param == "spark":
        spark = request.getfixturevalue("spark")
        return lambda history, table, y="label": (
            history.add(spark.createDataFrame(table).repartition(3), y).toArrow().to_pandas().sort_values("number")
        )
    client = request.getfixturevalue("dask_cluster").client

    def on_dask(history, table, y="label"):
        with client.as_current():
            frame = dd.from_pandas(table.to_pandas(), npartitions=3, sort=False)
            return history.add(frame, y).compute().sort_values("number")

    return on_dask


@pytest.fixture(params=ENGINES)
def frame(request):
    """A frame of a cluster, of which nothing is computed."""
    if request.param == "spark":
        return request.getfixturevalue("spark").createDataFrame(table_of(some_rows(5)))
    return dd.from_pandas(table_of(some_rows(5)).to_pandas(), npartitions=1)


def test_features_on_a_cluster_are_those_of_the_reference_bit_for_bit_beside_all_columns(described):
    some = some_rows()
    found = described(HISTORY, table_of(some))
    assert list(found) == [*table_of(some).column_names, *HISTORY.feature_names]
    assert bits(found[list(HISTORY.feature_names)]) == bits(slow_features(HISTORY, some))
    assert found["number"].tolist() == list(range(len(some)))
    assert found["a.b"].unique().tolist() == ["text"]
    moments = table_of(some).to_pandas()["when"]
    assert pd.to_datetime(found["when"], utc=True).tolist() == pd.to_datetime(moments, utc=True).tolist()


def test_no_feature_on_a_cluster_changes_with_later_rows_and_labels_not_yet_known(described):
    some = some_rows()
    now = int(np.median([row["ticks"] for row in some]))
    early = [row["ticks"] <= now for row in some]
    before = {name: values[early] for name, values in slow_features(HISTORY, some).items()}
    seen = [row for row in some if row["ticks"] <= now]
    hidden = [row if row["ticks"] <= now - HISTORY.delay_ticks else row | {"label": 1} for row in seen]
    later = [row | {"ticks": now + 1 + row["ticks"]} for row in some_rows(60, seed=1)]
    assert hidden != seen
    after = described(HISTORY, table_of([*hidden, *later])).iloc[: len(seen)]
    assert bits(after[list(HISTORY.feature_names)]) == bits(before)


def test_a_frame_of_a_cluster_without_labels_has_features_without_labels(described):
    some = some_rows(30)
    history = replace(HISTORY, entities=["customer"], distinct={}, delay=None)
    found = described(history, table_of(some), None)
    assert bits(found[list(history.feature_names)]) == bits(slow_features(history, some))


def test_what_a_cluster_cannot_do_is_refused_before_anything_is_computed(frame):
    with pytest.raises(TableError, match=r"no column 'custommer'.*Did you mean 'customer'"):
        History("when", "custommer").add(frame)
    with pytest.raises(TableError, match=r"labels are a column of the frame, given by its name; got 'fraud'"):
        HISTORY.add(frame, "fraud")
    with pytest.raises(ValueError, match="past is not supported: concatenate the rows"):
        HISTORY.add(frame, "label", past=frame)
    with pytest.raises(ValueError, match="so it uses labels"):
        HISTORY.add(frame)
    with pytest.raises(TableError, match="have no order that features alone could have: use add"):
        HISTORY.features(frame, "label")


def assert_batches_have_the_features_of_the_whole(history, some, n_rows_at_once):
    """Each batch of a partition on Spark sees of the ones before it only the rows that are kept."""
    table = table_of(some)
    names = table.column_names
    y = None if history.delay is None else "label"
    expected = history.features(table.drop_columns(["label"]), labels_of(history, some)).to_pandas()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_history, "ROWS_AT_ONCE", n_rows_at_once)
        placed = pa.Table.from_batches(spark_history._placed(history, names, iter(table.to_batches())))
        for number, one in enumerate(by_entity(history)):
            by = [(f"{PLACE}{number}", "ascending"), (spark_history.TIME, "ascending")]
            batches = iter(placed.sort_by(by).to_batches(max_chunksize=3))
            all_names = [*placed.column_names, *one.feature_names]
            described = spark_history._described(one, names, y, None, all_names, batches)
            found = pa.Table.from_batches(described).sort_by("number")
            assert bits(found.select(one.feature_names)) == bits(expected[list(one.feature_names)])


@pytest.mark.parametrize("n_rows_at_once", [1, 7])
@settings(max_examples=20, deadline=None)
@given(history=histories, some=rows().filter(bool))
def test_batches_of_a_partition_on_spark_have_the_features_of_the_whole(n_rows_at_once, history, some):
    assert_batches_have_the_features_of_the_whole(history, some, n_rows_at_once)


def test_batches_on_spark_see_rows_and_labels_as_old_as_the_longest_window_and_the_delay():
    some = [row | {"customer": "a", "label": 1} for row in some_rows()]
    assert_batches_have_the_features_of_the_whole(replace(HISTORY, entities=["customer"], distinct={}), some, 1)


def test_of_a_partition_on_spark_only_rows_of_the_last_entity_that_can_be_seen_are_kept():
    history = History("step", "name", windows=[5], delay=2, base_rate=0.5)
    frame = pd.DataFrame({"step": [8, 9, 0, 2, 3, 9, 9], "name": ["b"] * 2 + ["a"] * 5})
    kept = still_seen(history, read_events(history, frame))
    assert (kept.times / 10**6).tolist() == [2, 3, 9, 9]


def test_the_rare_label_is_found_by_its_name_in_partitions_of_dask_and_on_spark():
    frame = pd.DataFrame({"step": [1, 2, 3], "name": ["a"] * 3, "label": ["fraud", None, "ok"]})
    history = History("step", "name", windows=[5], delay=0, base_rate=0.5)
    on_dask = dask_history._described(frame.assign(**{PLACE: 0}), history, "label", "fraud")
    names = [*frame, *history.feature_names]
    batches = iter(pa.Table.from_pandas(frame, preserve_index=False).to_batches())
    on_spark = pa.Table.from_batches(spark_history._described(history, list(frame), "label", "fraud", names, batches))
    for found in (on_dask, on_spark.to_pandas()):
        assert found["name_rare_5"].tolist() == [0, 1, 1]
        assert found["name_known_5"].tolist() == [0, 1, 1]


def test_rows_without_an_entity_are_spread_over_all_places():
    frame = pd.DataFrame({"step": np.arange(1000), "name": [None, "a"] * 500})
    [places], times = place_rows(History("step", "name", windows=[5]), frame)
    assert np.unique(places[::2]).size == 500
    assert np.unique(places[1::2]).size == 1
    assert (times == np.arange(1000) * 10**6).all()
