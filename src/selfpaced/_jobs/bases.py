"""Base models by name, each with what it needs to read a table of numbers, words and gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfpaced.tables.schema import Schema

# Boosted trees expect thousands of rows, and members see twice the rare ones: with the usual 20 rows in a leaf, and 100
# of a category, they would learn nothing from a few dozen.
FEWEST_ROWS_IN_A_LEAF = 5
MOST_CATEGORIES_OF_GBDT = 255


def base_model(name: str, schema: Schema) -> Any:
    """A classifier for the features of a schema. Models that cannot read words or gaps get an encoder before them."""
    return BASES[name](schema)


def _tree(schema: Schema) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return _with_ordinals(_words(schema), DecisionTreeClassifier(max_depth=10))


def _forest(schema: Schema) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _with_ordinals(_words(schema), RandomForestClassifier(n_estimators=50))


def _gbdt(schema: Schema) -> Any:
    """scikit-learn's histogram gradient boosting, which knows categories up to 255."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=50, early_stopping=False, min_samples_leaf=FEWEST_ROWS_IN_A_LEAF)
    many = [column.name for column in schema.columns if len(column.categories or ()) > MOST_CATEGORIES_OF_GBDT]
    return _with_ordinals(many, model)


def _lightgbm(schema: Schema) -> Any:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        raise ImportError("LightGBM is not installed: pip install 'selfpaced[lightgbm]', or --base gbdt") from error
    few = FEWEST_ROWS_IN_A_LEAF
    model = LGBMClassifier(n_estimators=50, min_child_samples=few, min_data_per_group=few, verbose=-1)
    return _with_plain_names(schema, model)


def _logistic(schema: Schema) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _with_scaled_columns(schema, LogisticRegression(max_iter=1000))


def _knn(schema: Schema) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return _with_scaled_columns(schema, KNeighborsClassifier())


def _mlp(schema: Schema) -> Any:
    from sklearn.neural_network import MLPClassifier

    return _with_scaled_columns(schema, MLPClassifier(hidden_layer_sizes=(64,), early_stopping=False, max_iter=300))


BASES: dict[str, Callable[[Schema], Any]] = {
    "tree": _tree,
    "gbdt": _gbdt,
    "lightgbm": _lightgbm,
    "forest": _forest,
    "logistic": _logistic,
    "knn": _knn,
    "mlp": _mlp,
}


def _words(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.categories is not None]


def _with_ordinals(words: list[str], model: Any) -> Any:
    """Trees split ordered numbers well enough; words that are not known are one number of their own."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    if not words:
        return model
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    columns = ColumnTransformer([("words", encoder, words)], remainder="passthrough", verbose_feature_names_out=False)
    return make_pipeline(columns.set_output(transform="pandas"), model)  # other categories remain categories


def _with_scaled_columns(schema: Schema, model: Any) -> Any:
    """Numbers to one scale, gaps filled and marked; a column for each of the commoner words."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = _words(schema)
    numbers = [name for name in schema.names if name not in words]
    scaled = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
    )
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=100, sparse_output=False)
    parts = [("numbers", scaled, numbers), ("words", encoder, words)]
    return make_pipeline(ColumnTransformer([part for part in parts if part[2]]), model)


def _with_plain_names(schema: Schema, model: Any) -> Any:
    """LightGBM refuses some signs in the names of columns: then it gets numbers for names."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    if not any(set(name) & set('",:[]{}') or not name.isascii() for name in schema.names):
        return model
    return make_pipeline(FunctionTransformer(numbered_columns), model)


def numbered_columns(frame: Any) -> Any:
    return frame.set_axis([f"column_{number}" for number in range(frame.shape[1])], axis=1)
