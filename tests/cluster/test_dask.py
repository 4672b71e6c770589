"""Ensembles on a real Dask cluster: a scheduler and two workers, each a process of its own."""

import pickle
from functools import cache, partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from selfpaced.callbacks import Callback
from selfpaced.clusters.dask.engine import DaskEngine
from selfpaced.clusters.dask.estimators import (
    DaskBalanceCascadeClassifier,
    DaskSelfPacedEnsembleClassifier,
    DaskUnderBaggingClassifier,
)
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.exceptions import TableError
from selfpaced.tables.sources import open_table
from tests.cluster.transactions import BOOSTER, NAMES, TREE, transactions


@pytest.fixture
def rows():
    return transactions().copy()


@pytest.fixture(scope="module")
def spe(dask_cluster):
    return partial(DaskSelfPacedEnsembleClassifier, n_estimators=2, random_state=3, client=dask_cluster.client)


@cache
def expected(base=TREE, kind=SelfPacedEnsembleClassifier, n_estimators=2):
    return in_memory(transactions(), base, kind, n_estimators)


def in_memory(rows, base=TREE, kind=SelfPacedEnsembleClassifier, n_estimators=2, **fit_params):
    features = rows.drop(columns="is_fraud")
    return kind(base, n_estimators, random_state=3).fit(features, rows["is_fraud"], **fit_params)


def in_partitions(rows, n_partitions=3):
    return dd.from_pandas(rows, npartitions=n_partitions, sort=False)


def dumped(member):
    """All there is to know of a member."""
    if isinstance(member, LGBMClassifier):
        return member.booster_.model_to_string()
    return {name: np.asarray(value).tobytes() for name, value in member.tree_.__getstate__().items()}


def assert_same(model, expected):
    assert len(model.estimators_) == len(expected.estimators_)
    for member, other in zip(model.estimators_, expected.estimators_, strict=True):
        assert dumped(member) == dumped(other)
    for one, other in zip(model.rounds_, expected.rounds_, strict=True):
        for name, bins in other.bins.items():
            np.testing.assert_array_equal(one.bins[name].counts, bins.counts)
            np.testing.assert_array_equal(one.bins[name].mean_hardness, bins.mean_hardness)
            np.testing.assert_array_equal(one.bins[name].quota, bins.quota)


@pytest.fixture(scope="module")
def watched(spe):
    """A fit, the rows that came to the driver by question, and the questions."""
    travelled, asked = [], []

    def counting(parts):
        travelled.append(sum(len(part) for part in parts))
        return stacked(parts)

    def noting(engine, question):
        asked.append(question)
        return ask(engine, question)

    stacked, ask = DaskEngine.stacked, DaskEngine.ask
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaskEngine, "stacked", staticmethod(counting))
        patch.setattr(DaskEngine, "ask", noting)
        return spe(TREE).fit(in_partitions(transactions()), "is_fraud"), travelled, asked


@pytest.fixture(scope="module")
def fitted(watched):
    """A model for tests that change nothing of it."""
    return watched[0]


@pytest.mark.parametrize(
    ("n_partitions", "base"),
    [(1, TREE), (2, BOOSTER), (17, TREE)],
    ids=["1-tree", "2-lightgbm", "17-tree"],
)
def test_members_are_those_of_the_fit_in_memory_for_any_number_of_partitions(rows, spe, base, n_partitions):
    model = spe(base).fit(in_partitions(rows, n_partitions), "is_fraud")
    assert_same(model, expected(base))


def test_the_calibration_equals_that_of_the_fit_in_memory(rows, spe):
    frame = in_partitions(rows)
    model = spe(TREE, calibration="sigmoid").fit(frame, "is_fraud")
    local = SelfPacedEnsembleClassifier(TREE, 2, random_state=3, calibration="sigmoid")
    local.fit(rows[NAMES], rows["is_fraud"])
    assert model.calibrator_ == local.calibrator_
    np.testing.assert_array_equal(model.predict_proba(frame).compute(), local.predict_proba(rows[NAMES]))
    np.testing.assert_array_equal(model.to_local().predict_proba(rows[NAMES]), local.predict_proba(rows[NAMES]))


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_groups_make_the_calibration_of_the_fit_in_memory(rows, spe, kind):
    cards = np.random.default_rng(0).integers(600, size=len(rows))
    local = SelfPacedEnsembleClassifier(TREE, 2, random_state=3, calibration="sigmoid")
    local.fit(rows[NAMES], rows["is_fraud"], groups=[f"{card}" for card in cards])
    model = spe(TREE, calibration="sigmoid")
    if kind == "frame":
        model.fit(in_partitions(rows.assign(card=cards)), "is_fraud", groups="card")
    else:
        X, y, groups = (da.from_array(each, chunks=2000) for each in (rows[NAMES].to_numpy(), rows["is_fraud"], cards))
        model.fit(X.rechunk((2000, 6)), y, groups=groups)
    assert model.calibrator_ == local.calibrator_


def test_members_do_not_depend_on_where_partitions_begin(rows, spe):
    inner = np.sort(np.random.default_rng(0).choice(np.arange(1, len(rows) - 1), size=5, replace=False))
    frame = in_partitions(rows, 1).repartition(divisions=[0, *inner.tolist(), len(rows) - 1])
    assert_same(spe(TREE).fit(frame, "is_fraud"), expected())


def test_rows_with_ids_may_come_in_any_order(rows, spe):
    numbered = rows.assign(number=np.arange(len(rows)))
    shuffled = in_partitions(numbered.sample(frac=1, random_state=0))
    assert_same(spe(TREE).fit(shuffled, "is_fraud", ids="number"), expected())


def test_arrays_give_the_members_of_the_fit_in_memory(rows, spe):
    X, y = rows[NAMES].to_numpy(), rows["is_fraud"].to_numpy()
    model = spe(BOOSTER).fit(da.from_array(X, chunks=(1700, 4)), da.from_array(y, chunks=999))
    assert_same(model, SelfPacedEnsembleClassifier(BOOSTER, 2, random_state=3).fit(X, y))


def test_arrays_of_unknown_lengths_work_when_their_chunks_agree(rows, spe):
    frame = in_partitions(rows)
    model = spe(TREE).fit(frame[NAMES].values, frame["is_fraud"].values)
    assert_same(model, SelfPacedEnsembleClassifier(TREE, 2, random_state=3).fit(rows[NAMES].to_numpy(), rows.is_fraud))


@pytest.mark.parametrize(
    ("round_number", "base"),
    [(1, TREE), (2, BOOSTER)],
    ids=["1-tree", "2-lightgbm"],
)
def test_a_worker_killed_in_the_middle_of_a_round_changes_nothing(rows, dask_cluster, monkeypatch, base, round_number):
    advance, n_rounds = DaskEngine.advance, []

    def advance_and_lose_a_worker(engine, *arguments):
        advance(engine, *arguments)
        n_rounds.append(1)
        if len(n_rounds) == round_number:
            dask_cluster.kill_a_worker()
            dask_cluster.start_worker()

    monkeypatch.setattr(DaskEngine, "advance", advance_and_lose_a_worker)
    model = DaskSelfPacedEnsembleClassifier(base, 3, random_state=3, client=dask_cluster.client)
    model.fit(in_partitions(rows), "is_fraud")
    assert len(n_rounds) == 3
    assert_same(model, expected(base, n_estimators=3))
    dask_cluster.wait_for_workers(2)


def test_only_the_minority_once_and_the_drawn_rows_are_sent_to_the_driver(watched, rows):
    model, travelled, _ = watched
    n_minority = int(rows["is_fraud"].sum())
    assert travelled == [n_minority] * (1 + len(model.rounds_))


def test_two_questions_begin_a_fit_and_a_round_asks_two(watched):
    assert len(watched[2]) == 2 + 2 * 2


@pytest.mark.parametrize(
    ("kind", "local"),
    [
        (DaskBalanceCascadeClassifier, BalanceCascadeClassifier),
        (DaskUnderBaggingClassifier, UnderBaggingClassifier),
    ],
)
def test_other_ensembles_equal_the_fit_in_memory(rows, dask_cluster, kind, local):
    model = kind(TREE, 2, random_state=3, client=dask_cluster.client).fit(in_partitions(rows), "is_fraud")
    assert_same(model, expected(kind=local))
    assert type(model.to_local()) is local


@pytest.mark.parametrize("hardness", ["cross_entropy", lambda doubt: 3 * doubt], ids=["cross entropy", "own"])
def test_bins_up_to_the_largest_hardness_need_it_from_all_partitions(rows, spe, hardness):
    model = spe(TREE, hardness=hardness).fit(in_partitions(rows), "is_fraud")
    local = SelfPacedEnsembleClassifier(TREE, 2, random_state=3, hardness=hardness)
    assert_same(model, local.fit(rows[NAMES], rows.is_fraud))


def test_three_classes(rows, spe):
    labels = np.array(["chip", "online", "stolen"])[np.where(rows.is_fraud, 2, np.arange(len(rows)) % 5 == 0)]
    three = rows.assign(is_fraud=labels)
    assert_same(spe(TREE).fit(in_partitions(three), "is_fraud"), in_memory(three))


def test_weights_are_used_in_the_fit(rows, spe, fitted):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(rows))
    weighed = in_partitions(rows.assign(w=weights))
    local = in_memory(rows, sample_weight=weights)
    assert_same(spe(TREE).fit(weighed, "is_fraud", sample_weight="w"), local)
    with pytest.raises(AssertionError):
        assert_same(fitted, local)


def test_missing_values_and_types_that_differ_between_partitions(rows, spe):
    mixed = rows.assign(b=np.round(10 * rows["b"]))
    mixed.loc[mixed.index[::7], "a"] = np.nan
    mixed.loc[mixed.index[:10], "b"] = np.nan
    parts = [mixed.iloc[start : start + 1700] for start in range(0, len(mixed), 1700)]
    whole = [parts[0], *(part.astype({"b": int}) for part in parts[1:])]
    frame = dd.from_map(lambda i: whole[i], list(range(len(whole))), meta=mixed.iloc[:0])
    assert_same(spe(BOOSTER).fit(frame, "is_fraud"), in_memory(mixed, BOOSTER))


@pytest.mark.parametrize("kind", ["category", "str"])
def test_strings_are_categories_that_all_partitions_share(rows, spe, kind):
    words = np.random.default_rng(0).choice(["post", "web", "shop", "phone"], len(rows))
    words[:2000] = "post"  # the first partition knows one word only
    worded = rows.assign(channel=words)
    worded.loc[worded.index[::11], "channel"] = None
    shared = pd.CategoricalDtype(["phone", "post", "shop", "web"])
    local = in_memory(worded.astype({"channel": shared}), BOOSTER)
    parts = [worded.iloc[start : start + 1700] for start in range(0, len(worded), 1700)]
    frame = dd.from_map(lambda i: parts[i].astype({"channel": kind}), list(range(len(parts))))
    model = spe(BOOSTER).fit(frame, "is_fraud")
    assert_same(model, local)
    scores = model.predict_proba(frame).compute()
    np.testing.assert_array_equal(
        scores, local.predict_proba(worded.drop(columns="is_fraud").astype({"channel": shared}))
    )


def test_dates_become_numbers(rows, spe):
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(len(rows)), unit="min")
    dated = in_partitions(rows.assign(when=when))
    numbers = rows.assign(
        **{"when": when.as_unit("s").astype(np.int64), "when.weekday": when.day_of_week, "when.hour": when.hour}
    )
    local = in_memory(numbers.astype({"when": float, "when.weekday": float, "when.hour": float}))
    model = spe(TREE).fit(dated, "is_fraud")
    assert_same(model, local)
    assert model.predict_proba(dated).compute().shape == (len(rows), 2)


def test_predictions_of_a_frame_are_lazy_and_equal_those_in_memory(rows, fitted):
    frame = in_partitions(rows)
    lazy = fitted.predict_proba(frame)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), expected().predict_proba(rows[NAMES]))
    np.testing.assert_array_equal(fitted.predict(frame).compute(), expected().predict(rows[NAMES]))


def test_predictions_of_an_array_keep_its_chunks(rows, spe):
    X = da.from_array(rows[NAMES].to_numpy(), chunks=(1700, -1))
    model = spe(TREE).fit(X, da.from_array(rows["is_fraud"].to_numpy(), chunks=1700))
    lazy = model.predict_proba(X)
    assert lazy.chunks == (X.chunks[0], (2,))
    np.testing.assert_array_equal(lazy.compute(), model.to_local().predict_proba(rows[NAMES].to_numpy()))
    assert model.predict(X).compute().shape == (len(rows),)


def test_the_target_column_is_not_a_feature(rows, spe):
    frame = in_partitions(rows)
    assert spe(TREE).fit(frame, frame["is_fraud"]).feature_names_in_.tolist() == NAMES


def test_labels_may_be_a_series_of_another_frame(rows, spe):
    frame = in_partitions(rows)
    model = spe(TREE).fit(frame[NAMES], frame["is_fraud"].astype(bool))
    assert model.classes_.tolist() == [False, True]
    assert model.trained_on_.target is None


def test_the_local_model_does_not_need_dask(rows, fitted):
    local = pickle.loads(pickle.dumps(fitted.to_local()))
    assert type(local) is SelfPacedEnsembleClassifier
    assert "client" not in local.get_params()
    np.testing.assert_array_equal(local.predict_proba(rows[NAMES]), fitted.predict_proba(rows[NAMES]))


def test_a_clone_has_the_client_and_a_pickle_does_not(rows, fitted, dask_cluster):
    assert clone(fitted).client is dask_cluster.client
    read = pickle.loads(pickle.dumps(fitted))
    assert read.client is None
    np.testing.assert_array_equal(read.predict_proba(rows[NAMES]), fitted.predict_proba(rows[NAMES]))


def test_open_table_opens_a_frame_for_any_ensemble_and_any_number_of_fits(rows, dask_cluster):
    frame = in_partitions(rows.assign(number=np.arange(len(rows)), note="x"))
    table = open_table(frame, target="is_fraud", exclude=["note"], id_column="number", client=dask_cluster.client)
    for _ in range(2):
        model = SelfPacedEnsembleClassifier(TREE, 2, random_state=3).fit_table(table)
        assert_same(model, expected())
        assert model.trained_on_.target == "is_fraud"


def test_callbacks_get_the_rounds_and_scores_of_the_fit_in_memory(rows, spe):
    class Numbers(Callback):
        def __init__(self):
            self.seen = []

        def on_round_end(self, round):
            self.seen.append((round.number, round.score))

    told, in_memory = Numbers(), Numbers()
    held_out = rows[NAMES].iloc[:2000], rows["is_fraud"].iloc[:2000]
    spe(TREE, callbacks=told).fit(in_partitions(rows), "is_fraud", eval_set=held_out)
    local = SelfPacedEnsembleClassifier(TREE, 2, random_state=3, callbacks=in_memory)
    local.fit(rows[NAMES], rows["is_fraud"], eval_set=held_out)
    assert told.seen == in_memory.seen


def test_empty_partitions_and_partitions_without_positives(rows, spe):
    ordered = rows.sort_values("is_fraud", ignore_index=True)
    frame = in_partitions(ordered)
    with_empty = dd.concat([frame.partitions[0].query("a != a"), frame])
    model = spe(TREE).fit(with_empty, "is_fraud")
    assert_same(model, in_memory(ordered))
    assert model.predict_proba(with_empty).compute().shape == (len(rows), 2)


@pytest.mark.parametrize("base", [LogisticRegression(), KNeighborsClassifier(n_jobs=2)], ids=["logistic", "knn"])
def test_base_models_with_threads_draw_the_rows_and_give_the_scores_of_the_fit_in_memory(rows, spe, base):
    model, local = spe(base).fit(in_partitions(rows), "is_fraud"), in_memory(rows, base)
    for one, other in zip(model.rounds_, local.rounds_, strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
    scores = model.predict_proba(in_partitions(rows)).compute()
    # BLAS rounds the product of a row and the coefficients differently for other numbers of rows.
    np.testing.assert_allclose(scores, local.predict_proba(rows[NAMES]), rtol=1e-12)


class TestBadInput:
    def test_no_positives_at_all(self, rows, spe):
        with pytest.raises(ValueError, match=r"Column 'is_fraud' holds one class only, \[0\]"):
            spe(TREE).fit(in_partitions(rows[rows.is_fraud == 0]), "is_fraud")

    def test_one_positive(self, rows, spe):
        few = pd.concat([rows[rows.is_fraud == 0], rows[rows.is_fraud == 1][:1]])
        with pytest.raises(ValueError, match="class 1 has 1 row; at least 2 are needed"):
            spe(TREE).fit(in_partitions(few), "is_fraud")

    def test_ids_that_come_twice(self, rows, spe):
        twice = in_partitions(rows.assign(number=np.arange(len(rows)) // 2))
        with pytest.raises(TableError, match="occurs more than once"):
            spe(TREE).fit(twice, "is_fraud", ids="number")

    def test_ids_that_are_strings(self, rows, spe):
        named = in_partitions(rows.assign(number=[f"tx-{i}" for i in range(len(rows))]))
        with pytest.raises(TableError, match="must be integers"):
            spe(TREE).fit(named, "is_fraud", ids="number")

    def test_a_row_without_a_label(self, rows, spe):
        gap = rows.astype({"is_fraud": float})
        gap.loc[4000, "is_fraud"] = np.nan
        with pytest.raises(TableError, match=r"partition \d has rows without a label"):
            spe(TREE).fit(in_partitions(gap), "is_fraud")

    def test_infinity(self, rows, spe):
        infinite = rows.copy()
        infinite.loc[4000, "c"] = np.inf
        with pytest.raises(TableError, match=r"Column 'c' of partition \d+ contains infinity"):
            spe(TREE).fit(in_partitions(infinite), "is_fraud")

    def test_a_weight_that_is_missing(self, rows, spe):
        weighed = rows.assign(w=1.0)
        weighed.loc[5, "w"] = np.nan
        with pytest.raises(TableError, match=r"partition 0 has 1 weight\(s\) that are NaN or infinite"):
            spe(TREE).fit(in_partitions(weighed), "is_fraud", sample_weight="w")

    def test_a_negative_weight(self, rows, spe):
        weighed = rows.assign(w=1.0)
        weighed.loc[5, "w"] = -1.0
        with pytest.raises(TableError, match="weight column of partition 0 has 1 negative weight"):
            spe(TREE).fit(in_partitions(weighed), "is_fraud", sample_weight="w")

    def test_weights_for_a_model_that_takes_none(self, rows, spe):
        with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample_weight"):
            spe(KNeighborsClassifier()).fit(in_partitions(rows.assign(w=1.0)), "is_fraud", sample_weight="w")

    def test_a_type_that_no_model_reads(self, rows, spe):
        timed = rows.assign(took=pd.Timedelta("3 s"))
        with pytest.raises(TableError, match="Column 'took' is duration"):
            spe(TREE).fit(in_partitions(timed), "is_fraud")

    def test_a_column_of_mixed_values(self, rows, spe):
        mixed = rows.assign(odd=pd.Series([1, "a"] * (len(rows) // 2), dtype=object))
        with dask.config.set({"dataframe.convert-string": False}):
            frame = in_partitions(mixed)
            with pytest.raises(TableError, match="column with values of several types"):
                spe(TREE).fit(frame, "is_fraud")

    def test_categories_of_numbers(self, rows, spe):
        coded = rows.assign(shop=pd.Categorical(np.arange(len(rows)) % 3))
        with pytest.raises(TableError, match=r"Column 'shop' of partition \d is a category of int64"):
            spe(TREE).fit(in_partitions(coded), "is_fraud")

    def test_a_column_that_is_not_there(self, rows, spe):
        with pytest.raises(TableError, match="no column 'fraud'"):
            spe(TREE).fit(in_partitions(rows), "fraud")

    def test_rows_in_memory(self, rows, spe):
        with pytest.raises(TypeError, match="X is a DataFrame, not a Dask DataFrame or array"):
            spe(TREE).fit(rows[NAMES], rows["is_fraud"])

    def test_labels_in_memory(self, rows, spe):
        with pytest.raises(TypeError, match="Dask Series or names of columns; got a ndarray"):
            spe(TREE).fit(in_partitions(rows[NAMES]), rows["is_fraud"].to_numpy())

    def test_no_labels(self, rows, spe):
        with pytest.raises(ValueError, match="y is None"):
            spe(TREE).fit(in_partitions(rows[NAMES]), None)

    def test_arrays_of_different_lengths(self, rows, spe):
        X = da.from_array(rows[NAMES].to_numpy(), chunks=(2500, -1))
        with pytest.raises(ValueError, match="X has 5000 rows, but y has 4999"):
            spe(TREE).fit(X, da.from_array(rows["is_fraud"].to_numpy()[1:], chunks=2500))

    def test_a_frame_without_a_column_of_the_model(self, rows, fitted):
        with pytest.raises(TableError, match="no column 'c'"):
            fitted.predict_proba(in_partitions(rows.drop(columns="c")))

    def test_a_client_that_is_closed(self, rows, dask_cluster):
        closed = type(dask_cluster.client)(dask_cluster.client.scheduler.address, set_as_default=False)
        closed.close()
        with pytest.raises(ValueError, match=r"The Dask client is closed\. Connect a new one"):
            DaskSelfPacedEnsembleClassifier(TREE, client=closed).fit(in_partitions(rows), "is_fraud")

    def test_no_client(self, rows):
        with pytest.raises(ValueError, match="No Dask client is active"):
            DaskSelfPacedEnsembleClassifier(TREE).fit(in_partitions(rows), "is_fraud")


def test_a_worker_without_the_package_of_the_base_model_is_named(rows, dask_cluster, base_known_here_only):
    model = DaskSelfPacedEnsembleClassifier(base_known_here_only, 2, random_state=0, client=dask_cluster.client)
    missing = r"Dask worker tcp://127.0.0.1:\d+ cannot read the model: .*package_of_the_driver"
    with pytest.raises(ImportError, match=missing):
        model.fit(in_partitions(rows), "is_fraud")
