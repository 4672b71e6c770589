"""HTML and SVG elements. All text in them is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

WITHOUT_END = {"br", "input", "meta"}


class Html(str):
    """Text that is HTML already. Any other text is escaped wherever it is put."""

    __slots__ = ()


def element(tag: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. Underscores in the names of attributes become hyphens; an underscore at the end is removed.

    Children and attributes that are None are omitted. An attribute that is True has no value.

    >>> element("td", "a < b", element("br"), class_="wide", data_row=3)
    '<td class="wide" data-row="3">a &lt; b<br></td>'
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(_text(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in WITHOUT_END:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(children)}</{tag}>")


def joined(children: Iterable[Any]) -> Html:
    """Join elements. Lists and generators among them are flattened."""
    return Html("".join(_child(child) for child in children if child is not None))


def _child(child: Any) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(child)
    return joined(child) if isinstance(child, Iterable) else escape(_text(child))


def _text(value: Any) -> str:
    """Text of a value. Floats are rounded to two decimals, which is enough for coordinates."""
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


def json_script(id: str, data: Any) -> Html:
    """Data for scripts. Neither the end of the script nor a comment can be in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: U+2028 is escaped too
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(id)}">{text}</script>')


def table(
    header: Iterable[Any], rows: Iterable[Iterable[Any]], *, numbers: Iterable[int] = (), **attributes: Any
) -> Html:
    """A table that scrolls if it is too wide. `numbers` are the columns that are aligned right."""
    right = set(numbers)

    def cells(name: str, values: Iterable[Any]) -> Html:
        return joined(
            element(name, value, class_="number" if place in right else None, scope="col" if name == "th" else None)
            for place, value in enumerate(values)
        )

    head = element("thead", element("tr", cells("th", header)))
    body = element("tbody", [element("tr", cells("td", row)) for row in rows])
    return element("div", element("table", head, body, **attributes), class_="scroll", tabindex=0, role="group")
