"""The command line: parse the arguments, call one function, print the result."""

from selfpaced.cli.entry import main
