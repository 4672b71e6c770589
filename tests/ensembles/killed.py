"""Fits that are killed in the middle of a pass over their table, as the kernel does when memory runs out."""

import os
import signal

from selfpaced.callbacks import Callback
from selfpaced.tables.sources import open_table


class Kill(Callback):
    """Kills this process after half of the rows of a pass."""

    def __init__(self, n_passes):
        self.n_passes = n_passes
        self.n_done = 0

    def on_rows_read(self, n_read, n_rows):
        self.n_done += n_read == n_rows
        if self.n_done == self.n_passes and n_read > n_rows / 2:
            os.kill(os.getpid(), signal.SIGKILL)


def fit_until_killed(model, path, checkpoint, n_passes):
    table = open_table(path, target="label", batch_rows=100)
    model.set_params(callbacks=Kill(n_passes)).fit_table(table, checkpoint=checkpoint)
