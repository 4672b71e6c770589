"""The documentation site in a real browser.

The tests visit the site that `make docs` has built. Without one they build it first, but do not run the examples.
"""

import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

from tests.requirements import missing
from tools.check_site import broken_links

REPOSITORY = Path(__file__).parents[2]
BUILT = REPOSITORY / ".site"
PHONE = 390
# Sphinx, which makes little garbage, spends a fifth of its time on looking for some.
WITHOUT_COLLECTIONS = "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"

pytestmark = pytest.mark.slow  # the build of the site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    if (BUILT / "index.html").exists():
        return BUILT
    if find_spec("sphinx_gallery") is None:
        missing("The documentation site is not built, and Sphinx is not installed: run `make docs`")
    folder = tmp_path_factory.mktemp("site")
    options = ["-b", "html", "-W", "--keep-going", "-q", "-D", "plot_gallery=0"]
    build = [sys.executable, "-c", WITHOUT_COLLECTIONS, *options, REPOSITORY / "docs", folder]
    built = subprocess.run(build, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def address(site):
    """The address of the site on this machine. Search results are fetched, which files do not allow."""
    handler = partial(Silent, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Silent(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *arguments):
        pass


@pytest.fixture
def open_page(go_to, address):
    """Open a page of the site, at a width, in a colour scheme."""
    return lambda name, **window: go_to(address + name, **window)


def complaints(visited):
    """The errors, without what the theme tells of itself."""
    return [error for error in visited.errors if error not in visited.remarks]


def wider_than_the_window(visited):
    return visited.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_links_inside_the_site_lead_to_pages_and_places_that_exist(site):
    assert broken_links(site) == []


@pytest.mark.parametrize("name", ["index.html", "guide/first-steps.html", "api.html", "gallery/index.html"])
def test_a_page_loads_without_an_error_and_without_the_network(open_page, address, name):
    visited = open_page(name)
    assert complaints(visited) == []
    assert [url for url in visited.requests if not url.startswith((address, "data:"))] == []


def test_the_search_finds_the_function_that_chooses_thresholds(open_page):
    visited = open_page("search.html?q=choose_threshold")
    found = visited.page.locator("#search-results a", has_text="choose_threshold")
    found.first.wait_for(timeout=5000)
    assert any("selfpaced.choose_threshold" in link.get_attribute("href") for link in found.all())
    assert complaints(visited) == []


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "guide/thresholds.html",
        "generated/selfpaced.choose_threshold.html",
        "architecture.html",
        "api.html",
    ],
)
def test_a_phone_shows_a_page_without_scrolling_sideways(open_page, name):
    assert not wider_than_the_window(open_page(name, width=PHONE))


WIDE_TABLES = """() => [...document.querySelectorAll(".bd-article table")].filter((table) => {
    const around = table.closest(".pst-scrollable-table-container, .bd-article");
    const scrolls = getComputedStyle(around).overflowX === "auto" && around.matches(".pst-scrollable-table-container");
    return table.getBoundingClientRect().width > around.clientWidth + 1 && !scrolls;
}).length"""


@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("name", ["guide/thresholds.html", "guide/where-your-table-lives.html", "field.html"])
def test_a_table_fits_beside_the_text_or_scrolls_by_itself(open_page, name, width):
    assert open_page(name, width=width).page.evaluate(WIDE_TABLES) == 0


def test_the_text_and_the_tables_of_a_guide_have_the_space_of_the_window(open_page):
    page = open_page("guide/thresholds.html").page
    assert page.evaluate("document.querySelector('.bd-article').clientWidth") >= 760
    first = page.locator(".pst-scrollable-table-container").first
    assert first.evaluate("(box) => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize(("width", "least"), [(1280, 380), (PHONE, 300)])
def test_the_pictures_of_the_examples_are_large_enough_to_read(open_page, width, least):
    visited = open_page("gallery/index.html", width=width)
    assert visited.page.locator(".sphx-glr-thumbcontainer img").first.bounding_box()["width"] >= least
    assert not wider_than_the_window(visited)


def test_a_phone_opens_the_navigation_by_its_button(open_page):
    page = open_page("index.html", width=PHONE).page
    page.locator("button.primary-toggle").click()
    page.locator("dialog[open] a", has_text="How-to").first.wait_for(timeout=5000)


def test_a_dark_colour_scheme_gives_a_dark_page(open_page):
    page = open_page("index.html", scheme="dark").page
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in colour.strip("rgb()").split(",")[:3]) < 80
