"""Record batches of Spark, without a cluster: what they tell of themselves, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

from selfpaced.clusters.spark.storage import ID
from selfpaced.clusters.spark.table import LABEL, VECTOR, ColumnBatches, FrozenBatches, VectorBatches, labels_of
from selfpaced.exceptions import TableError
from selfpaced.tables import WEIGHT

PATH = "partition 3"
COLUMNS = ColumnBatches(["amount", "age"], None)
FEATURES = dict(zip(COLUMNS.safe_names, ([1.0, 2.0, 3.0], [7.0, None, 9.0]), strict=True))


def batch_of(**others):
    return pa.RecordBatch.from_pydict({**FEATURES, LABEL: [0, 1, 0], ID: [10, 11, 12]} | others)


def facts(batches, batch):
    return batches.facts(batch, labels_of(batch), PATH)


def frozen(batch):
    told = facts(COLUMNS, batch)
    return FrozenBatches(COLUMNS, told.frozen_schema(None), told.classes)


def test_facts_are_those_of_the_columns_by_their_own_names():
    told = facts(COLUMNS, batch_of())
    assert (told.n_rows, told.schema.names, told.with_missing) == (3, ["amount", "age"], {"age"})
    assert dict(zip(told.classes.tolist(), told.counts.tolist(), strict=True)) == {0: 2, 1: 1}


def test_a_row_without_a_label_is_refused():
    with pytest.raises(TableError, match="partition 3 has rows without a label"):
        facts(COLUMNS, batch_of(**{LABEL: [0, None, 1]}))


def test_infinity_is_refused_by_the_name_of_its_column():
    with pytest.raises(TableError, match="Column 'age' of partition 3 contains infinity"):
        facts(COLUMNS, batch_of(**{COLUMNS.safe_names[1]: [1.0, np.inf, 2.0]}))


def test_vectors_of_several_lengths_are_refused():
    with pytest.raises(TableError, match=r"partition 3 has vectors of the lengths \[2, 1\]"):
        facts(VectorBatches(), batch_of(**{VECTOR: [[1.0, 2.0], [3.0], [4.0, 5.0]]}))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_weight_that_is_missing_is_refused(missing):
    weights = pa.array([1.0, missing, 2.0], pa.float64())
    with pytest.raises(TableError, match="has weights that are not finite numbers"):
        frozen(batch_of()).prepared(batch_of(**{WEIGHT: weights}))


def test_negative_ids_are_ids_of_their_own():
    batch = batch_of(**{ID: [-5, 0, 5]})
    ids = frozen(batch).prepared(batch).column(ID).to_numpy()
    assert ids.dtype == np.uint64
    assert ids.tolist() == [2**64 - 5, 0, 5]


def test_a_label_that_was_not_there_before_is_refused():
    before = frozen(batch_of())
    with pytest.raises(TableError, match="The label 2 was not there when the DataFrame was opened"):
        before.prepared(batch_of(**{LABEL: [0, 1, 2]}))
