"""Columns that cannot be features, and columns that make figures too good."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import pa
from selfpaced.tables import MOST_CATEGORIES, ColumnLook, ColumnProfile, column_groups
from selfpaced.tables.files import StreamedTable

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# customerId is an id; paid and valid are not.
NAME_OF_AN_ID = re.compile(r"(?i:(^|[_\s.-])(id|ids|uuid|guid|key|index|rownum|row|unnamed: 0)$)|[a-z](Id|ID)$")
# Names of what several rows may belong to, in English and in German.
NAME_OF_AN_ENTITY = re.compile(
    NAME_OF_AN_ID.pattern
    + r"|(?i:(^|[_\s.-])(account|card|client|customer|cc|device|iban|member|merchant|patient|person|terminal|user)"
    r"[_\s.-]?(id|key|name|no|nr|num|number)?$)"
    r"|(?i:(kunden|konto|karten|vertrags|patienten|geräte|geraete|händler|haendler|versicherten)"
    r"[_\s.-]?(id|nr|nummer)$)"
)
FEWEST_ENTITIES = 20
# Strings of which at least every second is new are names or free text.
MOSTLY_NEW = 0.5
FEWEST_ROWS_TO_JUDGE = 50
READABLE = re.compile(
    r"^(u?int\d+|float|double|halffloat|bool|null|decimal|date|timestamp|string|large_string|string_view)"
)


def dropped_columns(profiles: Sequence[ColumnProfile]) -> dict[str, str]:
    """The columns that are dropped from the features, with the reasons.

    >>> dropped_columns([ColumnProfile("tx_id", "int64", 100, 0, 100, 1, 100, repeats=False, rises=True)])
    {'tx_id': 'an identifier: every value differs'}
    """
    return {profile.name: reason for profile in profiles if (reason := _reason(profile)) is not None}


def _reason(profile: ColumnProfile) -> str | None:
    if not READABLE.match(profile.type):
        return f"{profile.type}, which models cannot read"
    if profile.n_missing == profile.n_rows:
        return "all values are missing"
    is_constant = profile.n_distinct == 1 if profile.smallest is None else profile.smallest == profile.largest
    if is_constant and not profile.n_missing:  # that a value is missing may be informative
        return "the same value in every row"
    if profile.n_rows < FEWEST_ROWS_TO_JUDGE:
        return None
    if "string" in profile.type:
        return _reason_of_strings(profile)
    if "int" in profile.type and not profile.repeats and not profile.n_missing:
        if NAME_OF_AN_ID.search(profile.name):
            return "an identifier: every value differs"
        if profile.rises:
            return "a row number: each value is larger than the one before"
    return None


def _reason_of_strings(profile: ColumnProfile) -> str | None:
    n_filled = profile.n_rows - profile.n_missing
    if profile.n_distinct <= min(MOST_CATEGORIES, MOSTLY_NEW * n_filled):
        return None
    if profile.not_numbers:
        others = ", ".join(map(repr, profile.not_numbers))
        return f"most values are numbers, but not {others}. Write numbers as 1234.56, and leave missing values empty"
    if not profile.repeats:
        return "an identifier or free text: every value differs"
    if profile.n_distinct > MOST_CATEGORIES:
        return f"names, codes or free text: more than {MOST_CATEGORIES:,} different values"
    return f"names or free text: {profile.n_distinct:,} different values in {n_filled:,} rows"


def entities(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Columns that are called like what several rows belong to, such as a card or a customer.

    >>> entities([ColumnProfile("card_id", "int64", 100, 0, 30, 1, 30, repeats=True, rises=False)])
    ['card_id']
    """
    return [each.name for each in profiles if NAME_OF_AN_ENTITY.search(each.name) and _may_be_entities(each)]


def _may_be_entities(profile: ColumnProfile) -> bool:
    kind = "int" in profile.type or "string" in profile.type
    return kind and profile.repeats and profile.n_distinct >= FEWEST_ENTITIES


@dataclass(frozen=True)
class Caution:
    """Why figures may be too good, by a column and a figure.

    >>> str(Caution("leak", "closed", 0.98))[:70]
    "column 'closed' alone nearly determines the target (AUCPRC 0.98). If i"
    """

    kind: str  # a name in `CAUTIONS`
    name: str
    figure: float
    label: Any = None  # the class that the figure is about

    def __str__(self) -> str:
        return CAUTIONS[self.kind].format(name=self.name, figure=self.figure, label=self.label)


CAUTIONS = {
    "leak": (
        "column {name!r} alone nearly determines the target (AUCPRC {figure:.2f}). If its values are not known when "
        "the model is used, exclude it: --exclude {name!r}"
    ),
    "time": (
        "column {name!r} {label} from row to row, as a time does ({figure:.0%} of its steps). The held-out rows are "
        "drawn at random, so the model knows rows that came after them. If {name!r} is a time, these figures are too "
        "good. Hold out the last rows: --time-column {name!r}"
    ),
    "giant": (
        "One group of {name!r} has {figure:.0%} of the rows of the class {label!r}. The whole group is on one side of "
        "the split, so the other side has few rows of this class."
    ),
    "later": (
        "column {name!r} is a date that moves on: {figure:.0%} of the held-out rows are later than 99% of the training "
        "rows, and new rows will be too. Scores of such rows are not reliable. Exclude it: --exclude {name!r}. If the "
        "time between two dates matters, add it as a column."
    ),
    "repeats": (
        "column {name!r} repeats: {figure:.0%} of the held-out rows have a value that was trained on. If the model is "
        "meant for new values too, these figures are too good. Hold out whole groups: --group {name!r}"
    ),
}

# A column is a time if at least this share of its steps goes one way, in some rows of each batch.
ONE_WAY = 0.98
FEWEST_STEPS = 10
ROWS_OF_A_BATCH = 256
NAME_WITH_ID = re.compile(NAME_OF_AN_ID.pattern + r"|(?i:(^|[_\s.-])id([_\s.-]|\d))")
HAS_ORDER = re.compile(r"^(u?int\d+|float|double|date|timestamp)")


class OrderLook(ColumnLook):
    """A column, and some of its values in the order of the rows."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._some: list[Floats] = []

    def add(self, column: Any, file: Any = None) -> None:
        super().add(column, file)
        if len(column) and HAS_ORDER.match(str(column.type)):
            places = np.linspace(0, len(column) - 1, min(len(column), ROWS_OF_A_BATCH)).astype(np.int64)
            some = column.take(pa.array(places))
            if str(some.type).startswith(("date", "timestamp")):
                some = some.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
            self._some.append(some.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))

    def caution(self, profile: ColumnProfile) -> Caution | None:
        """A warning if the column is like a time: its values rise or fall from row to row.

        Row numbers and columns that are called an id are not times.
        """
        values = np.concatenate(self._some) if self._some else np.empty(0)
        steps = np.diff(values[~np.isnan(values)])
        rising, falling = int((steps > 0).sum()), int((steps < 0).sum())
        share = max(rising, falling) / max(rising + falling, 1)
        is_numbered = "int" in profile.type and profile.largest - profile.smallest < profile.n_rows and profile.rises
        if max(rising, falling) < FEWEST_STEPS or share < ONE_WAY or is_numbered or NAME_WITH_ID.search(profile.name):
            return None
        return Caution("time", profile.name, share, "rises" if rising > falling else "falls")


# A column is one of entities if rows of one value are so much more alike than rows of neighbouring values.
ALIKE = 0.7
DIFFERENT = 0.1  # the least mean distance of neighbours in a column that tells something; that of random rows is 1/3
FEWEST_RARE = 30
PAIRS = 30, 4_000  # the fewest pairs that tell something, and the most that are compared
ERRORS = 5  # of the difference of two means, in standard errors: less may be chance
MOST_ROWS_OF_A_STRING = 50
MOST_OF_A_VALUE = 0.05  # the largest share of rows that one entity has
# A warning names a column whose values were in the training rows for at least this share of the held-out rows.
MOSTLY_SEEN = 0.5


def like_entities(profiles: Sequence[ColumnProfile], n_rows: int) -> list[str]:
    """Columns with many values of several rows each, by whatever name: they may be entities."""

    def several_each(one: ColumnProfile) -> bool:
        looked_at = min(n_rows, 2**17)
        most = MOST_ROWS_OF_A_STRING if "string" in one.type else np.sqrt(looked_at)
        return bool(looked_at / most <= one.n_distinct <= looked_at / 2)

    return [one.name for one in profiles if _may_be_entities(one) and several_each(one)]


def rows_are_alike(table: StreamedTable, name: str, seed: int) -> bool:
    """Whether rows with the same value of a column are more alike than rows with neighbouring values.

    That holds for entities, such as cards or products, and not for numbers such as ages or amounts.
    """
    from scipy.stats import rankdata

    column, labels = table.column(name), table.labels()
    known = np.flatnonzero(np.asarray(column.is_valid()))
    values = column.drop_null()
    numbers = "int" in str(values.type)
    codes = np.asarray(values) if numbers else column_groups(values, f"Column {name!r}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(codes.size)
    order = order[np.argsort(codes[order], kind="stable")]
    _, of_value, sizes = np.unique(codes[order], return_inverse=True, return_counts=True)
    order = order[sizes[of_value] <= MOST_OF_A_VALUE * codes.size]  # without values such as 0 in a column of amounts
    if order.size < codes.size / 2:
        return False
    same = codes[order[1:]] == codes[order[:-1]]
    firsts, seconds = known[order[:-1]], known[order[1:]]
    rare = labels.codes == labels.counts.argmin()
    among, between = (rare[seconds[rare[firsts] & side]] for side in (same, ~same))
    if min(among.size, between.size) >= FEWEST_RARE and among.mean() > 2 * between.mean() + 0.2:
        return True
    pairs = [rng.permutation(np.flatnonzero(side))[: PAIRS[1]] for side in (same, ~same)]
    if min(each.size for each in pairs) < PAIRS[0]:
        return False
    some = np.unique(np.concatenate([side[each] for each in pairs for side in (firsts, seconds)]))
    frame = table.part(np.isin(np.arange(labels.codes.size), some)).features()
    places = [[np.searchsorted(some, side[each]) for side in (firsts, seconds)] for each in pairs]
    for other in frame.columns.difference([name]):
        given = frame[other]
        if hasattr(given, "cat"):
            values = given.cat.codes.to_numpy()
            distances = [values[one] != values[two] for one, two in places]
        else:
            values = rankdata(given.to_numpy(dtype=np.float64, na_value=np.nan), nan_policy="omit") / len(frame)
            distances = [np.abs(values[one] - values[two]) for one, two in places]
        inside, outside = (each[~np.isnan(each)] for each in distances)
        if min(inside.size, outside.size) < PAIRS[0]:
            continue
        error = np.sqrt(inside.var() / inside.size + outside.var() / outside.size)
        most = min(ALIKE * outside.mean(), outside.mean() - ERRORS * error)
        if outside.mean() >= DIFFERENT and inside.mean() <= most:
            return True
    return False


def repeating(table: StreamedTable, names: Sequence[str], train: Mask, held_out: Mask) -> Iterator[Caution]:
    """The columns whose values are on both sides of a split."""
    for name in names:
        column = table.column(name)
        known = np.asarray(column.is_valid())
        hashes = np.zeros(len(column), dtype=np.uint64)
        hashes[known] = column_groups(column.drop_null(), f"Column {name!r}")
        values, sizes = np.unique(hashes[train & known], return_counts=True)
        values = values[sizes <= MOST_OF_A_VALUE * train.sum()]  # 0 or "unknown" is not one entity
        share = float((np.isin(hashes[held_out], values) & known[held_out]).mean())
        if share >= MOSTLY_SEEN:
            yield Caution("repeats", name, share)


# A warning names a column whose tree reaches at least this AUCPRC on held-out rows.
NEARLY_DECIDES = 0.85
# If more rows than this share are rare, a high AUCPRC is easy to reach and means little.
MOST_POSITIVES = 0.5
LEAVES = 8
FEWEST_POSITIVES = 10


def find_leaks(frame: Any, is_rare: Mask, seed: int, sources: Mapping[str, str] | None = None) -> list[Caution]:
    """Try each column alone: train a small tree on half of the rows and judge it on the other half.

    `sources` are the columns of the table that features are made of. Several are made of a date: the clearest counts.
    """
    from sklearn.metrics import average_precision_score
    from sklearn.tree import DecisionTreeClassifier

    order = np.random.default_rng(seed).permutation(len(frame))
    order = order[np.argsort(is_rare[order], kind="stable")]
    one, other = order[::2], order[1::2]
    if min(is_rare[one].sum(), is_rare[other].sum()) < FEWEST_POSITIVES or is_rare.mean() > MOST_POSITIVES:
        return []
    best: dict[str, float] = {}
    for name in frame.columns:
        given = frame[name]
        column = np.asarray(given.cat.codes if hasattr(given, "cat") else given, dtype=np.float64).reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, class_weight="balanced", random_state=seed)
        scores = tree.fit(column[one], is_rare[one]).predict_proba(column[other])[:, 1]
        found, source = float(average_precision_score(is_rare[other], scores)), (sources or {}).get(name, str(name))
        if found >= NEARLY_DECIDES:
            best[source] = max(found, best.get(source, 0.0))
    return [Caution("leak", name, found) for name, found in best.items()]
