"""Write the tables of modules in ARCHITECTURE.md from the docstrings of the modules. `make architecture` runs this.

Each package of `src/selfpaced` gets a table, and each of its files a row: its path, and the first paragraph of its
docstring. The tables stand between two comments of the page; everything else on the page is written by hand.

Usage: python tools/architecture.py [--check]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "ARCHITECTURE.md"
BEGIN = "<!-- modules: written by tools/architecture.py -->\n"
END = "<!-- end of modules -->\n"


def idea(source: str) -> str:
    """The first paragraph of a module's docstring on one line, as text of a table.

    >>> idea('"Draws rows,\\\\nor not | at all.\\\\n\\\\nMore."')
    'Draws rows, or not \\\\| at all.'
    """
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).replace("|", "\\|")


def modules(package: Path) -> Iterator[tuple[str, str]]:
    """The path of every module of a package, relative to it, and its idea. `__init__.py` stands before the others."""
    paths = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    for path in sorted(paths, key=lambda path: (len(path.parts) > 1, path.parts[:-1], path.name != "__init__.py")):
        yield path.as_posix(), idea((package / path).read_text("utf-8"))


def tables(package: Path) -> str:
    """The tables of all modules, one for each package, and one for the modules beside the packages.

    A module without a docstring has no idea, which is refused.
    """
    found = list(modules(package))
    silent = [path for path, text in found if not text]
    if silent:
        raise ValueError(f"These modules have no docstring: {', '.join(silent)}. Write one line on the idea of each.")
    parts = []
    for name, rows in groupby(found, key=lambda row: row[0].rpartition("/")[0].partition("/")[0]):
        title = f"`{name}/`" if name else "Beside the packages"
        lines = "".join(f"| `{path}` | {text} |\n" for path, text in rows)
        parts.append(f"### {title}\n\n| module | idea |\n|---|---|\n{lines}")
    return "\n".join(parts)


def rewritten(page: str, package: Path) -> str:
    """The page with the tables of today between its two comments."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"ARCHITECTURE.md needs the lines {BEGIN.strip()!r} and {END.strip()!r} around its tables.")
    return f"{before}{begin}\n{tables(package)}\n{end}{after}"


def main() -> int:
    page = PAGE.read_text("utf-8")
    new = rewritten(page, REPOSITORY / "src" / "selfpaced")
    if "--check" in sys.argv[1:]:
        print("ARCHITECTURE.md is up to date" if new == page else "ARCHITECTURE.md is out of date: make architecture")
        return int(new != page)
    PAGE.write_text(new, "utf-8")
    print(f"ARCHITECTURE.md {'is unchanged' if new == page else 'has new tables'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
