"""Links of Markdown pages to other files of the repository.

The same pages are read in the repository and on the site. On the site, a link to a page of the site leads to that page,
also from the pages that are included from the root of the repository. The name of a file that is not part of the site,
such as a benchmark, is shown without a link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
REPOSITORY = DOCS.parent
# Pages of the root of the repository, and the pages of the site that show them.
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "GOVERNANCE.md": "governance.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}
INCLUDED = {page: root for root, page in ROOT_PAGES.items() if root != "README.md"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)]*)?\)")


def with_links_of_the_site(text: str, folder: Path, shown_in: Path) -> str:
    """The text of a page in `folder`, with links that work from a page in `shown_in`."""

    def rewritten(link: re.Match[str]) -> str:
        label, target, anchor = link.group(1), (folder / link.group(2)).resolve(), link.group(3) or ""
        if target.parent == REPOSITORY and target.name in ROOT_PAGES:
            target = DOCS / ROOT_PAGES[target.name]
        if target.is_relative_to(DOCS) and target.suffix == ".md":
            return f"[{label}]({Path(os.path.relpath(target, shown_in)).as_posix()}{anchor})"
        return label

    return LINK.sub(rewritten, text)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Sphinx has read a page: rewrite its links, and bring in the page of the root that it shows."""
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    folder, text = page.parent, source[0]
    if f"{name}.md" in INCLUDED:
        root = REPOSITORY / INCLUDED[f"{name}.md"]
        app.env.note_dependency(str(root))
        folder, text = REPOSITORY, root.read_text(encoding="utf-8")
    source[0] = with_links_of_the_site(text, folder, page.parent)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True}
