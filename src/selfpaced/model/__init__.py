"""A fitted model: from rows in any form to probabilities."""

from selfpaced.model.contents import check_contents
from selfpaced.model.pooling import SUREST, LogOddsPool, equal_pool, log_odds, pool_of
from selfpaced.model.predictor import (
    AveragedMembers,
    BlendedEnsembles,
    RowsDone,
    Scoring,
    averaged_members,
    bases_of,
    keeping_to_one_thread,
    readable_rows,
    rows_in_memory,
    scoring_of,
)
from selfpaced.model.row_scorer import RowScorer, row_scorer
from selfpaced.model.tables import (
    ScoringOptions,
    TableEvaluation,
    evaluation,
    feature_names_of,
    open_to_score,
    rare_rows,
    score_columns,
    scores_of,
    write_decided,
    write_scores,
)
from selfpaced.model.trained_on import TrainedOn, named_among, record_of
