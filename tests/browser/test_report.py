"""The report in a real browser."""

import re

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.metrics import alerts_at_threshold
from selfpaced.report.html import between
from selfpaced.report.thresholds import explorer_texts
from selfpaced.thresholds import cost_text
from tests.browser.conftest import cut_off

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture(scope="module")
def rows():
    """A mixed table with names that try to inject scripts, a very long one, missing values, and drift."""
    rng = np.random.default_rng(0)
    is_case = rng.random(4000) < 0.03
    frame = pd.DataFrame(
        {
            HOSTILE: rng.normal(size=4000) + 1.5 * is_case,
            "word 🙂": pd.Categorical(rng.choice(["a", HOSTILE], 4000)),
            "a_very_long_name_without_any_space_" * 5: rng.normal(size=4000) + np.arange(4000) / 4000,
            "gaps": np.where(rng.random(4000) < 0.2, np.nan, rng.normal(size=4000) + is_case),
        }
    )
    return frame, pd.Series(np.where(is_case, HOSTILE, "ok"), name=HOSTILE)


@pytest.fixture(scope="module")
def model(rows):
    frame, labels = rows
    base = LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)
    # LightGBM refuses some characters in names; positions serve as well.
    return SelfPacedEnsembleClassifier(base, n_estimators=5, random_state=0).fit(_plain(frame[:2000]), labels[:2000])


def _plain(frame):
    return frame.set_axis(["one", "two", "three", "four"], axis=1)


@pytest.fixture(scope="module")
def report(model, rows):
    frame, labels = rows
    return model.report(
        _plain(frame[2000:]),
        labels[2000:],
        X_train=_plain(frame[:2000]),
        costs=(3, 40),
        dropped={"card number": "every value is different"},
    )


@pytest.fixture(scope="module")
def hostile_report(model, rows):
    """The same with the names that mean harm, everywhere a name can be."""
    from selfpaced.report import report_of_scores

    frame, labels = rows
    held_out = frame[2000:]
    return report_of_scores(
        labels[2000:],
        model.predict_proba(_plain(held_out))[:, model.classes_.tolist().index(HOSTILE)],
        pos_label=HOSTILE,
        sample=held_out,
        train_sample=frame[:2000],
        ids=[f"{HOSTILE}{n}" for n in range(2000)],
        dropped={HOSTILE: HOSTILE},
        title=HOSTILE,
        target=HOSTILE,
    )


@pytest.fixture(scope="module")
def blend_report(rows):
    """A report on a model that was chosen among recipes, one of them with a long name."""
    frame, labels = rows
    X, tree = _plain(frame).drop(columns="two"), DecisionTreeClassifier(max_depth=4)
    recipes = [
        ("trees with a name that tells all of their parameters at length", SelfPacedEnsembleClassifier(tree, 3)),
        (HOSTILE, UnderBaggingClassifier(DecisionTreeClassifier(max_depth=1), 1)),
    ]
    blend = AutoSelfPacedClassifier(recipes, random_state=0).fit(X[:2000], labels[:2000])
    return blend.report(X[2000:], labels[2000:])


def moved(page, selector, value):
    page.locator(selector).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})); }",
        str(value),
    )


def shown(page):
    return page.evaluate(
        """() => Object.fromEntries(
            [...document.querySelectorAll("[data-show]")].map((e) => [e.dataset.show, e.textContent]))"""
    )


class TestTheExplorer:
    def test_every_number_is_the_one_python_computes_at_the_threshold(self, visit, report, model, rows):
        frame, labels = rows
        scores = model.predict_proba(_plain(frame[2000:]))[:, model.classes_.tolist().index(HOSTILE)]
        is_case = (labels[2000:] == HOSTILE).to_numpy()
        page, thresholds = visit(report).page, report.facts.thresholds
        for place in [*range(0, len(thresholds.values), 11), thresholds.suggested, len(thresholds.values) - 1]:
            moved(page, "#threshold", place)
            alerts = alerts_at_threshold(is_case, scores, thresholds.values[place])
            cost = 3 * alerts.false_positives + 40 * alerts.false_negatives
            expected = explorer_texts(alerts, thresholds.values[place])
            expected |= {"cost": cost_text(cost), "cost-without": cost_text(40 * thresholds.n_cases)}
            if place == thresholds.suggested:  # where there is a promise, it stands in for the luck of the rows
                promised = {"precision": thresholds.chosen.precision, "recall": thresholds.chosen.recall}
                expected |= {f"{name}-interval": between(interval) for name, interval in promised.items()}
            on_page = shown(page)
            assert on_page == {name: expected[name] for name in on_page}
            assert page.locator("#threshold").get_attribute("aria-valuetext") == expected["threshold"]

    def test_the_script_changes_nothing_before_anything_is_moved(self, visit, report):
        page = visit(report).page
        before = shown(page)
        moved(page, "#threshold", report.facts.thresholds.suggested)
        assert shown(page) == before

    @pytest.mark.parametrize("curve", ["precision-recall", "roc"])
    def test_the_marker_moves_on_the_curve(self, visit, report, curve):
        page, thresholds = visit(report).page, report.facts.thresholds
        place = len(thresholds.values) // 3
        moved(page, "#threshold", place)
        alerts = thresholds.alerts(place)
        x, y = (
            (alerts.recall, alerts.precision)
            if curve == "precision-recall"
            else (1 - alerts.specificity, alerts.recall)
        )
        at = page.evaluate(
            """(id) => {
                const svg = document.getElementById(id), {x0, x1, y0, y1} = svg.dataset;
                const dot = svg.querySelector(".marker");
                return [(dot.getAttribute("cx") - x0) / (x1 - x0), (dot.getAttribute("cy") - y0) / (y1 - y0)];
            }""",
            curve,
        )
        assert at == pytest.approx([x, y], abs=1e-9)

    def test_the_keyboard_moves_the_slider(self, visit, report):
        page, thresholds = visit(report).page, report.facts.thresholds
        page.locator("#threshold").focus()
        page.keyboard.press("ArrowLeft")
        assert page.locator("#threshold").input_value() == str(thresholds.suggested - 1)
        assert shown(page)["found"] == f"{thresholds.found[thresholds.suggested - 1]:,}"

    def test_costs_of_the_users_own_change_the_sum(self, visit, report):
        page, thresholds = visit(report).page, report.facts.thresholds
        page.locator("#cost-false-alarm").fill("7")
        page.locator("#cost-missed").fill("100")
        alerts = thresholds.alerts(thresholds.suggested)
        total = 7 * alerts.false_positives + 100 * alerts.false_negatives
        assert shown(page)["cost"] == f"{total:,}"

    @pytest.mark.parametrize("cost", ["0.75", "0.5", "12.345", "1234567", "0.1"])
    def test_costs_are_written_as_python_writes_them(self, visit, report, cost):
        page = visit(report).page
        page.locator("#cost-missed").fill(cost)
        assert shown(page)["cost-without"] == cost_text(float(cost) * report.facts.n_cases)

    def test_the_threshold_with_the_best_f1_is_found(self, visit, model, rows):
        frame, labels = rows
        other = model.report(_plain(frame[2000:]), labels[2000:], threshold="recall>=0.9")
        page, thresholds = visit(other).page, other.facts.thresholds
        page.get_by_role("button", name="Best F1").click()
        every = [thresholds.alerts(place).f1 for place in range(len(thresholds.values))]
        assert every[int(page.locator("#threshold").input_value())] == max(every)

    def test_the_cheapest_threshold_is_found(self, visit, report):
        page, thresholds = visit(report).page, report.facts.thresholds
        page.get_by_role("button", name="Lowest cost").click()
        alerts = [thresholds.alerts(place) for place in range(len(thresholds.values))]
        costs = [3 * one.false_positives + 40 * one.false_negatives for one in alerts]
        assert costs[int(page.locator("#threshold").input_value())] == min(costs)

    def test_a_cost_that_is_no_number_is_nothing(self, visit, report):
        opened = visit(report)
        opened.page.locator("#cost-missed").fill("")
        assert shown(opened.page)["cost-without"] == "0"
        assert opened.errors == []


def test_the_slider_of_rounds_shows_each_histogram(visit, report):
    page = visit(report).page
    for place in range(5):
        moved(page, "#round", place)
        assert page.locator("[data-frame]:visible").count() == 1
        assert page.locator("[data-frame]:visible h3").inner_text() == f"Round {place + 1} of 5"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_goes_wrong_and_nothing_leaves_the_page(visit, report, scheme):
    opened = visit(report, scheme=scheme)
    moved(opened.page, "#threshold", 3)
    opened.page.wait_for_timeout(200)
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith("file:")] == []
    assert len(opened.requests) == 1


def test_names_that_mean_harm_do_none(visit, hostile_report):
    opened = visit(hostile_report)
    opened.page.wait_for_timeout(200)
    assert opened.errors == []
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("script").count() == 2
    assert opened.page.title() == HOSTILE


def test_the_policy_stops_what_would_get_past_the_escaping(visit, report, tmp_path):
    opened = visit(report)
    opened.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.harm = 1";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.harm = 2'>");
        }"""
    )
    opened.page.wait_for_timeout(200)
    assert opened.page.evaluate("window.harm") is None


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_page_and_no_label_leaves_its_drawing(
    visit, report, hostile_report, blend_report, width
):
    for shown_report in (report, hostile_report, blend_report):
        assert cut_off(visit(shown_report, width).page) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_text_in_drawings_is_large_enough_to_read(visit, report, blend_report, width):
    for shown_report in (report, blend_report):
        sizes = visit(shown_report, width).page.evaluate(
            """() => [...document.querySelectorAll("svg text")].filter((e) => e.getClientRects().length).map((e) =>
                parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a)"""
        )
        assert min(sizes) >= 10


@pytest.mark.parametrize("width", [1280, 390])
def test_names_of_recipes_and_what_is_beside_them_do_not_touch(visit, blend_report, width):
    overlaps = visit(blend_report, width).page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll("#recipes svg :is(text, circle)")]
                .map((e) => [e.textContent, e.getBoundingClientRect()]);
            const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            return boxes.flatMap(([one, a], n) => boxes.slice(n + 1).filter(([_, b]) => meet(a, b))
                .map(([other]) => [one, other]));
        }"""
    )
    assert overlaps == []


def test_a_page_on_a_blend_is_without_errors(visit, blend_report):
    visited = visit(blend_report)
    assert visited.page.locator("#recipes figure").is_visible()
    assert visited.page.locator("#recipes tbody tr").count() == 2
    assert visited.errors == []


CONTRASTS = """() => {
    const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => channels(colour).slice(0, 3).map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const contrast = (colour) => (Math.max(light(colour), paper) + 0.05) / (Math.min(light(colour), paper) + 0.05);
    const colour = (e) => getComputedStyle(e)[e instanceof SVGElement ? "fill" : "color"];
    const words = "p, dt, dd, th, td, h1, h2, h3, a, label, summary, figcaption, strong, svg text";
    return [...document.querySelectorAll(words)].map((e) => [contrast(colour(e)), e.outerHTML.slice(0, 80)]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(visit, report, blend_report, scheme):
    for shown_report in (report, blend_report):
        found = visit(shown_report, scheme=scheme).page.evaluate(CONTRASTS)
        assert [words for contrast, words in found if contrast < 4.5] == []


def test_dark_is_dark_and_light_is_light(visit, report):
    colours = [
        visit(report, scheme=scheme).page.evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    lights = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]
    assert lights[0] > 700
    assert lights[1] < 100


def test_printed_it_is_black_on_white_and_without_controls(visit, report):
    page = visit(report, scheme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    for control in ("nav", "#threshold", "#round", ".presets"):
        assert not page.locator(control).is_visible()
    assert page.locator("[data-frame]:visible").count() == 5  # the slider shows one of them on the screen
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_first_tab_leads_past_the_links(visit, report):
    page = visit(report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_without_scripts_it_is_complete(chromium, report, tmp_path):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.save(tmp_path / "report.html").as_uri())
    assert "Of 100 alerts" in page.locator(".sentence").inner_text()
    assert page.locator("#precision-recall .marker").count() == 1
    context.close()


def test_in_a_notebooks_frame_the_slider_works_and_styles_stay_apart(chromium, report, tmp_path):
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><style>p {{ color: red }}</style><p id=own>text</p>{report._repr_html_()}", encoding="utf-8"
    )
    page = chromium.new_page()
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frames[1]
    frame.wait_for_load_state()
    before = frame.locator("[data-show=found]").inner_text()
    moved(frame, "#threshold", 0)
    assert frame.locator("[data-show=found]").inner_text() != before
    assert frame.locator(".sentence").evaluate("(e) => getComputedStyle(e).color") != "rgb(255, 0, 0)"
    assert page.locator("#own").evaluate("(e) => getComputedStyle(e).color") == "rgb(255, 0, 0)"
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_section_by_group_shows_hostile_names_as_text_and_all_groups_whole(visit, model, rows, width, scheme):
    frame, labels = rows
    names = np.where(np.arange(2000) % 3 == 0, HOSTILE, np.where(np.arange(2000) % 3 == 1, "north", "south" * 12))
    report = model.report(_plain(frame[2000:]), labels[2000:], groups=names, groups_name=HOSTILE)
    visited = visit(report, width, scheme)
    cells = visited.page.locator("#groups tbody tr td:first-child, #groups tbody tr th:first-child").all_inner_texts()
    assert [cell[:20] for cell in cells] == [HOSTILE[:20], "north", ("south" * 4)[:20]]  # long names are shortened
    assert visited.errors == []
    assert cut_off(visited.page) == []
