"""The same rows in any form get the same scores, bit for bit, or the refusal names the column.

Small in `make test`. `make exam` runs it for an hour on other tables each time; `SELFPACED_EXAM_EXAMPLES` is the number
of tables.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import dask.dataframe as dd
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from lightgbm import LGBMClassifier

from selfpaced.clusters.dask.estimators import DaskSelfPacedEnsembleClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.onnx_export import export_onnx
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables import Roles
from selfpaced.tables.sources import open_like, open_table
from tests.exam.forms import FORMS, UNTYPED, parquet
from tests.exam.tables import UNREADABLE, as_frames_have_them, tables, written_without_loss

EXAMPLES = int(os.environ.get("SELFPACED_EXAM_EXAMPLES", "4"))
exam = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="SELFPACED_EXAM_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


def small_booster():
    return LGBMClassifier(n_estimators=4, min_child_samples=2, min_data_per_group=2, cat_smooth=1, verbose=-1, n_jobs=1)


def trained(source, kind=SelfPacedEnsembleClassifier, **options):
    model = kind(small_booster(), 2, random_state=0)
    return model.fit_table(open_table(source, target="label", **options))


def scores_of(model, source) -> np.ndarray:
    if isinstance(source, Path):
        return model.predict_proba_table(source, batch_rows=37)
    return model.predict_proba(source)[:, model.trained_on_.score_column]


def scores_or_refusal(model, source) -> np.ndarray | str:
    """The scores of the rows, or why they are refused."""
    try:
        return scores_of(model, source)
    except TableError as error:
        return str(error)


@settings(exam, max_examples=2 * EXAMPLES)  # a table takes many forms, but one model
@given(table=tables())
def test_the_same_rows_in_another_form_get_the_same_scores(table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        model = trained(path)
        expected = scores_of(model, path)
    for name, form in FORMS.items():
        with TemporaryDirectory() as folder:
            source = form(table, Path(folder))
            found = scores_or_refusal(model, source) if name in UNTYPED else scores_of(model, source)
            if isinstance(found, str):
                assert any(f"olumn {column!r}" in found for column in table.column_names), (name, found)
            else:
                np.testing.assert_array_equal(found, expected, err_msg=name)


@exam
@given(table=tables())
def test_the_same_rows_in_another_form_train_the_same_model(table):
    assert_same_models(table, ["small_row_groups", "feather", "plain_strings", "dictionaries", "several_files"])


@exam
@given(table=tables().map(written_without_loss))
def test_text_trains_the_model_of_the_typed_file_if_it_says_as_much(table):
    assert_same_models(table, ["csv", "tsv", "semicolons", "json_lines"])


def assert_same_models(table, forms):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        expected = scores_of(trained(path), path)
        for form in forms:
            with TemporaryDirectory() as other:
                source = FORMS[form](table, Path(other))
                np.testing.assert_array_equal(scores_of(trained(source, batch_rows=17), path), expected, err_msg=form)


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("kind", UNREADABLE, ids=str)
def test_a_type_that_no_model_reads_is_refused_by_the_name_of_its_column(kind, form, tmp_path):
    source = FORMS[form](pa.table({"odd": pa.nulls(4, kind), "label": [0, 0, 1, 1]}), tmp_path)
    with pytest.raises(TableError, match="Column 'odd'"):
        open_table(source, target="label")


@exam
@given(table=tables())
def test_a_saved_model_gives_the_same_scores(table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        model = trained(path)
        loaded = load_model(save_model(model, Path(folder) / "model.skops"))
        np.testing.assert_array_equal(scores_of(loaded, path), scores_of(model, path))


@exam
@given(table=tables())
def test_an_exported_model_gives_the_same_scores(table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        model = trained(path)
        session = onnxruntime.InferenceSession(export_onnx(model, Path(folder) / "model.onnx"))
        features = open_like(path, model.trained_on_.schema, Roles()).features()
        numbers = [
            column.cat.codes.where(column.notna()) if hasattr(column, "cat") else column
            for _, column in features.items()
        ]
        X = np.column_stack([column.to_numpy(dtype=np.float64, na_value=np.nan) for column in numbers])
        found = session.run(["probabilities"], {"X": X})[0][:, model.trained_on_.score_column]
        np.testing.assert_allclose(found, scores_of(model, path), rtol=0, atol=1e-12)


@pytest.mark.cluster
@settings(exam, max_examples=max(EXAMPLES // 2, 1))
@given(table=tables().map(as_frames_have_them))
def test_the_same_rows_on_dask_train_the_same_model(dask_cluster, table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        frame = dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=3, sort=False)
        again = trained(frame, client=dask_cluster.client)
        np.testing.assert_array_equal(scores_of(again, path), scores_of(trained(path), path))


@pytest.mark.cluster
@settings(exam, max_examples=max(EXAMPLES // 2, 1))
@given(table=tables().map(as_frames_have_them))
def test_the_same_rows_on_dask_get_the_same_scores(dask_cluster, table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        expected = scores_of(trained(path), path)
        model = trained(path, kind=partial(DaskSelfPacedEnsembleClassifier, client=dask_cluster.client))
        frame = dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=3, sort=False)
        found = model.predict_proba(frame).compute()[:, model.trained_on_.score_column]
        np.testing.assert_array_equal(found, expected)
