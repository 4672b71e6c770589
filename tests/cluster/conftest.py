"""Clusters that tests share."""

import importlib
import sys

import pytest

from tests.cluster.spark_cluster import SparkCluster, local_environment
from tests.requirements import required_program
from tools.system_packages import JAVA


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory):
    """A Spark master and two workers as JVMs of their own, and the environment in which sessions find them."""
    required_program(JAVA)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in local_environment().items():
            environment.setenv(name, value)
        cluster = SparkCluster(tmp_path_factory.mktemp("spark"))
        yield cluster
        cluster.close()


@pytest.fixture(scope="session")
def spark(spark_cluster):
    session = spark_cluster.shared_session()
    session.sparkContext.setLogLevel("OFF")  # errors that tests provoke fill screens
    yield session
    session.stop()


@pytest.fixture
def base_known_here_only(tmp_path, monkeypatch):
    """A base model of a package that this process has and no worker has."""
    code = "from sklearn.tree import DecisionTreeClassifier\n\n\nclass Tree(DecisionTreeClassifier):\n    pass\n"
    (tmp_path / "package_of_the_driver.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("package_of_the_driver").Tree(max_depth=2)
    del sys.modules["package_of_the_driver"]
