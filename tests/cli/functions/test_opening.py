"""A table is loaded if it takes at most a quarter of the memory; otherwise it is read from its files."""

import os
import sys

import pandas as pd
import pytest

from selfpaced.cli import opening
from selfpaced.cli.opening import container_limits, fits_in_memory, memory_bytes, open_source
from selfpaced.cli.request import TrainRequest
from selfpaced.datasets import make_fraud
from selfpaced.exceptions import TableError

PAGE = 4096
BYTES_OF_A_NUMBER = 8


@pytest.fixture
def machine(monkeypatch):
    """Pretend that the machine has so many bytes of memory."""

    def pretend(n_bytes):
        monkeypatch.setattr(opening, "memory_bytes", lambda: n_bytes)

    return pretend


@pytest.fixture
def payments(tmp_path):
    """1,000 rows of 5 columns: 40,000 bytes as numbers."""
    X, y = make_fraud(n_rows=1000, n_frauds=40, n_features=4, random_state=0)
    path = tmp_path / "payments.parquet"
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_parquet(path, row_group_size=100)
    return path


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1024, 2**10), (2**20, 1), (1, 2**20)])
def test_a_table_fits_if_its_numbers_take_at_most_a_quarter_of_the_memory(machine, n_rows, n_columns):
    machine(4 * n_rows * n_columns * BYTES_OF_A_NUMBER)
    assert fits_in_memory(n_rows, n_columns)
    assert not fits_in_memory(n_rows + 1, n_columns)
    assert not fits_in_memory(n_rows, n_columns + 1)


def test_a_file_that_fits_is_loaded_and_a_larger_one_is_read_from_disk(machine, payments):
    wanted = TrainRequest(payments, "label")
    machine(40 * PAGE)  # a quarter of it is 40,960 bytes
    assert open_source(wanted).facts.in_memory
    machine(39 * PAGE)  # 39,936
    assert not open_source(wanted).facts.in_memory


def test_who_says_that_the_rows_stay_in_the_file_is_obeyed(machine, payments):
    machine(2**40)
    source = open_source(TrainRequest(payments, "label", out_of_core=True))
    assert not source.facts.in_memory
    assert source.facts.n_rows == 1000


def test_a_list_of_columns_to_exclude_may_be_one_text(payments):
    source = open_source(TrainRequest(payments, "label", exclude=["a,c"]))
    assert source.table.schema.names == ["b", "d"]


def test_a_column_whose_name_has_a_comma_is_excluded_by_its_name(tmp_path):
    frame = pd.DataFrame(
        {"a,b": range(100), "c": [n % 7 for n in range(100)], "label": [n % 5 == 0 for n in range(100)]}
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    source = open_source(TrainRequest(tmp_path / "rows.parquet", "label", exclude=["a,b"]))
    assert source.table.schema.names == ["c"]


def test_columns_to_keep_are_dropped_from_the_features_and_not_read_by_a_fit(payments):
    source = open_source(TrainRequest(payments, "label", id="a"))
    assert source.table.schema.names == ["b", "c", "d"]
    assert source.table.roles.keep == ()


def test_a_label_is_found_as_a_person_writes_it(payments):
    source = open_source(TrainRequest(payments, "label", "1"))
    assert source.table.roles.pos_label == 1
    assert source.facts.labels.counts.tolist() == [960, 40]
    with pytest.raises(TableError, match=r"No row of column 'label' has the label 'fraud'. Its labels are '0', '1'"):
        open_source(TrainRequest(payments, "label", "fraud"))


def test_a_column_that_is_not_there_is_named_with_those_that_are(payments):
    with pytest.raises(TableError, match=r"There is no column 'z' in .*columns are 'a', 'b', 'c', 'd', 'label'"):
        open_source(TrainRequest(payments, "label", exclude=["a,z"]))


def test_a_table_without_features_is_refused_with_the_reasons(tmp_path):
    pd.DataFrame({"same": [1] * 60, "label": [0, 1] * 30}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(TableError, match=r"left as a feature. Dropped were 'same' \(the same value in every row\)"):
        open_source(TrainRequest(tmp_path / "rows.parquet", "label"))


GIB = 2**30


@pytest.fixture
def cgroups(tmp_path, monkeypatch):
    """Write the files of control groups: the groups of this process, and the limits by path."""

    def write(groups, limits):
        (tmp_path / "cgroup").write_text(groups)
        for path, limit in limits.items():
            (tmp_path / "fs" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "fs" / path).write_text(f"{limit}\n")
        return container_limits(tmp_path / "cgroup", tmp_path / "fs")

    return write


def test_the_limit_of_a_container_is_seen(cgroups):
    assert cgroups("0::/\n", {"memory.max": 2 * GIB}) == [2 * GIB]


def test_the_limit_of_a_group_around_is_seen_and_no_limit_is_none(cgroups):
    limits = {"memory.max": "max", "service/memory.max": 2 * GIB, "service/worker/memory.max": "max"}
    assert cgroups("0::/service/worker\n", limits) == [2 * GIB]


def test_in_a_container_whose_path_is_the_one_of_the_host_the_top_group_is_read(cgroups):
    assert cgroups("0::/docker/1234\n", {"memory.max": GIB}) == [GIB]


def test_control_groups_of_version_1_are_read(cgroups):
    unlimited = 9223372036854771712
    groups = "9:cpu,cpuacct:/job\n4:memory:/job\n0::/\n"
    limits = {"memory/memory.limit_in_bytes": unlimited, "memory/job/memory.limit_in_bytes": 2 * GIB}
    assert cgroups(groups, limits) == [2 * GIB, unlimited]


def test_without_control_groups_there_is_no_limit(tmp_path):
    assert container_limits(tmp_path / "cgroup", tmp_path / "fs") == []


def test_a_small_container_on_a_large_machine_has_little_memory(monkeypatch):
    monkeypatch.setattr(opening, "_machine_bytes", lambda: 256 * GIB)
    monkeypatch.setattr(opening, "container_limits", lambda: [2 * GIB])
    assert memory_bytes() == 2 * GIB
    assert not fits_in_memory(GIB // 8, 1)


def test_a_machine_without_psutil_and_without_sysconf_is_taken_for_a_small_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert opening._machine_bytes() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.delattr(os, "sysconf")
    assert opening._machine_bytes() == 4 * GIB
