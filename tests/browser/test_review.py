"""The page of a review in a real browser, used with keys and at the width of a phone."""

from pathlib import Path

import pandas as pd
import pytest

from tests.browser.conftest import cut_off
from tests.reviewing.conftest import HOSTILE, reviewing, scores  # noqa: F401  (fixtures)

ROWS = ("--rows", "payments.parquet", "--past", "payments.parquet", "--entity", "card", "--time-column", "when")


def begun(go_to, review, name="Ann", **how):
    """A visit of a reviewer who has typed a name, with the first row in sight."""
    visited = go_to(review.page, **how)
    visited.page.keyboard.type(name)
    visited.page.keyboard.press("Enter")
    visited.page.locator("#item").wait_for()
    return visited


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_values_are_shown_as_text_and_nothing_is_cut_or_asked_of_others(go_to, reviewing, width, scheme):  # noqa: F811
    review = reviewing(*ROWS)
    for number in range(3):
        review.post("verdict", number=number, verdict="rare")
    visited = begun(go_to, review, width=width, scheme=scheme)
    page = visited.page
    assert page.locator("#title").inner_text() == f"tx {HOSTILE}"
    assert page.locator("#reasons li span").first.inner_text() == HOSTILE
    assert page.locator("dd.missing").inner_text() == "missing"
    assert page.locator("script").count() == 1
    assert visited.errors == []
    assert {address.partition("/#")[0].rpartition("/")[0] for address in visited.requests[1:]} <= {review.address}
    assert cut_off(page) == []


def test_a_review_is_done_with_keys_alone_and_nothing_is_said_that_was_not_saved(go_to, reviewing):  # noqa: F811
    page = begun(go_to, reviewing()).page
    title = page.locator("#title")

    def press(*keys):
        before = title.inner_text()
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_function("before => document.getElementById('title').textContent !== before", arg=before)

    press("n", "r", "Shift+C", "Escape", "r")  # in the note, keys are letters
    press("b")
    assert title.inner_text() == "tx t0"
    assert page.locator("#said").inner_text() == "You have said: rare. A new verdict replaces it."
    press("g")
    assert title.inner_text() == "tx t1"
    for _ in range(6):
        press("c")
    page.keyboard.press("u")
    page.locator("#done-card").wait_for()
    assert page.locator("#done-title").inner_text() == "All rows have a verdict"
    assert "selfpaced refit MODEL DATA --labels FILE" in page.locator("#done-text").inner_text()
    assert "1 of 7 alerts with a verdict are rare." in page.locator("#found").inner_text()
    saved = pd.read_csv("verdicts.csv", keep_default_na=False)
    assert saved["verdict"].tolist() == ["rare", *["common"] * 6, "unsure"]
    assert saved["note"].tolist()[:2] == ["rC", ""]


def test_a_verdict_that_cannot_be_saved_stays_on_the_page_with_its_note(go_to, reviewing):  # noqa: F811
    review = reviewing()
    visited = begun(go_to, review)
    page = visited.page
    page.locator("#note").fill("important")
    Path("verdicts.csv").rename("moved.csv")
    page.get_by_role("button", name="Rare").click()
    page.locator("#error:not(:empty)").wait_for()
    assert page.locator("#error").inner_text().startswith("Not saved. Another program has changed")
    assert page.locator("#note").input_value() == "important"
    Path("moved.csv").rename("verdicts.csv")
    page.get_by_role("button", name="Rare").click()
    page.get_by_text("tx t1").wait_for()
    assert pd.read_csv("verdicts.csv")["note"].tolist() == ["important"]


def test_a_note_waits_for_the_verdict_of_its_row_also_after_other_rows_and_a_reload(go_to, reviewing):  # noqa: F811
    review = reviewing()
    review.post("verdict", number=0, verdict="rare", note="saved")
    visited = begun(go_to, review)
    page, note = visited.page, visited.page.locator("#note")

    def at(row, text):
        page.get_by_role("heading", name=f"tx {row}").wait_for()
        assert note.input_value() == text

    note.fill("half of a")
    page.get_by_text("Rows with a verdict").click()
    page.get_by_role("button", name="t0").click()
    at("t0", "saved")
    note.fill("second thoughts")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    at("t1", "half of a")
    page.keyboard.press("b")
    at("t0", "second thoughts")
    page.remove_listener("dialog", visited._listeners.pop("dialog"))
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    at("t1", "half of a")
    assert page.locator("#said").inner_text() == "Your note about this row is not saved yet. A verdict saves it."
    page.keyboard.press("r")
    at("t2", "")
    page.keyboard.press("b")
    at("t1", "half of a")
    assert page.locator("#said").inner_text() == "You have said: rare. A new verdict replaces it."
    assert pd.read_csv("verdicts.csv")["note"].tolist() == ["saved", "half of a"]


def test_the_browser_asks_before_it_closes_a_page_with_a_note_that_is_not_saved(go_to, reviewing):  # noqa: F811
    visited = begun(go_to, reviewing())
    page, dialogs = visited.page, visited.errors  # the browser asks in its own words, so the page's are empty
    page.locator("#note").press_sequentially("called")
    page.close(run_before_unload=True)
    page.wait_for_timeout(500)
    assert dialogs == [""]
    assert page.locator("#note").input_value() == "called"
    page.get_by_role("button", name="Rare").click()
    page.get_by_text("tx t1").wait_for()
    page.reload()
    page.get_by_text("tx t1").wait_for()
    assert dialogs == [""]
