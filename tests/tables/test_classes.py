import numpy as np
import pytest

from selfpaced.tables import InMemoryTable, encode_labels, split_classes


def split(y):
    y = np.asarray(y)
    return split_classes(InMemoryTable(np.arange(y.size).reshape(-1, 1)), encode_labels(y), seed=0, n_threads=1)


def test_the_smallest_class_comes_whole():
    classes = split([0, 1, 0, 0, 1])
    assert classes.minority_class == 1
    assert classes.minority.ids.tolist() == [1, 4]


def test_the_minority_is_the_rarer_class_whatever_its_number():
    assert split([0, 1, 1, 1]).minority_class == 0


@pytest.mark.parametrize(("y", "minority"), [([0, 1], 1), ([0, 0, 1, 1, 2, 2], 2), ([0, 1, 2, 2], 1)])
def test_of_equally_small_classes_the_last_is_the_minority(y, minority):
    assert split(y).minority_class == minority


def test_every_larger_class_has_a_pool_of_its_own():
    classes = split([2, 0, 0, 1, 1, 1, 2, 1])
    drawn = {number: pool.draw([100], 0).ids.tolist() for number, pool in classes.pools.items()}
    assert drawn == {0: [1, 2], 1: [3, 4, 5, 7]}


def test_names_and_counts_are_in_the_order_of_the_class_numbers():
    classes = split(["ok", "fraud", "ok"])
    assert (classes.names, classes.counts) == (["fraud", "ok"], [1, 2])


def test_ids_take_four_bytes_while_they_suffice():
    assert split(np.arange(70_000) % 1000 == 0).minority.ids.dtype == np.uint32
