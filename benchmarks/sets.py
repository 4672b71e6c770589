"""Which data sets a benchmark runs on, and how often, as it was asked for on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any


def asked_for(doc: str | None, sets: Mapping[str, Any], count: str, default: int) -> tuple[dict[str, Any], int]:
    """The sets whose names contain what --only says, and the number of an option such as --splits."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(f"--{count}", type=int, default=default)
    parser.add_argument("--only", default="", metavar="TEXT", help="sets whose name contains this; saves nothing")
    options = parser.parse_args()
    chosen = {name: load for name, load in sets.items() if options.only.lower() in name.lower()}
    return chosen, getattr(options, count)
