"""Columns that cannot be features are dropped, each for a reason; the others stay."""

import pytest

from selfpaced.cli.columns import dropped_columns, entities
from selfpaced.tables import MOST_CATEGORIES, ColumnProfile


def profile(name="column", type="int64", n_rows=100, n_missing=0, n_distinct=50, **options):
    """An ordinary column, but for what a test says."""
    usual = {"smallest": 1, "largest": 100, "repeats": True, "rises": False}
    return ColumnProfile(name, type, n_rows, n_missing, n_distinct, **{**usual, **options})


def words(**options):
    return profile(**{"type": "string", "smallest": None, "largest": None, **options})


def reason(one):
    return dropped_columns([one]).get(one.name)


@pytest.mark.parametrize(
    "type", ["int64", "uint8", "double", "bool", "decimal128(4, 2)", "timestamp[us]", "date32[day]"]
)
def test_numbers_and_dates_stay(type):
    assert reason(profile(type=type)) is None


@pytest.mark.parametrize("type", ["string", "large_string"])
def test_strings_that_repeat_stay(type):
    assert reason(words(type=type, n_distinct=5)) is None


@pytest.mark.parametrize("type", ["list<item: int64>", "struct<a: int64>", "binary"])
def test_what_no_model_reads_is_dropped(type):
    assert reason(profile(type=type)) == f"{type}, which models cannot read"


def test_a_column_without_any_value_is_dropped_and_one_with_a_single_value_stays():
    empty = {"smallest": None, "largest": None, "n_distinct": 0}
    assert reason(profile(n_missing=100, **empty)) == "all values are missing"
    assert reason(profile(n_missing=99, smallest=1, largest=1, n_distinct=1)) is None


def test_the_same_value_in_every_row_is_dropped():
    assert reason(profile(smallest=3, largest=3)) == "the same value in every row"
    assert reason(words(n_distinct=1)) == "the same value in every row"
    assert reason(profile(smallest=3, largest=4)) is None
    assert reason(words(n_distinct=2)) is None


def test_the_same_value_or_none_stays_because_the_missing_values_may_tell_something():
    assert reason(profile(smallest=3, largest=3, n_missing=1)) is None
    assert reason(words(n_distinct=1, n_missing=1)) is None


def test_strings_that_all_differ_are_dropped():
    assert reason(words(repeats=False, n_distinct=100)) == "an identifier or free text: every value differs"


def test_strings_of_which_more_than_every_second_is_new_are_dropped():
    assert reason(words(n_distinct=51)) == "names or free text: 51 different values in 100 rows"
    assert reason(words(n_distinct=50)) is None


def test_missing_strings_do_not_count_as_rows_with_a_string():
    assert reason(words(n_distinct=31, n_missing=40)) == "names or free text: 31 different values in 60 rows"
    assert reason(words(n_distinct=30, n_missing=40)) is None


def test_strings_with_more_values_than_categories_have_are_dropped():
    assert reason(words(n_rows=10**6, n_distinct=MOST_CATEGORIES)) is None
    assert reason(words(n_rows=10**6, n_distinct=MOST_CATEGORIES + 1)).startswith(
        "names, codes or free text: more than"
    )


def test_fewer_than_fifty_rows_are_too_few_to_judge():
    different = {"repeats": False, "n_distinct": 49}
    assert reason(words(n_rows=49, **different)) is None
    assert reason(words(n_rows=50, **different)) is not None
    assert reason(profile(name="id", n_rows=49, **different)) is None
    assert reason(profile(name="id", n_rows=50, **different)) is not None


@pytest.mark.parametrize("name", ["id", "tx_id", "customerId", "row", "UUID", "Unnamed: 0", "order key", "txID"])
def test_whole_numbers_that_all_differ_and_are_called_an_id_are_dropped(name):
    assert reason(profile(name=name, repeats=False)) == "an identifier: every value differs"


@pytest.mark.parametrize("name", ["amount", "monkey", "arrow", "identity"])
def test_whole_numbers_that_all_differ_and_are_called_something_else_stay(name):
    assert reason(profile(name=name, repeats=False)) is None


def test_whole_numbers_that_rise_from_row_to_row_are_dropped():
    assert reason(profile(repeats=False, rises=True)).startswith("a row number")


@pytest.mark.parametrize("change", [{"repeats": True}, {"n_missing": 1}, {"type": "double"}])
def test_an_id_that_repeats_or_is_missing_or_has_fractions_stays(change):
    assert reason(profile(**{"name": "tx_id", "repeats": False, "rises": True, **change})) is None


@pytest.mark.parametrize("name", ["paid", "valid", "bid", "PAID"])
def test_names_that_only_end_in_id_are_not_ids(name):
    assert reason(profile(name=name, repeats=False)) is None


def test_camel_case_ids_are_ids():
    assert reason(profile(name="customerId", repeats=False)) == "an identifier: every value differs"


def test_numbers_beside_a_few_texts_are_dropped_with_these_texts():
    mixed = {"n_distinct": 90, "not_numbers": ("k.A.", "n/a")}
    assert reason(words(**mixed)) == (
        "most values are numbers, but not 'k.A.', 'n/a'. Write numbers as 1234.56, and leave missing values empty"
    )


@pytest.mark.parametrize("name", ["Kundennummer", "kunden_nr", "Kontonummer", "Karten-ID"])
def test_german_names_of_what_several_rows_belong_to_are_known(name):
    assert entities([profile(name=name, type="int64", n_distinct=30, repeats=True)]) == [name]
