"""The parts that sections share."""

from __future__ import annotations

from typing import Any

from selfpaced.report.columns import shortened
from selfpaced.report.html import Html, element

LONGEST_ON_ONE_LINE = 24


def section(id: str, title: str, *children: Any) -> Html:
    return element("section", element("h2", title, id=f"{id}-title"), *children, id=id, aria_labelledby=f"{id}-title")


def figure(title: str, drawn: Html, *caption: Any, **attributes: Any) -> Html:
    return element("figure", element("h3", title), drawn, element("figcaption", *caption), **attributes)


def paragraph(*children: Any, **attributes: Any) -> Html:
    return element("p", *children, **attributes)


def columns(*children: Any) -> Html:
    return element("div", *children, class_="columns")


def label(words: str) -> Html:
    """A name from the user's data. A short one stays on one line."""
    return element("b", words.replace(" ", "\N{NO-BREAK SPACE}") if len(words) <= LONGEST_ON_ONE_LINE else words)


def named(words: str, longest: int = 32) -> Html:
    """A shortened name in a table, with the full name as its tooltip."""
    short = shortened(words, longest)
    return element("span", short, title=None if short == words else words)


def unfolding(summary: str, *children: Any) -> Html:
    return element("details", element("summary", summary), *children)
