"""A fitted model: from rows in any form to probabilities."""

from selfpaced.model.contents import check_contents
from selfpaced.model.model import Model, Part, RecipeResult
from selfpaced.model.pooling import SUREST, LogOddsPool, equal_pool, log_odds, pool_of
from selfpaced.model.reader import RowReader, check_features, check_numbers, feature_names_of, readable, reader_for
from selfpaced.model.row_scorer import RowScorer
from selfpaced.model.tables import (
    RowsDone,
    ScoringOptions,
    TableEvaluation,
    evaluation,
    open_to_score,
    rare_rows,
    score_columns,
    scores_of,
    streamed,
    write_decided,
    write_scores,
)
from selfpaced.model.trained_on import TrainedOn, named_among, record_of
