"""Check that every link inside the documentation site leads to a file and a place that are there.

Usage: python tools/check_site.py FOLDER
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Page(HTMLParser):
    """The links of a page, and the places that links can lead to."""

    path: Path
    links: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and name in ("id", "name"):
                self.places.add(value)


def broken_links(site: Path) -> list[str]:
    """A line for each link of the site that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    return sorted(
        {
            f"{page.path.relative_to(site)}: {link}"
            for page in pages.values()
            for link in page.links
            if not _leads_somewhere(link, page, pages)
        }
    )


def _leads_somewhere(link: str, page: Page, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True  # outside the site, where nothing is checked
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
    if not target.exists():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].places


def main(site: Path) -> int:
    if not (site / "index.html").exists():
        print(f"{site} holds no site: index.html is missing. Build the site with `make docs`.")
        return 1
    broken = broken_links(site)
    for line in broken:
        print(line)
    print(f"{len(broken)} broken links" if broken else "every link inside the site leads somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
