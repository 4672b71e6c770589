"""How a fitted base model gives class probabilities fast, by kind of model."""

from selfpaced.scoring.averaging import (
    Spread,
    add_probabilities,
    mean_probabilities,
    probability_spread,
    staged_probabilities,
)
from selfpaced.scoring.kinds import lightgbm_trees, scorer_of, scorers_of
from selfpaced.scoring.scorer import Rebalanced, Scorer, chunks_for, probabilities_by
from selfpaced.scoring.threads import begun, in_one_thread, over_chunks, over_stream, timed
