"""Clusters that tests share."""

import importlib
import sys

import pytest

from tests.cluster.spark_cluster import SparkCluster, local_environment, local_mode
from tests.cluster.spark_models import numbered, spe
from tests.cluster.transactions import transactions
from tests.cluster.warm_daemon import ADDRESS, warm_process
from tests.requirements import required_program
from tools.system_packages import JAVA


@pytest.fixture(scope="session")
def spark_environment():
    """What sessions must know of this machine, and of the process of which Python workers are forks."""
    required_program(JAVA)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in local_environment().items():
            environment.setenv(name, value)
        with warm_process() as address:
            environment.setenv(ADDRESS, address)
            yield


@pytest.fixture(scope="session")
def spark_cluster(spark_environment, tmp_path_factory):
    """A Spark master and two workers as JVMs of their own."""
    cluster = SparkCluster(tmp_path_factory.mktemp("spark"))
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def fitted_in_local_mode(spark_environment):
    """A model that the driver's JVM has trained with three tasks beside each other, before it had a cluster.

    A JVM has one session at a time, and most of what a first fit takes is the start of the JVM. So this one comes
    first, and the session that tests share begins in a JVM that has loaded Spark.
    """
    session = local_mode(n_cores=3)
    session.sparkContext.setLogLevel("OFF")
    try:
        session.conf.set("spark.sql.adaptive.enabled", "true")
        return spe().fit(session.createDataFrame(numbered(transactions())).repartition(4))
    finally:
        session.stop()


@pytest.fixture(scope="session")
def spark(fitted_in_local_mode, spark_cluster):
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
