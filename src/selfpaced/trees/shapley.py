"""Shapley values of the difference between two rows in sums of trees, exact, by following both rows at once.

A player is a column, or several columns that go together. Of a mixed row some players have the values of one row, all
others those of the other row. Each mixed row ends in one leaf of a tree, and most leaves are out of reach of all mixed
rows: where both rows go the same way, so do all mixed ones. A leaf is reached by the mixed rows in which some players
are those of the first row, and some those of the second. It adds its value to the former and takes it from the latter,
weighted as by Shapley.

In small trees, these players are found for all leaves of all trees at once, with the leaves as bits. In large trees,
paths are followed from the root, and they part only where both rows part.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.tree import NO_CHILD, Bools, Floats, Ints, Trees

BITS_OF_A_WORD = 64
# More than the largest code of a category.
N_CODES = 2**31
# More than all digits of other groups.
ONE_OF_LAST = 2**20

Words = NDArray[np.uint64]
Pairs = tuple[Ints, Ints]


class Reach(NamedTuple):
    """The leaves within reach of rows that are mixed of two, and the players that each of them needs."""

    value: Floats  # of each leaf
    member: Ints  # whose sum it adds to
    first: Pairs  # leaves with the players whose values must be those of the first row
    second: Pairs  # the same for the second row

    def shapley_values(self, weights: Floats, n_players: int) -> Floats:
        """How much each player adds to the weighted sum of the members, from the second row to the first one."""
        n_first, n_second = (np.bincount(leaf, minlength=self.value.size) for leaf, _ in (self.first, self.second))
        value, base = self.value * weights.take(self.member), int((n_first + n_second).max(initial=0)) + 1
        shares, place = shapley_shares(base - 1), n_first * base + n_second
        added, taken = value * shares.take(place), value * shares.T.take(place)
        (leaf, player), (other_leaf, other_player) = self.first, self.second
        found: Floats = np.bincount(player, added.take(leaf), n_players).astype(np.float64)  # whole without leaves
        return found - np.bincount(other_player, taken.take(other_leaf), n_players)

    def differences(self, groups: Ints, n_groups: int, n_members: int) -> Floats:
        """The differences of mixed rows from the second row: by member, and by the groups that are of the first row.

        `groups` has the group of each player. All groups but the last have one player. The number of a set of groups
        has their bits.
        """
        # Each group is a digit: 0 if a leaf does not need it, 1 or 2 if it needs that of the first or the second row.
        digits = np.append(3.0 ** np.arange(n_groups - 1), ONE_OF_LAST).take(groups)
        counts = (np.bincount(leaf, digits.take(player), self.value.size) for leaf, player in (self.first, self.second))
        first, second = (each.astype(np.int64) for each in counts)
        in_last, also_in_last = first >= ONE_OF_LAST, second >= ONE_OF_LAST
        codes = self.member * 3**n_groups + (first & ONE_OF_LAST - 1) + 2 * (second & ONE_OF_LAST - 1)
        codes += 3 ** (n_groups - 1) * np.where(in_last, 1, 2 * also_in_last)
        value = np.where(in_last & also_in_last, 0.0, self.value)  # no mixed row has the last group of both rows
        found = np.bincount(codes, value, n_members * 3**n_groups)
        half = n_groups // 2
        found = found.reshape(n_members, 3 ** (n_groups - half), 3**half)
        sums: Floats = (_sets(n_groups - half) @ (found @ _sets(half).T)).reshape(n_members, -1)
        return sums - sums[:, :1]


@lru_cache(maxsize=16)
def _sets(n_digits: int) -> Floats:
    """Which codes of leaves belong to which sets of groups: a row for each set.

    >>> _sets(1).tolist()
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    found = np.ones((1, 1))
    for _ in range(n_digits):
        found = np.kron(found, np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    return found


@dataclass(frozen=True)
class TwoRowTrees:
    """Trees whose sums for two rows are compared, one sum for each member."""

    trees: Trees
    member: Ints  # of each tree
    reads_float32: bool = False
    # What was prepared for the last row that others were compared with. Often it is the same one.
    _last: dict[Any, "SmallPaths | Paths"] = field(default_factory=dict, repr=False)

    def reach(self, columns: Floats, players: Ints) -> Iterator[Reach]:
        """The leaves within reach of each row and the last one. `players` has the player of each feature."""
        if self.reads_float32:
            columns = columns.astype(np.float32).astype(np.float64)
        key = columns[:, -1].tobytes(), players.tobytes()
        paths = self._last.get(key)
        if paths is None:
            most_leaves = self.trees.leaf_ranges()[1].max(initial=0)
            paths = (SmallPaths if most_leaves <= BITS_OF_A_WORD else Paths)(
                self.trees, self.member, columns[:, -1], players
            )
            self._last.clear()
            self._last[key] = paths
        return map(paths, columns.T[:-1])


class Ways:
    """Where rows go at some nodes."""

    def __init__(self, trees: Trees, nodes: Ints) -> None:
        self._feature = np.where(trees.is_inner, trees.feature, 0)[nodes]  # leaves have a feature without a meaning
        self._threshold, self._missing_left = trees.threshold[nodes], trees.missing_left[nodes]
        self._by_category, self._place = trees.by_category[nodes], np.arange(nodes.size)
        place = np.zeros(trees.feature.size, dtype=np.int64)
        place[nodes] = self._place
        # The categories that go left, with their nodes.
        self._listed = np.sort(place[trees.category_nodes] * N_CODES + trees.category_codes)

    def go_left(self, row: Floats, node: Any = slice(None)) -> Bools:
        """Whether a row goes left at some of the nodes, or at all of them."""
        values = row[self._feature[node]]
        left: Bools = np.where(np.isnan(values), self._missing_left[node], values <= self._threshold[node])
        asked = np.flatnonzero(self._by_category[node])
        if asked.size:
            codes = np.where(np.isnan(values[asked]), 0, values[asked]).astype(np.int64)
            keys = self._place[node][asked] * N_CODES + codes
            is_listed = self._listed.take(np.searchsorted(self._listed, keys), mode="clip") == keys
            left[asked] = np.where(np.isnan(values[asked]), left[asked], is_listed)
        return left


class SmallPaths:
    """The paths of a row and of a known second row in small trees, with the leaves of a tree as bits."""

    def __init__(self, trees: Trees, member: Ints, second: Floats, players: Ints) -> None:
        inner, n_players = np.flatnonzero(trees.is_inner), players.max() + 1
        keys = trees.tree[inner] * n_players + players[trees.feature[inner]]
        # Each player of a tree, with the number of its nodes. Those with the most nodes come first.
        pairs, number, n_nodes = np.unique(keys, return_inverse=True, return_counts=True)
        by_size = np.argsort(-n_nodes, kind="stable")
        place = np.argsort(by_size)[number]
        # First one node of each, then a second node of those with two nodes, and so on.
        order = np.argsort(place, kind="stable")
        rank = np.arange(order.size) - np.repeat(np.cumsum(n_nodes[by_size]) - n_nodes[by_size], n_nodes[by_size])
        nodes = inner[order[np.argsort(rank, kind="stable")]]
        self._rounds = np.bincount(rank).tolist()
        begin, n_leaves = trees.leaf_ranges()
        kind = np.uint32 if n_leaves.max(initial=0) <= 32 else np.uint64
        self._n_bits = 8 * np.dtype(kind).itemsize
        ones = np.left_shift(kind(1), (n_leaves % self._n_bits).astype(kind)) - kind(1)  # of all nodes but roots
        leaves = np.left_shift(ones, begin.astype(kind))
        self._left, self._right = leaves[trees.left[nodes]], leaves[trees.right[nodes]]
        self._ways = Ways(trees, nodes)
        tree, self._player = np.divmod(pairs[by_size], n_players)
        self._by_tree = np.argsort(tree, kind="stable")
        _, self._tree_starts = np.unique(tree[self._by_tree], return_index=True)
        self._of_tree = np.unique(tree, return_inverse=True)[1]
        self._first_leaf = self._n_bits * tree
        ends = np.flatnonzero(~trees.is_inner)
        self._value = np.zeros(self._n_bits * member.size)
        self._value[self._n_bits * trees.tree[ends] + begin[ends]] = trees.value[ends]
        self._member = np.repeat(member, self._n_bits)
        self._second = self._ruled_out(second)

    def _ruled_out(self, row: Floats) -> Any:
        """The leaves that a row does not reach because of a player, for each player of each tree."""
        away = np.where(self._ways.go_left(row), self._right, self._left)
        found, start = away[: sum(self._rounds[:1])], 0
        for n in self._rounds:
            found[:n] |= away[start : start + n]
            start += n
        return found

    def __call__(self, row: Floats) -> Reach:
        first, second = self._ruled_out(row), self._second
        if first.size:
            lost = np.bitwise_or.reduceat((first & second).take(self._by_tree), self._tree_starts).take(self._of_tree)
            first, second = second & ~(first | lost), first & ~(second | lost)
        pairs = self._pairs(first), self._pairs(second)
        place = np.full(self._value.size, -1)
        for leaf, _ in pairs:
            place[leaf] = 0
        within_reach = np.flatnonzero(place == 0)
        place[within_reach] = np.arange(within_reach.size)
        numbered = ((place.take(leaf), player) for leaf, player in pairs)
        return Reach(self._value.take(within_reach), self._member.take(within_reach), *numbered)

    def _pairs(self, leaves: Any) -> Pairs:
        at, bit = _set_bits(leaves)
        return self._first_leaf.take(at) + bit, self._player.take(at)


class Paths:
    """The same for trees of any size, of which most nodes are never visited."""

    def __init__(self, trees: Trees, member: Ints, second: Floats, players: Ints) -> None:
        self._trees, self._member = trees, member[trees.tree]
        self._ways = Ways(trees, np.arange(trees.feature.size))
        self._second = self._ways.go_left(second)
        self._player = players[np.where(trees.is_inner, trees.feature, 0)]
        self._n_words = int(players.max()) // BITS_OF_A_WORD + 1

    def __call__(self, row: Floats) -> Reach:
        node, first, second = (np.concatenate(each) for each in zip(*self._ends(row), strict=True))
        return Reach(self._trees.value[node], self._member[node], self._pairs(first), self._pairs(second))

    def _pairs(self, sets: Words) -> Pairs:
        at, bit = _set_bits(sets.ravel())
        return at // self._n_words, at % self._n_words * BITS_OF_A_WORD + bit

    def _ends(self, row: Floats) -> Iterator[tuple[Ints, Words, Words]]:
        """Leaves within reach, and the players of each row that they need."""
        trees, node = self._trees, self._trees.starts[:-1]
        first = np.zeros((node.size, self._n_words), dtype=np.uint64)
        second = first.copy()
        while node.size:
            is_end = trees.left[node] == NO_CHILD
            yield node[is_end], first[is_end], second[is_end]
            node, first, second = (each[~is_end] for each in (node, first, second))
            goes, others_go = self._ways.go_left(row, node), self._second[node]
            word, bit = np.divmod(self._player[node], BITS_OF_A_WORD)
            mask, places = np.left_shift(np.uint64(1), bit.astype(np.uint64)), np.arange(node.size)
            is_first, is_second = (first[places, word] & mask) != 0, (second[places, word] & mask) != 0
            # Where the paths part, a copy goes the way of the other row.
            parts = np.flatnonzero((goes != others_go) & ~is_first & ~is_second)
            of_first, of_second = first[parts], second[parts]
            of_second[np.arange(parts.size), word[parts]] |= mask[parts]
            first[parts, word[parts]] |= mask[parts]
            to_left = np.concatenate([np.where(is_second, others_go, goes), others_go[parts]])
            node = np.concatenate([node, node[parts]])
            node = np.where(to_left, trees.left[node], trees.right[node])
            first, second = np.concatenate([first, of_first]), np.concatenate([second, of_second])


def _set_bits(words: Any) -> Pairs:
    """The numbers of the words with bits that are set, and of these bits.

    >>> [found.tolist() for found in _set_bits(np.array([5, 0, 2], dtype=np.uint64))]
    [[0, 0, 2], [0, 2, 1]]
    """
    octets = words.astype(words.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    some = np.flatnonzero(octets != 0)  # most are 0
    at = np.flatnonzero(np.unpackbits(octets[some], bitorder="little").view(bool))
    place, shift = (some << 3).take(at >> 3) + (at & 7), 2 + words.itemsize.bit_length()
    return place >> shift, place & (1 << shift) - 1


@lru_cache(maxsize=64)
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
