"""The features of rows in frames are those of the slow reference, bit for bit, and nothing leaks."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.exceptions import TableError
from selfpaced.history import History
from tests.history.reference import slow_features
from tests.history.tables import FRAMES, START, bits, histories, labels_of, pandas_frame, rows

few = settings(max_examples=25, deadline=None)
WITH_LABELS = History("when", ["customer", "terminal"], "amount", delay="90min", windows=["2h", "9d"], base_rate=0.1)


@few
@given(histories, rows(), st.sampled_from(sorted(FRAMES)), st.sampled_from([None, "Europe/Berlin"]))
def test_features_are_those_of_the_slow_reference_bit_for_bit(history, some, kind, zone):
    found = history.features(FRAMES[kind](some, zone), labels_of(history, some))
    assert bits(found) == bits(slow_features(history, some))


@few
@given(histories, rows(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(history, some, random):
    mixed = random.sample(range(len(some)), len(some))
    there = history.features(pandas_frame(some), labels_of(history, some)).iloc[mixed]
    shuffled = [some[position] for position in mixed]
    assert bits(there) == bits(history.features(pandas_frame(shuffled), labels_of(history, shuffled)))


@few
@given(histories, rows(), rows())
def test_rows_of_the_past_are_seen_and_not_described(history, some, past):
    past_y = labels_of(history, past)
    found = history.features(pandas_frame(some), labels_of(history, some), past=pandas_frame(past), past_y=past_y)
    assert bits(found) == bits(slow_features(history, some, past))


@few
@given(histories, rows(), st.integers(0, 39), st.data())
def test_no_feature_changes_when_later_rows_and_labels_not_yet_known_are_changed(history, some, position, data):
    if not some:
        return
    row = some[position % len(some)]
    known_until = row["ticks"] - (history.delay_ticks or 0)
    earlier = [each for each in some if each["ticks"] < row["ticks"]]
    hidden = [
        each if each["ticks"] <= known_until else each | {"label": data.draw(st.sampled_from([0, 1, None]))}
        for each in earlier
    ]
    # The row itself has another label, and the rows from this instant on are others.
    changed = [each | {"ticks": row["ticks"] + abs(each["ticks"])} for each in data.draw(rows(most=10))]
    others = [*hidden, row | {"label": 1}, *changed]
    before = history.features(pandas_frame(some), labels_of(history, some)).iloc[[position % len(some)]]
    after = history.features(pandas_frame(others), labels_of(history, others)).iloc[[len(hidden)]]
    assert bits(before) == bits(after)


def test_a_huge_entity_has_the_features_of_the_reference():
    rng, size = np.random.default_rng(0), 3_000
    some = [
        {"ticks": int(at) * 10**6, "customer": "a", "terminal": int(terminal), "shop": "x", "amount": 1e10, "label": 0}
        for at, terminal in zip(rng.integers(0, 4_000, size), rng.integers(0, 50, size), strict=True)
    ]
    for row, cents in zip(some, rng.integers(-(2**40), 2**40, size), strict=True):
        row["amount"] = int(cents) / 100
    asked = slice(size - 50, size)
    history = replace(WITH_LABELS, windows=["10min", "1h"])
    found = history.features(pandas_frame(some), labels_of(history, some)).iloc[asked]
    assert bits(found) == bits(slow_features(history, some[asked], some[: asked.start]))


def test_times_that_are_numbers_have_windows_that_are_numbers():
    frame = pd.DataFrame({"step": [0, 1, 1, 2.5, 9], "name": list("aaaaa")})
    found = History("step", "name", windows=[1.5, "8"]).features(frame)
    assert found["name_rows_1.5"].tolist() == [0, 1, 1, 2, 0]
    assert found["name_rows_8"].tolist() == [0, 1, 1, 3, 3]
    assert found["name_since"].tolist()[1:] == [1, 1, 1.5, 6.5]


def test_numbers_since_1970_have_the_features_of_their_dates():
    some = [
        {"ticks": at * 10**6, "customer": "a", "terminal": 1, "shop": "x", "amount": 1.0, "label": 0} for at in (0, 7)
    ]
    history = History("when", "customer", windows=["1h"])
    dates = pandas_frame(some)
    numbers = dates.assign(when=[int(START.timestamp() * 1000) + row["ticks"] // 1000 for row in some])
    assert bits(replace(history, time_unit="ms").features(numbers)) == bits(history.features(dates))


def test_features_are_a_frame_of_the_same_kind_with_the_same_index():
    frame = pd.DataFrame({"step": [2, 1], "name": ["a", "a"]}, index=["x", "y"])
    history = History("step", "name", windows=[5])
    assert history.features(frame).index.tolist() == ["x", "y"]
    assert history.add(frame)["name_rows_5"].to_dict() == {"x": 1.0, "y": 0.0}
    assert history.add(pl.DataFrame(frame)).columns == ["step", "name", *history.feature_names]
    assert history.add(pa.Table.from_pandas(frame, preserve_index=False)).column_names == [
        "step",
        "name",
        *history.feature_names,
    ]
    assert set(history.features(frame).dtypes) == {np.dtype(np.float32)}


def test_a_table_without_rows_has_features_without_rows():
    assert WITH_LABELS.features(pandas_frame([]), []).shape == (0, len(WITH_LABELS.feature_names))


FRAME = pd.DataFrame({"when": pd.to_datetime(["2024-01-01", "2024-01-02"]), "customer": [1, 1], "amount": [1.0, 2.0]})
PLAIN = History("when", "customer", "amount")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"when": [pd.Timestamp("2024-01-01"), pd.NaT]}, "no time in 1 of 2 rows"),
        ({"when": ["2024-01-01", "2024-01-01T00:00+01:00"]}, "times with a time zone and times without one"),
        ({"when": [1, 2]}, "'when' has numbers, but the windows 1d, 7d, 30d are for dates"),
        ({"amount": [1.0, np.inf]}, "'amount' contains infinity"),
        ({"amount": [1.0, 2e10]}, "'amount' has 20000000000.0. With 2 decimals"),
        ({"amount": ["much", "little"]}, "'amount' is (large_)?string"),
        ({"customer_since": [0, 0]}, "already has a column 'customer_since'"),
        ({"customer": [1, "one"]}, "'customer' has values of several types"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_column(changed, complaint):
    with pytest.raises(TableError, match=complaint):
        PLAIN.features(FRAME.assign(**changed))


def test_a_missing_column_is_refused_with_a_suggestion():
    with pytest.raises(TableError, match=r"no column 'customer'.*Did you mean 'Customer'"):
        PLAIN.features(FRAME.rename(columns={"customer": "Customer"}))


def test_a_past_without_a_time_zone_is_refused_if_the_rows_have_one():
    with pytest.raises(TableError, match="with a time zone, and others without one"):
        PLAIN.features(FRAME.assign(when=FRAME["when"].dt.tz_localize("UTC")), past=FRAME)


def test_too_many_amounts_in_a_window_are_refused(monkeypatch):
    monkeypatch.setattr("selfpaced.history.kernel.MOST_AMOUNTS", 0)
    with pytest.raises(TableError, match="more than 0 amounts in one window"):
        PLAIN.features(FRAME)


def test_labels_are_refused_where_they_are_not_used_and_needed_where_they_are():
    with pytest.raises(ValueError, match="uses no labels"):
        PLAIN.features(FRAME, [0, 1])
    with pytest.raises(ValueError, match="Give y or past_y"):
        replace(PLAIN, delay="1d", base_rate=0.5).features(FRAME)
    with pytest.raises(ValueError, match="no base_rate"):
        replace(PLAIN, delay="1d").features(FRAME, [0, 1])
    with pytest.raises(ValueError, match="which is the rare one with pos_label"):
        replace(PLAIN, delay="1d", base_rate=0.5).features(FRAME, ["ok", "fraud"])
    with pytest.raises(TableError, match="There are 1 labels for 2 rows"):
        replace(PLAIN, delay="1d", base_rate=0.5).features(FRAME, [1])


def test_the_rare_label_is_found_by_its_name():
    history = replace(PLAIN, delay="1h").with_base_rate(["ok", "ok", "fraud", None], pos_label="fraud")
    assert history.base_rate == 1 / 3
    found = history.features(FRAME, ["fraud", None], pos_label="fraud")
    assert found["customer_rare_30d"].tolist() == [0, 1]


@given(histories)
def test_a_description_survives_json(history):
    again = History.from_dict(json.loads(json.dumps(history.as_dict())))
    assert again == history
    assert hash(again) == hash(history)


def test_unknown_fields_of_a_description_are_refused():
    with pytest.raises(ValueError, match=r"no field 'window'.*Did you mean 'windows'"):
        History.from_dict({"time_column": "when", "entities": ["customer"], "window": ["1d"]})
    with pytest.raises(ValueError, match="needs the field 'entities'"):
        History.from_dict({"time_column": "when"})


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"entities": []}, "one or more different columns"),
        ({"entities": ["customer", "customer"]}, "one or more different columns"),
        ({"entities": [7]}, "An entity is the name of a column"),
        ({"windows": ["1d", 7]}, "must all have a unit"),
        ({"windows": ["1d", "24h"]}, "different durations"),
        ({"windows": ["0d"]}, "durations above 0"),
        ({"windows": ["soon"]}, "must be a duration such as 7d"),
        ({"windows": [5], "time_unit": "s"}, "need units such as 7d"),
        ({"delay": 7}, "must all have a unit"),
        ({"delay": -1}, "not negative"),
        ({"distinct": {"terminal": ["customer"]}}, "not one of the entities"),
        ({"base_rate": 2}, "between 0 and 1"),
        ({"smoothing": 0}, "above 0"),
        ({"decimals": 2.5}, "whole number from 0 to 9"),
        ({"time_unit": "min"}, "must be one of s, ms, us, ns"),
        ({"time_column": None}, "time_column must be the name of a column"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(changed, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(PLAIN, distinct=None, **changed) if "distinct" not in changed else replace(PLAIN, **changed)


def test_distinct_values_are_those_of_the_other_entities_by_default():
    history = History("when", ["customer", "terminal", ("customer", "shop")])
    assert history.distinct == (
        ("customer", ("terminal",)),
        ("terminal", ("customer",)),
        (("customer", "shop"), ("terminal",)),
    )
    assert "customer+shop_distinct_terminal_7d" in history.feature_names


def test_times_are_refused_as_an_entity():
    with pytest.raises(ValueError, match="time column 'when' cannot be an entity"):
        History("when", ["customer", ("customer", "when")])
