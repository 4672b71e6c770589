"""Folds in the order of time."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_validate
from sklearn.tree import DecisionTreeClassifier

from selfpaced.backtesting.splitter import RollingTimeSplit
from selfpaced.exceptions import TableError
from selfpaced.tables import span_in

DAYS = np.datetime64("2024-01-01", "us") + np.arange(60) * np.timedelta64(1, "D")
ORDER = np.random.default_rng(0).permutation(60)


def spans(splitter, times, X=None):
    """The first and last times of the training rows and of the test rows of each fold, as days since the first."""
    first = times.min()
    return [
        tuple(int((times[rows].min() - first) / np.timedelta64(1, "D")) for rows in pair)
        + tuple(int((times[rows].max() - first) / np.timedelta64(1, "D")) for rows in pair)
        for pair in splitter.split(X)
    ]


def test_a_fold_trains_on_labels_that_are_known_when_its_test_begins():
    folds = RollingTimeSplit(DAYS, "7d", delay="7d").folds()
    for fold in folds:
        assert DAYS[fold.train].max() + np.timedelta64(7, "D") <= fold.begin
        assert DAYS[fold.test].min() >= fold.begin
        assert DAYS[fold.test].max() < fold.end


def test_tests_follow_each_other_and_miss_no_row_after_the_first():
    tests = np.concatenate([test for _, test in RollingTimeSplit(DAYS, "7d", first="20d").split()])
    assert tests.tolist() == list(range(20, 60))


def test_a_window_forgets_what_is_older():
    splitter = RollingTimeSplit(DAYS, "10d", delay="3d", window="14d")
    assert spans(splitter, DAYS) == [
        (1, 17, 14, 26),
        (11, 27, 24, 36),
        (21, 37, 34, 46),
        (31, 47, 44, 56),
        (41, 57, 54, 59),
    ]


def test_an_expanding_window_forgets_nothing():
    plain, said = (RollingTimeSplit(DAYS, "10d", window=window).folds() for window in (None, "expanding"))
    assert [fold.train.tolist() for fold in said] == [fold.train.tolist() for fold in plain]
    assert all(fold.train[0] == 0 for fold in said)


def test_rows_may_be_in_any_order():
    in_order, shuffled = (RollingTimeSplit(times, "9d", delay="5d") for times in (DAYS, DAYS[ORDER]))
    for (train, test), (train_too, test_too) in zip(in_order.split(), shuffled.split(), strict=True):
        assert sorted(ORDER[train_too]) == train.tolist()
        assert sorted(ORDER[test_too]) == test.tolist()


@pytest.mark.parametrize(
    "times",
    [
        pd.Series(DAYS).dt.strftime("%Y-%m-%dT%H:%M:%S").to_numpy(),
        pd.Series(DAYS).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pd.Series(DAYS),
        [str(day) for day in DAYS],
    ],
    ids=["texts", "a zone", "a series", "a list"],
)
def test_times_are_the_same_moments_however_they_are_written(times):
    expected = RollingTimeSplit(DAYS, "7d", delay="7d").folds()
    for fold, other in zip(RollingTimeSplit(times, "7d", delay="7d").folds(), expected, strict=True):
        assert fold.train.tolist() == other.train.tolist()
        assert fold.test.tolist() == other.test.tolist()


def test_numbers_are_times_with_spans_in_their_unit():
    seconds = np.arange(100.0)
    (train, test), *_ = RollingTimeSplit(seconds, 10, delay=5, first=40).split()
    assert (train.max(), test.min(), test.max()) == (40, 45, 54)


def test_scikit_learn_takes_the_splitter_and_a_column_of_times():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "when": DAYS.astype(np.int64)})
    y = np.arange(60) % 3 == 0
    day = 86_400_000_000
    found = cross_validate(DecisionTreeClassifier(), X, y, cv=RollingTimeSplit("when", 7 * day, delay=7 * day))
    assert found["test_score"].size == RollingTimeSplit(DAYS, "7d", delay="7d").get_n_splits()


def test_folds_without_a_second_class_are_left_out_with_a_warning():
    y = np.arange(60) >= 30
    with pytest.warns(UserWarning, match="of 6 folds have training rows of one class only"):
        kept = RollingTimeSplit(DAYS, "7d", first="20d").folds(y=y)
    assert all(y[fold.train].any() for fold in kept)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"delay": "90d"}, "There is no time for a test: the rows are from 2024-01-01"),
        ({"every": "0d"}, "every must be longer than 0"),
        ({"every": 7}, "every 7 has no unit, but the times are dates"),
        ({"every": "seven days"}, "every must be a duration such as 7d"),
        ({"delay": "7x"}, "delay must be a duration such as 7d"),
        ({"delay": timedelta(days=-7)}, "delay must not be negative"),
        ({"every": "0.001s"}, "is too short for times from 2024-01-01"),
        ({"times": np.arange(60) + 2**60, "every": 60}, "is too short for times from"),
        ({"times": "when"}, "is not a column of X"),
        ({"times": np.arange(60), "every": "7d"}, "'7d' has a unit, but the times are numbers"),
        ({"times": np.where(np.arange(60) == 3, np.datetime64("NaT"), DAYS)}, "has no time in 1 of 60 rows"),
        ({"times": ["2024-01-01", "2024-01-02T00:00Z"] * 30}, "with a time zone and times without one"),
        ({"times": ["soon"] * 60}, "cannot be read as times"),
    ],
)
def test_what_cannot_be_split_by_is_refused(params, complaint):
    with pytest.raises(ValueError, match=complaint):
        RollingTimeSplit(**{"times": DAYS, **params}).folds()


def test_times_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="times has 60 values, but X has 3 rows"):
        list(RollingTimeSplit(DAYS).split(np.zeros((3, 1))))


def test_a_missing_time_is_a_table_error_and_a_value_error():
    assert issubclass(TableError, ValueError)
    assert span_in("2w", DAYS, "every") == np.timedelta64(14, "D")


def test_times_with_32_bits_have_the_folds_of_the_same_times_with_64():
    """Seconds of 2024 are 128 apart with 32 bits: a minute later is the same number."""
    times = (1_700_000_000 + np.arange(60) * 256).astype(np.float32)
    short, long = (RollingTimeSplit(times.astype(kind), 60).folds() for kind in (np.float32, np.float64))
    assert [fold.test.tolist() for fold in short] == [fold.test.tolist() for fold in long]
    assert len(short) > 20


def test_labels_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="y has 61 labels, but there are 60 rows"):
        RollingTimeSplit(DAYS).folds(y=np.arange(61) % 2)


def begins(*args, **params):
    return [fold.begin for fold in RollingTimeSplit(*args, **params).folds()]


def test_the_first_training_takes_a_third_of_the_time_and_the_last_row_is_tested():
    folds = RollingTimeSplit(np.arange(91.0), 10).folds()
    assert [(fold.begin, fold.end) for fold in folds] == [(begin, begin + 10) for begin in range(30, 100, 10)]
    assert folds[-1].test.tolist() == [90]
    assert begins(np.arange(91.0), 10, window=50) == [50, 60, 70, 80, 90]
    assert begins(np.arange(91.0), 10, window=50, first=70, delay=5) == [75, 85]


def test_rows_at_the_ends_of_a_window_and_of_a_delay():
    """A label is known when its delay is over, and a window has no row that is as old as it is long."""
    first, *_ = RollingTimeSplit(np.arange(21.0), 5, delay=2, window=6).folds()
    assert (first.begin, first.train.tolist(), first.test.tolist()) == (8, list(range(1, 7)), list(range(8, 13)))
    undelayed, *_ = RollingTimeSplit(np.arange(21.0), 5, first=8).folds()
    assert (undelayed.train.tolist(), undelayed.test.tolist()) == (list(range(8)), list(range(8, 13)))


def test_tests_of_whole_days_begin_at_midnight():
    hours = np.datetime64("2024-01-01T05", "us") + np.arange(200) * np.timedelta64(1, "h")
    assert str(begins(hours, "1d", first="36h")[0]) == "2024-01-03T00:00:00.000000"
    assert str(begins(hours, "12h", first="36h")[0]) == "2024-01-02T17:00:00.000000"
    assert str(begins(hours, "2d", first="43h")[0]) == "2024-01-03T00:00:00.000000"
    assert str(begins(hours, "36h", first="36h")[0]) == "2024-01-02T17:00:00.000000"


def test_times_without_rows_are_not_tested_and_not_trained_on():
    times = np.concatenate([np.arange(10.0), np.arange(30.0, 40)])
    assert begins(times, 5, first=5) == [5, 30, 35]
    assert begins(times, 5, first=5, window=8) == [5, 35]


def test_so_many_tests_are_possible_and_one_more_is_not(monkeypatch):
    monkeypatch.setattr("selfpaced.backtesting.splitter.MOST_TESTS", 10)
    assert len(begins(np.arange(101.0), 10, first=10)) == 10
    with pytest.raises(ValueError, match="there would be 11 tests, and at most 10 are possible"):
        begins(np.arange(111.0), 10, first=10)


def test_labels_of_one_class_in_every_training_are_refused():
    labels = np.arange(60) >= 59
    with pytest.warns(UserWarning, match="7 of 7 folds"), pytest.raises(ValueError, match="No fold has training rows"):
        RollingTimeSplit(DAYS, "7d", first="14d").folds(y=labels)
    assert len(RollingTimeSplit(DAYS, "7d", first="14d").folds(y=np.arange(60) % 2)) == 7


def test_times_may_be_given_beside_rows_of_any_kind():
    for X in (None, np.zeros((60, 1)), [[0]] * 60, pd.DataFrame({"a": range(60)})):
        assert len(RollingTimeSplit(DAYS, "7d").folds(X)) == 6
    with pytest.raises(ValueError, match="times='when' is not a column of X"):
        RollingTimeSplit("when").folds(pd.DataFrame({"a": range(60)}))
    with pytest.raises(ValueError, match="times has 60 values, but X has 61 rows"):
        RollingTimeSplit(DAYS).folds([[0]] * 61)
