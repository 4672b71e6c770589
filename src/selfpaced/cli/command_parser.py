"""Parsers that suggest corrections of misspelled names, and list the commands by purpose."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from selfpaced.suggesting import did_you_mean

OPTION = re.compile(r"--[\w-]+")
WRONG_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors suggest the command, option or value that was meant."""

    _given: Sequence[str] = ()
    _help_shows = "shows the options and examples"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, as an error of the command that they were given to."""
        self._given = () if args is None else list(args)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """End with the message, and with where the options are listed: the usage alone would fill the screen."""
        suggestion = self._suggestion(message)
        said = f"{message}.{suggestion}" if suggestion else message
        self.exit(2, f"{self.prog}: error: {said}\n{self.prog} --help {self._help_shows}.\n")

    def _suggestion(self, message: str) -> str:
        if wrong := WRONG_CHOICE.search(message):
            return did_you_mean(wrong.group(1), re.findall(r"[\w-]+", wrong.group(2)))
        known = OPTION.findall(self.format_usage())
        for word in self._given:
            option = OPTION.match(word)
            if option and not any(each.startswith(option.group()) for each in known):
                return did_you_mean(option.group(), known)
        return ""


class TopParser(CommandParser):
    """The parser of `selfpaced` itself. Its help lists the commands by purpose."""

    groups: Mapping[str, Mapping[str, str]] = {}
    _help_shows = "lists the commands"

    def format_help(self) -> str:
        """The usage, the commands with their summaries, and where to read more."""
        lines = [f"usage: {self.prog} COMMAND [options]", "", str(self.description)]
        for title, commands in self.groups.items():
            lines += ["", f"{title}:", *(f"  {name:<12}{summary}" for name, summary in commands.items())]
        lines += ["", f"{self.prog} COMMAND --help shows the options and examples of a command.", ""]
        return "\n".join([*lines, f"{self.prog} --version prints the version.", ""])
