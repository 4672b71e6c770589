"""References and drift: false alarms at the stated rate, and shifts that are found."""

import json
from dataclasses import asdict, replace
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.stats import chi2_contingency

from selfpaced.monitoring import ERROR_RATE, make_reference
from selfpaced.monitoring.drift import (
    FEWEST_ROWS,
    MOST_BYTES,
    MOST_ROWS,
    Counter,
    Drift,
    FeatureReference,
    _merged,
    _rounded,
    _size,
    drift_of_counts,
    feature_reference,
    holm,
    measure_drift,
    number_reference,
    p_value,
    psi,
)

N_COLUMNS, N_ROWS = 20, 1000


def rows_like(rng, n_rows=N_ROWS):
    """Numbers of several kinds, a category, and missing values."""
    numbers = rng.normal(size=(n_rows, N_COLUMNS - 4))
    frame = pd.DataFrame(numbers, columns=[f"n{place}" for place in range(N_COLUMNS - 4)])
    frame["count"] = rng.poisson(1.5, n_rows).astype(float)
    frame["flag"] = rng.random(n_rows) < 0.97
    frame["heavy"] = rng.lognormal(0, 2, n_rows)
    frame.loc[rng.random(n_rows) < 0.2, "heavy"] = np.nan
    frame["country"] = rng.choice(["DE", "FR", "PL", None], n_rows, p=[0.6, 0.2, 0.1, 0.1])
    return frame


def named(frame, reference):
    return {drift.name for drift in measure_drift(reference, frame) if drift.is_real}


@pytest.fixture(scope="module")
def reference():
    return make_reference(rows_like(np.random.default_rng(0), 5000), np.random.default_rng(0).random(5000))


def test_rows_of_the_same_kind_raise_false_alarms_at_the_stated_rate():
    """Each time with a reference of its own: 200 monitorings, of which 2 may name a column; 8 would be rare."""
    rng = np.random.default_rng(1)
    n_alarms = 0
    for _ in range(200):
        both = rng.normal(size=(900, 5))
        n_alarms += any(one.is_real for one in measure_drift(make_reference(both[:600], np.ones(600)), both[600:]))
    assert ERROR_RATE == 0.01
    assert n_alarms < 8


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("n3", lambda frame, rng: frame["n3"] + 0.3),
        ("n3", lambda frame, rng: frame["n3"] * 1.6),
        ("count", lambda frame, rng: frame["count"] + 1),
        ("flag", lambda frame, rng: rng.random(len(frame)) < 0.9),
        ("heavy", lambda frame, rng: frame["heavy"].where(rng.random(len(frame)) < 0.8)),
        ("country", lambda frame, rng: frame["country"].replace("DE", "FR").where(rng.random(len(frame)) < 0.5, "FR")),
        ("country", lambda frame, rng: frame["country"].where(rng.random(len(frame)) < 0.9, "new")),
    ],
    ids=["a shift", "a spread", "a count", "a flag", "missing values", "shares", "a new category"],
)
def test_a_shift_is_found_in_its_column_and_in_no_other(reference, name, moved):
    rng = np.random.default_rng(2)
    frame = rows_like(rng)
    assert named(frame.assign(**{name: moved(frame, rng)}), reference) == {name}


def test_no_row_can_be_told_from_a_reference():
    """Every bin and every category that is named stands for ten rows, and no end of a bin is a value of a row."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"salary": rng.lognormal(10, 1, 500), "name": ["Ann"] * 480 + [f"N{i}" for i in range(20)]})
    salary, name = make_reference(frame, rng.random(500)).features
    assert min(salary.counts) >= FEWEST_ROWS
    assert not set(salary.edges) & set(frame["salary"])
    assert frame["salary"].min() < min(salary.edges)
    assert max(salary.edges) < frame["salary"].max()
    assert (name.categories, name.counts) == (("Ann",), (480, 20))


def test_a_number_that_few_rows_have_is_not_named():
    children = np.repeat([0.0, 1.0, 2.0, 11.0, 12.0], [500, 200, 100, 1, 12])
    (reference,) = make_reference(pd.DataFrame({"children": children}), np.linspace(0, 1, 813)).features
    assert (reference.numbers, reference.edges) == ((0.0, 1.0, 2.0, 12.0), ())
    assert reference.counts == (500, 200, 100, 12, 1)


def test_a_reference_of_many_columns_stays_small():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 1000))
    reference = make_reference(rows, rng.random(150))
    assert len(json.dumps(asdict(reference), indent=1)) <= MOST_BYTES
    assert len(reference.features) + reference.n_features_not_kept == 1000
    assert len(reference.features) > 300
    assert len(measure_drift(reference, rows)) == len(reference.features)


def test_as_many_columns_are_kept_as_fit(monkeypatch):
    rows, scores = np.zeros((20, 3)), np.linspace(0, 1, 20)
    whole = make_reference(rows, scores)
    size = _size(asdict(replace(whole, features=()))) + sum(_size(asdict(each)) for each in whole.features[:2])
    for n_bytes, n_kept in ((size, 2), (size - 1, 1)):
        monkeypatch.setattr("selfpaced.monitoring.drift.MOST_BYTES", n_bytes)
        kept = make_reference(rows, scores)
        assert (kept.features, kept.n_features_not_kept) == (whole.features[:n_kept], 3 - n_kept)


def test_shares_of_missing_values_are_told(reference):
    frame = rows_like(np.random.default_rng(4)).assign(heavy=np.nan)
    (heavy,) = [drift for drift in measure_drift(reference, frame) if drift.name == "heavy"]
    assert heavy.missing_before == pytest.approx(0.2, abs=0.02)
    assert heavy.missing == 1.0


def test_other_columns_and_other_types_are_refused(reference):
    frame = rows_like(np.random.default_rng(5))
    with pytest.raises(ValueError, match="X has no column 'n0', which the reference has"):
        measure_drift(reference, frame.drop(columns="n0"))
    with pytest.raises(ValueError, match="Column 'n1' holds strings, but the reference has numbers"):
        measure_drift(reference, frame.assign(n1="a"))
    with pytest.raises(ValueError, match="Column 'country' holds numbers, but the reference has strings"):
        measure_drift(reference, frame.assign(country=1.0))


@pytest.mark.parametrize("values", [np.full(200, 7.0), np.full(200, np.nan), np.arange(200.0)[:8]], ids=str)
def test_columns_with_little_in_them_have_a_reference(values):
    frame = pd.DataFrame({"a": values})
    reference = make_reference(frame, np.linspace(0, 1, len(frame)))
    assert sum(reference.features[0].counts) + reference.features[0].n_missing == len(frame)
    assert named(frame, reference) == set()


def with_dates(frame):
    return frame.assign(when=pd.date_range("2024-01-01", periods=len(frame), freq="min"))


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_frames_of_all_kinds_have_the_same_reference_and_drift(kind):
    """Numbers with missing values, booleans, strings with missing values, and dates."""
    before, now = (with_dates(rows_like(np.random.default_rng(seed))) for seed in (6, 7))
    now["n2"] += 1
    scores = np.linspace(0, 1, N_ROWS)
    expected = make_reference(before, scores)
    found = make_reference(kind(before), scores)
    assert found == expected
    assert [feature.kind for feature in found.features[-2:]] == ["category", "number"]
    assert measure_drift(expected, kind(now)) == measure_drift(expected, now)
    assert named(kind(now), found) == {"n2"}


def test_more_rows_than_are_counted_are_thinned_evenly_in_every_kind():
    frame = pd.DataFrame({"a": np.arange(500_000.0)})
    scores = np.linspace(0, 1, 500_000)
    references = [make_reference(kind(frame), scores) for kind in (pd.DataFrame, pl.from_pandas, pa.Table.from_pandas)]
    assert [sum(one.features[0].counts) for one in references] == [50_000] * 3
    assert references[1:] == references[:-1]
    assert references[0].n_rows == 500_000


def test_sparse_rows_have_the_reference_of_dense_ones():
    rows = np.where(np.random.default_rng(0).random((500, 3)) < 0.8, 0, 1.5)
    scores = np.linspace(0, 1, 500)
    assert make_reference(sparse.csr_matrix(rows), scores) == make_reference(rows, scores)


CODES = np.repeat([0.0, 1.0, 2.0], [600, 300, 100])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (CODES, np.where(CODES == 2, 99, CODES)),
        (CODES, np.where(CODES == 0, -1, CODES)),
        (CODES, np.where(CODES == 1, 0.5, CODES)),
        (CODES > 1, np.where(CODES > 1, 1000, 0)),
        (np.ones(1000), np.full(1000, 2.0)),
        (np.where(CODES == 0, 0, np.arange(1000.0)), np.where(CODES == 0, -5, np.arange(1000.0))),
    ],
    ids=["above", "below", "between", "a flag", "a constant", "a value that most rows have"],
)
def test_new_values_of_a_column_with_few_values_are_drift(before, now):
    reference = make_reference(pd.DataFrame({"code": before}), np.linspace(0, 1, 1000))
    (drift,) = measure_drift(reference, pd.DataFrame({"code": now}))
    assert drift.is_large
    (same,) = measure_drift(reference, pd.DataFrame({"code": before}))
    assert (same.psi, same.p_value) == (0, 1)


def test_a_fraction_is_the_same_number_with_32_and_64_bits():
    shares = np.repeat([0.1, 0.7, 1 / 3], 100)
    scores = np.linspace(0, 1, 300)
    for one, other in ((np.float32, np.float64), (np.float64, np.float32)):
        reference = make_reference(pd.DataFrame({"share": shares.astype(one)}), scores)
        assert measure_drift(reference, pd.DataFrame({"share": shares.astype(other)}))[0].psi == 0


def some_missing(values, kind):
    """60 rows of an Arrow type, every fifth of them without a value."""
    return pa.array([None if row % 5 == 0 else values[row % len(values)] for row in range(60)], kind)


ALL_TYPES = pa.table(
    {
        "whole": some_missing([0, 1, 2], pa.int64()),
        "large": some_missing([2**60, 2**61], pa.int64()),
        "flag": some_missing([True, False], pa.bool_()),
        "text": some_missing(["a", "b"], pa.string()),
        "category": some_missing(["a", "b"], pa.string()).dictionary_encode(),
        "code": some_missing([7, 8], pa.int64()).dictionary_encode(),
        "day": some_missing([date(2024, 1, 31), date(2024, 2, 29)], pa.date32()),
        "time": some_missing([datetime(2024, 1, 31, 12), datetime(1969, 1, 1)], pa.timestamp("ns")),
        "zone": some_missing([datetime(2024, 1, 31, 12), datetime(2025, 1, 1)], pa.timestamp("us", "Asia/Tokyo")),
        "decimal": some_missing([Decimal("0.25"), Decimal("7.50")], pa.decimal128(9, 2)),
        "float": some_missing([0.1, 1 / 3], pa.float32()),
    }
)
KINDS = {
    "pandas": lambda table: table.to_pandas(),
    "nullable": lambda table: table.to_pandas().convert_dtypes(),
    "arrow types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("name", ALL_TYPES.column_names)
def test_every_type_has_the_same_figures_in_frames_of_every_kind(name, kind):
    """A missing value is missing in all of them: None, NaN, NaT or NA."""
    table, scores = ALL_TYPES.select([name]), np.linspace(0, 1, 60)
    expected = make_reference(table, scores)
    assert expected.features[0].n_missing == 12
    assert make_reference(kind(table), scores) == expected
    assert measure_drift(expected, kind(table)) == measure_drift(expected, table)


@pytest.mark.parametrize("values", [np.arange(100.0), ["a", "b"] * 50], ids=["numbers", "strings"])
@pytest.mark.parametrize("kind", [object, np.float64], ids=["objects", "floats"])
def test_a_column_without_any_value_is_compared_with_numbers_and_with_strings(values, kind):
    full, empty = pd.DataFrame({"a": values}), pd.DataFrame({"a": np.full(100, np.nan, dtype=kind)})
    scores = np.linspace(0, 1, 100)
    for before, now, shares in ((full, empty, (0, 1)), (empty, full, (1, 0))):
        (drift,) = measure_drift(make_reference(before, scores), now)
        assert drift.is_large
        assert (drift.missing_before, drift.missing) == shares


def test_a_reference_says_how_many_rows_were_counted():
    rows, scores = np.zeros((300, 2)), np.linspace(0, 1, 300)
    assert (make_reference(rows, scores).n_rows, make_reference(rows, scores).n_counted) == (300, 300)
    sample = make_reference(rows[::3], scores, is_sample=True)
    assert (sample.n_rows, sample.n_counted) == (300, 100)


@pytest.mark.parametrize(
    ("X", "scores", "complaint"),
    [
        (np.zeros((3, 1)), [0.1, 0.2], "X has 3 rows, but there are 2 scores"),
        (np.zeros((2, 1)), [0.1, 0.2, 0.3], "or, if X is a sample of the rows that were scored, is_sample=True"),
        (np.zeros((2, 1)), [0.1, np.nan], "scores contains NaN"),
        (np.zeros((2, 1)), [0.1, np.inf], "scores contains infinity"),
        (np.zeros((0, 1)), [], "at least one row"),
        (np.zeros(3), [0.1, 0.2, 0.3], "a table with rows and columns"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), [0.1], "several columns with the name 'a'"),
        (pd.DataFrame({"a": [np.inf]}), [0.1], "Column 'a' contains infinity"),
    ],
)
def test_rows_and_scores_that_make_no_reference_are_refused(X, scores, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_reference(X, scores)


def test_a_threshold_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="threshold contains NaN"):
        make_reference(np.zeros((2, 1)), [0.1, 0.2], threshold=np.nan)


@pytest.mark.parametrize(
    ("X", "complaint"),
    [
        (np.zeros((5, 3)), "X has 3 columns, but the reference was made of 2"),
        (np.zeros((0, 2)), "at least one row"),
        (np.full((5, 2), np.inf), "Column 'x0' contains infinity"),
        (pd.DataFrame(np.zeros((5, 3)), columns=["x0", "x1", "x1"]), "several columns with the name 'x1'"),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(X, complaint):
    reference = make_reference(np.zeros((20, 2)), np.linspace(0, 1, 20))
    with pytest.raises(ValueError, match=complaint):
        measure_drift(reference, X)


def test_the_index_and_the_p_value_are_those_of_their_definitions():
    before, now = np.array([60, 40, 0, 100]), np.array([30, 50, 0, 20])
    shares = [(counts[[0, 1, 3]] + 0.5) / (counts.sum() + 1.5) for counts in (before, now)]
    assert psi(before, now) == pytest.approx(sum((b - a) * np.log(b / a) for a, b in zip(*shares, strict=True)))
    expected = chi2_contingency(np.stack([before, now])[:, [0, 1, 3]], correction=False)
    assert p_value(before, now) == pytest.approx(expected.pvalue)


def test_a_bin_of_one_row_counts_too():
    before, now = np.array([50, 1]), np.array([50, 0])
    assert p_value(before, now) == pytest.approx(chi2_contingency([before, now], correction=False).pvalue)
    shares = [np.array([50.5, rest]) / (50.5 + rest) for rest in (1.5, 0.5)]
    assert psi(before, now) == pytest.approx(np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0])))
    alone = pd.DataFrame({"a": [np.nan]})
    (drift,) = measure_drift(make_reference(alone, [0.1]), alone)
    assert (drift.missing_before, drift.missing) == (1, 1)


def test_scores_have_bins_of_their_own_with_more_of_the_highest():
    scores = make_reference(np.zeros((2000, 1)), np.arange(2000) / 2000).scores
    assert scores.edges == pytest.approx([0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995], abs=1e-3)
    assert make_reference(np.zeros((2000, 1)), np.arange(2000) % 2).scores.numbers == ()


def test_bins_with_few_rows_are_put_together_for_the_test():
    before, now = np.array([50, 3, 2, 45]), np.array([40, 2, 3, 55])
    together = chi2_contingency([[50, 45, 5], [40, 55, 5]], correction=False)
    assert p_value(before, now) == pytest.approx(together.pvalue)
    apart = [[45, 6, 4, 45], [35, 4, 6, 55]]  # five expected in each
    assert p_value(*np.array(apart)) == pytest.approx(chi2_contingency(apart, correction=False).pvalue)


@pytest.mark.parametrize(("before", "now"), [([0, 0], [3, 4]), ([3, 4], [0, 0]), ([5, 0], [9, 0])])
def test_without_rows_or_a_second_bin_nothing_is_unlikely(before, now):
    assert p_value(np.array(before), np.array(now)) == 1


def test_p_values_are_corrected_for_the_number_of_columns():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_drifts_are_ordered_by_their_index_and_then_by_name():
    features = [FeatureReference(name, "number", 1, (50, 49), (0.0, 1.0)) for name in "dcba"]
    same, other, far = np.array([50, 49, 1]), np.array([20, 79, 1]), np.array([0, 0, 4])
    found = drift_of_counts(features, {"a": same, "b": other, "c": far, "d": same}, {"b": 0.25})
    assert [one.name for one in found] == ["c", "b", "a", "d"]
    assert [one.unseen for one in found] == [None, 0.25, None, None]
    assert [one.missing for one in found] == [1, 0.01, 0.01, 0.01]
    assert {one.missing_before for one in found} == {0.01}
    assert [one.psi for one in found][2:] == [0, 0]


@pytest.mark.parametrize(
    ("p", "index", "is_real", "is_large"),
    [(0.01, 9, False, False), (0.009, 0.1, True, True), (0.009, 0.09, True, False)],
)
def test_drift_is_large_from_a_tenth_on_if_chance_does_not_explain_it(p, index, is_real, is_large):
    drift = Drift("a", index, p, 0, 0)
    assert (drift.is_real, drift.is_large) == (is_real, is_large)


@pytest.mark.parametrize(
    ("edges", "counts", "expected"),
    [
        ([1, 2, 3], [10, 10, 10, 10], ([1, 2, 3], [10, 10, 10, 10])),
        ([1, 2, 3], [9, 20, 11, 12], ([2, 3], [29, 11, 12])),
        ([1, 2, 3], [20, 9, 11, 12], ([1, 3], [20, 20, 12])),
        ([1, 2, 3], [11, 9, 11, 12], ([2, 3], [20, 11, 12])),
        ([1, 2, 3], [20, 30, 12, 9], ([1, 2], [20, 30, 21])),
        ([1, 2], [3, 3, 3], ([], [9])),
        ([], [3], ([], [3])),
    ],
)
def test_a_bin_with_few_rows_joins_the_smaller_of_its_neighbours(edges, counts, expected):
    assert _merged(list(edges), list(counts)) == expected


def test_the_ends_of_bins_have_few_digits_of_their_range():
    assert _rounded(np.array([1.23456, 2.34567, 9.87654])).tolist() == pytest.approx([1.235, 2.346, 9.877])
    assert _rounded(np.array([1234567.0, 9876543.0])).tolist() == [1235000.0, 9877000.0]
    assert _rounded(np.array([1.23456, 2.34567, 98.7654])).tolist() == pytest.approx([1.23, 2.35, 98.77])
    assert _rounded(np.array([0.123456, 0.987654])).tolist() == pytest.approx([0.1235, 0.9877])
    same = np.array([0.123456, 0.123456])
    assert _rounded(same) is same


def test_a_number_that_a_tenth_of_the_rows_has_is_counted_by_itself():
    """Those of other rows are in bins of a tenth each."""
    column = np.concatenate([np.zeros(100), np.arange(1.0, 901)])
    reference = number_reference("a", column)
    assert (reference.numbers, reference.counts[0], len(reference.edges)) == ((0.0,), 100, 9)
    assert reference.counts[1:] == (90,) * 10
    assert number_reference("a", np.concatenate([np.zeros(99), np.arange(1.0, 902)])).numbers == ()


def test_of_twenty_numbers_each_is_counted_by_itself_and_of_more_none():
    assert len(number_reference("a", np.repeat(np.arange(20.0), 10)).numbers) == 20
    assert number_reference("a", np.repeat(np.arange(21.0), 10)).numbers == ()
    assert number_reference("a", np.repeat(np.arange(20.0), 9)) == FeatureReference("a", "number", 0, (180,))


def test_categories_are_named_if_ten_rows_have_them_and_they_are_short():
    long, longer = "x" * 60, "y" * 61
    column = ["b"] * 12 + ["a"] * 12 + ["few"] * 9 + [long] * 10 + [longer] * 11 + [None] * 3
    found = feature_reference("a", column)
    assert (found.categories, found.counts, found.n_missing) == (("a", "b", long), (12, 12, 10, 20), 3)
    many = feature_reference("a", [f"c{number:02}" for number in range(31)] * 10)
    assert (len(many.categories), many.counts[-1]) == (30, 10)


def test_values_are_counted_by_period_and_new_categories_too():
    feature = FeatureReference("a", "category", 0, (5, 1), categories=("x",))
    counter = Counter(feature, 2, frozenset({"x", "y"}))
    counter.add(["x", "y", "z", None], np.array([0, 0, 1, 1]))
    counter.add(["x", "z"], np.array([1, 1]))
    assert counter.counts(0).tolist() == [1, 1, 0]
    assert counter.counts(1).tolist() == [1, 2, 1]
    assert counter.counts().tolist() == [2, 3, 1]
    assert (counter.unseen(0), counter.unseen(1), counter.unseen()) == (0, 0.5, pytest.approx(2 / 6))
    assert Counter(feature, 2).unseen() is None
    assert Counter(feature, 1, frozenset()).unseen() == 0
    one = Counter(feature, 1, frozenset())
    one.add(["x"], np.array([0]))
    assert one.unseen() == 1


def test_a_share_of_alerts_has_the_rows_at_the_threshold():
    reference = make_reference(np.zeros((4, 1)), [0.1, 0.5, 0.5, 0.9], threshold=0.5)
    assert (reference.threshold, reference.alert_share, reference.mean_score) == (0.5, 0.75, 0.5)
    assert make_reference(np.zeros((2, 1)), [0.1, 0.2]).alert_share is None


def test_a_row_more_than_are_counted_is_left_out():
    n_rows = MOST_ROWS + 1
    rows = np.arange(float(n_rows)).reshape(-1, 1)
    rows[[0, -1]] = np.nan  # the first and the last are counted
    reference = make_reference(rows, np.zeros(n_rows))
    assert (reference.n_rows, reference.n_counted, reference.features[0].n_missing) == (n_rows, MOST_ROWS, 2)
    assert make_reference(np.zeros((MOST_ROWS, 1)), np.zeros(MOST_ROWS)).n_counted == MOST_ROWS
