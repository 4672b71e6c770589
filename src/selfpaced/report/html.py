"""HTML, SVG and texts of the pages: elements, axes, bars, numbers."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from html import escape
from importlib.resources import files
from math import floor, log10
from typing import Any, NamedTuple, Self

import numpy as np

from selfpaced.monitoring import figure_at
from selfpaced.thresholds import Interval

MOST_DECIMALS = 7
LONGEST_TEXT = 60


def percent(share: float) -> str:
    """A share with one decimal, or with two significant digits if it is close to 0% or 100%.

    >>> [percent(share) for share in (0, 0.0626, 0.5, 0.0017, 0.000012, 0.9996, 1)]
    ['0%', '6.3%', '50.0%', '0.17%', '0.0012%', '99.960%', '100%']
    """
    value = 100 * share
    edge = min(value, 100 - value)
    if edge <= 0:
        return f"{value:.0f}%"
    return f"{value:.{1 if edge >= 1 else min(MOST_DECIMALS, 1 - floor(log10(edge)))}f}%"


def whole(number: float) -> str:
    return f"{int(number):,}"


def decimals(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}"


def between(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def threshold_text(threshold: float) -> str:
    """A threshold with all its digits. The thresholds of a page are short.

    >>> threshold_text(0.5), threshold_text(0.99996), threshold_text(0.0000123), threshold_text(1)
    ('0.5', '0.99996', '0.0000123', '1')
    """
    return f"{Decimal(repr(float(threshold))):f}".removesuffix(".0")


def score_text(score: float) -> str:
    """
    >>> score_text(0.5), score_text(0.99996)
    ('0.5000', '0.999960')
    """
    return f"{score:.{4 if 0.001 <= score <= 0.999 else 6}f}"


def plural(number: Any, noun: str) -> str:
    """
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{whole(number)} {noun}" + ("" if number == 1 else "s")


def moment_text(moment: Any) -> str:
    """A time as text, only with its day if it is midnight.

    >>> moment_text(np.datetime64("2024-03-01T00:00:00.000000")), moment_text(np.datetime64("2024-03-01T12:30"))
    ('2024-03-01', '2024-03-01 12:30')
    """
    if not isinstance(moment, np.datetime64):
        return f"{moment:,.6g}"
    text = str(moment.astype("datetime64[m]")).replace("T", " ")
    return text.removesuffix(" 00:00")


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number_text(value: float) -> str:
    """
    >>> [number_text(value) for value in (3.0, 1234567.0, 0.123456, 1e-9, -0.0)]
    ['3', '1,234,567', '0.1235', '1e-09', '0']
    """
    if abs(value) < 1e15 and value == round(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e15 else f"{value:.4g}"


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
    return Html(f"<{tag}{given}>{joined(*children)}</{tag}>")


paragraph = partial(element, "p")
code = partial(element, "code")
strong = partial(element, "strong")
lead = partial(element, "p", class_="lead")
columns = partial(element, "div", class_="columns")
prose = partial(element, "div", class_="prose")


def joined(*children: Any) -> Html:
    """Join elements. Lists and generators among them are flattened."""
    return Html("".join(_child(child) for child in children if child is not None))


def _child(child: Any) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(child)
    return joined(*child) if isinstance(child, Iterable) else escape(_text(child))


def _text(value: Any) -> str:
    """Text of a value. Floats are rounded to two decimals, which is enough for coordinates."""
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


def resource(name: str) -> Html:
    return Html(files("selfpaced.report").joinpath(name).read_text(encoding="utf-8"))


def filled(name: str, values: Mapping[str, Any]) -> Html:
    """A file of HTML with values, which are escaped, in the places of their names in braces."""
    return Html(resource(name).format_map({key: joined(value) for key, value in values.items()}))


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


# The columns of a table of records: the path of a figure in a record, and the function that writes it.
Columns = Mapping[str, tuple[str, Callable[[Any], str]]]


def cells(
    columns: Columns, found: Sequence[Any] | Mapping[str, Any], names: str = ""
) -> tuple[dict[str, list[str]], list[int]]:
    """The columns of a table with a row for each record, and the places of those with numbers.

    Figures that are None are empty, and columns without any figure are left out. The keys of a mapping are the first
    column, with `names` as its header.
    """
    rows = list(found.values() if isinstance(found, Mapping) else found)
    written = {names: list(found)} if isinstance(found, Mapping) else {}
    for name, (path, write) in columns.items():
        values = [figure_at(one, path) for one in rows]
        written[name] = ["" if value is None else write(value) for value in values]
    shown = {name: some for name, some in written.items() if any(some)}
    texts = (str, named, moment_text)
    return shown, [place for place, name in enumerate(shown) if name in columns and columns[name][1] not in texts]


def records(columns: Columns, found: Sequence[Any] | Mapping[str, Any], names: str = "") -> Html:
    """The table of `cells`."""
    shown, numbers = cells(columns, found, names)
    return table(shown, zip(*shown.values(), strict=True), numbers=numbers)


Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    start: float
    stop: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self._stretched(self.low), self._stretched(self.high)
        share = (self._stretched(value) - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def _stretched(self, value: float) -> float:
        return log10(max(value, self.low)) if self.is_log else value


WIDTH = 460  # of most drawings
RIGHT = 16  # the space beside axes
CHARACTER = 8.5  # the width of a letter on a phone, where letters are largest


@dataclass(frozen=True)
class Frame:
    """A pair of axes, and the height of their drawing."""

    x: Axis
    y: Axis
    height: int

    @classmethod
    def of(
        cls, x: Point, y: Point, height: int = 330, left: float = 46, top: float = 28, bottom: float = 42, log: str = ""
    ) -> Self:
        """Axes between the ends `x` and `y`, with some space around them. `log` names the logarithmic ones."""
        return cls(Axis(*x, left, WIDTH - RIGHT, "x" in log), Axis(*y, height - bottom, top, "y" in log), height)

    def point(self, x: float, y: float) -> Point:
        return self.x(x), self.y(y)

    def drawing(self, title: str, description: str, *children: Any, **attributes: Any) -> Html:
        return drawing(title, description, WIDTH, self.height, *children, **attributes)


def drawing(title: str, description: str, width: int, height: int, *children: Any, **attributes: Any) -> Html:
    """An SVG with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=f"{title}. {description}",
        **attributes,
    )


def text(x: float, y: float, words: Any, class_: str = "tick", anchor: str = "start", **attributes: Any) -> Html:
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor, **attributes)


def line(one: Point, other: Point, class_: str) -> Html:
    return element("line", x1=one[0], y1=one[1], x2=other[0], y2=other[1], class_=class_)


def rectangle(x: float, y: float, width: float, height: float, class_: str, *children: Any) -> Html:
    return element("rect", *children, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=class_)


def dot(at: Point, radius: float, class_: str, *children: Any, **attributes: Any) -> Html:
    return element("circle", *children, cx=at[0], cy=at[1], r=radius, class_=class_, **attributes)


def path(points: Iterable[Point], class_: str) -> Html:
    return element("path", d="M" + "L".join(_pair(point) for point in points), class_=class_)


def area(points: Sequence[Point], floor: float, class_: str) -> Html:
    closed = [(points[0][0], floor), *points, (points[-1][0], floor)]
    return element("path", d="M" + "L".join(_pair(point) for point in closed) + "Z", class_=class_)


def grid(
    frame: Frame, x_ticks: dict[float, str], y_ticks: dict[float, str], x_name: str = "", y_name: str = ""
) -> Html:
    """Horizontal grid lines, ticks, and the names of the axes."""
    x, y = frame.x, frame.y
    across = [line((x.start, y(value)), (x.stop, y(value)), "grid") for value in y_ticks]
    left = [text(x.start - 7, y(value) + 4, words, anchor="end") for value, words in y_ticks.items()]
    below = [text(_inside(x(value), words), y.start + 17, words, anchor="middle") for value, words in x_ticks.items()]
    names = [text(x.stop, y.start + 35, x_name, "axis-name", "end")] if x_name else []
    names += [text(0, y.stop - 14, y_name, "axis-name")] if y_name else []
    return joined(*across, *left, *below, *names)


def _inside(x: float, words: str) -> float:
    """The middle of a text, moved to where the text is not cut at the side of a drawing."""
    half = CHARACTER * len(words) / 2 + 3
    return max(half, min(x, WIDTH - half))


def _pair(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


STEP = 14


def hundred_dots(title: str, share: float) -> Html:
    """Ten rows of ten dots. From the bottom left, as many are filled as the share has per cent."""
    n_filled = round(100 * share)
    dots = [
        dot((STEP * (n % 10 + 0.5), STEP * (9.5 - n // 10)), 5, "dot filled" if n < n_filled else "dot")
        for n in range(100)
    ]
    return drawing(title, f"{n_filled} of 100 dots are filled.", 10 * STEP, 10 * STEP, dots, class_="dots")


NAMES, VALUES, VALUES_WITH_ERRORS = 170, 52, 124
ROW = 21
LONGEST_NAME = 19


class Bar(NamedTuple):
    """A bar with its name and value; `error` is the standard error of the value, None or NaN if it is not known."""

    name: str
    value: float
    class_: str
    error: float | None = None


def bar_chart(title: str, description: str, bars: Sequence[Bar], at_least: float = 0.0) -> Html:
    """Horizontal bars, one below the other, on an axis that reaches at least to a value."""
    longest = max(at_least, *(bar.value for bar in bars))
    beside = VALUES if all(bar.error is None for bar in bars) else VALUES_WITH_ERRORS
    axis = Axis(0.0, longest if longest > 0 else 1.0, NAMES, WIDTH - beside)
    return drawing(title, description, WIDTH, ROW * len(bars), [_bar(bar, axis, ROW * n) for n, bar in enumerate(bars)])


def name_text(x: float, y: float, name: str, longest: int, anchor: str = "end") -> Html:
    """A shortened name in a drawing, with the full name as its tooltip."""
    return text(x, y, [shortened(name, longest), element("title", name)], "bar-name", anchor)


def _bar(bar: Bar, axis: Axis, top: float) -> Html:
    end = axis(max(bar.value, 0.0))
    error = "" if bar.error is None or np.isnan(bar.error) else f" ± {decimals(bar.error)}"
    return joined(
        name_text(NAMES - 8, top + 15, bar.name, LONGEST_NAME),
        rectangle(axis.start, top + 4, end - axis.start, ROW - 8, bar.class_),
        text(end + 6, top + 15, f"{decimals(bar.value)}{error}"),
    )


LONGEST_ON_ONE_LINE = 24


class Section(NamedTuple):
    """A part of a page, with its id and the text of the link that leads to it."""

    id: str
    link: str
    shown: Html


def section(id: str, link: str, title: str, *children: Any) -> Section:
    head = element("h2", title, id=f"{id}-title")
    return Section(id, link, element("section", head, *children, id=id, aria_labelledby=f"{id}-title"))


def headed(title: Any, *children: Any) -> Html:
    return element("div", element("h3", title), *children)


def figure(title: str, drawn: Html, *caption: Any, **attributes: Any) -> Html:
    return element("figure", element("h3", title), drawn, element("figcaption", *caption), **attributes)


def figures_list(figures: Iterable[tuple[str, ...] | None], class_: str = "numbers") -> Html:
    """Names, values in large letters, and notes, if there are some. Figures that are None are left out."""
    shown = [
        element(
            "div", element("dt", name), element("dd", value), [element("dd", note, class_="note") for note in notes]
        )
        for name, value, *notes in filter(None, figures)
    ]
    return element("dl", shown, class_=class_)


def label(words: str) -> Html:
    """A name from the user's data. A short one stays on one line."""
    return element("b", words.replace(" ", "\N{NO-BREAK SPACE}") if len(words) <= LONGEST_ON_ONE_LINE else words)


def named(words: str, longest: int = 32) -> Html:
    """A shortened name in a table, with the full name as its tooltip."""
    short = shortened(words, longest)
    return element("span", short, title=None if short == words else words)


def unfolding(summary: str, *children: Any) -> Html:
    return element("details", element("summary", summary), *children)
