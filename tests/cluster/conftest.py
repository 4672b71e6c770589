"""Clusters that tests share."""

import pytest

from tests.cluster.spark_cluster import WARM_WORKERS, SparkCluster, local_environment
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
    session = spark_cluster.session(settings=WARM_WORKERS)
    session.sparkContext.setLogLevel("OFF")  # errors that tests provoke fill screens
    yield session
    session.stop()
