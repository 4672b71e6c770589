"""How much each column adds to the log-odds of a row, against those of the typical row.

The log-odds of a model are a sum over its parts, so that the values of the parts are added up. Those of a part of trees
are Shapley values of the trees. Those of any other part are estimated by orders in which the columns of the typical row
are replaced by those of the row. Members are averaged as probabilities, which is not a sum of log-odds. So the values
of a part are brought to the difference of its own log-odds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as cached
from functools import partial
from math import comb
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, logit

from selfpaced import scoring, tables
from selfpaced.model import Model, Part, UsualValues, log_odds
from selfpaced.reasons.members import Floats, Ints, trees_of_part
from selfpaced.trees import Link, Reach

Found = tuple[Floats, Floats, Floats]  # values and their errors, a row each, and the log-odds of all rows

# About so many mixed rows of each row are scored where the values are estimated, but at least two orders of columns,
# each forwards and backwards.
N_MIXED, FEWEST_ORDERS = 160, 2
SEED = 0
# Differences of probabilities below this are rounding errors.
SMALLEST_DIFFERENCE = 1e-9
# The log-odds of a member are infinite at 0 and 1.
TINY = 1e-15
# All sets of so many players are looked at.
N_STRONGEST = 6


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

    @property
    def typical(self) -> Any:
        """The typical row alone."""
        if isinstance(self.rows, np.ndarray | scoring.CodedRows):
            return self.rows[self.n_rows : self.n_rows + 1]
        return self.rows.iloc[self.n_rows :]

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
    if model.n_classes > 2 and model.pool is not None:
        # The shares of the classes are divided by their sum, so that parts do not add up.
        column = model.trained_on.score_column
        odds_of = lambda some: log_odds(model.means_of(tables.InMemoryTable(some), 1)[:, column])  # noqa: E731
        values, errors, odds = _estimated(rows, odds_of)
        return Attribution(values, errors, float(odds[-1]))
    values, errors, base = np.zeros((rows.n_rows, rows.n_players)), np.zeros((rows.n_rows, rows.n_players)), 0.0
    for number, part in enumerate(_known_of(model)):
        own, error, odds = part.by_trees(rows, usual is model.usual) or _estimated(rows, part.odds)
        coefficient, constant = _coefficient(model, number)
        values, errors = values + coefficient * own, np.hypot(errors, coefficient * error)
        base += coefficient * odds[-1] + constant
    return Attribution(values, errors, float(base))


class KnownPart:
    """What does not depend on the rows: the trees of a part, its members' scorers, and their sums for the typical row.

    `by_trees` is None for a part with other members.
    """

    def __init__(self, part: Part, scorers: Sequence[scoring.Scorer], column: int) -> None:
        weights = np.ones(len(part.members)) if part.weights is None else part.weights
        self.shares: Floats = weights / weights.sum()
        self._trees, self._scorers, self._column = trees_of_part(part.members, column), scorers, column
        self._typical: tuple[Floats, Floats] | None = None  # of the model's own typical row

    def _probabilities(self, rows: Any) -> Floats:
        """By each member, a row each."""
        return np.stack([each[:, self._column] for each in scoring.probabilities_by(self._scorers, rows)])

    def odds(self, rows: Any) -> Floats:
        return log_odds(self.shares @ self._probabilities(rows))

    def by_trees(self, rows: MixedRows, is_own: bool) -> Found | None:
        """The values of a part of trees; None if it has other members, or rows of a form that they do not read.

        `is_own` is whether the typical row is that of the model.
        """
        reach = None if self._trees is None else self._trees.reach(rows.rows, rows.players)
        if self._trees is None or reach is None:
            return None
        link = self._trees.link
        typical = (self._typical if is_own else None) or self._of_typical(rows.typical, link)
        self._typical = typical if is_own else self._typical
        found = [values_of_mean(each, typical[0], self.shares, link, rows.n_players) for each in reach]
        values = np.array([own for own, _ in found]).reshape(rows.n_rows, rows.n_players)
        return values, np.zeros_like(values), np.append([odds for _, odds in found], typical[1])

    def _of_typical(self, row: Any, link: Link) -> tuple[Floats, Floats]:
        """The sums of each member for the typical row, and its log-odds."""
        found = self._probabilities(row)
        sums = found if link is Link.SHARES else logit(np.clip(found, TINY, 1 - TINY))
        return sums, log_odds(self.shares @ found)


def values_of_mean(
    reach: Sequence[Reach], start: Floats, shares: Floats, link: Link, n_players: int
) -> tuple[Floats, float]:
    """Shapley values of the log-odds of the members' mean for one row, and these log-odds.

    `start` are the sums of the typical row, a row for each member. The values of the mean of the sums are exact. What
    the log-odds of the mean of probabilities have beyond it comes from a few players for the most part. So its values
    are those of all sets of the strongest players, with all others as one more player. They share its value by their
    size.
    """
    linear = sum((each.shapley_values(shares, n_players) for each in reach), np.zeros(n_players))
    sizes = np.abs(linear) + TINY
    strongest = np.argsort(-sizes, kind="stable")[:N_STRONGEST]
    groups = np.full(n_players, N_STRONGEST)
    groups[strongest] = np.arange(strongest.size)
    sums = start + sum(each.differences(groups, N_STRONGEST + 1, shares.size) for each in reach)
    means = shares @ sums
    odds = log_odds(shares @ (sums if link is Link.SHARES else expit(sums)))
    slope = 1.0 if link is Link.LOGISTIC else _slope(means, odds)
    more = shapley_of_sets(N_STRONGEST + 1) @ (odds - slope * means)
    shared = (more / np.bincount(groups, sizes, N_STRONGEST + 1).clip(TINY)).take(groups)
    return slope * linear + shared * sizes, float(odds[-1])


def _slope(means: Floats, odds: Floats) -> float:
    """How much the log-odds rise with the probability, from the typical row (the first) to the row (the last)."""
    difference = float(means[-1] - means[0])
    if abs(difference) > SMALLEST_DIFFERENCE:
        return float(odds[-1] - odds[0]) / difference
    return float(2 + 2 * np.cosh(odds[-1]))  # 1 / (p (1 - p))


@cached
def shapley_of_sets(n_players: int) -> Floats:
    """A matrix from the values of all sets of players to their Shapley values. A set's number has their bits.

    >>> shapley_of_sets(2) @ [0.0, 1.0, 2.0, 4.0]
    array([1.5, 2.5])
    """
    sets = np.arange(2**n_players)
    is_in = (sets >> np.arange(n_players)[:, np.newaxis] & 1).astype(bool)
    sizes = is_in.sum(axis=0) - is_in  # of the others
    weights = np.array([1 / (n_players * comb(n_players - 1, size)) for size in range(n_players)])
    found: Floats = np.where(is_in, 1.0, -1.0) * weights[sizes]
    return found


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


def _estimated(rows: MixedRows, odds_of: Callable[[Any], Floats]) -> Found:
    """Shapley values by random orders of the players, each forwards and backwards, and their standard errors.

    They are brought to the difference of the log-odds by changes in proportion to their size.
    """
    values, errors, odds = *np.zeros((2, rows.n_rows, rows.n_players)), odds_of(rows.rows)
    for number in range(rows.n_rows):
        present = rows.differing(number)
        if present.size:
            values[number], errors[number] = _estimated_row(rows, number, present, odds_of)
    gap = (odds[:-1] - odds[-1]) - values.sum(axis=1)
    size = np.abs(values).sum(axis=1)
    shares = np.divide(gap, size, out=np.zeros_like(gap), where=size > 0)
    return values + shares[:, np.newaxis] * np.abs(values), errors, odds


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
_KNOWN: WeakKeyDictionary[Model, list[KnownPart]] = WeakKeyDictionary()
_LOCK = Lock()


def _known_of(model: Model) -> list[KnownPart]:
    with _LOCK:
        if model not in _KNOWN:
            column, parts = model.trained_on.score_column, zip(model.parts, model.scorers, strict=True)
            _KNOWN[model] = [KnownPart(part, scorers, column) for part, scorers in parts]
        return _KNOWN[model]
