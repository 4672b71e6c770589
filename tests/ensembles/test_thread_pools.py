"""Few rows are trained on in one thread. Afterwards libraries have the threads that they had before."""

from threading import Event, Thread

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import ThreadpoolController

from selfpaced.ensembles import UnderBaggingClassifier, members


def threads():
    pools = {kind: ThreadpoolController().select(user_api=kind).info() for kind in ("blas", "openmp")}
    assert all(pools.values())
    return {kind: {pool["num_threads"] for pool in found} for kind, found in pools.items()}


def base(begun, may_end, seen):
    """A base model that tells that it is being trained, waits, and notes how many threads libraries have."""

    class Waiting(GaussianNB):
        def fit(self, X, y):
            begun.set()
            assert may_end.wait(60)
            seen.append(threads())
            return super().fit(X, y)

    return Waiting()


def test_fits_that_overlap_have_one_thread_each_and_restore_all():
    """The first to begin is the first to end, while the other one is still being trained."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    begun, may_end, seen = [Event(), Event()], [Event(), Event()], []
    fits = [
        Thread(target=UnderBaggingClassifier(base(begun[i], may_end[i], seen), 1).fit, args=(X, X[:, 0] > 1))
        for i in (0, 1)
    ]
    before = threads()
    for i in (0, 1):
        fits[i].start()
        assert begun[i].wait(60)
    for i in (0, 1):
        may_end[i].set()
        fits[i].join()
    assert seen == [{"blas": {1}, "openmp": {1}}] * 2
    assert threads() == before


class Noting(LGBMClassifier):
    """LightGBM that notes in how many threads it is trained."""

    def fit(self, X, y):
        self.trained_in_ = self.n_jobs
        return super().fit(X, y)


@pytest.mark.parametrize(("given", "threads"), [({"deterministic": True, "force_col_wise": True}, 1), ({}, None)])
def test_on_many_rows_lightgbm_has_the_threads_of_the_ensemble_if_its_trees_are_the_same_with_any(
    given, threads, monkeypatch
):
    """Left to itself, it takes all cores, and where these are busy its threads wait for each other."""
    monkeypatch.setattr(members, "SMALL_TRAINING_SET", 0)
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = UnderBaggingClassifier(Noting(n_estimators=2, verbose=-1, **given), 1).fit(X, X[:, 0] > 1)
    (member,) = model.estimators_
    assert (member.trained_in_, member.n_jobs) == (threads, None)
