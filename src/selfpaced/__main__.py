"""`python -m selfpaced` is the command line."""

from __future__ import annotations

import sys

from selfpaced.cli import main

sys.exit(main())
