"""Short lists of rows that may be drawn, and the questions that they save."""

from functools import cache

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.algorithms import Outlook, hardness_named
from selfpaced.clusters import PartitionedTable
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.pools import LARGEST_KEY, Block, RowsUnder, Tags, row_keys
from selfpaced.pools.blocks import Cut, FirstQuestion
from selfpaced.pools.chunk import Candidates
from selfpaced.pools.partitioned import CutAndShortlist, Shortlist
from selfpaced.tables import ClassCounts, InMemoryTable, Roles
from tests.contracts.test_majority_pools import InThisProcess

TREE = DecisionTreeClassifier(max_depth=6)
N_RARE, N_ROUNDS = 120, 5


@cache
def rows():
    return make_fraud(20_000, N_RARE, n_features=5, random_state=0)


class Listening(InThisProcess):
    """An engine that notes every question and its answer."""

    def __init__(self, blocks):
        super().__init__(blocks)
        self.heard = []

    def ask(self, question):
        answer = super().ask(question)
        self.heard.append((question, answer))
        return answer

    @property
    def n_keys(self):
        """The keys sent with each cut."""
        cuts = [answer for question, answer in self.heard if isinstance(question, CutAndShortlist)]
        return [sum(one.candidates.keys.size for one in answer.values()) for answer in cuts]


def in_partitions(order, n_partitions):
    X, y = rows()
    parts = np.array_split(order, n_partitions)
    tags = [Tags(part.astype(np.uint64), y[part].astype(np.uint8), np.zeros(part.size, np.float32)) for part in parts]
    engine = Listening([Block(one, InMemoryTable(X[part])) for one, part in zip(tags, parts, strict=True)])
    counts = ClassCounts(np.array([0, 1]), np.bincount(y))
    return engine, PartitionedTable(lambda: engine, counts, None, Roles(), has_own_ids=True)


ORDERS = {
    "as they are": lambda X, y: np.arange(len(X)),
    "shuffled": lambda X, y: np.random.default_rng(0).permutation(len(X)),
    "sorted by a feature": lambda X, y: np.argsort(X[:, 0], kind="stable"),
    "sorted by hardness": lambda X, y: np.argsort(TREE.fit(X, y).predict_proba(X)[:, 1], kind="stable"),
}


@cache
def order_called(name):
    return ORDERS[name](*rows())


@cache
def scores_of_memory():
    X, y = rows()
    return SelfPacedEnsembleClassifier(TREE, N_ROUNDS, random_state=1).fit(X, y).predict_proba(X)


def fitted(table, kind=SelfPacedEnsembleClassifier, **others):
    return kind(TREE, N_ROUNDS, random_state=1, **others).fit_table(table)


@pytest.mark.parametrize("n_partitions", [1, 8, 50])
@pytest.mark.parametrize("order", ORDERS)
def test_however_the_rows_are_ordered_the_model_is_that_of_memory(order, n_partitions):
    model = fitted(in_partitions(order_called(order), n_partitions)[1])
    np.testing.assert_array_equal(model.predict_proba(rows()[0]), scores_of_memory())


@pytest.mark.parametrize("n_partitions", [2, 8, 50])
@pytest.mark.parametrize("order", ["as they are", "shuffled"])
def test_two_questions_begin_a_fit_and_a_round_asks_two(order, n_partitions):
    engine, table = in_partitions(order_called(order), n_partitions)
    fitted(table)
    assert len(engine.heard) == 2 + 2 * N_ROUNDS


def test_a_hardness_without_a_known_largest_value_asks_a_third_question():
    engine, table = in_partitions(order_called("shuffled"), 4)
    fitted(table, hardness="cross_entropy")
    assert len(engine.heard) == 2 + 3 * N_ROUNDS


def test_very_different_partitions_need_few_more_questions():
    engine, table = in_partitions(order_called("sorted by a feature"), 8)
    fitted(table)
    assert 2 + 2 * N_ROUNDS <= len(engine.heard) <= 2 + 2 * N_ROUNDS + 2


@pytest.mark.parametrize(
    ("kind", "n_questions"), [(UnderBaggingClassifier, 2 * N_ROUNDS), (BalanceCascadeClassifier, None)]
)
def test_the_first_draw_of_other_ensembles_needs_no_question_of_its_own(kind, n_questions):
    engine, table = in_partitions(order_called("shuffled"), 4)
    fitted(table, kind)
    first, second = (question for question, _ in engine.heard[:2])
    assert isinstance(first, FirstQuestion)
    assert isinstance(second, RowsUnder)
    assert n_questions is None or len(engine.heard) == n_questions


@pytest.mark.parametrize("n_partitions", [2, 8, 50])
def test_the_keys_sent_are_a_few_times_the_rows_drawn(n_partitions):
    engine, table = in_partitions(order_called("shuffled"), n_partitions)
    fitted(table)
    told = engine.heard[0][1].candidates[0].keys.size
    assert told <= N_RARE + 8 * N_RARE**0.5 + 16
    assert len(engine.n_keys) == N_ROUNDS
    # Besides twice the draw, every bin has a slack of its own, and a partition tells all of its few rows of a bin.
    assert max(engine.n_keys) <= 2 * N_RARE + 20 * 30 + 9 * 20 * n_partitions


def block_of(doubts, first_id=0):
    ids = np.arange(first_id, first_id + len(doubts), dtype=np.uint64)
    return Block(Tags(ids, np.zeros(len(doubts), np.uint8), np.asarray(doubts, np.float32)), None)


def question(n_rows, n_draw=100):
    return CutAndShortlist(
        {0: Cut(hardness_named("absolute"), 2, 1.0, 1)}, {0: n_rows}, Outlook(1, n_draw, 0.5), seed=7, generosity=2
    )


def test_a_merged_list_reaches_as_far_as_the_shortest_of_its_parts():
    ask = question(n_rows=20_000)
    # The first block believes that all rows are easy, so that few keys of each suffice.
    easy, mixed = ask(block_of(np.full(10_000, 0.1))), ask(block_of([0.1] * 50 + [0.9] * 9950, first_id=10_000))
    merged = CutAndShortlist.merge([easy, mixed])[0]
    assert merged.limits[0] == easy[0].limits[0] < mixed[0].limits[0] == LARGEST_KEY
    ids = np.arange(10_050)
    expected = ids[row_keys(ids, 7, 1) <= merged.limits[0]]
    assert sorted(merged.candidates.ids[merged.candidates.bins == 0].tolist()) == expected.tolist()
    assert merged.totals.counts == (10_050, 9950)


def test_a_list_that_may_lack_a_row_draws_nothing():
    listed = CutAndShortlist.merge([question(n_rows=10_000)(block_of(np.full(10_000, 0.1)))])[0]
    n_listed = listed.candidates.keys.size
    assert listed.drawn([n_listed + 1, 0]) is None
    assert listed.drawn([n_listed, 0]).ids.size == n_listed


def test_a_list_of_all_rows_is_long_enough_for_any_draw():
    listed = question(n_rows=3)(block_of([0.1, 0.2, 0.9]))[0]
    assert listed.drawn([100, 100]).ids.tolist() == [0, 1, 2]


def test_a_block_without_rows_shortens_no_list():
    ask = question(n_rows=10_000)
    full, empty = ask(block_of(np.full(10_000, 0.1))), ask(block_of([]))
    merged = CutAndShortlist.merge([full, empty])[0]
    np.testing.assert_array_equal(merged.limits, full[0].limits)
    assert isinstance(merged, Shortlist)
    assert isinstance(merged.candidates, Candidates)
