"""Programs that tests need and Debian packs."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def have(what: str, packages: list[str], found) -> str:
    """The path of a program, after it has been installed where that is allowed.

    Where it cannot be had, tests are skipped; in CI that is a failure.
    """
    path = found() or _installed(packages, found)
    if path is None:
        reason = f"no {what} is here, and it cannot be installed: apt-get install {' '.join(packages)}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path


def _installed(packages: list[str], found) -> str | None:
    if shutil.which("apt-get") and os.geteuid() == 0:
        patience = ["-o", "DPkg::Lock::Timeout=300"]  # tests that run beside these may be installing, too
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            subprocess.run(
                ["apt-get", *patience, *command],
                capture_output=True,
                check=False,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
    return found()
