"""Record batches of Spark, without a cluster: their facts, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

from selfpaced.clusters.partitions import LABEL
from selfpaced.clusters.spark.storage import ID
from selfpaced.clusters.spark.table import VECTOR, BatchReader, PreparedBatches, safe_names
from selfpaced.exceptions import TableError
from selfpaced.tables import WEIGHT

PATH = "partition 3"
COLUMNS = BatchReader(["amount", "age"])
FEATURES = dict(zip(safe_names(2), ([1.0, 2.0, 3.0], [7.0, None, 9.0]), strict=True))


def batch_of(**others):
    return pa.RecordBatch.from_pydict({**FEATURES, LABEL: [0, 1, 0], ID: [10, 11, 12]} | others)


def facts(reader, batch):
    return reader.facts(batch, PATH)


def frozen(batch):
    told = facts(COLUMNS, batch)
    return PreparedBatches(COLUMNS, told.frozen_schema(None), told.classes)


def test_facts_are_those_of_the_columns_by_their_own_names():
    told = facts(COLUMNS, batch_of())
    assert (told.n_rows, told.schema.names, told.with_missing) == (3, ["amount", "age"], {"age"})
    assert dict(zip(told.classes.tolist(), told.counts.tolist(), strict=True)) == {0: 2, 1: 1}


def test_a_row_without_a_label_is_refused():
    with pytest.raises(TableError, match="partition 3 has rows without a label"):
        facts(COLUMNS, batch_of(**{LABEL: [0, None, 1]}))


def test_infinity_is_refused_by_the_name_of_its_column():
    with pytest.raises(TableError, match="Column 'age' of partition 3 contains infinity"):
        facts(COLUMNS, batch_of(**{safe_names(2)[1]: [1.0, np.inf, 2.0]}))


def test_vectors_of_several_lengths_are_refused():
    with pytest.raises(TableError, match=r"partition 3 has vectors of the lengths \[2, 1\]"):
        facts(BatchReader(None), batch_of(**{VECTOR: [[1.0, 2.0], [3.0], [4.0, 5.0]]}))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_weight_that_is_missing_is_refused(missing):
    weights = pa.array([1.0, missing, 2.0], pa.float64())
    with pytest.raises(TableError, match=r"partition 3 has 1 weight\(s\) that are NaN or infinite"):
        frozen(batch_of()).prepared(batch_of(**{WEIGHT: weights}), PATH)


def test_negative_ids_are_ids_of_their_own():
    batch = batch_of(**{ID: [-5, 0, 5]})
    ids = frozen(batch).prepared(batch, PATH).column(ID).to_numpy()
    assert ids.dtype == np.uint64
    assert ids.tolist() == [2**64 - 5, 0, 5]


def test_a_label_that_was_not_there_before_is_refused():
    before = frozen(batch_of())
    with pytest.raises(TableError, match="The label 2 of partition 3 was not there when the table was opened"):
        before.prepared(batch_of(**{LABEL: [0, 1, 2]}), PATH)


def test_a_row_without_an_id_is_refused():
    with pytest.raises(TableError, match="partition 3 has rows without an id"):
        facts(COLUMNS, batch_of(**{ID: [10, None, 12]}))


def test_prepared_rows_are_read_back_with_their_weights():
    batch = batch_of(**{WEIGHT: [1.0, 0.5, 2.0]})
    reading = frozen(batch)
    rows = reading.rows(reading.prepared(batch, PATH)).rows(np.array([2, 0]))
    assert rows.features.to_dict("list") == {"amount": [3.0, 1.0], "age": [9.0, 7.0]}
    assert rows.metadata["sample_weight"].tolist() == [2.0, 1.0]
