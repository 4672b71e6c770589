"""The classifier that chooses among recipes and blends them."""

from selfpaced.ensembles.auto.classifier import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.recipes import (
    Columns,
    base_model,
    catboost,
    columns_of,
    lightgbm,
    numbered_columns,
    with_codes,
)
