"""Members that are trained on the workers of Dask: the same as those that the driver trains."""

import os
from functools import partial

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import EasyEnsembleClassifier
from selfpaced.callbacks import Callback, Stop
from selfpaced.clusters.dask.engine import on_dask_workers, send
from selfpaced.clusters.dask.estimators import DaskUnderBaggingClassifier
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.tables.sources import open_table

NAMES = list("abcd")


class WhereTree(DecisionTreeClassifier):
    """A tree that knows the process that trained it."""

    def fit(self, X, y):
        self.process_ = os.getpid()
        return super().fit(X, y)


class FailingTree(DecisionTreeClassifier):
    def fit(self, X, y):
        raise ArithmeticError("this tree never grows")


TREE = WhereTree(max_depth=6)


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=2000, n_frauds=60, n_features=4, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y, number=np.arange(len(y)))


def same(one, other, rows):
    X = rows[NAMES]
    pairs = zip(one.estimators_, other.estimators_, strict=True)
    return all(np.array_equal(a.predict_proba(X), b.predict_proba(X)) for a, b in pairs)


class TestDask:
    @pytest.fixture
    def opened(self, dask_cluster, rows):
        frame = dd.from_pandas(rows, npartitions=3, sort=False)
        return open_table(frame, target="is_fraud", columns=NAMES, client=dask_cluster.client, fit_on="executor")

    @pytest.mark.parametrize(
        "model",
        [
            UnderBaggingClassifier(TREE, 5, random_state=0),
            EasyEnsembleClassifier(n_estimators=2, random_state=0),
            SelfPacedEnsembleClassifier(TREE, 2, random_state=0),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_members_are_those_that_the_driver_trains(self, opened, rows, model):
        whole = type(model)(**model.get_params(deep=False)).fit(rows[NAMES], rows["is_fraud"])
        assert same(model.fit_table(opened), whole, rows)
        here = {getattr(member, "process_", None) for member in model.estimators_}
        assert os.getpid() not in here

    def test_independent_members_are_trained_by_several_workers(self, opened):
        model = UnderBaggingClassifier(TREE, 6, random_state=0).fit_table(opened)
        assert len({member.process_ for member in model.estimators_}) == 2

    def test_a_checkpoint_keeps_members_that_workers_trained(self, opened, rows, tmp_path):
        model = UnderBaggingClassifier(DecisionTreeClassifier(max_depth=6), 3, random_state=0)
        first = list(model.fit_table(opened, checkpoint=tmp_path / "fit").estimators_)
        (tmp_path / "fit" / "round-0003.skops").unlink()
        again = model.fit_table(opened, checkpoint=tmp_path / "fit")
        X = rows[NAMES]
        pairs = zip(first, again.estimators_, strict=True)
        assert all(np.array_equal(a.predict_proba(X), b.predict_proba(X)) for a, b in pairs)

    def test_a_callback_stops_the_fit_in_its_round(self, opened):
        class StopAfterTwo(Callback):
            def on_round_end(self, round):
                return Stop(keep=2) if round.number == 2 else None

        model = UnderBaggingClassifier(TREE, 6, random_state=0, callbacks=StopAfterTwo()).fit_table(opened)
        assert (len(model.estimators_), len(model.rounds_)) == (2, 2)

    def test_an_error_of_a_member_is_raised_as_it_was(self, opened):
        with pytest.raises(ArithmeticError, match="never grows"):
            UnderBaggingClassifier(FailingTree(), 2).fit_table(opened)

    def test_the_estimator_trains_members_on_workers_too(self, dask_cluster, rows):
        X, y = (da.from_array(each, chunks=500) for each in (rows[NAMES].to_numpy(), rows["is_fraud"].to_numpy()))
        model = DaskUnderBaggingClassifier(TREE, 2, random_state=0, client=dask_cluster.client, fit_on="executor")
        model.fit(X.rechunk((500, 4)), y)
        assert os.getpid() not in {member.process_ for member in model.estimators_}
        whole = UnderBaggingClassifier(TREE, 2, random_state=0).fit(rows[NAMES].to_numpy(), rows["is_fraud"])
        scores = model.to_local().predict_proba(rows[NAMES].to_numpy())
        np.testing.assert_array_equal(scores, whole.predict_proba(rows[NAMES].to_numpy()))

    def test_a_large_training_set_or_model_causes_no_warning_about_graphs(self, dask_cluster):
        """Warnings are errors in tests."""
        assert on_dask_workers(dask_cluster.client).begin(partial(len, bytes(11_000_000))).result() == 11_000_000
        assert len(send(dask_cluster.client, bytes(11_000_000)).result()) == 11_000_000

    def test_another_place_is_refused(self, dask_cluster, rows):
        frame = dd.from_pandas(rows, npartitions=1, sort=False)
        with pytest.raises(ValueError, match='fit_on must be "driver" or "executor"; got \'moon\''):
            open_table(frame, target="is_fraud", client=dask_cluster.client, fit_on="moon")
