"""Few rows are trained on in one thread. Afterwards libraries have the threads that they had before."""

from threading import Event, Thread

import numpy as np
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import ThreadpoolController

from selfpaced.ensembles import UnderBaggingClassifier


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
