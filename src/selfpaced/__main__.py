"""`python -m selfpaced` is the command line."""

import sys

from selfpaced.cli import main

sys.exit(main())
