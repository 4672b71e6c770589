"""The state for service: single rows have the features of a table, bit for bit, whatever happened before."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from selfpaced import SelfPacedEnsembleClassifier
from selfpaced.datasets import make_transactions
from selfpaced.exceptions import TableError
from selfpaced.history import History, HistoryState, read_events
from selfpaced.history.single import read_row
from tests.history.reference import slow_features
from tests.history.tables import COLUMNS, START, bits, histories, pandas_frame, rows

few = settings(max_examples=80, deadline=None)
HISTORY = History("when", ["customer", "terminal"], "amount", delay="90min", windows=["2h", "9d"], base_rate=0.1)
LONG = "1000d"  # later than any row of a random table


def as_row(row, number=0):
    """A row as a service gets it."""
    when = (START + timedelta(microseconds=row["ticks"])).replace(tzinfo=None)
    return {"when": when, "id": number} | {name: row[name] for name in COLUMNS[1:]}


def frame_of(some, numbers):
    return pandas_frame(some).assign(id=list(numbers))


def single(features):
    """The features of one row as bits."""
    return bits({name: [value] for name, value in features.items()})


steps = st.lists(st.sampled_from(["one row", "three rows", "label", "question", "compact", "reopen"]), max_size=30)


@few
@given(histories, rows(), rows(most=10), steps, st.data())
def test_any_sequence_of_updates_labels_and_questions_gives_the_features_of_the_reference(
    history, some, asked, sequence, data
):
    with TemporaryDirectory() as folder:
        state = history.state(frame_of([], []), id_column="id", lateness=LONG, folder=folder)
        kept = []
        for step in sequence:
            if step.endswith(("row", "rows")) and some:
                new = [some.pop() | {"label": None} for _ in range(min(len(some), 1 if step == "one row" else 3))]
                numbers = range(len(kept), len(kept) + len(new))
                given_rows = as_row(new[0], numbers[0]) if step == "one row" else frame_of(new, numbers)
                assert state.update(given_rows) == len(new)
                kept += new
            elif step == "label" and kept and history.delay is not None:
                number, label = data.draw(st.integers(0, len(kept) - 1)), data.draw(st.sampled_from([0, 1, None]))
                kept[number] = kept[number] | {"label": label}
                assert state.learn([number, 10**6], [label, 1]) == (1, 1)
            elif step == "compact":
                state.compact()
            elif step == "reopen":
                state.close()
                state = HistoryState.open(folder, history)
            elif asked:
                row = asked[-1] | {"label": None}
                asked = [*asked[-1:], *asked[:-1]]
                assert single(state.features(as_row(row))) == bits(slow_features(history, [row], kept))
        assert state.n_rows == len(kept)
        asked = [row | {"label": None} for row in asked]
        assert bits(state.features(pandas_frame(asked))) == bits(slow_features(history, asked, kept))
        state.close()


@pytest.fixture(scope="module")
def month():
    """The payments of a month, and the description of their history."""
    X, y = make_transactions(n_customers=60, n_terminals=30, days=30, fraud_share=0.03, delay=3, random_state=0)
    windows = ["1d", "7d", "20d"]
    return X, y, History("when", ["customer", "terminal"], "amount", windows, delay="3d", base_rate=0.03)


def test_a_month_replayed_row_by_row_has_the_bits_of_the_table(month):
    X, y, history = month
    in_table = history.features(X, y)
    state = history.state(X[:0], id_column="transaction")
    waiting = list(zip(X["when"] + pd.Timedelta(days=3), X["transaction"], y, strict=True))[::-1]
    found = []
    for row in X.to_dict("records"):
        while waiting and waiting[-1][0] <= row["when"]:
            _, number, label = waiting.pop()
            assert state.learn([number], [label]) == (1, 0)
        found.append(state.features(row))
        state.update(row)
    assert bits(pd.DataFrame(found)) == bits(in_table)
    assert len(set(in_table["terminal_rare_20d"])) > 3  # the labels matter


def test_what_is_forgotten_is_not_missed(month):
    X, y, history = month
    history = replace(history, windows=["6h", "2d"])
    first, rest = X[: len(X) // 3], X[len(X) // 3 :]
    state = history.state(first, y[: len(first)], id_column="transaction")
    for start in range(0, len(rest), 500):
        some = rest[start : start + 500]
        past, past_y = X[: some.index[0]], y[: some.index[0]]
        in_table = history.features(some, np.full(len(some), np.nan), past=past, past_y=past_y)
        assert bits(state.features(some)) == bits(in_table)
        row = some.to_dict("records")[0]
        assert single(state.features(row)) == bits(in_table[:1])
        state.update(some, y[some.index])
        state.compact()
    seen = X["when"] >= X["when"].iloc[-100] - pd.Timedelta("126h")
    assert state.n_rows == seen.sum() < len(X) / 3
    assert state.last_time == np.datetime64(X["when"].iloc[-1])


def test_a_state_forgets_by_itself(month):
    X, _, _ = month
    state = History("when", "customer", windows=["1h"]).state(X[:0])
    many = pd.concat([X] * 20, ignore_index=True).sort_values("when")
    for start in range(0, len(many), 1000):
        state.update(many[start : start + 1000])
    assert len(many) > 30_000
    assert state.n_rows < 20_000


def test_an_entity_with_many_rows_has_the_features_of_the_table():
    rng = np.random.default_rng(0)
    seconds = np.sort(rng.integers(0, 80_000, 100_000))
    X = pd.DataFrame(
        {
            "when": pd.Timestamp("2025-03-01") + pd.to_timedelta(seconds, unit="s"),
            "customer": "one",
            "terminal": rng.integers(0, 500, seconds.size),
            "amount": rng.integers(-(2**40), 2**40, seconds.size) / 100,
            "number": np.arange(seconds.size),
        }
    )
    y = rng.integers(0, 2, seconds.size)
    history = replace(HISTORY, windows=["1h", "1d"])
    state = history.state(X[:-20], y[:-20], id_column="number")
    row = X.iloc[-20].to_dict()
    state.features(row)  # later rows are then added to what was made for this one
    for other in X[-20:-5].to_dict("records"):
        state.update(other)
    state.learn(X["number"][-20:-5], y[-20:-5])
    state.learn([7, 99_970], [1, 0])
    y[[7, 99_970]] = 1, 0
    row = X.iloc[-1].to_dict() | {"customer": "one"}
    unknown = np.array([np.nan])
    in_table = history.features(X[-1:], unknown, past=X[:-5], past_y=y[:-5])
    assert single(state.features(row)) == bits(in_table)


ROW = {"when": "2025-01-02T10:00", "customer": "a", "terminal": 7, "amount": 12.34}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("when", pd.Timestamp("2025-01-02T10:00:00.123456")),
        ("when", pd.Timestamp("2025-01-02T10:00:00.123456789")),
        ("when", np.datetime64("2025-01-02T10:00:01")),
        ("when", "02.01.2025 10:00"),
        ("when", date(2025, 1, 2)),
        ("customer", None),
        ("customer", float("nan")),
        ("customer", pd.NA),
        ("customer", ""),
        ("customer", "007"),
        ("customer", -5),
        ("customer", 2**63),
        ("customer", 7.5),
        ("customer", 7.0),
        ("customer", True),
        ("customer", np.int32(7)),
        ("customer", np.float32(0.5)),
        ("customer", date(2025, 1, 2)),
        ("customer", Decimal("7.50")),
        ("amount", None),
        ("amount", pd.NA),
        ("amount", np.float32(1.1)),
        ("amount", 3),
        ("amount", 0.125),
        ("amount", -0.375),
        ("amount", Decimal("12.345")),
    ],
)
def test_a_single_row_is_read_as_in_a_frame(name, value):
    history = History("when", ["customer", ("customer", "terminal")], "amount")
    row = ROW | {name: value}
    events = read_events(history, pd.DataFrame([row]))
    numbers, has_zone = read_row(history, row)
    assert has_zone == events.has_zone
    keys = [int(events.keys[key].view(np.int64)[0]) for key in history.keys]
    assert numbers == [events.times[0], -1, events.units[0], *keys]


@pytest.mark.parametrize("value", ["2025-01-02T10:00Z", "2025-01-02T12:00+02:00", datetime(2025, 1, 2, 10, tzinfo=UTC)])
def test_times_with_a_zone_are_instants(value):
    history = History("when", "customer")
    numbers, has_zone = read_row(history, ROW | {"when": value})
    assert (numbers[0], has_zone) == (1735812000 * 10**6, True)


@pytest.mark.parametrize(("unit", "value"), [("s", 1735812000), ("ms", 1735812000123), ("ns", 1735812000123456789)])
def test_numbers_since_1970_are_read_as_in_a_frame(unit, value):
    history = History("when", "customer", time_unit=unit)
    row = ROW | {"when": value}
    assert read_row(history, row)[0][0] == read_events(history, pd.DataFrame([row])).times[0]


def test_times_that_are_numbers_are_kept_as_numbers():
    history = History("step", "name", windows=[1.5, 8])
    state = history.state(pd.DataFrame({"step": [0, 1, 1], "name": list("aaa")}))
    state.update({"step": 2.5, "name": "a"})
    assert state.last_time == 2.5
    assert state.features({"step": 9, "name": "a"})["name_rows_8"] == 3


@pytest.fixture
def state():
    others = [ROW | {"id": number, "customer": "b", "amount": None} for number in range(2, 101)]
    return HISTORY.state(pd.DataFrame([ROW | {"id": 1}, *others]), [0] * 100, id_column="id")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"when": None}, "no time in 'when'"),
        ({"when": pd.NaT}, "no time in 'when'"),
        ({"when": "soon"}, "cannot be read as times"),
        ({"when": 5}, "'when' has numbers"),
        ({"when": "2025-01-02T10:00Z"}, "with a time zone, but those of the state have none"),
        ({"when": "2024-12-01"}, "comes too late: rows before 2024-12-24T06:30:00.000000"),
        ({"amount": "much"}, "'amount' is string"),
        ({"amount": 1e30}, "'amount' has 1e\\+30"),
        ({"amount": float("inf")}, "'amount' contains infinity"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_column(state, changed, complaint):
    with pytest.raises(TableError, match=complaint):
        state.features(ROW | changed)


def test_a_row_without_a_column_is_refused_with_a_suggestion(state):
    with pytest.raises(TableError, match=r"no value for 'amount'.*Did you mean 'Amount'"):
        state.features({"Amount" if name == "amount" else name: value for name, value in ROW.items()})
    with pytest.raises(TableError, match=r"no value for 'id', its id"):
        state.update(ROW)
    with pytest.raises(TableError, match=r"no column 'id', the id"):
        state.update(pd.DataFrame([ROW]))


def test_a_row_of_the_same_id_is_added_once(state):
    assert state.update(ROW | {"id": 1}) == 0
    assert state.update(pd.DataFrame([ROW | {"id": number} for number in ("x", "x", "1")])) == 1
    assert state.update(ROW | {"id": "x"}) == 0
    assert state.update(ROW | {"id": None}) == 1  # a row without an id can be added, but not learned about
    assert state.n_rows == 102
    state.compact()
    assert state.update(ROW | {"id": "x"}) == 0


def test_a_row_that_no_row_can_see_is_not_added(state):
    assert state.update(ROW | {"id": "x", "when": "2024-12-24T06:29"}) == 0
    assert state.update(ROW | {"id": "x", "when": "2024-12-24T06:30"}) == 1


def test_a_few_rows_of_the_far_future_do_not_make_the_state_forget(state):
    expected = state.features(ROW | {"when": "2025-01-02T11:00"})
    some = pd.DataFrame([ROW | {"id": -number, "when": "2052-01-01"} for number in range(1, 100)])
    assert state.update(some) == 99
    state.compact()
    assert state.n_rows == 199
    assert str(state.last_time) == "2052-01-01T00:00:00.000000"
    assert single(state.features(ROW | {"when": "2025-01-02T11:00"})) == single(expected)
    state.update(ROW | {"id": -100, "when": "2052-01-01"})
    state.compact()
    with pytest.raises(TableError, match=r"comes too late"):
        state.features(ROW | {"when": "2025-01-02T11:00"})


def test_a_label_counts_from_the_end_of_its_delay_on_however_early_it_comes(state):
    asked = {when: ROW | {"when": f"2025-01-02T{when}"} for when in ("11:29", "11:30")}
    assert state.learn([1], [1]) == (1, 0)
    rare = {when: state.features(row)["customer_rare_2h"] for when, row in asked.items()}
    assert rare == {"11:29": 0, "11:30": 1}
    assert state.learn(["1", "never seen"], [None, 1]) == (1, 1)
    assert state.features(asked["11:30"])["customer_known_2h"] == 0


def test_the_label_of_a_row_without_an_entity_counts_for_nobody(state):
    nobody = ROW | {"customer": None, "when": "2025-01-02T11:30"}
    state.update(nobody | {"id": "x"})
    assert np.isnan(state.features(nobody)["customer_rows_2h"])
    assert state.learn(["x"], [1]) == (1, 0)
    assert np.isnan(state.features(nobody | {"when": "2025-01-02T13:00"})["customer_rare_2h"])
    assert state.features(nobody | {"when": "2025-01-02T13:00"})["terminal_rare_2h"] == 1


def test_labels_are_learned_by_the_name_of_the_rare_one(state):
    X = pd.DataFrame([ROW | {"id": "x"}])
    state = HISTORY.state(X, ["fraud"], id_column="id", pos_label="fraud")
    later = ROW | {"when": "2025-01-02T11:30"}
    assert state.features(later)["customer_rare_2h"] == 1
    state.learn(["x"], ["ok"])
    assert state.features(later)["customer_rare_2h"] == 0


def test_labels_are_refused_where_they_cannot_be_used(state):
    X = pd.DataFrame([ROW])
    with pytest.raises(ValueError, match=r"has no delay, so it uses no labels"):
        History("when", "customer").state(X, [1])
    with pytest.raises(ValueError, match=r"no base_rate"):
        replace(HISTORY, base_rate=None).state(X)
    with pytest.raises(ValueError, match=r"has no id_column"):
        HISTORY.state(X, [1]).learn([1], [1])
    with pytest.raises(TableError, match=r"There are 1 labels for 2 ids"):
        state.learn([1, 2], [1])


def test_entities_that_are_not_kept_ready_have_the_same_features(month, monkeypatch):
    X, y, history = month
    ready, other = (history.state(X[:-50], y[:-50]) for _ in range(2))
    asked = [row | {"when": X["when"].iloc[-1]} for row in X[-20:].to_dict("records")]
    expected = [single(ready.features(row)) for row in asked]
    monkeypatch.setattr("selfpaced.history.trails.MOST_CACHED", 0)
    assert [single(other.features(row)) for row in asked] == expected
    assert len(other._log._trails) == 2  # those of the last row


def test_too_many_amounts_in_a_window_are_refused(state, monkeypatch):
    monkeypatch.setattr("selfpaced.history.trails.MOST_AMOUNTS", 0)
    with pytest.raises(TableError, match=r"more than 0 amounts in a window"):
        state.features(ROW | {"when": "2025-01-02T11:00"})
    assert state.features(ROW | {"customer": "c", "terminal": 8})["customer_rows_2h"] == 0


def test_options_that_make_no_sense_are_refused(tmp_path):
    X = pd.DataFrame([ROW])
    with pytest.raises(ValueError, match=r"lateness must be written like the windows"):
        HISTORY.state(X, lateness=5)
    with pytest.raises(ValueError, match=r"sync_every must be a number of seconds"):
        HISTORY.state(X, folder=tmp_path, sync_every=-1)
    with pytest.raises(TypeError, match=r"mapping by column names, or a frame of rows; got <class 'list'>"):
        HISTORY.state(X).update([ROW])
    with pytest.raises(TypeError, match=r"or a frame of rows; got <class 'pandas"):
        HISTORY.state(X).features(X.iloc[0])


def test_threads_can_share_a_state(state):
    def work(thread):
        for number in range(50):
            state.update(ROW | {"id": f"{thread}-{number}"})
            state.learn([f"{thread}-{number}"], [1])
            rare = state.features(ROW | {"when": "2025-01-02T11:30"})["customer_rare_2h"]
            assert rare >= number + 1
        return rare

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(work, range(4)))
    assert max(found) == 200
    assert state.n_rows == 300


def test_a_row_is_scored_with_its_history_in_one_call(month):
    X, y, history = month
    n_train = len(X) * 2 // 3
    features = history.add(X, y).drop(columns=["transaction", "when"])
    base = DecisionTreeClassifier(max_depth=6)
    model = SelfPacedEnsembleClassifier(base, 3, random_state=0).fit(features[:n_train], y[:n_train])
    expected = model.predict_proba(features[n_train:])[:, 1]
    state = history.state(X[:n_train], y[:n_train], id_column="transaction")
    score = model.row_scorer(history=state)
    rows_to_score = X[n_train : n_train + 50].to_dict("records")
    for row, wanted in zip(rows_to_score, expected, strict=False):
        assert score(row) == wanted
        state.update(row)
    with pytest.raises(TypeError, match=r"a row is a mapping"):
        score([1, 2, 3])
    with pytest.raises(TypeError, match=r"cannot be pickled"):
        pickle.dumps(score)
    other = History("when", [("customer", "terminal")], windows=["3h"]).state(X)
    with pytest.raises(ValueError, match=r"none of the features of the history, such as 'customer.terminal_rows_3h'"):
        model.row_scorer(history=other)
