"""The features of files are those of frames, bit for bit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from selfpaced.exceptions import TableError
from selfpaced.history import History
from tests.history.tables import arrow_table, bits, histories, labels_of, rows

PLAIN = History("when", ["customer", "terminal"], "amount", windows=["2h", "9d"])
WITH_LABELS = replace(PLAIN, delay="90min", base_rate=0.1)


def many(size=500, seed=0):
    rng = np.random.default_rng(seed)
    customers, terminals = ["a", "b", "c", "d", None], [1, 2, 3, None]
    return [
        {
            "ticks": int(rng.integers(0, 100)) * 900 * 10**6,
            "customer": customers[rng.integers(5)],
            "terminal": terminals[rng.integers(4)],
            "shop": "x",
            "amount": float(rng.integers(-500, 9000)) / 100,
            "label": [0, 1, None][rng.integers(3)],
        }
        for _ in range(size)
    ]


def with_labels(some):
    return arrow_table(some).append_column("label", pa.array([row["label"] for row in some], pa.int8()))


def small(monkeypatch, at_once, in_a_part):
    monkeypatch.setattr("selfpaced.history.files.ROWS_AT_ONCE", at_once)
    monkeypatch.setattr("selfpaced.history.files.ROWS_IN_A_PART", in_a_part)


@pytest.mark.parametrize(("at_once", "in_a_part"), [(1, 7), (64, 100), (100, 10**6), (10**6, 1)])
@pytest.mark.parametrize("in_order", [True, False])
def test_features_of_a_file_are_those_of_its_frame_for_all_sizes_of_batches(
    at_once, in_a_part, in_order, tmp_path, monkeypatch
):
    small(monkeypatch, at_once, in_a_part)
    some = sorted(many(60), key=lambda row: row["ticks"]) if in_order else many(60)
    table = with_labels(some)
    pq.write_table(table, tmp_path / "rows.parquet")
    output = WITH_LABELS.write_features(tmp_path / "rows.parquet", tmp_path / "out.parquet", target="label")
    written = pq.read_table(output)
    assert written.select(table.column_names).equals(table)
    assert bits(written.select(list(WITH_LABELS.feature_names))) == bits(
        WITH_LABELS.features(table, labels_of(WITH_LABELS, some))
    )


@settings(max_examples=10, deadline=None)
@given(histories, rows(), rows())
def test_rows_of_the_past_are_seen_and_not_written(tmp_path_factory, history, some, past):
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(with_labels(some), folder / "rows.parquet")
    pq.write_table(with_labels(past), folder / "past.parquet")
    target = None if history.delay is None else "label"
    with pytest.MonkeyPatch.context() as patch:
        small(patch, 7, 10)
        output = history.write_features(
            folder / "rows.parquet", folder / "out.parquet", target=target, past=folder / "past.parquet"
        )
    labels = {"y": labels_of(history, some), "past_y": labels_of(history, past)}
    expected = history.features(arrow_table(some), past=arrow_table(past), **labels)
    assert bits(pq.read_table(output).select(list(history.feature_names))) == bits(expected)


def test_new_rows_need_no_labels_if_the_past_has_them(tmp_path):
    past, some = many(100), many(20, seed=1)
    pq.write_table(with_labels(past), tmp_path / "past.parquet")
    pq.write_table(arrow_table(some), tmp_path / "rows.parquet")
    output = WITH_LABELS.write_features(
        tmp_path / "rows.parquet", tmp_path / "out.parquet", target="label", past=tmp_path / "past.parquet"
    )
    expected = WITH_LABELS.features(arrow_table(some), past=arrow_table(past), past_y=[row["label"] for row in past])
    assert bits(pq.read_table(output).select(list(WITH_LABELS.feature_names))) == bits(expected)


def test_files_of_several_types_have_the_features_of_all_their_rows(tmp_path):
    some = many(100)
    table = arrow_table(some)
    pq.write_table(table.slice(0, 40), tmp_path / "1.parquet")
    pd.DataFrame(table.slice(40).to_pandas()).to_csv(tmp_path / "2.csv", index=False)
    output = PLAIN.write_features([tmp_path / "1.parquet", tmp_path / "2.csv"], tmp_path / "out.parquet")
    assert bits(pq.read_table(output).select(list(PLAIN.feature_names))) == bits(PLAIN.features(table))


def test_labels_of_text_are_found_by_the_name_of_the_rare_one(tmp_path):
    some = many(60)
    names = [{0: "ok", 1: "fraud", None: None}[row["label"]] for row in some]
    pq.write_table(arrow_table(some).append_column("label", pa.array(names)), tmp_path / "rows.parquet")
    output = WITH_LABELS.write_features(
        tmp_path / "rows.parquet", tmp_path / "out.parquet", target="label", pos_label="fraud"
    )
    expected = WITH_LABELS.features(arrow_table(some), labels_of(WITH_LABELS, some))
    assert bits(pq.read_table(output).select(list(WITH_LABELS.feature_names))) == bits(expected)


def test_a_file_without_rows_becomes_a_file_without_rows(tmp_path):
    pq.write_table(arrow_table([]), tmp_path / "rows.parquet")
    written = pq.read_table(PLAIN.write_features(tmp_path / "rows.parquet", tmp_path / "out.parquet"))
    assert written.num_rows == 0
    assert written.column_names[-1] == PLAIN.feature_names[-1]


def test_no_temporary_file_is_left(tmp_path):
    pq.write_table(arrow_table(many(50)), tmp_path / "rows.parquet")
    PLAIN.write_features(tmp_path / "rows.parquet", tmp_path / "out.parquet", cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(with_labels(many(20)), path)
    with pytest.raises(TableError, match="is one of the files that are read"):
        PLAIN.write_features(path, path)
    with pytest.raises(TableError, match=r"no column 'labels' of labels.*Did you mean 'label'"):
        WITH_LABELS.write_features(path, tmp_path / "out.parquet", target="labels")
    with pytest.raises(ValueError, match="uses no labels"):
        PLAIN.write_features(path, tmp_path / "out.parquet", target="label")
    pq.write_table(arrow_table(many(5), zone="Europe/Berlin"), tmp_path / "past.parquet")
    with pytest.raises(TableError, match="with a time zone, and others without one"):
        PLAIN.write_features(path, tmp_path / "out.parquet", past=tmp_path / "past.parquet")
    PLAIN.write_features(path, tmp_path / "out.parquet")
    with pytest.raises(TableError, match="already has a column 'customer_rows_2h'"):
        PLAIN.write_features(tmp_path / "out.parquet", tmp_path / "twice.parquet")


def test_labels_are_refused_as_an_entity_because_a_row_would_see_its_own(tmp_path):
    pq.write_table(with_labels(many(10)), tmp_path / "rows.parquet")
    history = History("when", ["label"], windows=["2h"], delay="90min", base_rate=0.1)
    with pytest.raises(TableError, match="its own label"):
        history.write_features(tmp_path / "rows.parquet", tmp_path / "out.parquet", target="label")
