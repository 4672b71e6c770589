"""Clusters that tests share."""

import os

import pytest

from tests.cluster.spark_cluster import SparkCluster, local_environment, why_there_is_no_java


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory):
    """A Spark master and two workers as JVMs of their own, and the environment in which sessions find them."""
    missing = why_there_is_no_java()
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in local_environment().items():
            environment.setenv(name, value)
        cluster = SparkCluster(tmp_path_factory.mktemp("spark"))
        yield cluster
        cluster.close()


@pytest.fixture(scope="session")
def spark(spark_cluster):
    session = spark_cluster.session()
    session.sparkContext.setLogLevel("OFF")  # errors that tests provoke fill screens
    yield session
    session.stop()
