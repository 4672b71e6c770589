"""The same rows in any form, and anywhere, get the same scores, bit for bit, or the refusal names the column.

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
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from pyarrow import fs

from selfpaced.clusters.dask.estimators import DaskSelfPacedEnsembleClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.tables.sources import open_table
from tests.exam.forms import FORMS, UNTYPED, parquet
from tests.exam.tables import UNREADABLE, as_frames_have_them, tables, written_without_loss

IS_LONG = "SELFPACED_EXAM_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("SELFPACED_EXAM_EXAMPLES", "4"))
exam = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not IS_LONG,
    # To search for the smallest table that fails takes minutes.
    phases=list(Phase) if IS_LONG else [Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def small_booster():
    return LGBMClassifier(n_estimators=4, min_child_samples=2, min_data_per_group=2, cat_smooth=1, verbose=-1, n_jobs=1)


def trained(source, kind=SelfPacedEnsembleClassifier, **options):
    model = kind(small_booster(), 2, random_state=0)
    return model.fit_table(open_table(source, target="label", **options))


def scores_of(model, source) -> np.ndarray:
    if isinstance(source, Path | str):
        return model.predict_proba_table(source, batch_rows=37)
    return model.predict_proba(source)[:, model.trained_on_.score_column]


def scores_or_refusal(model, source) -> np.ndarray | str:
    """The scores of the rows, or why they are refused."""
    try:
        return scores_of(model, source)
    except TableError as error:
        return str(error)


@pytest.mark.parametrize("n_classes", [2, 3])
@exam
@given(data=st.data())
def test_the_same_rows_in_another_form_get_the_same_scores(data, n_classes):
    table = data.draw(tables(n_classes))
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        model = trained(path)
        expected, of_all_classes = scores_of(model, path), model.predict_proba(table)
    for name, form in FORMS.items():
        with TemporaryDirectory() as folder:
            source = form(table, Path(folder))
            found = scores_or_refusal(model, source) if name in UNTYPED else scores_of(model, source)
            if isinstance(found, str):
                assert any(f"olumn {column!r}" in found for column in table.column_names), (name, found)
            else:
                np.testing.assert_array_equal(found, expected, err_msg=name)
                if not isinstance(source, Path):
                    np.testing.assert_array_equal(model.predict_proba(source), of_all_classes, err_msg=name)


@settings(exam, max_examples=max(EXAMPLES // 2, 1))
@given(table=tables())
def test_the_same_rows_in_s3_get_the_same_scores_and_train_the_same_model(table, bucket):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        model = trained(path)
        expected = scores_of(model, path)
        for name in ("parquet", "several_files", "feather", "csv", "tsv", "semicolons", "json_lines"):
            with TemporaryDirectory() as other:
                source = FORMS[name](table, Path(other))
                url = uploaded(source, f"{bucket}/{name}")
                for given in (source, url):
                    found = scores_or_refusal(model, given)
                    if name not in UNTYPED or not isinstance(found, str):
                        np.testing.assert_array_equal(found, expected, err_msg=f"{name} in {given}")
                again, there = trained(source), trained(url)
                np.testing.assert_array_equal(scores_of(there, path), scores_of(again, path), err_msg=name)


def uploaded(source: Path, url: str) -> str:
    """The URL of a copy of a file or folder."""
    system, place = fs.FileSystem.from_uri(url)
    if system.get_file_info(place).type == fs.FileType.Directory:
        system.delete_dir(place)
    is_folder = source.is_dir()
    fs.copy_files(str(source), place if is_folder else f"{place}/{source.name}", destination_filesystem=system)
    return url if is_folder else f"{url}/{source.name}"


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
