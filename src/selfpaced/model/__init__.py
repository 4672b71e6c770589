"""A fitted model: from rows in any form to probabilities."""

from selfpaced.model.contents import check_contents
from selfpaced.model.model import Model, Part, RecipeResult, TrainedOn, named_among, record_of
from selfpaced.model.pooling import SUREST, LogOddsPool, equal_pool, log_odds, pool_of
from selfpaced.model.reader import (
    RowReader,
    check_features,
    check_numbers,
    feature_names_of,
    number_type,
    readable,
    reader_for,
    whole_range,
)
from selfpaced.model.typical import UsualValues, as_date, as_text, usual_values
