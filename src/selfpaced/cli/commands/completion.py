"""`selfpaced completion`"""

from __future__ import annotations

from argparse import Namespace

from selfpaced.cli.parser import parser


def run(options: Namespace) -> None:
    try:
        import shtab
    except ImportError as error:
        raise ImportError("Completion needs shtab: pip install 'selfpaced[cli]'") from error
    print(shtab.complete(parser(), options.shell))
