"""The versions of the packages that a model is made of."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from typing import Any

# These versions are recorded, but a model does not depend on them.
ONLY_NOTED = {"numpy", "python", "skops"}


def versions_for(members: Iterable[Any]) -> dict[str, str]:
    """The current versions of Python, of what every model needs, and of the packages of the members of an ensemble."""
    return versions_of({"numpy", "selfpaced", "sklearn"}.union(*map(_packages_of, members)))


def versions_of(packages: set[str]) -> dict[str, str]:
    """The current versions of Python, and of the given packages that are imported and have a version."""
    return {"python": platform.python_version(), **_installed(packages)}


def _packages_of(member: Any) -> set[str]:
    parts = [member, *member.get_params(deep=True).values()]
    return {type(part).__module__.partition(".")[0] for part in parts}


def _installed(packages: set[str]) -> dict[str, str]:
    """The versions of packages that are imported and have one. Modules of the standard library have none."""
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in sorted(packages)}
    return {name: str(version) for name, version in found.items() if version is not None}


def differences(written: Mapping[str, str]) -> list[str]:
    """The packages whose version differs from that of a saved model, as text. Patch releases count as the same.

    Packages that are not imported are ignored: names from a file must not cause an import.

    >>> differences({"sklearn": "0.1.2", "python": "2.7"})  # doctest: +ELLIPSIS
    ['sklearn 0.1.2 (here ...)']
    """
    here = _installed(set(written) - ONLY_NOTED)
    return [
        f"{name} {written[name]} (here {version})"
        for name, version in here.items()
        if _minor(written[name]) != _minor(version)
    ]


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
