"""Round numbers of draws that belong to no round of a fit, so that they share no keys with one.

A fit counts its rounds from 0 and cannot have 2**32 members. The numbers must stay, so that seeds draw the same rows.
"""

from __future__ import annotations

HOLDOUT_ROUND = 2**32
TABLE_SAMPLE_ROUND = 2**33
CALIBRATION_SAMPLE_ROUND = 2**33 + 1
WORKING_SAMPLE_ROUND = 2**33 + 2
RECIPE_FOLDS_ROUND = 2**33 + 3
# The folds of member i are drawn in round FOLDS_ROUND + i: no number above is free.
FOLDS_ROUND = 2**34
