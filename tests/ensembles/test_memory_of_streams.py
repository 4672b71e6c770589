"""Data five times as large as the memory that a process may take."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

N_FILES, N_ROWS, N_COLUMNS, ALLOWED = 12, 2_304_000, 100, 350 * 2**20

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)
from sklearn.tree import DecisionTreeClassifier
from selfpaced import SelfPacedEnsembleClassifier, open_table

model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 1, random_state=0)
model.fit_table(open_table(sys.argv[1], target="label", batch_rows=8192))
model.write_predictions(sys.argv[1], sys.argv[1] + "-scores.parquet", batch_rows=8192)
"""


@pytest.fixture
def large(tmp_path):
    """Files that are small on the disk, because their values repeat, and large once they are decoded."""
    rng = np.random.default_rng(0)
    n_rows = N_ROWS // N_FILES
    label = np.zeros(n_rows, dtype=np.int8)
    label[rng.choice(n_rows, size=20, replace=False)] = 1
    dull = pa.array(rng.integers(4, size=n_rows // 1000).astype(np.float64).repeat(1000))
    telling = pa.array((label + rng.normal(size=n_rows) * 0.3).astype(np.float64))
    columns = {f"V{i}": dull for i in range(N_COLUMNS - 1)}
    folder = tmp_path / "large"
    folder.mkdir()
    table = pa.table({**columns, "telling": telling, "label": label})
    pq.write_table(table, folder / "0.parquet", row_group_size=16384)
    for number in range(1, N_FILES):
        os.link(folder / "0.parquet", folder / f"{number}.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory as Linux does")
def test_five_times_the_memory_is_trained_on_and_scored(large):
    assert 8 * N_ROWS * N_COLUMNS > 5 * ALLOWED
    # RLIMIT_DATA counts what allocators reserve for later; these reserve little.
    frugal = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1"}
    frugal["OPENBLAS_NUM_THREADS"] = "1"
    command = [sys.executable, "-c", PROGRAM, str(large), str(ALLOWED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | frugal)
    assert done.returncode == 0, done.stderr[-1500:]
    scores = pq.ParquetFile(f"{large}-scores.parquet")
    assert scores.metadata.num_rows == N_ROWS
    scores.close()
