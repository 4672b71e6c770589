"""Print the oldest versions that pyproject.toml allows, as constraints for pip: `make test-oldest` installs them."""

from __future__ import annotations

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def pinned(requirement: str) -> str | None:
    """The lowest version of a requirement as a constraint, which has no extras; none without a lower bound.

    >>> pinned("dask[dataframe,distributed]>=2025.1"), pinned("selfpaced[files,models]")
    ('dask==2025.1', None)
    """
    name, _, lowest = requirement.partition(">=")
    return f"{name.partition('[')[0]}=={lowest}" if lowest else None


def main() -> None:
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = project["optional-dependencies"].values()
    requirements = [*project["dependencies"], *(requirement for extra in extras for requirement in extra)]
    print("\n".join(sorted({pin for pin in map(pinned, requirements) if pin})))


if __name__ == "__main__":
    main()
