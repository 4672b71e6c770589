"""A real Spark cluster on this machine: a standalone master and workers, each a JVM of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pyspark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
# No checks of the code of jars that Spark itself has shipped: a sixth of what it costs to start a JVM.
TRUSTED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
# Nor a search of the whole heap whenever the classes of one more part of Spark have been loaded.
QUIET = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=200m {TRUSTED}"
# Two names of this machine, one for each worker: Spark never starts a task again on the host where it runs already.
HOSTS = ("127.0.0.1", "localhost")
CORES = 2  # of each worker: one for the session that tests share, one for programs with a session of their own
SETTINGS = {
    "spark.cores.max": "2",
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUIET,
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": QUIET,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Python workers that start with their packages loaded; executors must find the module.
WARM_WORKERS = {
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
    "spark.python.daemon.module": "tests.cluster.warm_daemon",
    # Otherwise Python workers of DataFrames and of RDDs differ in this, and each executor has a daemon for either.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
# Stages are not compiled as a whole: that takes longer than tests' few rows.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false"}
# Spark looks for tasks to start again, and finds none until a test lowers the share of others that must have ended.
LOOKING_FOR_SLOW_TASKS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "10ms",
    "spark.speculation.minTaskRuntime": "0ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "1.0",
}


class SparkCluster:
    """A master and its workers, and sessions of them.

    Attributes
    ----------
    url : of the master.
    connect_url : of the session that tests share, for programs that speak Spark Connect.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen] = []
        self.url = f"spark://127.0.0.1:{_free_port()}"
        self._connect_port = _free_port()
        self.connect_url = f"sc://127.0.0.1:{self._connect_port}"
        port = self.url.rpartition(":")[2]
        try:
            self._start("master.Master", "127.0.0.1", "--port", port)
            self._wait_for(lambda: f"Starting Spark master at {self.url}" in self._log())
            for number, host in enumerate(HOSTS):
                here = ["--work-dir", str(folder / f"worker-{number}")]
                scratch = {"SPARK_LOCAL_DIRS": str(folder / f"scratch-{number}")}
                self._start("worker.Worker", host, "--cores", str(CORES), "--memory", "2g", *here, self.url, **scratch)
            self._wait_for(lambda: self._log().count("Successfully registered with master") == len(HOSTS))
        except BaseException:
            self.close()
            raise

    def session(
        self, executor_memory: str = "512m", java_options: str = QUIET, settings: dict[str, str] | None = None
    ) -> pyspark.sql.SparkSession:
        of_java = dict.fromkeys(["spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"], java_options)
        settings = SETTINGS | {"spark.executor.memory": executor_memory} | of_java | (settings or {})
        return pyspark.sql.SparkSession.builder.master(self.url).config(map=settings).getOrCreate()

    def shared_session(self) -> pyspark.sql.SparkSession:
        """A session with warm workers, which also serves programs that speak Spark Connect."""
        serves = {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.port": str(self._connect_port),
            # Not three seconds: a lost executor's tasks would wait until Spark has started another one. Not much less
            # than a second: on a busy machine tasks would run where their rows are not, and rows be written again.
            "spark.locality.wait": "1s",
        }
        return self.session(settings=WARM_WORKERS | INTERPRETED | LOOKING_FOR_SLOW_TASKS | serves)

    def kill_an_executor(self, n_executors: int = 2) -> None:
        """As the kernel does when memory runs out: no signal that could be caught, no good-bye."""
        self._wait_for(lambda: len(self._executors()) == n_executors)
        os.kill(self._executors()[0], signal.SIGKILL)

    def close(self) -> None:
        for process in reversed(self._processes):
            for one in (*psutil.Process(process.pid).children(recursive=True), process):
                one.kill()
            process.wait()

    def _executors(self) -> list[int]:
        found = [child for one in self._processes for child in psutil.Process(one.pid).children(recursive=True)]
        return [one.pid for one in found if "CoarseGrainedExecutorBackend" in " ".join(_command(one))]

    def local_directories(self) -> list[Path]:
        """Where executors write files for themselves. Each worker has a folder of its own, as if on another machine."""
        return sorted(self._folder.glob("scratch-*/spark-*/executor-*/blockmgr-*"))

    def _start(self, name: str, host: str, *options: str, **environment: str) -> None:
        command = [SPARK_CLASS, f"org.apache.spark.deploy.{name}", "--host", host, "--webui-port", "0", *options]
        daemons = {"SPARK_DAEMON_JAVA_OPTS": QUIET, "SPARK_DAEMON_MEMORY": "256m"}
        environment = os.environ | local_environment() | daemons | environment
        with (self._folder / "log.txt").open("a") as log:
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))

    def _log(self) -> str:
        return (self._folder / "log.txt").read_text()

    def _wait_for(self, condition) -> None:
        deadline = time.monotonic() + 90
        while not condition():
            assert time.monotonic() < deadline, f"Spark is not ready after 90 seconds: {self._log()[-2000:]}"
            time.sleep(0.1)


def local_mode(n_cores: int) -> pyspark.sql.SparkSession:
    """A session without a cluster: the driver's JVM is the only executor."""
    settings = SETTINGS | WARM_WORKERS | INTERPRETED
    return pyspark.sql.SparkSession.builder.master(f"local[{n_cores}]").config(map=settings).getOrCreate()


def local_environment() -> dict[str, str]:
    """What this machine and the Python of these tests mean to Spark."""
    return {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # gone since
        return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
