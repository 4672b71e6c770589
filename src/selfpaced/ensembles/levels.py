"""The level of scores: how far those of trained ensembles lie above those of the copies that were judged.

Where the working sample has only some of the rare rows, copies are trained on far fewer rows than the ensembles. Their
log-odds are further from zero, and a calibration that is fitted to them expects too many rare rows of the ensembles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from selfpaced.calibration import Calibrator
from selfpaced.ensembles.pooling import log_odds

Floats = NDArray[np.float64]

LARGEST_DIFFERENCE = 20.0  # in log-odds; those of scores are clipped to less


def difference_of_levels(copies: Floats, ensembles: Floats, calibrator: Calibrator, weights: Floats) -> float:
    """How much to add to the log-odds of copies to bring them to the level of the ensembles.

    Parameters
    ----------
    copies, ensembles : Floats
        The pooled scores of both for the same rows, of shape (n_rows, 2).
    calibrator : Calibrator
        The map that is fitted to the copies.
    weights : Floats
        The weights of the rows. Rows on which the ensembles were trained should have none.
    """

    def excess(difference: float) -> float:
        return float(np.average(calibrator(shifted(ensembles, -difference))[:, 1] - expected, weights=weights))

    expected = calibrator(copies)[:, 1]
    if excess(LARGEST_DIFFERENCE) * excess(-LARGEST_DIFFERENCE) >= 0:  # all rows have the same probability
        return 0.0
    return float(brentq(excess, -LARGEST_DIFFERENCE, LARGEST_DIFFERENCE, xtol=1e-3))


def shifted(scores: Floats, difference: float) -> Floats:
    """Scores of two classes, with a number added to the log-odds of the second."""
    share = expit(log_odds(scores[:, 1]) + difference)
    return np.column_stack([1 - share, share])
