"""What many tests share: small imbalanced data, and the way to the real data."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

# Read when scipy is first imported; scikit-learn skips its check of array API input without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Tests run side by side on all cores: models whose threads wait for each other would take ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The same holds for commands that start processes on all cores: each imports everything again.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

# SHAP compiles functions at their first call for longer than tests use them.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# A shell starts programs in the background with Ctrl-C ignored. Tests of Ctrl-C, and the programs that they start, need
# it as in the foreground.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# To look for garbage among all that tests import is half of what their collection takes.
gc.disable()

import pytest
from sklearn.tree import DecisionTreeClassifier
from xdist.scheduler import LoadScopeScheduling

from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.tables.files.file import File
from tests.cluster.dask_cluster import WITHOUT_DIAGNOSTICS, DaskCluster
from tests.requirements import data_file

HERE = Path(__file__).parent
FOLDERS_WITH_MARKS = ("cluster", "browser")


def pytest_collection_modifyitems(items):
    """Mark tests by their folder, and begin with the groups that take longest, so that none comes last."""
    for item in items:
        for name in FOLDERS_WITH_MARKS:
            if item.path.is_relative_to(HERE / name):
                item.add_marker(name)
    n_slow = Counter(group_of(item.nodeid) for item in items if item.get_closest_marker("slow"))
    first = {"spark": -2, "dask": -1}  # they wait for their clusters
    items.sort(key=lambda item: (first.get(group := group_of(item.nodeid), 0), -n_slow[group]))


def pytest_collection_finish():
    """Look for garbage from now on, but not among what has been imported."""
    gc.freeze()
    gc.enable()


def group_of(nodeid):
    """The tests of a file run in one process and share its fixtures; those on a cluster, or of pages, share that."""
    path, _, name = nodeid.partition("::")
    if path.startswith("tests/browser/"):
        return "browser"
    if path.startswith("tests/cluster/"):
        return "spark" if "spark" in nodeid.lower() else "dask"
    return "dask" if "dask" in name.lower() else path


class GroupScheduling(LoadScopeScheduling):
    """Deals out whole groups of tests to processes."""

    def _split_scope(self, nodeid):
        return group_of(nodeid)


def pytest_xdist_auto_num_workers(config):
    """One process more than there are cores, because tests also wait: for a server, a signal, a JVM."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config, log):
    return GroupScheduling(config, log)


BEGIN = time.monotonic()
LAST_REPORT = {}


def pytest_runtest_logreport(report):
    if hasattr(report, "node"):  # of a process that runs tests, here in the one that deals them out
        LAST_REPORT[report.node.gateway.id] = time.monotonic() - BEGIN


def pytest_terminal_summary(terminalreporter):
    """Say when each process had no tests any more: they should end together."""
    if LAST_REPORT:
        ends = ", ".join(f"{seconds:.0f} s" for seconds in LAST_REPORT.values())
        terminalreporter.write_line(f"The processes were busy until {ends}.")


@pytest.fixture(scope="session")
def board():
    """A checkerboard of 100 minority and 1,000 majority rows."""
    return make_checkerboard(n_minority=100, n_majority=1000, random_state=0)


@pytest.fixture(scope="session")
def frauds():
    """3,000 transactions with 60 frauds and 6 features."""
    return make_fraud(n_rows=3000, n_frauds=60, n_features=6, random_state=0)


@pytest.fixture
def tree():
    return DecisionTreeClassifier(max_depth=4)


@pytest.fixture
def passes(monkeypatch):
    """The columns that each pass over a file reads, from now on."""
    made, batches = [], File.batches
    monkeypatch.setattr(
        File, "batches", lambda file, columns, size: made.append(tuple(columns)) or batches(file, columns, size)
    )
    return made


@pytest.fixture(scope="session")
def credit_fraud_path():
    return data_file("credit_fraud.parquet")


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory):
    """A Dask scheduler and two workers as processes of their own."""
    cluster = DaskCluster(tmp_path_factory.mktemp("dask"), environment=WITHOUT_DIAGNOSTICS)
    yield cluster
    cluster.close()
