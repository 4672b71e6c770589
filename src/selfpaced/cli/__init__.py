"""The command line: parse, call one public function, print."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from selfpaced.cli.parser import parser

OK, BUG, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for wrong use or wrong data, 1 for what should not happen, or 130
    after Ctrl-C."""
    options = parser().parse_args(arguments)
    try:
        # Here, because --help need not wait for scikit-learn.
        import_module(f"selfpaced.cli.{options.command}").run(options)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output, such as `head`, has enough
        return OK
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        return _complain(error, options.debug)
    return OK


def _complain(error: Exception, debug: bool) -> int:
    """One line that says what is wrong; after a rule that is none, the rules. Errors nobody foresaw ask for --debug."""
    from selfpaced.exceptions import ModelFileError, TableError, UnknownRuleError

    if isinstance(error, UnknownRuleError):
        print(f"selfpaced: error: {error.complaint} The rules are:\n{_rules()}", file=sys.stderr)
        return BAD_INPUT

    foreseen = isinstance(error, TableError | ModelFileError | ValueError | ImportError | OSError)
    said = " ".join(str(error).split()) or type(error).__name__
    notes = " ".join(getattr(error, "__notes__", [])) if foreseen else ""
    hint = "" if foreseen or debug else f" ({type(error).__name__}; --debug shows where)"
    print(f"selfpaced: error: {said}{' ' + notes if notes else ''}{hint}", file=sys.stderr)
    return BAD_INPUT if foreseen else BUG


def _rules() -> str:
    from selfpaced.thresholds.rules import WRITTEN

    return "\n".join(f"  {text:<18}{meaning}" for text, meaning in WRITTEN.items())
