"""The work of cells that cost nothing. The processes of a run import this module, which imports nothing heavy."""

import os
import signal
import time


def square(setting, run, surroundings):
    if setting["number"] == 13:
        raise ValueError("13 is not\nsquared here")
    return [{"square": setting["number"] ** 2, "quick": int(surroundings.quick)}]


def kill_own_process(setting, run, surroundings):
    if setting["number"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(setting, run, surroundings)


def several_rows(setting, run, surroundings):
    return [{"part": part, "square": part**2} for part in range(3)]


def square_in_as_many_seconds(setting, run, surroundings):
    time.sleep(setting["number"])
    return square(setting, run, surroundings)


def use_much(setting, run, surroundings):
    """Memory of 1 GB, or a busy core without end, as the number says; the others are squared."""
    if setting["number"] == 1:
        kept = bytearray(b"x" * 2**30)
        time.sleep(60)
        del kept
    while setting["number"] == 2:
        pass
    return square(setting, run, surroundings)
