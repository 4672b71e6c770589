"""What the Spark engine does without a cluster."""

import gc
import pickle

import pytest

from selfpaced.clusters.spark.messages import naming_missing_packages, settle, told


class TwoWordsError(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


def test_an_executor_that_lacks_the_package_itself_is_told_by_an_import_error():
    with (
        pytest.raises(ImportError, match=r"no module 'selfpaced.*executors' environment") as caught,
        naming_missing_packages(),
    ):
        raise RuntimeError("PythonException: ... ModuleNotFoundError: No module named 'selfpaced'\n ...")
    assert caught.value.name == "selfpaced"


def test_other_errors_of_spark_stay_as_they_are():
    with pytest.raises(RuntimeError, match="no space left"), naming_missing_packages():
        raise RuntimeError("no space left on device")


def test_an_error_that_cannot_travel_is_told_in_words():
    error = pickle.loads(told(TwoWordsError("not", "well")))
    assert type(error) is RuntimeError
    assert str(error) == "TwoWordsError on a Spark executor: not well"


def test_what_is_imported_is_not_searched_for_garbage_after_every_task():
    try:
        settle()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
