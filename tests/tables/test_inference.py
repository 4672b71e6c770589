"""The forms that the values of a text column may have, batch by batch."""

import pyarrow as pa
import pytest

from selfpaced.tables.files.inference import inferred_forms, narrowed


def fitting(*batches):
    """The types and decimal commas of the forms that a column still has after some batches."""
    forms = {"a": inferred_forms()}
    for texts in batches:
        forms = narrowed(forms, pa.record_batch({"a": pa.array(texts, pa.string())}))
    return [(str(form.type), form.comma) for form in forms["a"]]


def kind(*batches):
    return next((kind for kind, _ in fitting(*batches)), "text")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([None], "null"),
        (["true", "False"], "bool"),
        (["0", "-7", " 12 "], "int64"),
        ([str(2**63)], "uint64"),
        ([str(2**63), "-1"], "string"),
        ([str(2**64)], "string"),
        (["1e5", "-inf"], "double"),
        (["1.5"], "double"),
        (["007"], "text"),
        (["true", "1"], "text"),
    ],
)
def test_a_column_has_the_first_form_of_all_its_values(texts, expected):
    assert kind(texts) == expected
    assert kind(*([text] for text in texts)) == expected


def test_whole_numbers_have_all_forms_of_numbers_and_none_of_other_types():
    assert {name for name, _ in fitting(["5"])} == {"int64", "uint64", "string", "double"}
    assert ("uint64", None) not in fitting(["-5"])
    assert fitting(["true"]) == [("bool", None)]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("{}", "timestamp[us]"),
        ("{} 23:59:01.123456", "timestamp[us]"),
        ("{}T23:59+01:00", "timestamp[us, tz=UTC]"),
        ("{} 23:59:01.1234567", "timestamp[ns]"),
        ("{} 23:59:01.123456789Z", "timestamp[ns, tz=UTC]"),
    ],
)
def test_a_day_that_does_not_exist_makes_a_column_of_dates_text(form, expected):
    assert kind([form.format("2024-02-29")]) == expected
    assert kind([form.format("2024-02-29"), form.format("2024-02-30")]) == "text"


@pytest.mark.parametrize("text", ["2024-02-29 23:59:01.1234567890", "2500-01-01 00:00:00.1234567", "24:00"])
def test_what_no_type_of_times_holds_is_text(text):
    assert kind([text]) == "text"
