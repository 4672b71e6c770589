"""Monitoring, backtests and decisions on random tables, against the second implementation in `slow.py`.

Small in `make test`; `make exam` runs it on other tables each time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from selfpaced.backtesting import RollingTimeSplit, backtest
from selfpaced.cli.commands.monitor import monitor
from selfpaced.cli.parser import parser
from selfpaced.cli.request import Deciding, data_in
from selfpaced.exceptions import TableError
from selfpaced.monitoring import make_reference, measure_drift
from selfpaced.tables import Roles
from selfpaced.tables.sources import open_like
from tests.exam.forms import FORMS, UNTYPED, parquet
from tests.exam.slow import best_of, slow_backtest, slow_drift, slow_folds
from tests.exam.tables import tables
from tests.exam.test_same_rows_same_scores import EXAMPLES, exam, trained

FRAMES = ("chunked_arrow", "pandas", "nullable_pandas", "classic_pandas", "polars")
FILES = tuple(name for name in FORMS if name not in (*FRAMES, "arrow"))


def halves(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    return table.slice(0, 50), table.slice(50)


@settings(exam, max_examples=4 * EXAMPLES)
@given(table=tables().map(lambda table: table.drop_columns("label")), unlike=st.booleans())
def test_frames_of_all_kinds_have_the_drift_of_a_second_implementation(table, unlike):
    before, now = halves(table) if unlike else (table, table)
    scores = np.linspace(0, 1, len(before))
    reference = make_reference(before, scores)
    expected = measure_drift(reference, now)
    with TemporaryDirectory() as folder:
        for name in FRAMES:
            assert make_reference(FORMS[name](before, Path(folder)), scores) == reference, name
            assert measure_drift(reference, FORMS[name](now, Path(folder))) == expected, name
    slow = {one.name: slow_drift(one, values(before, one.name), values(now, one.name)) for one in reference.features}
    lowest = min((p for _, _, p in slow.values()), default=1.0)
    for drift in expected:
        psi, missing, p_value = slow[drift.name]
        assert (drift.psi, drift.missing) == (pytest.approx(psi, abs=1e-9), missing)
        assert drift.p_value >= min(p_value, 1) - 1e-9
    assert min(one.p_value for one in expected) == pytest.approx(min(1, len(slow) * lowest), rel=1e-6)


def values(table: pa.Table, name: str) -> list:
    """Numbers and (in seconds) dates as floats, text as it is, and None for missing values."""
    column = table.column(name).combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_pylist()
        return [None if value is None else value / 1e6 for value in micros]
    plain = column.to_pylist()
    if any(isinstance(value, str) for value in plain):
        return plain
    return [None if value is None or value != value else float(value) for value in plain]


def monitored(model, reference, source):
    options = parser().parse_args(["monitor", "model.skops", str(source), "--target", "label"])
    return monitor(model, reference, data_in(options), options, None).whole


@settings(exam, max_examples=max(EXAMPLES // 2, 2))
@given(table=tables())
def test_the_same_rows_in_files_of_all_kinds_have_the_same_figures(table):
    with TemporaryDirectory() as folder:
        path = parquet(table, Path(folder))
        model = trained(path)
        features = open_like(path, model.trained_on_.schema, Roles()).features()
        reference = make_reference(features, np.linspace(0, 1, len(features)), threshold=0.5)
        expected = monitored(model, reference, path)
    assert {one.name: one.psi for one in expected.drifts} == {one.name: 0 for one in reference.features}
    for name in FILES:
        with TemporaryDirectory() as folder:
            source = FORMS[name](table, Path(folder))
            try:
                found = monitored(model, reference, source)
            except TableError:
                assert name in UNTYPED, name
            else:
                assert found == expected, name


@st.composite
def payments(draw: st.DrawFn) -> pd.DataFrame:
    """Rows in any order of time, with ties in times and scores, few cards and some amounts of 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(30, 200))
    label = (rng.random(n_rows) < draw(st.sampled_from([0.05, 0.2, 0.5]))).astype(int)
    hours = rng.integers(0, draw(st.sampled_from([24 * 9, 24 * 40])), n_rows)
    return pd.DataFrame(
        {
            "a": np.round(rng.normal(label), draw(st.integers(0, 3))),
            "b": rng.normal(size=n_rows),
            "amount": np.round(rng.lognormal(2, 2, n_rows), 0),
            "card": rng.integers(0, draw(st.integers(1, 30)), n_rows),
            "when": datetime(2024, 2, 26) + pd.to_timedelta(hours, "h"),
            "label": label,
        }
    )


LENGTHS = {f"{hours}h": timedelta(hours=hours) for hours in (12, 36)}
LENGTHS |= {f"{days}d": timedelta(days=days) for days in (2, 5, 7, 10)}
spans = st.sampled_from([None, "36h", "5d", "10d"])


@settings(exam, max_examples=8 * EXAMPLES)
@given(
    rows=payments(), every=st.sampled_from(["12h", "2d", "7d"]), delay=spans, window=spans, first=spans,
    as_numbers=st.booleans(), top=st.integers(1, 4),
)  # fmt: skip
def test_a_backtest_has_the_figures_of_a_second_implementation(rows, every, delay, window, first, as_numbers, top):
    spans = [None if span is None else LENGTHS[span] for span in (every, delay, window, first)]
    times, given = rows["when"].dt.to_pydatetime().tolist(), [every, delay, window, first]
    zero = timedelta(0)
    if as_numbers:  # hours since the first
        begin, zero = min(times), 0.0
        times = [(time - begin) / timedelta(hours=1) for time in times]
        spans = given = [None if span is None else span / timedelta(hours=1) for span in spans]
    folds = slow_folds(times, spans[0], spans[1] or zero, *spans[2:])
    cv = RollingTimeSplit(np.array(times), given[0], delay=given[1], window=given[2], first=given[3])
    if not folds:
        with pytest.raises(ValueError, match="There is no time for a test"):
            cv.folds()
        return
    assert [(fold.train.tolist(), fold.test.tolist()) for fold in cv.folds()] == folds
    two_classes = [fold for fold in folds if len(set(rows["label"].iloc[fold[0]])) > 1]
    if as_numbers or not two_classes or len(two_classes) < len(folds) or 2 * rows["label"].sum() > len(rows):
        return  # numbers have no days; folds of one class are left out with a warning; 1 is not the rarest label
    expected = slow_backtest(GaussianNB(), rows, ["a", "b"], folds, top, (5, "amount"))
    found = backtest(
        GaussianNB(), rows[["a", "b"]], rows["label"], cv, groups=rows["card"], budget=f"{top}/day",
        decide="p*amount>5", cost_columns={"amount": rows["amount"]},
    )  # fmt: skip
    for place, figures in enumerate(expected):
        for name, figure in figures.items():
            assert found[name].astype(float)[place] == pytest.approx(figure, nan_ok=True), (place, name)


@settings(exam, max_examples=8 * EXAMPLES)
@given(
    rows=payments(), decide=st.booleans(), top=st.sampled_from([None, 1, 3, 50]), threshold=st.sampled_from([None, .4]),
    per=st.sampled_from([None, "hour", "day", "week", "month"]), grouped=st.booleans(),
    zone=st.sampled_from([None, "America/New_York", "Asia/Kolkata"]),
)  # fmt: skip
def test_alerts_are_those_of_a_count_in_pandas(rows, decide, top, threshold, per, grouped, zone):
    scores = np.round(np.random.default_rng(len(rows)).random(len(rows)), 2)
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    table = SimpleNamespace(column=lambda name: arrow.column(name).combine_chunks())
    times = {} if top is None or per is None else {"per": per, "time_column": "when", "timezone": zone}
    group = "card" if grouped and top is not None else None
    deciding = Deciding("p*amount>5" if decide else None, top, **times, group=group)
    found = deciding.alerts(scores, table, threshold)
    if zone is not None:
        rows = rows.assign(when=rows["when"].dt.tz_localize("UTC").dt.tz_convert(zone).dt.tz_localize(None))
    rows = rows.assign(gain=scores * rows["amount"] - 5 if decide else scores)
    among = (scores >= (threshold or 0)) & ((rows["gain"] > 0) | (not decide))
    period = {"hour": "h", "day": "D", "week": "W-SUN", "month": "M"}.get(times.get("per"))
    best = among if top is None else best_of(rows[among], "gain", top, period, group)
    assert found.tolist() == best.reindex(rows.index, fill_value=False).tolist()
