"""Messages between the driver and the executors of Spark, without a cluster."""

import gc
import pickle

import pytest

from selfpaced.clusters.spark.engine import freeze_imports, naming_missing_packages, pack_error


class TwoWordsError(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


def test_an_executor_without_this_package_raises_an_import_error():
    with (
        pytest.raises(ImportError, match=r"no module 'selfpaced.*executors' environment") as caught,
        naming_missing_packages(),
    ):
        raise RuntimeError("PythonException: ... ModuleNotFoundError: No module named 'selfpaced'\n ...")
    assert caught.value.name == "selfpaced"


def test_other_errors_of_spark_stay_as_they_are():
    with pytest.raises(RuntimeError, match="no space left"), naming_missing_packages():
        raise RuntimeError("no space left on device")


def test_an_error_that_cannot_be_pickled_becomes_a_runtime_error_with_its_text():
    error = pickle.loads(pack_error(TwoWordsError("not", "well")))
    assert type(error) is RuntimeError
    assert str(error) == "TwoWordsError on a Spark executor: not well"


def test_a_module_that_is_missing_on_an_executor_is_named():
    error = pickle.loads(pack_error(ModuleNotFoundError("No module named 'catboost'", name="catboost")))
    assert type(error) is ImportError
    assert "executor's Python has no module 'catboost'" in str(error)


def test_imported_modules_are_excluded_from_garbage_collection():
    try:
        freeze_imports()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
