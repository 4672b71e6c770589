"""The algorithms of the paper on plain numpy. They use the majority classes only through a protocol, `pool.py`."""

from selfpaced.algorithms.allocation import allocate, with_uniform_share
from selfpaced.algorithms.alternatives import balance_cascade, under_bagging
from selfpaced.algorithms.hardness import HARDNESS, Hardness, hardness_named
from selfpaced.algorithms.pacing import pacing_named
from selfpaced.algorithms.pool import HardnessBins, MajorityPool, Outlook, Sample, Step
from selfpaced.algorithms.self_paced import quota_of, self_paced
