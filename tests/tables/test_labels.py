import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from selfpaced.tables import LabelLook, Roles, encode_labels


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([1, 0, 1], [0, 1]),
        ([-1, 1, 1], [-1, 1]),
        ([True, False, True], [False, True]),
        (["ok", "fraud", "ok"], ["fraud", "ok"]),
        ([2.0, 1.0, 2.0], [1.0, 2.0]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
    ],
)
def test_labels_of_any_kind_become_numbers_in_sorted_order(y, classes):
    encoded = encode_labels(np.asarray(y))
    assert encoded.classes.tolist() == classes
    assert encoded.classes[encoded.codes].tolist() == list(y)


def test_rows_are_counted_by_class():
    assert encode_labels(np.array([3, 5, 5, 7, 5])).counts.tolist() == [1, 3, 1]


def test_chunks_are_put_together():
    y = np.random.default_rng(0).integers(5, size=1000)
    encoded = encode_labels(y, rows_at_once=7)
    assert np.array_equal(encoded.codes, y)
    assert np.array_equal(encoded.counts, np.bincount(y))


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.uint8), (300, np.uint16)])
def test_codes_take_as_few_bytes_as_suffice(n_classes, dtype):
    assert encode_labels(np.arange(n_classes)).codes.dtype == dtype


def test_known_classes_number_other_rows_alike():
    assert encode_labels(np.array(["b", "b"]), np.array(["a", "b", "c"])).codes.tolist() == [1, 1]


@pytest.mark.parametrize(("y", "rarest"), [([0, 1, 1], 0), ([0, 0, 1], 1), ([0, 1], 1), ([2, 0, 0, 1], 2)])
def test_the_rarest_class_is_the_smallest_and_of_equally_small_ones_the_last(y, rarest):
    assert encode_labels(np.array(y)).rarest == rarest


def test_the_ids_of_a_class_are_the_positions_of_its_rows():
    assert encode_labels(np.array(["ok", "fraud", "ok"])).ids(1).tolist() == [0, 2]


def read(*batches):
    look = LabelLook(Roles("label"))
    for batch in batches:
        look.add(pa.array(batch), file=None)
    return look.labels()


def test_labels_in_files_are_numbered_in_sorted_order_whenever_they_come():
    labels = read(["ok", "ok"], ["fraud"], [], ["ok", "doubt"])
    assert labels.names == ["doubt", "fraud", "ok"]
    assert labels.codes.tolist() == [2, 2, 1, 2, 0]
    assert labels.counts.tolist() == [1, 1, 3]


def test_reading_labels_takes_about_a_byte_a_row_and_numbering_them_one_more():
    batches = [np.arange(10_000) == 0] * 500
    read(*batches[:2])  # what is imported on first use
    tracemalloc.start()
    try:
        read(*batches)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * sum(batch.size for batch in batches)
