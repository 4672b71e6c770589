"""The memory that measuring many rows takes: a test counts bytes, `benchmarks/memory.py` measures processes."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.cli.commands import report as job
from selfpaced.cli.commands.report import ReportRequest, report_of_file
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.predicting import evaluation
from selfpaced.report import report_of_scores
from selfpaced.tables.sources import open_table

N_ROWS = 1_000_000


@pytest.fixture(scope="module")
def scored():
    """Labels and scores that all differ, the worst case."""
    rng = np.random.default_rng(0)
    is_rare = rng.random(N_ROWS) < 0.01
    return is_rare, 1 / (1 + np.exp(-rng.normal(2 * is_rare - 3)))


def bytes_a_row(function, *arguments, **options):
    tracemalloc.start()
    try:
        function(*arguments, **options)
        return tracemalloc.get_traced_memory()[1] / N_ROWS
    finally:
        tracemalloc.stop()


def test_an_evaluation_takes_at_most_45_bytes_a_row(scored):
    assert bytes_a_row(evaluation, *scored) < 45


def test_a_report_takes_at_most_75_bytes_a_row(scored):
    report_of_scores([0, 1, 0], [0.1, 0.9, 0.2])  # what is imported on first use
    assert bytes_a_row(report_of_scores, *scored, pos_label="fraud", ids=pa.array(np.arange(N_ROWS).astype(str))) < 75


@pytest.mark.parametrize(("common", "rare"), [(0, 1), (1, 0), ("ok", "fraud"), (False, True), (True, False)])
def test_a_report_on_a_sample_counts_all_rows(tmp_path, monkeypatch, common, rare):
    rng = np.random.default_rng(0)
    is_rare = np.arange(4000) % 20 == 0
    rows = pd.DataFrame({"a": rng.normal(is_rare), "b": rng.normal(size=4000), "y": np.where(is_rare, rare, common)})
    rows.assign(name=[f"row {i}" for i in range(4000)]).to_parquet(tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet", target="y", exclude=["name"])
    base = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = SelfPacedEnsembleClassifier(base, 3, random_state=0).fit_table(table)
    request = ReportRequest(id="name")
    loaded = report_of_file(model, tmp_path / "rows.parquet", request).facts
    monkeypatch.setattr(job, "MOST_VALUES_LOADED", 4000)
    monkeypatch.setattr(job, "ROWS_SAMPLED", 500)
    sampled = report_of_file(model, tmp_path / "rows.parquet", request).facts
    assert loaded.data.n_rows_looked_at == 4000
    assert sampled.data.n_rows_looked_at < 600
    assert (sampled.case, sampled.n_rows, sampled.n_cases) == (loaded.case, 4000, 200)
    assert (sampled.ranking, sampled.thresholds) == (loaded.ranking, loaded.thresholds)
    assert sampled.suspects == loaded.suspects
