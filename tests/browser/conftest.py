"""A real browser, headless: Chromium, driven by Playwright."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.requirements import required_program
from tools.system_packages import CHROMIUM

# Without a sandbox because root has none; without services of its own that would go to the network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# What a reader cannot see whole: elements beyond the window that are in nothing that scrolls, texts of drawings that
# leave their drawing, and texts that their own box cuts. Names that are moved out of sight on purpose do not count.
CUT_OFF = """() => {
    const width = document.documentElement.clientWidth, out = [];
    document.querySelectorAll("details").forEach((details) => (details.open = true));
    if (document.documentElement.scrollWidth > width) out.push(`page of ${document.documentElement.scrollWidth} px`);
    for (const e of document.querySelectorAll("body *")) {
        if (e.closest(".skip, #answer > h2, svg") || !e.getClientRects().length) continue;
        if (!e.closest(".scroll") && e.getBoundingClientRect().right > width + 1) out.push(e.outerHTML.slice(0, 80));
        const clips = ["hidden", "clip"].includes(getComputedStyle(e).overflowX);
        if (clips && e.scrollWidth > e.clientWidth + 1) out.push(`clipped: ${e.outerHTML.slice(0, 80)}`);
    }
    for (const text of document.querySelectorAll("svg text")) {
        if (!text.getClientRects().length) continue;
        const box = text.getBBox(), paper = text.ownerSVGElement.viewBox.baseVal;
        if (box.x < -1 || box.x + box.width > paper.width + 1 || box.y + box.height > paper.height + 4)
            out.push(`outside its drawing: ${text.textContent}`);
    }
    return out;
}"""


def cut_off(page):
    """What of a page cannot be seen whole."""
    return page.evaluate(CUT_OFF)


@dataclass
class Visit:
    """An open page, and what happened on it that should not.

    Attributes
    ----------
    errors : errors, dialogs, and whatever is said on the console.
    remarks : those of them that are neither an error nor a warning.
    """

    page: object
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listeners = {
            "console": self._hear,
            "pageerror": lambda error: self.errors.append(str(error)),
            "dialog": lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)

    def _hear(self, message) -> None:
        text = f"{message.text} ({message.location['url']})"
        self.errors.append(text)
        if message.type not in ("error", "warning"):
            self.remarks.append(text)

    def end(self) -> None:
        """Listen no more, and leave nothing behind for the next visit."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.context.clear_cookies()


@pytest.fixture(scope="session")
def chromium():
    path = required_program(CHROMIUM)
    from playwright.sync_api import sync_playwright  # here, because every process of the tests imports this file

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tab(chromium):
    """Where pages are visited, one after the other: to open and close a tab costs more than what tests do in it."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def go_to(tab):
    """Visit an address, at a width, in a colour scheme. The next visit is the end of this one."""
    visits = []

    def visited(address, width=1280, scheme="light"):
        if visits:
            visits.pop().end()
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media="screen", color_scheme=scheme)
        visits.append(Visit(tab))
        tab.goto(address)
        return visits[-1]

    yield visited
    if visits:
        visits.pop().end()


@pytest.fixture
def visit(go_to, tmp_path):
    """Open a report as a file, at a width, in a colour scheme."""

    def open_report(report, width=1280, scheme="light"):
        return go_to(report.save(tmp_path / "report.html").as_uri(), width, scheme)

    return open_report
