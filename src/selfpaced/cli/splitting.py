"""The rows of a training: those to train on, and those that are held out to judge by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.columns import Caution, Floats, Mask, repeating, rows_are_alike
from selfpaced.cli.opening import OpenedSource, TableFacts, first_held_out
from selfpaced.cli.request import Data, TrainRequest, times_in
from selfpaced.exceptions import TableError
from selfpaced.persistence import DataRecord
from selfpaced.pools import HOLDOUT_ROUND, LARGEST_KEY, row_keys
from selfpaced.predicting import rare_rows, scores_of
from selfpaced.tables import Column, Labels, Moments, Roles, Schema, column_groups, share_known, span_in
from selfpaced.tables.files import Needed, StreamedTable
from selfpaced.tables.sources import open_like, reader_like
from selfpaced.thresholds import Rule

# A guarantee on a larger share of rows of the training than these is refused, or given with a warning.
MOST_KNOWN, FEW_KNOWN = 0.25, 0.02


def held_out_at_random(labels: Labels, share: float, seed: int) -> Mask:
    """The same share of every class, at least one row of each and never all."""
    keys = row_keys(np.arange(labels.codes.size, dtype=np.uint64), seed, HOLDOUT_ROUND)
    held_out = np.zeros(labels.codes.size, dtype=bool)
    for number, count in enumerate(labels.counts.tolist()):
        own = np.flatnonzero(labels.codes == number)
        n_held_out = min(max(round(share * count), 1), count - 1)
        held_out[own[np.argpartition(keys[own], n_held_out - 1)[:n_held_out]]] = True
    return held_out


def held_out_by_time(moments: Moments, share: float, labels: Labels) -> Mask:
    """The last rows by their times. Rows of one moment stay together."""
    first = first_held_out(moments, share)
    held_out: Mask = moments >= first
    for number, name in enumerate(labels.names):
        n_held_out = int((labels.codes[held_out] == number).sum())
        if n_held_out == 0 or n_held_out == labels.counts[number]:
            where = "before" if n_held_out == 0 else "after"
            raise TableError(
                f"All rows of the class {name!r} are {where} {first}, where the last {share:.0%} of the rows begin. "
                "Choose another --holdout, or omit --time-column to split at random."
            )
    return held_out


def known_before(moments: Moments, held_out: Mask, delay: str) -> Mask:
    """The rows whose labels are known when the first held-out row comes, if labels take as long as the delay."""
    first = moments[held_out].min()
    known: Mask = moments + span_in(delay, moments, "--delay") <= first
    if not known.any():
        raise TableError(
            f"With --delay {delay} no label is known when the held-out rows begin, at {first}. The first row is from "
            f"{moments.min()}. Choose a shorter --delay, or a smaller --holdout."
        )
    return known


# The share of a class's rows in one group from which a warning is given.
GIANT = 0.5


def held_out_groups(table: StreamedTable, column: str, share: float, seed: int) -> Mask:
    """Hold out whole groups by the hashes of their names: a share of those with rows of smaller classes, and of others.

    Only the hashes of groups with rows of the smaller classes are kept, to have enough of these on both sides.
    """
    labels = table.labels()
    largest = int(labels.counts.argmax())
    of_smaller = [(hashes[codes != largest], codes[codes != largest]) for hashes, codes in groups_of(table, column)]
    groups, codes = (np.concatenate(parts) for parts in zip(*of_smaller, strict=True))
    chosen, others = _share_of_groups(groups, codes, share, seed)
    limit = np.uint64(share * LARGEST_KEY)
    parts = []
    for hashes, _ in groups_of(table, column):
        by_hash = row_keys(hashes, seed, HOLDOUT_ROUND) <= limit
        parts.append(np.isin(hashes, chosen) | (by_hash & ~np.isin(hashes, others)))
    held_out = np.concatenate(parts)
    refuse_one_sided(~held_out, held_out, labels)
    return held_out


def groups_of(table: StreamedTable, column: str) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.unsignedinteger]]]:
    codes, start = table.labels().codes, 0
    for file, batch in table.reader.read([column]):
        hashes = column_groups(batch.column(column), f"The group column {column!r} of {file.path}")
        yield hashes, codes[start : start + hashes.size]
        start += hashes.size


def _share_of_groups(
    groups: NDArray[np.uint64], codes: NDArray[np.unsignedinteger], share: float, seed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Groups to hold out, and the others, given a group and a class of some rows: about the share of the rows.

    Of every class, as far as its groups allow, there is a group on both sides.
    """
    names, of_rows, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(row_keys(names, seed, HOLDOUT_ROUND))
    # Groups of the rarest class come first, so that its share is met best.
    rank = np.full(names.size, np.iinfo(np.int64).max)
    np.minimum.at(rank, of_rows, np.bincount(codes)[codes])
    chosen = np.zeros(names.size, dtype=bool)
    for size in np.unique(rank):
        own = order[rank[order] == size]
        chosen[own] = _within(sizes[own].tolist(), share)
    return names[chosen], names[~chosen]


def _within(sizes: Sequence[int], share: float) -> list[bool]:
    """Which groups make up a share of all rows, in their order. A group that is too large for the rest is skipped.

    >>> _within([90, 4, 3, 2, 1], 0.05)
    [False, True, False, True, False]
    """
    wanted, total, chosen = share * sum(sizes), 0.0, []
    for size in sizes:
        chosen.append(total + size / 2 <= wanted)
        total += size if chosen[-1] else 0
    if len(sizes) > 1 and not any(chosen):
        chosen[sizes.index(min(sizes))] = True
    if len(sizes) > 1 and all(chosen):
        chosen[sizes.index(max(sizes))] = False
    return chosen


def giant_groups(table: StreamedTable, column: str) -> Iterator[Caution]:
    """A warning about a group with most rows of a smaller class: it is on one side, whatever share was asked for."""
    labels = table.labels()
    for number in np.flatnonzero(np.arange(labels.counts.size) != labels.counts.argmax()).tolist():
        own = np.concatenate([hashes[codes == number] for hashes, codes in groups_of(table, column)])
        largest = int(np.unique(own, return_counts=True)[1].max()) / own.size
        if largest > GIANT:
            yield Caution("giant", column, largest, labels.names[number])


def refuse_one_sided(train: Mask, held_out: Mask, labels: Labels) -> None:
    """Refuse a split that leaves a class on one side only."""
    for side, rows in (("trained on", train), ("held out", held_out)):
        counts = np.bincount(labels.codes[rows], minlength=labels.counts.size)
        if not counts.all():
            name = labels.names[int(counts.argmin())]
            raise TableError(
                f"No row of the class {name!r} would be {side}: its {labels.counts[int(counts.argmin())]:,} rows are "
                "in too few groups or too close in time to be on both sides of the split. Choose another --holdout, a "
                "shorter --delay, smaller groups, or another --seed."
            )


# A warning names a date if more held-out rows than `MOST_LATER` are later than this share of the training rows. Not
# later than all of them: a few late dates hide nothing then.
NEARLY_ALL = 0.99
MOST_LATER = 0.2


def later_dates(train: StreamedTable, test: StreamedTable) -> Iterator[Caution]:
    """The dates among the features that many held-out rows have later than nearly all training rows."""
    for column in train.schema.columns:
        if column.type == "seconds":
            known = _seconds(column, train)
            known = known[~np.isnan(known)]
            late = np.quantile(known, NEARLY_ALL) if known.size else np.inf
            share = float((_seconds(column, test) > late).mean())
            if share > MOST_LATER:
                yield Caution("later", column.source, share)


def _seconds(column: Column, table: StreamedTable) -> NDArray[np.float64]:
    alone = replace(table, schema=Schema((column,)), roles=Roles())
    parts = [batch.features().column(0).to_numpy(zero_copy_only=False) for batch in alone.batches()]
    return np.concatenate(parts) if parts else np.empty(0)


@dataclass(frozen=True)
class TrainingData:
    train: Any
    test: Any
    facts: TableFacts

    def scores(self, model: Any) -> tuple[Mask, Floats]:
        """Which of the rows to judge by are rare, and their scores, in order."""
        return rare_rows(model.trained_on_, self.test), scores_of(model.model_, self.test, model.n_jobs)

    def rare_and_others(self, model: Any, n_others: int, seed: int) -> tuple[Any, Mask]:
        """The features of all rare rows to train on and of about so many others, and which of them are rare."""
        is_rare = rare_rows(model.trained_on_, self.train)
        share = n_others / max(is_rare.size - is_rare.sum(), 1)
        chosen = is_rare | (np.random.default_rng(seed).random(is_rare.size) < share)
        return self.train.part(chosen).features(), is_rare[chosen]

    def some_test_rows(self, n_rows: int, seed: int) -> Any:
        """The features of some rows to judge by, at even distances."""
        some = np.zeros(self.test.n_rows, dtype=bool)
        some[np.linspace(0, some.size - 1, min(some.size, n_rows)).astype(np.intp)] = True
        return self.test.part(some).features()


def split_for(request: TrainRequest, source: OpenedSource) -> TrainingData:
    """Hold out rows: those of another file, the last rows, whole groups, or random rows.

    A source in memory gives its rows away to both sides, so that they are in memory once.
    """
    if request.valid is not None:
        return _with_file(request, source)
    table, facts = source.table, source.facts
    train, held_out, not_used = _sides(request, table)
    parts = table.part(train), table.part(held_out)
    cautions: list[Caution] = []
    if request.time_column is not None:
        cautions += later_dates(*parts)
    else:
        cautions += facts.cautions
    if request.group is not None:
        cautions += giant_groups(table, request.group)
    else:
        times = [one.name for one in cautions if one.kind == "time"]
        may_be = [name for name in source.like_entities if name not in times]
        alike = [name for name in may_be if rows_are_alike(table, name, request.seed)]
        cautions += repeating(table, [*source.entities, *alike], train, held_out)
    data = _with_trained(source, train)
    facts = replace(facts, n_train=int(train.sum()), not_used=not_used, cautions=cautions, data=data)
    return TrainingData(*(table.divided(train, held_out) if facts.in_memory else parts), facts)


def _with_trained(source: OpenedSource, train: Mask) -> DataRecord | None:
    """The record of the rows, with the hashes of some that are trained on, and how many others are equal to them."""
    sides = [{hash for number, hash in source.sample.items() if train[number] == side} for side in (True, False)]
    repeated = len(sides[0] & sides[1]) / max(len(sides[1]), 1)
    data = source.facts.data
    return data and replace(data, trained=tuple(sorted(sides[0])), repeated=repeated)


def rows_to_train_on(request: TrainRequest, table: StreamedTable) -> Mask:
    assert table.n_rows is not None
    return np.ones(table.n_rows, dtype=bool) if request.valid is not None else _sides(request, table)[0]


def trained_rows(table: StreamedTable, target: str, training: Mapping[str, Any]) -> Mask | None:
    """The rows that the model was trained on, if these are the rows of its training, split as they were then."""
    names = ("seed", "holdout", "time_column", "time_unit", "delay", "group", "valid")
    known = {name: training[name] for name in names if training.get(name) is not None}
    if not training or training.get("engine") is not None:  # a cluster holds out other rows than are held out here
        return None
    asked = TrainRequest(None, target, **known)
    try:
        return rows_to_train_on(asked, table)
    except (TableError, ValueError):  # other rows cannot always be split in this way
        return None


def check_guarantee(rule: Rule, table: StreamedTable, source: Data, data: DataRecord | None) -> list[str]:
    """Refuse a guarantee on rows that the model was trained on, by its record. Warn if there may be such rows."""
    if not rule.is_guarantee:
        return []
    needs = f"{str(rule)!r} is a guarantee, which needs rows that the model was not trained on"
    if data is None or not data.trained:
        return [f"{needs}. The model has no record of its rows, so this was not checked."]
    columns, reader = list(data.columns), table.reader
    if not {*columns} <= {*reader.column_names}:
        reader = reader_like(source.source, table.schema, Needed(columns), source.reading)
    missing = [name for name in columns if name not in reader.column_names]
    if missing:
        return [f"{needs}. This was not checked, because the column {missing[0]!r} of the training is missing here."]
    known, n_found = share_known(reader, columns, data.n_rows, data.trained)
    usual = data.repeated + 3 * np.sqrt(data.repeated * (1 - data.repeated) / max(n_found, 1))  # of other rows
    said = f"{needs}, but about {known:.0%} of these rows are rows of the training"
    if known - usual > MOST_KNOWN:
        raise TableError(f"{said}. Give other rows.")
    return [f"{said}, so it may promise too much."] if known - usual > FEW_KNOWN else []


def check_share(share: float) -> None:
    if not 0 < share < 1:
        raise TableError(f"--holdout must be between 0 and 1; got {share}.")


def _sides(request: TrainRequest, table: StreamedTable) -> tuple[Mask, Mask, dict[str, int]]:
    """The rows to train on, the rows held out, and how many are neither."""
    check_share(request.holdout)
    if request.time_column is not None:
        return sides_by_time(request, table, request.time_column)
    if request.group is not None:
        held_out = held_out_groups(table, request.group, request.holdout, request.seed)
    else:
        held_out = held_out_at_random(table.labels(), request.holdout, request.seed)
    return ~held_out, held_out, {}


def sides_by_time(request: TrainRequest, table: StreamedTable, column: str) -> tuple[Mask, Mask, dict[str, int]]:
    """Hold out the last rows. Train on earlier rows whose labels are known by then. Count the rows on neither side.

    With groups, the last rows of some groups are held out, and the earlier rows of the other groups are trained on.
    """
    labels, not_used = table.labels(), {}
    moments = times_in(table, column, request.time_unit)
    held_out = held_out_by_time(moments, request.holdout, labels)
    train = ~held_out
    if request.delay is not None:
        known = known_before(moments, held_out, request.delay)
        not_used[f"labels not known {request.delay} before the held-out rows"] = int((train & ~known).sum())
        train &= known
    if request.group is not None:
        other_side = held_out_groups(table, request.group, request.holdout, request.seed)
        either = train | held_out
        train, held_out = train & ~other_side, held_out & other_side
        not_used["of groups on the other side of the split"] = int((either & ~train & ~held_out).sum())
    refuse_one_sided(train, held_out, labels)
    return train, held_out, not_used


def _with_file(request: TrainRequest, source: OpenedSource) -> TrainingData:
    if _same_file(request.valid, request.source):
        raise TableError(f"--valid {request.valid} is the file that is trained on. Name a file with other rows.")
    if request.delay is not None:
        raise TableError("--delay is for rows that --time-column holds out. Omit it with --valid.")
    table = source.table
    test = open_like(request.valid, table.schema, replace(table.roles, time_column=None, keep=()))
    data = _with_trained(source, np.ones(source.facts.n_rows, dtype=bool))
    facts = replace(source.facts, cautions=list(later_dates(table, test)), data=data)
    if request.group is not None:
        seen = np.unique(np.concatenate([hashes for hashes, _ in groups_of(table, request.group)]))
        is_new = np.concatenate([~np.isin(hashes, seen) for hashes, _ in groups_of(test, request.group)])
        if not is_new.any():
            raise TableError(
                f"All groups of {request.valid} are in the training rows too, so no row is left to judge by. Name a "
                "file with other groups."
            )
        not_used = {f"of groups in {request.valid} that are trained on": int((~is_new).sum())}
        test, facts = test.part(is_new), replace(facts, not_used=not_used)
    if facts.in_memory:
        all_rows = np.ones(facts.n_rows, dtype=bool)
        table, _ = table.divided(all_rows, ~all_rows)
    return TrainingData(table, test, facts)


def _same_file(one: Any, other: Any) -> bool:
    """Whether two paths name one file. Patterns and lists of files are not compared."""
    both = (one, other)
    return all(isinstance(path, str | PathLike) for path in both) and len({Path(path).resolve() for path in both}) == 1
