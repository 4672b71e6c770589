"""A real browser, headless: Chromium, driven by Playwright."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from playwright.sync_api import sync_playwright

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


@dataclass
class Visit:
    """An open page, and what happened on it that should not."""

    page: object
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture(scope="session")
def chromium():
    path = required_program(CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """Open a report as a file, at a width, in a colour scheme."""
    contexts = []

    def open_report(report, width=1280, scheme="light"):
        path = report.save(tmp_path / "report.html")
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        visited = Visit(contexts[-1].new_page())
        visited.page.goto(path.as_uri())
        return visited

    yield open_report
    for context in contexts:
        context.close()
