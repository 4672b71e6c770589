"""The OpenAPI document: what it says of a row is what the service reads."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier

from selfpaced import SelfPacedEnsembleClassifier, open_table
from selfpaced.persistence import save_model
from selfpaced.serving.bodies import RefusedError
from selfpaced.serving.description import row_schema
from selfpaced.serving.served import Wanted, load_served
from tests.serving.rows import mixed_rows


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A model of columns of all types, some of which have missing values."""
    folder = tmp_path_factory.mktemp("described")
    rows = mixed_rows(400)
    rows["member"] = rows["abroad"].astype("boolean").mask(rows["age"] > 1)
    rows["orders"] = rows["visits"].astype("Int64").mask(rows["age"] > 1)
    rows["day"] = rows["when"].dt.date
    rows["moment"] = rows["when"].dt.tz_localize("UTC")
    rows["small"] = rows["risk"].astype(np.float32)
    rows.to_parquet(folder / "rows.parquet")
    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1), 2, random_state=0)
    save_model(model.fit_table(open_table(folder / "rows.parquet", target="fraud")), folder / "model.skops")
    return load_served(folder / "model.skops", (folder / "model.skops").read_bytes(), Wanted())


TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == int(value),
}


def is_valid(value, schema):
    """Whether a gateway lets a value pass. It knows the keywords that describe rows, and no others."""
    assert set(schema) <= {"type", "minimum", "maximum", "examples", "description"}
    limits = schema.get("minimum", -np.inf), schema.get("maximum", np.inf)
    is_within = not TYPES["number"](value) or limits[0] <= value <= limits[1]
    return is_within and any(TYPES[kind](value) for kind in schema["type"])


def is_read(served, row):
    try:
        served.read(row)
    except RefusedError:
        return False
    return True


@pytest.fixture(scope="module")
def example(served):
    properties = row_schema(served, None)["properties"]
    return {name: own["examples"][0] for name, own in properties.items()}


VALUES = [True, False, None, 0, 1, 2, 1.0, 2.5, -3, "007", "new", "2024-05-01", "2024-05-01T12:00:00", [1], {"a": 1}]
COLUMNS = ["abroad", "member", "visits", "orders", "amount", "small", "code"]


@pytest.mark.parametrize("name", COLUMNS)
def test_the_document_allows_the_values_that_the_service_reads_and_no_others(served, example, name):
    """So a gateway that checks rows by the document refuses what the service would refuse."""
    schema = row_schema(served, None)["properties"][name]
    allowed = {repr(value): is_valid(value, schema) for value in VALUES}
    assert allowed == {repr(value): is_read(served, {**example, name: value}) for value in VALUES}


@pytest.mark.parametrize("name", ["when", "moment", "day"])
@pytest.mark.parametrize("value", [None, "2024-01-31T23:59Z", "2024-05-01 12:00+02:00"])
def test_the_document_allows_the_times_that_the_service_reads(served, example, name, value):
    assert is_read(served, {**example, name: value})
    assert is_valid(value, row_schema(served, None)["properties"][name])


def test_all_examples_of_the_document_are_valid_and_read(served, example):
    properties = row_schema(served, None)["properties"]
    assert is_read(served, example)
    for name, own in properties.items():
        assert own["examples"]
        assert all(is_valid(value, own) and is_read(served, {**example, name: value}) for value in own["examples"])


def test_a_model_without_names_reads_the_lists_that_the_document_allows(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 5 == 0
    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1), 2, random_state=0)
    save_model(model.fit(X, y), tmp_path / "model.skops")
    served = load_served(tmp_path / "model.skops", (tmp_path / "model.skops").read_bytes(), Wanted())
    schema = row_schema(served, None)
    assert (schema["minItems"], schema["maxItems"]) == (3, 3)
    for value in (True, False, None, 1, 2.5, "1"):
        assert is_valid(value, schema["items"]) == is_read(served, [0.5, 1, value])
