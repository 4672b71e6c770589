"""Rows whose labels may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report import html
from selfpaced.report.html import Html
from selfpaced.report.topics.data import Values, column_names, columns_of, take_rows
from selfpaced.report.words import score_text, shortened

if TYPE_CHECKING:
    from selfpaced.report.page import Facts

N_SUSPECTS = 20
N_COLUMNS = 4
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Suspect:
    id: str
    score: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class SuspectFacts:
    """The rows whose labels the scores contradict most, of both classes, with the values of some columns."""

    columns: tuple[str, ...]
    missed_cases: tuple[Suspect, ...]
    alarming_others: tuple[Suspect, ...]


def suspect_rows(is_case: NDArray[np.bool_], scores: NDArray[Any], n: int = N_SUSPECTS) -> tuple[Positions, Positions]:
    """The positions of the rare rows with the lowest scores and of the common rows with the highest, extremes first.

    Parameters
    ----------
    is_case : ndarray of bool of shape (n_rows,)
        Which rows are rare.
    scores : ndarray of shape (n_rows,)
        Their scores.
    n : int, default=20
        The number of rows of each kind.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Positions of rare rows, and positions of common rows.

    See Also
    --------
    report_of_scores : A report from scores, with a sample of the rows.

    Examples
    --------
    >>> missed, alarming = suspect_rows(np.array([True, True, False, False]), np.array([0.9, 0.2, 0.1, 0.7]), 1)
    >>> missed.tolist(), alarming.tolist()
    ([1], [3])
    """
    return _lowest(is_case, scores, n, 1), _lowest(~is_case, scores, n, -1)


def _lowest(chosen: NDArray[np.bool_], scores: NDArray[Any], n: int, sign: int) -> Positions:
    """The positions of the chosen rows with the lowest scores times `sign`, the lowest first."""
    values = scores[chosen]
    values *= sign
    if values.size > n:
        chosen = chosen.copy()
        chosen[chosen] = values <= np.partition(values, n - 1)[n - 1]
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(sign * scores[rows], kind="stable")][:n]


def suspect_facts(
    is_case: NDArray[np.bool_],
    scores: NDArray[Any],
    ids: Any,
    sample: Any,
    sample_rows: NDArray[np.integer] | None,
    important: Sequence[str],
) -> SuspectFacts:
    """Suspects with ids, or positions if there are no ids, and the values of the most important columns.

    `sample_rows` are the positions of the sample's rows among the scores; None if it holds all of them. The values of
    a suspect that is not in the sample are empty.
    """
    shown = [] if sample is None else _places(column_names(sample), important)
    missed, alarming = suspect_rows(is_case, scores)
    wanted = np.concatenate([missed, alarming])
    place_of = {int(row): int(row) for row in wanted} if sample_rows is None else _where(sample_rows, wanted)
    known = [row for row in wanted.tolist() if row in place_of]
    rows = np.array([place_of[row] for row in known], dtype=np.int64)
    columns = list(columns_of(take_rows(sample, rows), shown)) if shown and known else []
    values = {row: _texts(columns, number) for number, row in enumerate(known)}

    def described(row: int) -> Suspect:
        name = str(row if ids is None else ids[row])
        return Suspect(shortened(name), float(scores[row]), values.get(row, ("",) * len(columns)))

    names = tuple(column.name for column in columns)
    return SuspectFacts(names, tuple(map(described, missed.tolist())), tuple(map(described, alarming.tolist())))


def _places(names: Sequence[str], important: Sequence[str]) -> list[int]:
    """The places of the most important columns, or of the first ones if none is known to be important."""
    found = [names.index(name) for name in important if name in names]
    return (found or list(range(len(names))))[:N_COLUMNS]


def _where(sample_rows: NDArray[np.integer], wanted: Positions) -> dict[int, int]:
    places = np.flatnonzero(np.isin(sample_rows, wanted))
    return {int(sample_rows[place]): int(place) for place in places}


def _texts(columns: Sequence[Values], row: int) -> tuple[str, ...]:
    return tuple(column.text(row) for column in columns)


SHOWN = 8
LONGEST_NAME = 18


def suspects(facts: Facts) -> Html:
    found = facts.suspects
    return html.section(
        "suspects",
        "Rows to look at",
        html.paragraph(
            "Where scores and labels contradict each other most, either the model or the label is wrong. "
            "A person should look at these rows.",
            class_="lead",
        ),
        html.element(
            "div",
            _list(
                "The highest scores among common rows",
                "Rare rows that were never labelled?",
                found.columns,
                found.alarming_others,
            ),
            _list(
                ["The lowest scores among ", html.label(facts.case.rows)],
                "Wrong labels, or rare rows unlike all others?",
                found.columns,
                found.missed_cases,
            ),
            class_="suspect-lists",
        ),
    )


def _list(title: object, question: str, columns: Sequence[str], rows: Sequence[Suspect]) -> Html:
    header = ["Row", "Score", *(html.named(name, LONGEST_NAME) for name in columns)]
    cells = [[row.id, score_text(row.score), *row.values] for row in rows]
    numbers = range(1, len(header))
    shown, rest = (html.table(header, some, numbers=numbers, class_="rows") for some in (cells[:SHOWN], cells[SHOWN:]))
    more = html.unfolding(f"{len(cells) - SHOWN} more", rest) if len(cells) > SHOWN else None
    return html.element("div", html.element("h3", title), html.paragraph(question, class_="note"), shown, more)
