"""How a fitted base model gives class probabilities fast, by kind of model."""

from selfpaced.scoring.averaging import (
    Spans,
    Spread,
    add_probabilities,
    in_one_thread,
    mean_probabilities,
    over_chunks,
    over_stream,
    probability_spread,
    staged_probabilities,
    timed,
)
from selfpaced.scoring.kinds import as_float32, predicts_as, scorer_of, scorers_of, without_library
from selfpaced.scoring.pipelines import code_table, encoder_of
from selfpaced.scoring.scorer import (
    LARGEST_WHOLE,
    CodedRows,
    Rebalanced,
    Scorer,
    are_exact,
    as_frame,
    as_numbers,
    chunks_for,
    coded,
    coded_batch,
    probabilities_by,
)
