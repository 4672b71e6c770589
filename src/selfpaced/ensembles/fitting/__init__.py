"""A fit: members, rounds, checkpoints, calibration."""

from selfpaced.ensembles.fitting.fit import naming_the_round, rows_to_draw
from selfpaced.ensembles.fitting.members import LARGEST_RANDOM_STATE, MemberFactory
from selfpaced.ensembles.fitting.pools import Stopwatch
