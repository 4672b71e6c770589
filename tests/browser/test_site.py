"""The documentation site in a real browser. The tests use the site that `make docs` has built."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

SITE = Path(__file__).parents[2] / ".site"
PHONE = 390


@pytest.fixture(scope="module")
def address():
    """The address of the built site on this machine. Search results are fetched, which files do not allow."""
    handler = partial(Silent, directory=built_site())
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Silent(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *arguments):
        pass


def built_site():
    """The folder of the built site. Without it the tests are skipped also where all programs and data are required."""
    if not (SITE / "index.html").exists():
        hint = "" if find_spec("sphinx") else " It installs the dependency group docs, which is not installed here."
        pytest.skip(f"The documentation site is not built; run `make docs` first.{hint}")
    return SITE


@pytest.fixture
def open_page(chromium, address):
    """Open a page of the site, at a width, in a colour scheme."""
    contexts = []

    def opened(name, width=1280, scheme="light"):
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.complaints, page.requested = [], []
        page.on("console", lambda said: said.type in ("error", "warning") and page.complaints.append(said.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requested.append(request.url))
        page.goto(address + name)
        return page

    yield opened
    for context in contexts:
        context.close()


def wider_than_the_window(page):
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.parametrize("name", ["index.html", "guide/first-steps.html", "api.html", "gallery/index.html"])
def test_a_page_loads_without_an_error_and_without_the_network(open_page, address, name):
    page = open_page(name)
    assert page.complaints == []
    assert [url for url in page.requested if not url.startswith((address, "data:"))] == []


def test_the_search_finds_the_function_that_chooses_thresholds(open_page):
    page = open_page("search.html?q=choose_threshold")
    found = page.locator("#search-results a", has_text="choose_threshold")
    found.first.wait_for(timeout=5000)
    assert any("selfpaced.choose_threshold" in link.get_attribute("href") for link in found.all())
    assert page.complaints == []


@pytest.mark.parametrize("name", ["index.html", "guide/thresholds.html", "generated/selfpaced.choose_threshold.html"])
def test_a_phone_shows_a_page_without_scrolling_sideways(open_page, name):
    assert not wider_than_the_window(open_page(name, width=PHONE))


def test_a_phone_opens_the_navigation_by_its_button(open_page):
    page = open_page("index.html", width=PHONE)
    page.locator("button.primary-toggle").click()
    page.locator("dialog[open] a", has_text="How-to").first.wait_for(timeout=5000)


def test_a_dark_colour_scheme_gives_a_dark_page(open_page):
    page = open_page("index.html", scheme="dark")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in colour.strip("rgb()").split(",")[:3]) < 80
