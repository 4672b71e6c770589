"""One exam for every pool. The reference is the pool of all rows in one chunk of memory."""

from dataclasses import replace
from functools import partial

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from selfpaced.algorithms import Outlook, allocate, hardness_named, with_uniform_share
from selfpaced.clusters.partitions import in_order_of_ids
from selfpaced.pools import Block, MemoryPool, PartitionedPool, Partitions, Stream, StreamedPool, Tags, row_keys
from selfpaced.tables import InMemoryTable
from selfpaced.tables.sources import open_table
from tests.chunks import chunks_of

SEED = 11
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 4))
IDS = np.sort(RNG.choice(4000, size=3600, replace=False)).astype(np.uint32)
MODELS = [
    DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
        X[some := RNG.choice(4000, size=400)], X[some, 0] + RNG.normal(size=400) > 0
    )
    for depth in (3, 6)
]
NAMES = [f"V{i}" for i in range(4)]


def frame(table):
    return MemoryPool(InMemoryTable(table), IDS, own_class=0, seed=SEED)


class InThisProcess:
    """The simplest engine: a list of blocks that are asked one after the other."""

    def __init__(self, blocks):
        self.blocks = blocks

    def ask(self, question):
        blocks = self.blocks if question.features else [replace(block, rows=None) for block in self.blocks]
        return question.merge([question(block) for block in blocks])

    def advance(self, step, *shared):
        self.blocks = [replace(block, tags=step(block, *shared)) for block in self.blocks]

    def stacked(self, parts):
        return in_order_of_ids(parts)


def tags_of(positions):
    classes = np.where(np.isin(positions, IDS), 0, 1).astype(np.uint8)
    return Tags(positions.astype(np.uint64), classes, np.zeros(positions.size, dtype=np.float32))


def partitioned(n_partitions=3, shuffled=False):
    """The same rows in partitions, one of them empty."""
    order = RNG.permutation(len(X)) if shuffled else np.arange(len(X))
    parts = [*np.array_split(order, n_partitions), order[:0]]
    engine = InThisProcess([Block(tags_of(part), InMemoryTable(X[part])) for part in parts])
    return PartitionedPool(Partitions(engine, {0: IDS.size}, SEED), 0, IDS.size)


def streamed(n_files=3, row_group_rows=700, batch_rows=1000, n_threads=1, **options):
    """The same rows in Parquet files."""
    folder = streamed.folder / f"{n_files}-{row_group_rows}"
    if not folder.exists():
        write_files(folder, n_files, row_group_rows)
    exclude = [] if "id_column" in options else ["number"]
    table = open_table(folder, target="label", exclude=exclude, batch_rows=batch_rows, **options)
    labels = table.labels()
    stream = Stream(table, labels.codes, SEED, n_threads, np.zeros(len(X), dtype=np.float32))
    return StreamedPool(stream, 0, [0], IDS.size)


def write_files(folder, n_files, row_group_rows):
    folder.mkdir()
    label = np.ones(len(X), dtype=np.int8)
    label[IDS] = 0
    rows = pd.DataFrame(X.astype(np.float32), columns=NAMES).assign(label=label, number=np.arange(len(X)))
    for number, part in enumerate(np.array_split(np.arange(len(X)), n_files)):
        rows.iloc[part].to_parquet(folder / f"part-{number:03}.parquet", row_group_size=row_group_rows)


@pytest.fixture(scope="module", autouse=True)
def folder_of_files(tmp_path_factory):
    streamed.folder = tmp_path_factory.mktemp("pools")


POOLS = {
    "memory": lambda: frame(X),
    "memory, float32": lambda: frame(X.astype(np.float32)),
    "memory, column order": lambda: frame(np.asfortranarray(X)),
    "memory, two threads": lambda: MemoryPool(InMemoryTable(X), IDS, own_class=0, seed=SEED, n_threads=2),
    "sparse": lambda: frame(sparse.csr_array(X)),
    "pandas": lambda: frame(pd.DataFrame(X, columns=NAMES)),
    "polars": lambda: frame(pl.DataFrame(X, schema=NAMES)),
    "pyarrow": lambda: frame(pa.table(dict(zip(NAMES, X.T, strict=True)))),
    "partitions": partitioned,
    "partitions, shuffled": lambda: partitioned(n_partitions=17, shuffled=True),
    "files": streamed,
    "files, many small": lambda: streamed(n_files=7, row_group_rows=100, batch_rows=64),
    "files, two threads": lambda: streamed(batch_rows=333, n_threads=2),
    "files, ids of their own": lambda: streamed(id_column="number"),
}


def on_dask(cluster, n_partitions=3):
    """The same rows on a Dask cluster."""
    classes = tags_of(np.arange(len(X))).classes
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=classes), npartitions=n_partitions)
    table = open_table(frame, target="label", client=cluster.client)
    return PartitionedPool(Partitions(table.begin(), {0: IDS.size}, SEED), 0, IDS.size)


# Pools on clusters, by the fixture that starts one.
CLUSTERS = {"dask": on_dask}


@pytest.fixture(params=[*sorted(POOLS), *(pytest.param(name, marks=pytest.mark.cluster) for name in CLUSTERS)])
def make_pool(request):
    if request.param in CLUSTERS:
        return partial(CLUSTERS[request.param], request.getfixturevalue(f"{request.param}_cluster"))
    return POOLS[request.param]


@pytest.fixture(params=sorted(POOLS))
def make_pool_here(request):
    """Those in this process, whose chunks a test may choose."""
    return POOLS[request.param]


@pytest.fixture(params=[41, 500], ids=lambda rows: f"chunks of {rows}")
def chunk_rows(request):
    """All pools of a test read so many rows at once."""
    with chunks_of(scored=request.param, hashed=request.param):
        yield


def play(pool, hardness="absolute", n_bins=10, n_draw=50, foresight=True, uniform_share=0.0):
    """Two rounds; everything the pool answers."""
    first = pool.draw([n_draw], 0)
    answers = [first.ids, first.stands_for]
    for i, model in enumerate(MODELS, start=1):
        pool.score(model)
        outlook = Outlook(i, n_draw, 0.5, uniform_share)
        bins = pool.cut(hardness_named(hardness), n_bins, outlook if foresight else None)
        weight = 1 / (bins.mean_hardness + 0.5)
        if uniform_share:
            weight = with_uniform_share(weight, bins.counts, uniform_share)
        quota = allocate(weight, bins.counts, n_draw)
        drawn = pool.draw(quota.tolist(), i)
        answers += [bins.counts, bins.mean_hardness, quota, drawn.ids, drawn.stands_for]
    return answers


@pytest.fixture(scope="module")
def reference():
    return {hardness: play(frame(X), hardness) for hardness in ("absolute", "squared", "cross_entropy")}


@pytest.mark.parametrize("hardness", ["absolute", "squared", "cross_entropy"])
def test_every_pool_gives_the_answers_of_the_reference_bit_for_bit(make_pool, hardness, reference):
    for answer, expected in zip(play(make_pool(), hardness), reference[hardness], strict=True):
        np.testing.assert_array_equal(answer, expected)


def test_chunks_of_any_size_give_the_answers_of_the_reference_bit_for_bit(make_pool_here, chunk_rows, reference):
    """Chunks are the same for every hardness. This one asks for the largest value too."""
    for answer, expected in zip(play(make_pool_here(), "cross_entropy"), reference["cross_entropy"], strict=True):
        np.testing.assert_array_equal(answer, expected)


def test_foresight_changes_nothing_that_is_answered(make_pool, reference):
    for answer, expected in zip(play(make_pool(), foresight=False), reference["absolute"], strict=True):
        np.testing.assert_array_equal(answer, expected)


def test_every_pool_draws_the_same_rows_where_a_share_is_drawn_uniformly(make_pool):
    expected = play(frame(X), uniform_share=0.3)
    for answer, of_reference in zip(play(make_pool(), uniform_share=0.3), expected, strict=True):
        np.testing.assert_array_equal(answer, of_reference)


def test_drawn_rows_stand_for_all_rows_of_their_bins(make_pool):
    pool = make_pool()
    pool.score(MODELS[0])
    bins = pool.cut(hardness_named("absolute"), 4)
    quota = np.minimum(bins.counts, [7, 1000, 5, 3])
    stands_for = pool.draw(quota.tolist(), 1).stands_for
    expected = np.repeat(bins.counts / np.maximum(quota, 1), quota)
    np.testing.assert_array_equal(np.sort(stands_for), np.sort(expected))


def test_before_the_first_cut_all_rows_share_one_bin(make_pool):
    drawn = make_pool().draw([40], 3).ids
    keys = row_keys(IDS, SEED, 3)
    assert drawn.tolist() == np.sort(IDS[np.argsort(keys)[:40]]).tolist()


def test_no_row_is_drawn_twice(make_pool):
    for drawn in play(make_pool())[::5]:
        assert len(set(drawn.tolist())) == drawn.size == 50


def test_drawn_rows_come_sorted_by_id_with_their_own_features(make_pool):
    rows = make_pool().draw([50], 0)
    assert np.all(np.diff(rows.ids.astype(int)) > 0)
    features = rows.features.toarray() if sparse.issparse(rows.features) else np.asarray(rows.features)
    np.testing.assert_allclose(features, X[rows.ids], rtol=1e-6)


def test_a_pool_gives_all_it_has_when_asked_for_more(make_pool):
    assert make_pool().draw([10**6], 0).ids.tolist() == IDS.tolist()


def test_all_rows_are_in_some_bin(make_pool):
    pool = make_pool()
    pool.score(MODELS[0])
    assert pool.cut(hardness_named("absolute"), 20).counts.sum() == IDS.size


def test_the_hardest_rows_stay_and_of_equals_the_smallest_keys(make_pool):
    assert_the_hardest_rows_stay(make_pool)


def test_the_hardest_rows_stay_with_chunks_of_any_size(make_pool_here, chunk_rows):
    assert_the_hardest_rows_stay(make_pool_here)


def assert_the_hardest_rows_stay(make_pool):
    pool, doubts = make_pool(), MODELS[1].predict_proba(X[IDS])[:, 1].astype(np.float32)
    keys = row_keys(IDS, SEED, 1)
    expected = IDS[np.lexsort((keys, -doubts))[:700]]
    assert pool.n_rows == IDS.size
    pool.score(MODELS[1])
    pool.keep_hardest(700, 1)
    assert pool.n_rows == 700
    assert pool.draw([700], 2).ids.tolist() == np.sort(expected).tolist()


def test_rows_let_go_are_neither_drawn_nor_counted_again(make_pool):
    pool = make_pool()
    pool.score(MODELS[0])
    pool.keep_hardest(500, 1)
    kept = set(pool.draw([500], 2).ids.tolist())
    pool.score(MODELS[1])
    bins = pool.cut(hardness_named("absolute"), 5)
    assert bins.counts.sum() == 500
    assert set(pool.draw([20] * 5, 3).ids.tolist()) <= kept


def test_another_round_draws_other_rows(make_pool):
    pool = make_pool()
    assert pool.draw([50], 1).ids.tolist() != pool.draw([50], 2).ids.tolist()
