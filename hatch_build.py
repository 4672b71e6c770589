"""The README as a package index shows it: without links that lead only inside the repository.

Hatchling calls this hook when it builds a package. A link to a file becomes its text and the name of the file, and
pictures of the repository are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]*\)\n+", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?://)([^)]*)\)")


def without_relative_links(text: str) -> str:
    """The text of a Markdown page, with the names of files in place of links to them."""

    def named(link: re.Match[str]) -> str:
        label, target = link.group(1), link.group(2)
        return label if target in label else f"{label} (`{target}`)"

    return LINK.sub(named, PICTURE.sub("", text))


class PackageReadme(MetadataHookInterface):
    """Puts the README into the metadata of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`, which pyproject.toml declares as dynamic."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(text)}
