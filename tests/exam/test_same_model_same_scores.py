"""The same model in another form gives the same scores: for single rows, saved and loaded, in MLflow, as an ONNX graph.

Small in `make test`; `make exam` runs it on other tables each time.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.recipes import with_codes
from selfpaced.exceptions import PickledModelWarning
from selfpaced.onnx_export import export_onnx
from selfpaced.persistence import load_model, save_model, trusted_types
from selfpaced.tables import Roles
from selfpaced.tables.sources import open_like, open_table
from tests.exam import forms
from tests.exam.forms import UNTYPED
from tests.exam.tables import as_frames_have_them, tables
from tests.exam.test_same_rows_same_scores import EXAMPLES, IS_LONG, exam, scores_of, small_booster
from tests.serving.running import Served

small_exam = settings(exam, max_examples=max(EXAMPLES // 2, 1))
# Rows take as many forms as tables, and the scorer is asked for one at a time.
N_SINGLE_ROWS = 40 if IS_LONG else 4


def small_trees(categorical):
    return with_codes(DecisionTreeClassifier(max_depth=4), categorical)


def small_histograms(categorical):
    return HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=2, early_stopping=False)


def blend(categorical):
    """Of two ensembles, with a calibration."""
    bases = {"boosters": small_booster(), "trees": small_trees(categorical)}
    recipes = [(name, SelfPacedEnsembleClassifier(base, 2)) for name, base in bases.items()]
    return AutoSelfPacedClassifier(recipes=recipes, random_state=0)


def ensemble_of(base):
    return lambda categorical: SelfPacedEnsembleClassifier(base(categorical), 2, random_state=0)


MODELS = {
    "LightGBM": ensemble_of(lambda categorical: small_booster()),
    "trees": ensemble_of(small_trees),
    "histograms": ensemble_of(small_histograms),
    "blend": blend,
}
every_model = pytest.mark.parametrize("name", MODELS)
every_number_of_classes = pytest.mark.parametrize("n_classes", [2, 3])


def trained_on_table(name, path):
    """A model that reads rows by the schema of a file."""
    table = open_table(path, target="label")
    categorical = [column.name for column in table.schema.columns if column.categories is not None]
    return MODELS[name](categorical).fit_table(table)


def small_numbers(table):
    """The same table without numbers that scikit-learn's trees refuse: they add up a column in 32 bits."""

    def limited(column):
        if column.type not in (pa.float32(), pa.float64()):
            return column
        return pa.array([None if x is None else min(max(x, -1e30), 1e30) for x in column.to_pylist()], column.type)

    return pa.table({name: limited(column) for name, column in zip(table.column_names, table.columns, strict=True)})


def drawn(data, name, n_classes=2):
    """A random table that a model can be trained on. scikit-learn's histograms need one value in each column."""
    table = small_numbers(data.draw(tables(n_classes)))
    return table.drop_columns("empty") if name == "histograms" and "empty" in table.column_names else table


@every_model
@every_number_of_classes
@small_exam
@given(data=st.data())
def test_a_model_that_is_saved_anywhere_gives_the_same_scores(data, name, n_classes, bucket):
    table = drawn(data, name, n_classes)
    with TemporaryDirectory() as folder:
        path = forms.parquet(table, Path(folder))
        model = trained_on_table(name, path)
        scores, probabilities = scores_of(model, path), model.predict_proba(table)
        for way, saved_by in SAVED_BY.items():
            loaded = saved_by(model, Path(folder), bucket)
            np.testing.assert_array_equal(scores_of(loaded, path), scores, err_msg=way)
            np.testing.assert_array_equal(loaded.predict_proba(table), probabilities, err_msg=way)


def by_skops(model, folder, bucket):
    return load_model(save_model(model, folder / "model.skops"))


def by_skops_in_s3(model, folder, bucket):
    return load_model(save_model(model, f"{bucket}/model.skops"))


def by_joblib(model, folder, bucket):
    path = save_model(model, folder / "model.joblib", format="joblib")
    with pytest.warns(PickledModelWarning):
        return load_model(path, trusted_pickle=True)


def by_pickle(model, folder, bucket):
    return pickle.loads(pickle.dumps(model))


def by_mlflow(model, folder, bucket):
    import mlflow.sklearn  # which takes seconds, and every process of the tests imports this file

    options = {"serialization_format": "skops", "pip_requirements": ["selfpaced"]}
    mlflow.sklearn.save_model(model, folder / "mlflow", skops_trusted_types=trusted_types(), **options)
    return mlflow.sklearn.load_model(folder / "mlflow")


SAVED_BY = {way.__name__: way for way in (by_skops, by_skops_in_s3, by_joblib, by_pickle, by_mlflow)}


@pytest.mark.parametrize("name", ["LightGBM", "trees", "blend"])  # a graph cannot hold histograms' splits by category
@every_number_of_classes
@small_exam
@given(data=st.data())
def test_a_model_in_onnx_runtime_gives_the_same_scores(data, name, n_classes):
    table = drawn(data, name, n_classes)
    with TemporaryDirectory() as folder:
        path = forms.parquet(table, Path(folder))
        model = trained_on_table(name, path)
        session = onnxruntime.InferenceSession(export_onnx(model, Path(folder) / "model.onnx"))
        features = open_like(path, model.trained_on_.schema, Roles()).features()
    numbers = [
        column.cat.codes.where(column.notna()) if hasattr(column, "cat") else column for _, column in features.items()
    ]
    X = np.column_stack([column.to_numpy(dtype=np.float64, na_value=np.nan) for column in numbers])
    found = session.run(["probabilities"], {"X": X})[0]
    # The guide promises 1e-9 before a calibration. Only a blend, which takes logarithms of probabilities, needs it. A
    # calibration has steep steps, which enlarge differences.
    expected, scores = model.predict_proba(table), model.model_.means(table)
    promised = 1e-9 if name == "blend" else 1e-12
    ends = [model.model_.calibrated(np.clip(scores + step, 0, 1)) for step in (-promised, promised)]
    assert (np.abs(found - expected) <= promised + np.abs(ends[0] - ends[1])).all()


def numpy_rows(table):
    """Scalars of numpy, as a row of arrays has them. Times with a zone are objects, because numpy has no zones."""

    def column_of(column):
        return column.to_numpy() if getattr(column.type, "tz", None) is None else column.to_pylist()

    plain = as_frames_have_them(table)
    return forms.rows_of({name: column_of(plain[name]) for name in plain.column_names})


ROWS = {
    "python": lambda table: table.to_pylist(),
    "polars": lambda table: forms.polars(table, None).to_dicts(),
    "pandas": lambda table: forms.pandas(table, None).to_dict("records"),
    "nullable_pandas": lambda table: forms.nullable_pandas(table, None).to_dict("records"),
    "classic_pandas": lambda table: forms.classic_pandas(table, None).to_dict("records"),
    "numpy": numpy_rows,
    "json": lambda table: json.loads(json.dumps(forms.written_rows(table))),
}


@every_model
@every_number_of_classes
@small_exam
@given(data=st.data())
def test_a_row_of_a_table_gets_the_probabilities_of_the_table(data, name, n_classes):
    table = drawn(data, name, n_classes)
    with TemporaryDirectory() as folder:
        path = forms.parquet(table, Path(folder))
        model = trained_on_table(name, path)
        scores = scores_of(model, path)
    assert_rows_score_as_their_table(model, table, scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS if IS_LONG else ["blend"])  # a service takes seconds to start
@settings(exam, max_examples=max(EXAMPLES // 20, 1))
@given(data=st.data())
def test_a_served_row_gets_the_probability_that_predict_writes(data, name):
    table = drawn(data, name)
    with TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        path = forms.parquet(table, folder)
        save_model(trained_on_table(name, path), folder / "model.skops")
        predicted = scores_of(load_model(folder / "model.skops"), path).tolist()
        service = Served(folder / "model.skops", folder=folder)
        try:
            features = table.drop_columns("label")
            rows = forms.written_rows(features)
            for row, expected in zip(rows[:N_SINGLE_ROWS], predicted, strict=False):
                assert served(service, "/score", row, table)["probability"] in (expected, None), row
            found = served(service, "/score/batch", rows, table)["probabilities"]
            assert found in (predicted, None)
            body = forms.arrow_stream(features)
            status, answer = service.post("/score/batch", body, content_type="application/vnd.apache.arrow.stream")
            assert (status, answer.get("probabilities")) == (200, predicted), answer
        finally:
            service.end()


def served(service, where, rows, table):
    """The answer of a service; all None if it refuses text that may be read in two ways, and names the column."""
    status, answer = service.post(where, rows)
    if status == 422:
        assert any(repr(column) in answer["error"] for column in table.column_names), answer
        return {"probability": None, "probabilities": None}
    assert status == 200, answer
    return answer


@every_model
@small_exam
@given(data=st.data())
def test_a_row_of_a_frame_gets_the_probabilities_of_the_frame(data, name):
    """Of a model that was fitted on a frame, which has no schema."""
    table = as_fitted_directly(drawn(data, name))
    features = table.drop_columns("label")
    frame = features.to_pandas()
    texts = [field.name for field in features.schema if forms.is_text(field.type)]
    frame[texts] = frame[texts].astype("category")
    model = MODELS[name](texts).fit(frame, table["label"].to_numpy())
    assert_rows_score_as_their_table(model, features, model.predict_proba(frame)[:, 1])


def as_fitted_directly(table):
    """The columns that base models read by themselves: numbers, categories, and no times."""
    table = as_frames_have_them(table)
    kept = [field.name for field in table.schema if not pa.types.is_temporal(field.type) and field.type != pa.null()]

    def as_read(field):
        # In pandas, booleans with missing values are Python objects.
        is_object = pa.types.is_boolean(field.type) and table[field.name].null_count
        return field.with_type(pa.float64()) if is_object or pa.types.is_decimal(field.type) else field

    return table.select(kept).cast(pa.schema([as_read(table.schema.field(name)) for name in kept]))


def assert_rows_score_as_their_table(model, table, scores):
    scorer = model.row_scorer()
    again = pickle.loads(pickle.dumps(scorer))
    for form, rows_of in ROWS.items():
        for row, expected in zip(rows_of(table)[:N_SINGLE_ROWS], scores, strict=False):
            found = score_or_refusal(scorer, row) if form in UNTYPED else scorer(row)
            if isinstance(found, str):
                assert any(repr(column) in found for column in table.column_names), (form, found)
            else:
                assert found == expected, (form, row)
                assert again(row) == scorer.predict_proba(row)[model.trained_on_.score_column] == found, (form, row)


def score_or_refusal(scorer, row):
    try:
        return scorer(row)
    except ValueError as error:
        return str(error)
