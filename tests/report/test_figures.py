"""Drawings are well-formed, have a name and a description, and put things where the facts say."""

from xml.etree import ElementTree

import numpy as np
import pytest

from selfpaced.monitoring import Drift
from selfpaced.report import report_of_scores
from selfpaced.report.course import course_lines
from selfpaced.report.data import drift_bars
from selfpaced.report.html import Axis, hundred_dots
from selfpaced.report.importance import Contrast, Importances, contrast_strips, importance_bars
from selfpaced.report.learning import (
    HardnessHistogram,
    RoundFacts,
    hardness_histogram,
    zone_shares,
)
from selfpaced.report.quality import calibration_curve, precision_recall_curve, roc_curve

SCRIPT = "<script>alert(1)</script>"
BINS = HardnessHistogram((1000, 10, 0, 5, 1), (10, 4, 0, 5, 1), (0.01, 0.3, None, 0.7, 0.9))
ROUND = RoundFacts(1, 0.16, 40, 0.5, BINS)


DRIFTS = [Drift(SCRIPT, 0.3, 0.0, 0, 0), Drift("by chance", 0.3, 0.4, 0, 0), Drift("small", 0.05, 0.0, 0, 0)]


@pytest.fixture(scope="module")
def facts():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.05).astype(int)
    return report_of_scores(y, np.clip(0.3 * y + 0.5 * rng.random(2000), 0, 1)).facts


@pytest.fixture(scope="module")
def drawings(facts):
    return {
        "precision and recall": precision_recall_curve(facts.ranking, facts.thresholds.suggested_alerts),
        "roc": roc_curve(facts.ranking, facts.thresholds.suggested_alerts),
        "calibration": calibration_curve(facts.calibration),
        "dots": hundred_dots("100 alerts", 0.874),
        "importances": importance_bars(Importances("x", (SCRIPT, "b"), (0.7, -0.1), 2, ())),
        "importances with errors": importance_bars(
            Importances("x", (SCRIPT, "b"), (0.7, 0.1), 2, (), (0.02, float("nan")), 500)
        ),
        "drift": drift_bars("Drift", DRIFTS),
        "contrasts": contrast_strips([Contrast(SCRIPT, (0, 1, 2, 3, 4), (1, 1, 1, 1, 1))]),
        "histogram": hardness_histogram(ROUND, BINS, 1000, 2),
        "lines": course_lines("Shares", ["1", "2"], {"found": [0.3, 0.7], SCRIPT * 3: [0.1, None]}, 1.0),
        "one point": course_lines("AUCPRC", ["1"], {"AUCPRC": [0.62]}, 0.65, 0.6),
    }


def test_every_drawing_is_well_formed_and_described(drawings):
    for name, drawing in drawings.items():
        svg = ElementTree.fromstring(drawing)
        assert svg.get("role") == "img", name
        assert svg.get("aria-label"), name
        assert [child.tag for child in svg[:2]] == ["title", "desc"], name
        assert all(child.text for child in svg[:2]), name


def test_names_in_drawings_are_text_whatever_they_hold(drawings):
    for name in ("importances", "drift", "contrasts", "lines"):
        svg = ElementTree.fromstring(drawings[name])
        assert not list(svg.iter("script"))
        assert any(SCRIPT in (title.text or "") for title in svg.iter("title"))


def test_importances_are_written_with_their_errors_where_they_are_known(drawings):
    texts = [text.text for text in ElementTree.fromstring(drawings["importances with errors"]).iter("text")]
    assert "0.700 ± 0.020" in texts
    assert "0.100" in texts


def test_colours_are_left_to_the_stylesheet(drawings):
    for name, drawing in drawings.items():
        assert "fill=" not in drawing, name
        assert "stroke=" not in drawing, name
        assert "style=" not in drawing, name


def test_nothing_is_drawn_outside_the_paper(drawings):
    for name, drawing in drawings.items():
        svg = ElementTree.fromstring(drawing)
        _, _, width, height = map(float, svg.get("viewBox").split())
        for shape in svg.iter():
            for key, limit in (("x", width), ("cx", width), ("x2", width), ("y", height), ("cy", height)):
                assert 0 <= float(shape.get(key, 0)) <= limit, (name, shape.attrib)
            assert float(shape.get("x", 0)) + float(shape.get("width", 0)) <= width + 0.01, (name, shape.attrib)


def test_the_marker_is_where_precision_and_recall_are(facts, drawings):
    svg = ElementTree.fromstring(drawings["precision and recall"])
    marker = next(circle for circle in svg.iter("circle") if circle.get("class") == "marker")
    x0, x1, y0, y1 = (float(svg.get(f"data-{end}")) for end in ("x0", "x1", "y0", "y1"))
    alerts = facts.thresholds.alerts(facts.thresholds.suggested)
    assert (float(marker.get("cx")) - x0) / (x1 - x0) == pytest.approx(alerts.recall, abs=1e-3)
    assert (float(marker.get("cy")) - y0) / (y1 - y0) == pytest.approx(alerts.precision, abs=1e-3)


def test_so_many_dots_are_filled_as_a_hundred_have(drawings):
    svg = ElementTree.fromstring(drawings["dots"])
    assert sum(dot.get("class") == "dot filled" for dot in svg.iter("circle")) == 87


def test_a_drift_within_chance_and_a_small_one_are_quiet(drawings):
    bars = [bar.get("class") for bar in ElementTree.fromstring(drawings["drift"]).iter("rect")]
    assert bars == ["bar case", "bar quiet", "bar quiet"]


def test_zones_share_all_rows():
    assert sum(zone_shares([3, 1, 4, 1, 5, 9, 2]).values()) == pytest.approx(1)
    assert zone_shares([0, 0]) == {"trivial": 0, "borderline": 0, "noise": 0}


def test_an_axis_without_length_has_a_middle():
    assert Axis(2, 2, 0, 100)(2) == 50


def test_a_logarithmic_axis_puts_nothing_at_its_floor():
    axis = Axis(0.01, 1, 0, 100, is_log=True)
    assert [axis(value) for value in (0, 0.01, 0.1, 1)] == pytest.approx([0, 0, 50, 100])
