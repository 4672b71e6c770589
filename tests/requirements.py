"""What some tests need and pip does not install: files of real data, and programs such as a browser.

Where it is missing, a test is skipped with a reason that says how to get it. Where the environment variable
SELFPACED_REQUIRE_ALL is set, as `.ci/run` sets it, the test fails instead: nothing goes untested unnoticed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tools.system_packages import Program

REQUIRE_ALL = "SELFPACED_REQUIRE_ALL"
BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared"


def data_file(name: str) -> Path:
    """The path of a file of real data."""
    folder = Path(os.environ.get("SELFPACED_DATA", BESIDE_THE_REPOSITORY / "data"))
    return required_file(folder / name, "set SELFPACED_DATA to the folder that holds it")


def required_file(path: Path, how_to_get_it: str) -> Path:
    """The path, if there is a file."""
    if not path.exists():
        missing(f"{path.name} is missing; {how_to_get_it}")
    return path


def required_program(program: Program) -> str:
    """The path of a program, if it is installed."""
    path = program.path()
    if path is None:
        missing(f"{program.name} is missing; install it with `make system-packages` (as root, on Debian)")
    return path


def missing(reason: str) -> NoReturn:
    """Skip the test; fail it where everything is required."""
    if os.environ.get(REQUIRE_ALL):
        pytest.fail(f"{reason}. {REQUIRE_ALL} is set, so this is a failure.")
    pytest.skip(reason)
