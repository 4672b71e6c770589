"""Shapley values of the difference between two rows in a sum of trees, exact, by following both rows at once.

A player is a column, or several columns that go together. Of a mixed row some players have the values of one row, all
others those of the other row. Each mixed row ends in one leaf of a tree, and most leaves are out of reach of all mixed
rows: where both rows go the same way, so do all mixed ones. So the paths are followed from the root, and they part only
where both rows part. A leaf is reached by the mixed rows in which some players are those of the first row, and some
those of the second. It adds its value to the former and takes it from the latter, weighted as by Shapley.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.tree import NO_CHILD, Bools, Floats, Ints, Trees

BITS_OF_A_WORD = 64
# Rows that are followed together.
ROWS_AT_ONCE = 16
# More than the largest code of a category.
N_CODES = 2**31

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class TwoRowTrees:
    """Trees whose sums for two rows are compared."""

    trees: Trees
    reads_float32: bool = False
    # The last row that others were compared with, and where it goes left. Often it is the same one.
    _last: dict[bytes, Bools] = field(default_factory=dict, repr=False)

    @cached_property
    def _feature(self) -> Ints:
        """The feature of each node. Those of leaves have no meaning, but exist."""
        return np.where(self.trees.is_inner, self.trees.feature, 0)

    @cached_property
    def _listed(self) -> Ints:
        """The categories that go left, with their nodes, sorted."""
        return np.sort(self.trees.category_nodes * N_CODES + self.trees.category_codes)

    def goes_left(self, columns: Floats, row: Any, node: Ints) -> Bools:
        """Whether some rows go left at some nodes. A row is a column of `columns`."""
        trees = self.trees
        values = columns[self._feature[node], row]
        left: Bools = np.where(np.isnan(values), trees.missing_left[node], values <= trees.threshold[node])
        asked = np.flatnonzero(trees.by_category[node])
        if asked.size:
            codes = np.where(np.isnan(values[asked]), 0, values[asked]).astype(np.int64)
            keys = node[asked] * N_CODES + codes
            is_listed = self._listed.take(np.searchsorted(self._listed, keys), mode="clip") == keys
            left[asked] = np.where(np.isnan(values[asked]), left[asked], is_listed)
        return left

    def _ways_of(self, row: Floats) -> Bools:
        key = row.tobytes()
        known = self._last.get(key)
        if known is None:
            known = self.goes_left(row[:, np.newaxis], 0, np.arange(self.trees.feature.size))
            self._last.clear()
            self._last[key] = known
        return known

    def values(self, columns: Floats, players: Ints, n_players: int) -> Floats:
        """How much each player adds to the difference of each row from the last one: a row for each but the last.

        `players` has the number of the player of each feature.
        """
        if self.reads_float32:
            columns = columns.astype(np.float32).astype(np.float64)
        n_rows = columns.shape[1] - 1
        other = self._ways_of(columns[:, -1])
        found = np.zeros((n_rows, n_players))
        for start in range(0, n_rows, ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, n_rows))
            self._add_values(found, rows, columns, other, players)
        return found

    def _add_values(self, found: Floats, rows: Ints, columns: Floats, other: Bools, players: Ints) -> None:
        trees, n_players = self.trees, found.shape[1]
        player = players[self._feature]
        word, bit = player // BITS_OF_A_WORD, np.left_shift(np.uint64(1), (player % BITS_OF_A_WORD).astype(np.uint64))
        node, row = np.tile(trees.starts[:-1], rows.size), np.repeat(rows, trees.starts.size - 1)
        first = np.zeros((node.size, -(-n_players // BITS_OF_A_WORD)), dtype=np.uint64)  # players of the first row
        second = first.copy()
        ends: list[tuple[Ints, Ints, Words, Words]] = []
        while node.size:
            is_end = trees.left[node] == NO_CHILD
            if is_end.any():
                ends.append((row[is_end], node[is_end], first[is_end], second[is_end]))
                node, row, first, second = (each[~is_end] for each in (node, row, first, second))
            goes, others_go = self.goes_left(columns, row, node), other[node]
            places = np.arange(node.size)
            is_first = (first[places, word[node]] & bit[node]) != 0
            is_second = (second[places, word[node]] & bit[node]) != 0
            parts = np.flatnonzero((goes != others_go) & ~is_first & ~is_second)
            # Where the paths part, a copy goes the way of the other row.
            copies, copied_words, copied_bits = node[parts], word[node[parts]], bit[node[parts]]
            of_second = second[parts]
            of_second[np.arange(parts.size), copied_words] |= copied_bits
            of_first = first[parts]
            first[parts, copied_words] |= copied_bits
            to_left = np.where(is_second, others_go, goes)
            node = np.concatenate(
                [
                    np.where(to_left, trees.left[node], trees.right[node]),
                    np.where(others_go[parts], trees.left[copies], trees.right[copies]),
                ]
            )
            row = np.concatenate([row, row[parts]])
            first, second = np.concatenate([first, of_first]), np.concatenate([second, of_second])
        self._add_up(found, rows, ends)

    def _add_up(self, found: Floats, rows: Ints, ends: list[tuple[Ints, Ints, Words, Words]]) -> None:
        row, node, first, second = (np.concatenate(each) for each in zip(*ends, strict=True))
        n_first = np.bitwise_count(first).sum(axis=1, dtype=np.intp)
        n_second = np.bitwise_count(second).sum(axis=1, dtype=np.intp)
        shares = shapley_shares(int((n_first + n_second).max(initial=0)))
        value = self.trees.value[node]
        for number in rows:
            own = np.flatnonzero((row == number) & (n_first + n_second > 0))
            found[number] = (value[own] * shares[n_first[own], n_second[own]]) @ _bits(first[own], found.shape[1])
            found[number] -= (value[own] * shares[n_second[own], n_first[own]]) @ _bits(second[own], found.shape[1])


def _bits(words: Words, n_bits: int) -> Floats:
    """One column for each player: 1 for those in a set."""
    little = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(little, axis=1, bitorder="little", count=n_bits).astype(np.float64)


def shapley_shares(most: int) -> Floats:
    """The share of a leaf's value that goes to each of `a` players, if it needs these and needs `b` others absent.

    It is (a - 1)! b! / (a + b)!, at the place [a, b].

    >>> shapley_shares(2)[1].tolist()
    [1.0, 0.5, 0.0]
    """
    shares = np.zeros((most + 1, most + 1))
    for a in range(1, most + 1):
        for b in range(most + 1 - a):
            shares[a, b] = 1 / (a * comb(a + b, a))
    return shares
