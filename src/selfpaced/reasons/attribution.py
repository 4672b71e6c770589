"""How much each column adds to the log-odds of a row, against those of the typical row.

The log-odds of a model are a sum over its parts, so that the values of the parts are added up. Those of a part of trees
are Shapley values of the trees. Those of any other part are estimated by orders in which the columns of the typical row
are replaced by those of the row. Members are averaged as probabilities, which is not a sum of log-odds. So the values
of a part are brought to the difference of its own log-odds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as cached
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from selfpaced import scoring, tables
from selfpaced.model import Model, UsualValues, log_odds
from selfpaced.reasons.members import MemberTrees, trees_of_part
from selfpaced.trees import Link

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# About so many mixed rows of each row are scored where the values are estimated, but at least two orders of columns,
# each forwards and backwards.
N_MIXED, FEWEST_ORDERS = 160, 2
SEED = 0
# Differences of probabilities below this are rounding errors.
SMALLEST_DIFFERENCE = 1e-9


@dataclass(frozen=True)
class Attribution:
    """The share of each player in the log-odds of each row, against those of the typical row."""

    values: Floats  # a row for each row, a column for each player
    errors: Floats  # the standard errors of estimated values; 0 for exact ones
    base: float  # the log-odds of the typical row


class MixedRows:
    """Rows, the typical row below them, and rows that are mixed from one of them and from the typical row."""

    def __init__(self, features: Any, usual: Sequence[UsualValues], players: Ints) -> None:
        self.players = players
        self.n_players = int(players.max()) + 1
        self.n_rows = int(features.shape[0])
        if issparse(features):
            features = features.toarray()
        if isinstance(features, np.ndarray):
            self.rows: Any = np.vstack([features.astype(np.float64, copy=False), _typical_numbers(usual)])
            return
        features = features if isinstance(features, scoring.CodedRows) else _as_pandas(features)
        self._frame = cached(partial(_with_typical, features, usual))
        coded = scoring.coded(features)
        # Columns of numbers are mixed in a fraction of the time that frames take.
        self.rows = self._frame() if coded is None else _coded_with_typical(coded, usual, self._frame)

    def mixed(self, number: int, is_own: NDArray[np.bool_]) -> Any:
        """Rows with some players of a row, a row of `is_own` each, and the others of the typical row."""
        own = is_own[:, self.players]
        if isinstance(self.rows, np.ndarray):
            return np.where(own, self.rows[number], self.rows[-1])
        make_frame = partial(self._mixed_frame, number, own)
        if not isinstance(self.rows, scoring.CodedRows):
            return make_frame()
        numbers = self.rows.numbers
        mixed = np.where(own.T, numbers[:, number : number + 1], numbers[:, -1:])
        return scoring.CodedRows(mixed, self.rows.categories, make_frame, self.rows.is_exact)

    def _mixed_frame(self, number: int, own: NDArray[np.bool_]) -> Any:
        frame, places = self._frame(), np.where(own, number, self.n_rows)
        return _frame({name: frame[name].array.take(places[:, at]) for at, name in enumerate(frame.columns)})

    def differing(self, number: int) -> NDArray[np.int64]:
        """The players whose values differ from those of the typical row."""
        if isinstance(self.rows, np.ndarray | scoring.CodedRows):
            rows = self.rows.T if isinstance(self.rows, np.ndarray) else self.rows.numbers
            own, typical = rows[:, number], rows[:, -1]
            differs = (own != typical) & ~(np.isnan(own) & np.isnan(typical))
        else:
            two = self.rows.iloc[[number, self.n_rows]]
            differs = np.array([two[name].nunique(dropna=False) > 1 for name in two.columns])
        return np.unique(self.players[differs])


def _typical_numbers(usual: Sequence[UsualValues]) -> Floats:
    return np.array([np.nan if each.typical is None else each.typical for each in usual], dtype=np.float64)


def _coded_with_typical(
    rows: scoring.CodedRows, usual: Sequence[UsualValues], make_frame: Callable[[], Any]
) -> scoring.CodedRows:
    numbers = np.empty((len(usual), len(rows) + 1))
    numbers[:, :-1] = rows.numbers
    categories = dict(rows.categories)
    for at, each in enumerate(usual):
        if at not in categories:
            numbers[at, -1] = np.nan if each.typical is None else each.typical
            continue
        texts = [str(known) for known in categories[at]]
        if each.typical is not None and each.typical not in texts:
            categories[at], texts = (*categories[at], each.typical), [*texts, each.typical]
        numbers[at, -1] = np.nan if each.typical is None else texts.index(each.typical)
    return scoring.CodedRows(numbers, categories, make_frame, rows.is_exact)


def _frame(columns: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _as_pandas(features: Any) -> Any:
    features = tables.polars_as_arrow(features)
    return features if tables.kind_of(features) is tables.PANDAS else features.to_pandas()


def _with_typical(features: Any, usual: Sequence[UsualValues]) -> Any:
    import pandas as pd

    frame = scoring.as_frame(features)
    typical = {
        name: _typical_series(each.typical, frame[name].dtype, each.is_date)
        for name, each in zip(frame.columns, usual, strict=True)
    }
    columns = {name: pd.concat([_open(frame[name], own), own], ignore_index=True) for name, own in typical.items()}
    return _frame(columns)


def _typical_series(value: Any, kind: Any, is_date: bool) -> Any:
    """The typical value as a column of one row, of the type of the column if that can hold it."""
    import pandas as pd

    if hasattr(kind, "categories"):
        known = {str(each): each for each in kind.categories}
        own = known.get(value, value)
        more = [own] if value is not None and value not in known else []
        return pd.Series(pd.Categorical([own], [*kind.categories, *more]))
    if is_date and value is not None:
        value = pd.Timestamp(value, unit="s", tz="UTC") if getattr(kind, "tz", None) else pd.Timestamp(value, unit="s")
    try:
        return pd.Series([value], dtype=kind)
    except (TypeError, ValueError):  # a missing value in a column of whole numbers
        return pd.Series([value], dtype=np.float64)


def _open(column: Any, own: Any) -> Any:
    """The column with the categories of the typical value, if it has any."""
    return column.astype(own.dtype) if hasattr(own.dtype, "categories") else column


def attribution(model: Model, features: Any, usual: Sequence[UsualValues], players: Ints) -> Attribution:
    """`features` are rows as the reader of the model reads them. `players` has the number of each feature's player."""
    rows = MixedRows(features, usual, players)
    column = model.trained_on.score_column
    if model.n_classes > 2 and model.pool is not None:
        # The shares of the classes are divided by their sum, so that parts do not add up.
        score = partial(_odds_of_model, model, column)
        values, errors = _settled(*_estimated(rows, score), score(rows.rows))
        return Attribution(values, errors, float(score(rows.rows)[-1]))
    values, errors, base = np.zeros((rows.n_rows, rows.n_players)), np.zeros((rows.n_rows, rows.n_players)), 0.0
    for number, trees in enumerate(_trees_of(model)):
        score = partial(_odds_of_part, model, number, column)
        odds = score(rows.rows)
        own = None if trees is None else _by_trees(trees, rows, odds)
        found, error = _estimated(rows, score) if own is None else (own, np.zeros_like(own))
        found, error = _settled(found, error, odds)
        coefficient, constant = _coefficient(model, number)
        values, errors = values + coefficient * found, np.hypot(errors, coefficient * error)
        base += coefficient * odds[-1] + constant
    return Attribution(values, errors, float(base))


def _by_trees(trees: Sequence[MemberTrees], rows: MixedRows, odds: Floats) -> Floats | None:
    """The values of a part of trees; None if the rows are of a form that they do not read."""
    found = np.zeros((rows.n_rows, rows.n_players))
    for each in trees:
        own = each.values(rows.rows, rows.players, rows.n_players)
        if own is None:
            return None
        found += own
    if trees[0].link is Link.LOGISTIC:
        return found
    # From probabilities to log-odds, which rise with them: at p, by 1 / (p (1 - p)), which is 2 + 2 cosh(log-odds).
    differences = found.sum(axis=1, keepdims=True)
    steepness = 2 + 2 * np.cosh(odds[:-1])[:, np.newaxis]
    gaps = (odds[:-1] - odds[-1])[:, np.newaxis]
    is_clear = np.abs(differences) > SMALLEST_DIFFERENCE
    factors: Floats = np.divide(gaps, differences, out=steepness, where=is_clear)
    return found * factors


def _coefficient(model: Model, number: int) -> tuple[float, float]:
    """How the log-odds of a part become a summand of those of the model: by a factor and a constant."""
    pool = model.pool
    if pool is None:
        return 1.0, 0.0
    scale = float((pool.weights @ pool.spreads)[0])
    factor = scale * float(pool.weights[number] / pool.spreads[number, 0])
    sign = 1 if pool.classes[0] == model.trained_on.score_column else -1
    centre, of_all = float(pool.centres[number, 0]), float((pool.weights @ pool.centres)[0])
    return factor, sign * (of_all * float(pool.weights[number]) - factor * centre)


def _odds_of_part(model: Model, number: int, column: int, rows: Any) -> Floats:
    part = model.parts[number]
    probabilities = scoring.mean_probabilities(
        model.scorers[number], tables.InMemoryTable(rows), model.n_classes, 1, part.weights
    )
    return log_odds(probabilities[:, column])


def _odds_of_model(model: Model, column: int, rows: Any) -> Floats:
    return log_odds(model.means_of(tables.InMemoryTable(rows), 1)[:, column])


def _settled(values: Floats, errors: Floats, odds: Floats) -> tuple[Floats, Floats]:
    """The values, brought to the difference of the log-odds by changes in proportion to their size."""
    gap = (odds[:-1] - odds[-1]) - values.sum(axis=1)
    size = np.abs(values).sum(axis=1)
    shares = np.divide(gap, size, out=np.zeros_like(gap), where=size > 0)
    return values + shares[:, np.newaxis] * np.abs(values), errors


def _estimated(rows: MixedRows, score: Callable[[Any], Floats]) -> tuple[Floats, Floats]:
    """Shapley values by random orders of the players, each forwards and backwards, and their standard errors."""
    values, errors = np.zeros((rows.n_rows, rows.n_players)), np.zeros((rows.n_rows, rows.n_players))
    for number in range(rows.n_rows):
        present = rows.differing(number)
        if present.size:
            values[number], errors[number] = _estimated_row(rows, number, present, score)
    return values, errors


def _estimated_row(
    rows: MixedRows, number: int, present: Ints, score: Callable[[Any], Floats]
) -> tuple[Floats, Floats]:
    n_orders = max(FEWEST_ORDERS, N_MIXED // (2 * present.size)) if present.size > 2 else 1
    random = np.random.default_rng(SEED)
    orders = [random.permutation(present) for _ in range(n_orders)]
    orders = [order for each in orders for order in (each, each[::-1])]
    # The masks of an order: none of its players, the first, the first two, and so on.
    is_own = np.zeros((len(orders), present.size + 1, rows.n_players), dtype=bool)
    for own, order in zip(is_own, orders, strict=True):
        for place, player in enumerate(order):
            own[place + 1 :, player] = True
    scores = score(rows.mixed(number, is_own.reshape(-1, rows.n_players))).reshape(len(orders), -1)
    steps = np.zeros((len(orders), rows.n_players))
    for own, order, found in zip(steps, orders, np.diff(scores, axis=1), strict=True):
        own[order] = found
    pairs = (steps[::2] + steps[1::2]) / 2
    error = pairs.std(axis=0, ddof=1) / np.sqrt(n_orders) if n_orders > 1 else np.zeros(rows.n_players)
    return pairs.mean(axis=0), error


# The trees of each model are read once.
_KNOWN: WeakKeyDictionary[Model, list[list[MemberTrees] | None]] = WeakKeyDictionary()
_LOCK = Lock()


def _trees_of(model: Model) -> list[list[MemberTrees] | None]:
    """The trees of each part; None for parts with other members."""
    with _LOCK:
        if model not in _KNOWN:
            column = model.trained_on.score_column
            _KNOWN[model] = [trees_of_part(part.members, part.weights, column) for part in model.parts]
        return _KNOWN[model]
