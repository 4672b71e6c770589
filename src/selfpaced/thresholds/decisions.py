"""Decisions row by row: a row is an alert if its expected loss is more than the cost of an alert."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]

PROBABILITY = "p"
EXAMPLE = "p*amount>5"
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Decision:
    """A rule such as `p*amount>5`: the probability, times the cost of missing the row, exceeds the cost of an alert.

    Attributes
    ----------
    text : str
        The rule as it was written.
    columns : tuple[str, ...]
        The columns that it reads.
    """

    text: str
    columns: tuple[str, ...]
    _left: ast.expr
    _right: ast.expr
    _names: Mapping[str, str]

    def gains(self, probabilities: Floats, columns: Columns) -> Floats:
        """The expected loss of a row minus the cost of its alert. Rows with a positive gain are alerts."""
        known = {PROBABILITY: probabilities, **{name: columns[of] for name, of in self._names.items()}}
        gains = np.asarray(_value(self._left, known) - _value(self._right, known), dtype=np.float64)
        gains = np.broadcast_to(gains, probabilities.shape)
        if np.isnan(gains).any():
            raise ValueError(
                f"The rule {self.text!r} has no value in {int(np.isnan(gains).sum()):,} of {gains.size:,} rows: one of "
                f"the columns {list(self.columns)} has missing values. Fill them in: every row needs its costs."
            )
        return gains

    def alerts(self, probabilities: Floats, columns: Columns) -> NDArray[np.bool_]:
        """Which rows to look at."""
        alerts: NDArray[np.bool_] = self.gains(probabilities, columns) > 0
        return alerts

    def cost(self, is_rare: NDArray[np.bool_], is_alert: NDArray[np.bool_], columns: Columns) -> float:
        """The total cost: the right side for every alert, and the left side at p = 1 for every missed rare row."""
        known = {name: columns[of] for name, of in self._names.items()}
        nothing = np.zeros(is_rare.size)
        missed = _value(self._left, {PROBABILITY: np.ones(is_rare.size), **known}) + nothing
        alert = _value(self._right, {PROBABILITY: nothing, **known}) + nothing
        return float(alert[is_alert].sum() + missed[is_rare & ~is_alert].sum())

    def __str__(self) -> str:
        return self.text


def parse_decision(text: str) -> Decision:
    """A decision from its text. It may contain numbers, columns, p, + - * / and brackets.

    Put names of columns with spaces or other characters in backticks, as in "p * `amount due` > 5". `p` is always the
    probability: put a column of this name in backticks too.

    >>> decision = parse_decision("p*amount>5")
    >>> decision.alerts(np.array([0.02, 0.9]), {"amount": np.array([500.0, 2.0])}).tolist()
    [True, False]
    """
    quoted = _QUOTED.findall(str(text))
    names = {f"__column_{number}": name for number, name in enumerate(quoted)}
    numbers = iter(names)
    code = _QUOTED.sub(lambda _: next(numbers), str(text))
    try:
        comparison = ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise _unreadable(text) from None
    if not (isinstance(comparison, ast.Compare) and len(comparison.ops) == 1):
        raise _unreadable(text)
    left, right = comparison.left, comparison.comparators[0]
    if isinstance(comparison.ops[0], ast.Lt):
        left, right = right, left
    elif not isinstance(comparison.ops[0], ast.Gt):
        raise _unreadable(text)
    for side in (left, right):
        _check(side, text)
    if PROBABILITY not in _names_in(left) or PROBABILITY in _names_in(right):
        raise _unreadable(text)
    found = [name for name in (*_names_in(left), *_names_in(right)) if name != PROBABILITY]
    known = {name: names.get(name, name) for name in dict.fromkeys(found)}
    return Decision(str(text), tuple(known.values()), left, right, known)


def _unreadable(text: str) -> ValueError:
    return ValueError(
        f"{text!r} is not a rule for decisions. A rule compares the expected loss of a row with the cost of an alert, "
        f"as {EXAMPLE!r}. Use p, the probability, on the larger side, numbers, columns, + - * / and brackets. Put "
        "names of columns with other characters in backticks, and the rule in quotes in a shell."
    )


def _check(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left, text)
        _check(node.right, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _check(node.operand, text)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise _unreadable(text)
    elif not isinstance(node, ast.Name):
        raise _unreadable(text)


def _names_in(node: ast.expr) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, known)
    return known[node.id] if isinstance(node, ast.Name) else float(node.value)  # type: ignore[attr-defined]
