"""Which recipes are trained on the whole table when the time is limited."""

import time

import numpy as np

from selfpaced.ensembles.auto.choosing import TIME_IS_UP, Chooser, Clock
from selfpaced.ensembles.auto.judging import Judgement

SECONDS = {"heavy": 18.0, "heavier": 30.0, "light": 2.0}


def test_a_recipe_that_is_fast_enough_is_trained_after_one_that_is_skipped():
    """20 seconds are left: enough for what took 18 and 2 seconds to judge, and not for what took 30."""
    trained = []

    def fits(names):
        for name in names:
            trained.append(name)
            yield name.upper(), SECONDS[name]

    clock = Clock(limit=60.0, begin=time.perf_counter() - 40)
    chooser = Chooser(SECONDS, object(), fits, clock, lambda name, step: None)
    chooser._judged = {name: Judgement(np.empty(0), seconds) for name, seconds in SECONDS.items()}
    assert chooser._fitted({"heavy": 0.5, "heavier": 0.3, "light": 0.2}) == {"heavy": "HEAVY", "light": "LIGHT"}
    assert trained == ["heavy", "light"]
    assert chooser._results["heavier"].note == TIME_IS_UP
