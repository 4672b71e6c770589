"""Scores of tables in files and of single rows, by a fitted model."""

from selfpaced.predicting.rows import RowScorer
from selfpaced.predicting.tables import (
    Beside,
    RowsDone,
    ScoringOptions,
    TableEvaluation,
    check_labels,
    evaluation,
    open_to_score,
    rare_rows,
    score_columns,
    scores_of,
    streamed,
    write_decided,
    write_scores,
)
from selfpaced.predicting.together import ReadRow, read_row, score_arrow, score_together
