"""The documentation site in a real browser. The tests use the site that `make docs` has built."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser.conftest import Visit

SITE = Path(__file__).parents[2] / ".site"
PHONE = 390


@pytest.fixture(scope="module")
def site():
    """The folder of the built site. Without it the tests are skipped also where all programs and data are required."""
    if not (SITE / "index.html").exists():
        hint = "" if find_spec("sphinx") else " It installs the dependency group docs, which is not installed here."
        pytest.skip(f"The documentation site is not built; run `make docs` first.{hint}")
    return SITE


@pytest.fixture
def open_page(chromium, site):
    """Open a page of the site as a file, at a width, in a colour scheme."""
    contexts = []

    def opened(name, width=1280, scheme="light"):
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        visit = Visit(contexts[-1].new_page())
        visit.page.goto((site / name).as_uri())
        return visit

    yield opened
    for context in contexts:
        context.close()


def wider_than_the_window(page):
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.parametrize("name", ["index.html", "guide/first-steps.html", "api.html", "gallery/index.html"])
def test_a_page_loads_without_an_error_and_without_the_network(open_page, name):
    visit = open_page(name)
    assert visit.errors == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []


def test_the_search_finds_the_function_that_chooses_thresholds(open_page):
    visit = open_page("search.html?q=choose_threshold")
    found = visit.page.locator("#search-results a", has_text="choose_threshold")
    found.first.wait_for(timeout=5000)
    assert any("selfpaced.choose_threshold" in link.get_attribute("href") for link in found.all())
    assert visit.errors == []


@pytest.mark.parametrize("name", ["index.html", "guide/decisions.html", "generated/selfpaced.choose_threshold.html"])
def test_a_phone_shows_a_page_without_scrolling_sideways(open_page, name):
    assert not wider_than_the_window(open_page(name, width=PHONE).page)


def test_a_phone_opens_the_navigation_by_its_button(open_page):
    page = open_page("index.html", width=PHONE).page
    page.locator("button.primary-toggle").click()
    page.locator("dialog[open] a", has_text="How-to").first.wait_for(timeout=5000)


def test_a_dark_colour_scheme_gives_a_dark_page(open_page):
    page = open_page("index.html", scheme="dark").page
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in colour.strip("rgb()").split(",")[:3]) < 80
