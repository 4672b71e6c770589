"""The rows and the model of costs of `benchmarks/massive.py`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import massive
import record
from massive_report import CostModel, lines_of, with_lines
from massive_rows import NAMES, ROWS_PER_CHUNK, TARGET, Rows, streamed, write_files
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table


def whole(rows):
    X = np.concatenate([rows.features(number) for number in range(rows.n_chunks)], axis=1)
    y = np.concatenate([rows.labels(number) for number in range(rows.n_chunks)])
    return X, y


def test_tables_of_all_sizes_have_the_same_rare_rows():
    small, is_rare_there = whole(Rows(ROWS_PER_CHUNK, n_rare=31))
    large, is_rare = whole(Rows(2 * ROWS_PER_CHUNK, n_rare=31))
    np.testing.assert_array_equal(large[:, is_rare == 1], small[:, is_rare_there == 1])


def test_every_pass_over_generated_rows_gives_the_rows_of_the_files(tmp_path):
    write_files(2 * ROWS_PER_CHUNK, tmp_path / "rows", n_rare=30)
    files = pd.read_parquet(tmp_path / "rows")
    for _ in range(2):
        generated = [batch.batch.to_pandas() for batch in streamed(2 * ROWS_PER_CHUNK, n_rare=30).batches()]
        pd.testing.assert_frame_equal(pd.concat(generated, ignore_index=True), files[NAMES])


def test_a_fit_of_generated_rows_is_that_of_the_files(tmp_path):
    write_files(ROWS_PER_CHUNK, tmp_path / "rows", n_rare=30)
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 2, random_state=0)
    some = pd.read_parquet(tmp_path / "rows")[NAMES].iloc[::50]
    expected = model.fit_table(open_table(tmp_path / "rows", target=TARGET)).predict_proba(some)
    found = model.fit_table(streamed(ROWS_PER_CHUNK, n_rare=30)).predict_proba(some)
    np.testing.assert_array_equal(found, expected)


def made_up(n_rows, n_rounds, factor=1.0, kind="streamed"):
    """A fit of 1 s + 2 us a row, and for every round 0.5 s + 3 us a row and a member of 0.25 s."""
    first, each = factor * (1 + 2e-6 * n_rows), factor * (0.5 + 3e-6 * n_rows)
    rounds = [{"cpu": cpu + 0.25, "cpu_fitting": 0.25, "seconds": 1.0} for cpu in [first, *[each] * n_rounds]]
    facts = {"kind": kind, "rows": n_rows, "labels": 0.0, "rounds": rounds, "cpu": sum(one["cpu"] for one in rounds)}
    return facts | {"peak_gb": 0.3, "bytes": 0, "aucprc": [0.5] * n_rounds}


def test_the_model_of_costs_finds_the_lines_behind_the_measurements():
    model = CostModel.fitted([made_up(10**6, 3), made_up(10**7, 3)])
    assert model.first == pytest.approx((1, 2e-6))
    assert model.round == pytest.approx((0.5, 3e-6))
    assert model(10**9, 4) == pytest.approx(made_up(10**9, 4)["cpu"])


@pytest.mark.parametrize(("factor", "error"), [(1.0, "+0%"), (0.5, "+100%")])
def test_the_largest_size_is_predicted_by_the_smaller_ones(factor, error):
    lines = lines_of([made_up(10**7, 3), made_up(10**9, 2, factor), made_up(10**6, 3)])["model"]
    assert any(line.startswith("10^9 rows, 2 round(s)") and line.endswith(error) for line in lines)


def test_what_stopped_a_method_stands_beside_the_figures_of_the_others():
    ended = {"kind": "lightgbm", "rows": 10**7, "cpu": 69.1, "peak_gb": 1.7, "aucprc": [0.0978]}
    lines = lines_of([ended, {"kind": "lightgbm", "rows": 10**9, "stopped": "16 GB"}])["others"]
    assert [line.split()[1:] for line in lines[2:]] == [["10^7", "69", "1.70", "0.0978"], ["10^9", "16", "GB"]]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of a record and of a page with the measurements of two sizes."""
    page = tmp_path / "page.md"
    page.write_text("<!-- costs -->\n```text\n```\n")
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(massive, "PAGE", page)
    for n_rows in (10**6, 10**7):
        massive.add(made_up(n_rows, 3) | {"versions": {}})
    return tmp_path


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_to_show_the_record_changes_neither_it_nor_the_page(kept, capsys):
    before = contents(kept)
    massive.main(["--show"])
    assert contents(kept) == before
    assert capsys.readouterr().out.startswith("\n".join(lines_of(massive.measured())["costs"]))


def test_a_new_measurement_replaces_that_of_the_same_kind_and_size_only(kept):
    before = massive.measured()
    again = made_up(10**6, 3, 2.0) | {"versions": {"lightgbm": "9"}}
    massive.add(again)
    assert massive.measured() == [again, before[1]]
    assert "\n".join(lines_of([again, before[1]])["costs"]) in (kept / "page.md").read_text()


def test_a_run_goes_on_with_what_the_record_lacks(kept):
    left = massive.wanted([])
    assert ("streamed", 10**8, 10) in left
    assert not {("streamed", 10**6, 10), ("streamed", 10**7, 10)} & set(left)
    assert massive.wanted(["streamed-1000000 "]) == [("streamed", 10**6, 10)]


def test_the_tables_of_the_guide_are_those_of_the_recorded_measurements():
    root = Path(__file__).parents[1]
    recorded = json.loads((root / "benchmarks" / "results" / "massive.json").read_text())
    page = (root / "docs" / "guide" / "larger-than-memory.md").read_text()
    assert recorded["lines"] == lines_of(recorded["measured"])
    assert page == with_lines(page, recorded["lines"])
    assert all("\n".join(lines) in page for lines in recorded["lines"].values())
