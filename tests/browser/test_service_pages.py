"""The pages of a monitoring and of a backtest in a real browser."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.backtesting import Budget, FoldResult, RollingTimeSplit
from selfpaced.backtesting.rolling import Reached
from selfpaced.cli.commands.backtest import course_of
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.monitoring import Alarm, Counter, Drift, make_reference, measure_period
from selfpaced.report import backtest_page, monitor_page
from selfpaced.report.data import drift_bars
from tests.browser.conftest import cut_off

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
WIDTHS = pytest.mark.parametrize("width", [1280, 390])


@dataclass
class Page:
    """A page that can be visited."""

    html: str

    def save(self, path):
        Path(path).write_text(self.html)
        return Path(path)


@pytest.fixture(scope="module")
def monitored():
    """Twelve days of rows, of which one column drifts and has a name that means harm."""
    rng = np.random.default_rng(0)
    before = pd.DataFrame({HOSTILE: rng.normal(size=2000), "channel": rng.choice(["web", HOSTILE], 2000)})
    reference = make_reference(before, rng.beta(0.1, 3, 2000), threshold=0.3)
    days = np.arange(1200) // 100
    scores, y = rng.beta(0.1, 3, 1200), rng.random(1200) < 0.04
    counters = {one.name: Counter(one, 12, frozenset(one.categories) or None) for one in reference.features}
    counters[HOSTILE].add(rng.normal(size=1200) + days / 6, days)
    counters["channel"].add(["web", "drone", None] * 400, days)
    known = (y, days < 8)

    def of(rows, period=None):
        labels = tuple(each[rows] for each in known)
        return measure_period(reference, counters, scores[rows], labels, True, period)

    periods = {f"2024-01-{day + 1:02}": of(days == day, day) for day in range(12)}
    alarms = [Alarm("psi>0.25", 0.4), Alarm("psi>0.25", 0.7, "2024-01-12")]
    return Page(monitor_page(of(np.ones(1200, dtype=bool)), periods, reference, alarms))


@pytest.fixture(scope="module")
def backtested():
    begins = [np.datetime64("2024-01-01", "us") + np.timedelta64(7 * week, "D") for week in range(6)]
    rng = np.random.default_rng(0)

    def result(model, number, begin):
        aucprc = None if number == 3 else rng.random()
        found = Reached(aucprc, 9 * rng.random(), 40, rng.random(), 0.5, 0.4, 5, 99.0, 200.0)
        return FoldResult(model, number, begin, begin + np.timedelta64(7, "D"), 5000, 50, 700, 8, found, 1.0, None)

    models = ("lightgbm", HOSTILE)
    folds = [result(m, n, b) for n, b in enumerate(begins, 1) for m in models]
    courses = [course_of(model, [one for one in folds if one.model == model]) for model in models]
    tested_by = (
        RollingTimeSplit("when", "7d", delay="2d", window="60d"),
        Budget(100, "day", "Europe/Zurich"),
        "p*amount>5",
    )
    return Page(backtest_page(folds, courses, HOSTILE, *tested_by))


@pytest.fixture(scope="module")
def calm():
    """Rows like those of the reference, of which the columns of 1,000 were counted and 30,000 scored."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"amount": rng.normal(size=1000), "channel": rng.choice(["web", "app"], 1000)})
    reference = make_reference(rows, rng.beta(0.1, 3, 30_000), threshold=0.3, is_sample=True)
    counters = {one.name: Counter(one, 1, None) for one in reference.features}
    for name in rows:
        counters[name].add(rows[name].to_list() if name == "channel" else rows[name].to_numpy(), np.zeros(1000, int))
    found = measure_period(reference, counters, rng.beta(0.1, 3, 1000), None, True)
    return Page(monitor_page(found, {}, reference, []))


@WIDTHS
@pytest.mark.parametrize("name", ["monitored", "calm", "backtested"])
def test_the_page_is_quiet_asks_for_nothing_and_nothing_of_it_is_cut(request, visit, name, width):
    visited = visit(request.getfixturevalue(name), width=width)
    assert visited.errors == []
    assert len(visited.requests) == 1
    assert visited.page.locator("script").count() == 0
    assert cut_off(visited.page) == []


def test_every_link_of_the_navigation_leads_to_its_section(visit, monitored):
    page = visit(monitored).page
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_a_monitoring_shows_its_alarms_drift_and_course(visit, monitored):
    page = visit(monitored).page
    assert page.locator("#answer li").all_inner_texts() == [
        "psi>0.25: 0.4 in all rows; in 1 period, most in 2024-01-12: 0.7"
    ]
    assert page.locator("#course figure").count() == 4
    assert page.locator("#drift tbody tr").count() == 2
    assert page.locator("#periods tbody tr").count() == 12
    assert "2 columns of 2 have drifted" in page.locator(".headline").inner_text()


def test_a_monitoring_without_drift_has_no_bars_and_says_that_its_reference_is_a_sample(visit, calm):
    page = visit(calm).page
    assert page.locator("#drift figure").count() == 0
    assert "No column has an index (PSI) of 0.01 or more." in page.locator("#drift").inner_text()
    assert page.locator("#drift tbody tr").count() == 2
    assert "counted in a sample of 1,000 of the 30,000 rows" in page.locator("#answer").inner_text()


def test_a_small_drift_has_a_short_bar(visit):
    drifts = [Drift("a", 0.02, 0.5, 0, 0), Drift("b", 0.0004, 1.0, 0, 0)]
    page = visit(Page(drift_bars("Drift", drifts))).page
    assert page.locator("rect").first.bounding_box()["width"] < 0.1 * page.locator("svg").bounding_box()["width"]


def test_a_backtest_says_what_was_reached_and_how_it_was_tested(visit, backtested):
    page = visit(backtested).page
    assert "reaches an AUCPRC of" in page.locator("#answer .headline").inner_text()
    assert page.locator("#answer tbody tr").count() == 2
    assert page.locator("#answer .lead").inner_text() == (
        "6 folds of 7d, from 2024-01-01 to 2024-02-12. Labels are known after a delay of 2d. Each model is trained on "
        "the 60d before whose labels are known. The budget is 100 alerts per day, in Europe/Zurich. Costs are those of "
        "the rule p*amount>5, row by row."
    )


def test_a_backtest_shows_a_line_for_every_model_and_a_gap_where_there_is_no_value(visit, backtested):
    page = visit(backtested).page
    first = page.locator("#course figure").first
    assert first.locator("path.curve.case").count() == 2  # before and after the fold without a value
    assert first.locator("circle.point").count() == 10
    assert page.locator("#folds tbody tr").count() == 12


def test_a_report_has_the_course_over_time_and_decisions_row_by_row(visit):
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.05
    X = pd.DataFrame({"a": rng.normal(size=3000) + 2 * y, "amount": rng.lognormal(3, 1, 3000)})
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 2, random_state=0, calibration="sigmoid")
    model.fit(X[:1500], y[:1500])
    times = np.datetime64("2024-01-01") + np.arange(1500) * np.timedelta64(1, "h")
    visited = visit(model.report(X[1500:], y[1500:], times=times, decide="p*amount>5"))
    assert visited.errors == []
    assert visited.page.locator("#course figure").count() == 2
    rows = visited.page.locator("#decision tbody tr")
    assert rows.locator("td:first-child").all_inner_texts() == [
        "No alert",
        "One threshold, the suggested one",
        "Row by row",
    ]
