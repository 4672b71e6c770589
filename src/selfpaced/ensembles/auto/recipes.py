"""Base models by name, and the default recipes made of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier as Recipe
from selfpaced.ensembles.under_sampling import UnderBaggingClassifier, UnderSamplingEnsemble
from selfpaced.model import RecipeResult
from selfpaced.tables import KINDS, Schema, kind_of

# The defaults of boosted trees are for thousands of rows: 20 rows in a leaf, and 100 of a category. Members may see a
# few dozen rows, from which such trees would learn nothing.
FEWEST_ROWS_IN_A_LEAF = 5
MOST_CATEGORIES_OF_GBDT = 255


@dataclass(frozen=True)
class Columns:
    """What a base model must know about the features of a table."""

    names: Sequence[str] | None  # of all features; None if they have none. Features without names are numbers.
    categorical: dict[str, int]  # the number of categories of each categorical feature, by name
    are_sparse: bool = False  # whether the features are a sparse matrix

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.names or () if name not in self.categorical]


def columns_of(features: Any, schema: Schema | None) -> Columns:
    """The columns of a table with a schema, or of some rows without one."""
    if schema is not None:
        counts = {column.name: column.categories for column in schema.columns}
        return Columns(schema.names, {name: len(known) for name, known in counts.items() if known is not None})
    kind = kind_of(features)
    if kind not in KINDS.values():
        return Columns(None, {}, issparse(features))
    readers = dict(kind.columns(features))
    categories = {name: len(set(each.objects())) for name, each in readers.items() if not each.is_number}
    return Columns(list(readers), categories)


def base_model(name: str, columns: Columns) -> Any:
    """A classifier for some features. Models that cannot read categories or missing values get an encoder first."""
    return BASES[name](columns)


def _tree(columns: Columns) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return with_codes(DecisionTreeClassifier(max_depth=10), columns.categorical)


def _forest(columns: Columns) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return with_codes(RandomForestClassifier(n_estimators=50), columns.categorical)


def _extra_trees(columns: Columns, n_trees: int = 100) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return with_codes(ExtraTreesClassifier(n_estimators=n_trees), columns.categorical)


def _gbdt(columns: Columns) -> Any:
    """scikit-learn's histogram gradient boosting, which supports up to 255 categories of a feature."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=50, early_stopping=False, min_samples_leaf=FEWEST_ROWS_IN_A_LEAF)
    many = [name for name, n_categories in columns.categorical.items() if n_categories > MOST_CATEGORIES_OF_GBDT]
    return with_codes(model, many)


def lightgbm(columns: Columns, **parameters: Any) -> Any:
    """LightGBM for small training sets. It reads categories of pandas frames and missing values by itself."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        raise ImportError("LightGBM is not installed: pip install 'selfpaced[lightgbm]', or --base gbdt") from error
    few = FEWEST_ROWS_IN_A_LEAF
    # Sums by column, for one model of one seed: by rows they depend on the threads, and the choice on the clock.
    usual = {"min_child_samples": few, "min_data_per_group": few, "deterministic": True, "force_col_wise": True}
    return _with_plain_names(columns, LGBMClassifier(**usual | parameters, verbose=-1))


def catboost(columns: Columns, **parameters: Any) -> Any:
    """CatBoost on numbers. It gets categories as codes: its own encoding needs strings without missing values.

    With another number of threads it is another model, so it has one.
    """
    try:
        from catboost import CatBoostClassifier
    except ImportError as error:
        raise ImportError("CatBoost is not installed: pip install 'selfpaced[catboost]'") from error
    model = CatBoostClassifier(verbose=0, allow_writing_files=False, thread_count=1, **parameters)
    return with_codes(model, columns.categorical)


def _logistic(columns: Columns) -> Any:
    from sklearn.linear_model import LogisticRegression

    return with_scales(LogisticRegression(max_iter=1000), columns)


def _knn(columns: Columns) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return with_scales(KNeighborsClassifier(), columns)


def _neural_network(columns: Columns) -> Any:
    from sklearn.neural_network import MLPClassifier

    return with_scales(MLPClassifier(hidden_layer_sizes=(64,), alpha=0.01, max_iter=300), columns)


BASES: dict[str, Callable[[Columns], Any]] = {
    "tree": _tree,
    "gbdt": _gbdt,
    "lightgbm": partial(lightgbm, n_estimators=50),
    "catboost": partial(catboost, iterations=200),
    "forest": _forest,
    "extra_trees": _extra_trees,
    "logistic": _logistic,
    "knn": _knn,
    "mlp": _neural_network,
}


def scout_model(columns: Columns) -> Any:
    """The base model of the ensemble that finds the hard rows of large tables for the default recipes.

    Models with random splits are less sure of themselves, and find fewer of them.
    """
    return lightgbm(columns, n_estimators=100) if find_spec("lightgbm") is not None else base_model("gbdt", columns)


def with_codes(model: Any, categorical: Sequence[str] | dict[str, int]) -> Any:
    """A model that reads some categorical columns as numbers, which trees split well enough.

    All categories that it was not trained with have the same number.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    if not categorical:
        return model
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    columns = ColumnTransformer(
        [("categories", encoder, list(categorical))], remainder="passthrough", verbose_feature_names_out=False
    )
    return make_pipeline(columns.set_output(transform="pandas"), model)  # other categories remain categories


def with_scales(model: Any, columns: Columns) -> Any:
    """A model that gets numbers on one scale, missing values filled and marked, and a column for each category.

    Sparse numbers are divided by their largest, so that zeros stay zeros.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    if columns.are_sparse:
        return make_pipeline(MaxAbsScaler(), model)
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    if columns.names is None:
        return make_pipeline(filled, StandardScaler(), model)
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=100, sparse_output=False)
    parts = [
        ("numbers", make_pipeline(filled, StandardScaler()), columns.numbers),
        ("categories", encoder, list(columns.categorical)),
    ]
    return make_pipeline(ColumnTransformer([part for part in parts if part[2]]), model)


def _with_plain_names(columns: Columns, model: Any) -> Any:
    """LightGBM refuses some characters in the names of columns. Such columns are renamed to numbers."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    if not any(set(str(name)) & set('",:[]{}') or not str(name).isascii() for name in columns.names or ()):
        return model
    return make_pipeline(FunctionTransformer(numbered_columns), model)


def numbered_columns(frame: Any) -> Any:
    return frame.set_axis([f"column_{number}" for number in range(frame.shape[1])], axis=1)


@dataclass(frozen=True)
class BlendLimits:
    """The default recipes, and how large the samples and training sets of a fit may be.

    A fit gets one record; tests give one with fewer recipes or rows. BlendLimits are numbers of rows or of values (rows
    times columns), never seconds, so that one seed gives one model.
    """

    recipes: Mapping[str, "DefaultRecipe"] = field(default_factory=lambda: RECIPES)
    # With so many rare rows, one model of all rows is among the recipes.
    fewest_rare_rows_for_all: int = 200
    # Minorities with more rows are large: their recipes are `large_recipes`, judged by rows that are held out.
    large_minority: int = 2_000
    large_recipes: Mapping[str, "DefaultRecipe"] = field(default_factory=lambda: LARGE_RECIPES)
    # Of large minorities one part of all rows is held out: an eighth, or less if it still has as many rare rows.
    held_out_rare_rows: int = 500
    fewest_parts: int = 8
    most_parts: int = 32
    # If more than a sixteenth is held out, the models are trained again on all rows once they have been judged. With
    # more values of rare rows that takes too long, and a sixteenth is held out at most. Rows with times are always
    # trained on again: the newest are held out, and a model of later rows is much worse without these.
    fewest_parts_to_spare: int = 16
    most_values_trained_again: int = 2**18
    # The members of a recipe draw from a part of the common rows, which has so many for each row to be drawn.
    common_per_drawn_row: int = 4
    # What a model of all rows is trained on, at most.
    common_per_rare_row_of_all: int = 32
    most_values_of_all: int = 2**26
    most_values_in_memory: int = 2**27
    # In the training set of a member. Recipes draw fewer common rows than they ask for if there would be more values.
    most_values: int = 2**22
    most_values_of_slow_kinds: int = 2**20
    # In the sample that recipes are judged by. Wide tables have fewer rare rows, so that there are as many values.
    most_rare_rows: int = 1_500
    most_values_judged: int = 2**21
    fewest_rare_rows_of_wide_tables: int = 300
    fewest_common_rows: int = 20_000
    # More than any recipe draws for each rare row, so that it is judged as it will be trained.
    common_per_rare_row: int = 30
    n_folds: int = 3
    # Rows with times: each fold has so many periods, one in n_folds.
    periods_per_fold: int = 3
    # Fewer members than in the final fit: a few are enough to compare recipes.
    n_members_judged: int = 3

    def rare_rows_judged(self, n_columns: int) -> int:
        """The most rare rows in the sample, by the number of columns."""
        affordable = self.most_values_judged // ((1 + self.common_per_rare_row) * n_columns)
        return min(self.most_rare_rows, max(self.fewest_rare_rows_of_wide_tables, affordable))

    def common_rows_judged(self, n_rare: int, n_columns: int) -> int:
        """The most rows of a larger class in the sample, by the rare rows and the columns that the table has."""
        return max(self.fewest_common_rows, self.common_per_rare_row * min(n_rare, self.rare_rows_judged(n_columns)))


# Half of the usual ten members are as good in a blend. Of wide tables, 63 bins are as good as 255.
FEW_MEMBERS, FEW_BINS = 5, 63
# Members for large minorities: many rounds on samples of rows and columns. The number of leaves follows the rare rows.
LARGE_RATIO = 3
STRONG: dict[str, Any] = {
    "n_estimators": 300,
    "learning_rate": 0.05,
    "colsample_bytree": 0.5,
    "subsample": 0.8,
    "subsample_freq": 1,
    "min_child_samples": 20,
}
RARE_ROWS_PER_LEAF = 100
FEWEST_LEAVES, MOST_LEAVES = 31, 127


@dataclass(frozen=True)
class MinoritySize:
    """The rare rows of a table and the values of each, which decide how much work the members of a recipe are."""

    n_rows: int
    n_values: int
    limits: BlendLimits = field(default_factory=BlendLimits)
    n_common: int | None = None  # the common rows, if all of them are in memory to be trained on; None if not
    has_times: bool = False

    @property
    def is_large(self) -> bool:
        """Whether there are enough rare rows for strong members, and to hold out some."""
        return self.n_rows > self.limits.large_minority

    @property
    def is_wide(self) -> bool:
        """Whether even with one common row for each rare one, a member of a slow kind would have too much to learn."""
        return 2 * self.n_rows * self.n_values > self.limits.most_values_of_slow_kinds

    def ratio(self, wanted: float, most_values: int) -> float:
        """A number of common rows for each rare one, at least 1, that keeps training sets small enough."""
        if (1 + wanted) * self.n_rows * self.n_values <= most_values:
            return wanted
        return max(1.0, round(most_values / (self.n_rows * self.n_values) - 1, 2))

    @property
    def recipes(self) -> Mapping[str, "DefaultRecipe"]:
        """The recipes to try. Without all common rows of a large minority in memory, none is trained on all of them."""
        if self.is_large:
            kept = self.limits.large_recipes.items()
            return {name: each for name, each in kept if self.n_common is not None or each.make is not _on_all_rows}
        strong = WIDE_RECIPES if self.is_wide else {}
        of_all = OF_ALL_ROWS if self.n_rows >= self.limits.fewest_rare_rows_for_all else {}
        return {**strong, **of_all, **self.limits.recipes}

    @property
    def large_ratio(self) -> float:
        return self.ratio(LARGE_RATIO, 2 * self.limits.most_values)

    @property
    def n_leaves(self) -> int:
        """The leaves of the trees of strong members: 31 below 4,526 rare rows, 63 below 9,051, then 127."""
        power = round(float(np.log2(max(1, self.n_rows / RARE_ROWS_PER_LEAF))))
        return int(np.clip(2**power - 1, FEWEST_LEAVES, MOST_LEAVES))

    @property
    def n_parts(self) -> int:
        """The parts that all rows are divided into, one of which is held out."""
        wanted, limits = self.n_rows // self.limits.held_out_rare_rows, self.limits
        is_long = not self.has_times and self.n_rows * self.n_values > limits.most_values_trained_again
        return int(np.clip(wanted, limits.fewest_parts_to_spare if is_long else limits.fewest_parts, limits.most_parts))

    @property
    def is_trained_again(self) -> bool:
        return self.has_times or self.n_parts < self.limits.fewest_parts_to_spare

    @property
    def most_common(self) -> int:
        """The most common rows that a model of all rows is trained on."""
        few_enough = self.limits.most_values_of_all // self.n_values - self.n_rows
        return max(0, min(few_enough, self.limits.common_per_rare_row_of_all * self.n_rows))


def _of_lightgbm(columns: Columns, size: MinoritySize, ratio: float, **parameters: Any) -> Recipe:
    base = lightgbm(columns, **{"max_bin": FEW_BINS} if size.is_wide else {}, **parameters)
    return Recipe(base, FEW_MEMBERS, ratio=size.ratio(ratio, size.limits.most_values))


def _strong(columns: Columns, size: MinoritySize) -> Recipe:
    return Recipe(lightgbm(columns, num_leaves=size.n_leaves, **STRONG), 2, ratio=size.large_ratio)


def _on_all_rows(columns: Columns, size: MinoritySize) -> UnderBaggingClassifier:
    """One model of all rows, or of many. A ratio that asks for more rows than there are gets all of them."""
    ratio = max(1.0, (size.most_common if size.n_common is None else size.n_common) / size.n_rows)
    return UnderBaggingClassifier(lightgbm(columns, num_leaves=size.n_leaves, **STRONG), 1, ratio=ratio)


def _usual(columns: Columns, size: MinoritySize) -> Recipe:
    return Recipe(lightgbm(columns, n_estimators=100), 4, ratio=size.large_ratio)


def _catboost_of_many(columns: Columns, size: MinoritySize) -> UnderBaggingClassifier:
    ratio = size.ratio(10, size.limits.most_values_of_all)
    return UnderBaggingClassifier(catboost(columns, iterations=300), 1, ratio=ratio)


def _of_slow_kind(
    base: Callable[[Columns], Any], ratio: float, columns: Columns, size: MinoritySize, n_members: int = FEW_MEMBERS
) -> Recipe:
    return Recipe(base(columns), n_members, ratio=size.ratio(ratio, size.limits.most_values_of_slow_kinds))


@dataclass(frozen=True)
class DefaultRecipe:
    """A recipe, the package that it needs, and whether it takes too long on tables with a large minority."""

    package: str
    make: Callable[[Columns, MinoritySize], UnderSamplingEnsemble]
    is_slow: bool = True


# LightGBM that draws the thresholds of its splits at random: as cheap as a few trees, and hard to overfit.
RANDOM_SPLITS: dict[str, Any] = {
    "n_estimators": 200,
    "learning_rate": 0.04,
    "extra_trees": True,
    "colsample_bytree": 0.6,
    "reg_alpha": 0.5,
    "reg_lambda": 0.9,
}
# The cheapest come first, because a time limit may skip the others.
RECIPES: dict[str, DefaultRecipe] = {
    "LightGBM, random splits": DefaultRecipe(
        "lightgbm", partial(_of_lightgbm, ratio=10, **RANDOM_SPLITS), is_slow=False
    ),
    "linear": DefaultRecipe("sklearn", partial(_of_slow_kind, _logistic, 10)),
    "extra trees": DefaultRecipe("sklearn", partial(_of_slow_kind, partial(_extra_trees, n_trees=50), 20)),
    # Three members, because CatBoost takes longest.
    "CatBoost": DefaultRecipe("catboost", partial(_of_slow_kind, BASES["catboost"], 20, n_members=3)),
}
# What makes up for the kinds that are too slow for wide tables.
WIDE_RECIPES: dict[str, DefaultRecipe] = {"LightGBM, strong": DefaultRecipe("lightgbm", _strong, is_slow=False)}
OF_ALL_ROWS: dict[str, DefaultRecipe] = {"LightGBM, all rows": DefaultRecipe("lightgbm", _on_all_rows, is_slow=False)}
LARGE_RECIPES: dict[str, DefaultRecipe] = {
    **WIDE_RECIPES,
    **OF_ALL_ROWS,
    "LightGBM, usual": DefaultRecipe("lightgbm", _usual, is_slow=False),
    "CatBoost": DefaultRecipe("catboost", _catboost_of_many, is_slow=False),
    "linear": DefaultRecipe("sklearn", partial(_of_slow_kind, _logistic, 5, n_members=3)),
}
# Recipes that replace LightGBM if it is not installed.
INSTEAD = {
    "gradient boosting": DefaultRecipe("sklearn", lambda columns, _: Recipe(base_model("gbdt", columns)), is_slow=False)
}


def default_recipes(columns: Columns, size: MinoritySize | None = None) -> dict[str, Any]:
    """The recipes whose packages are installed, for the features of a table and the size of its minority, if known."""
    size = size or MinoritySize(0, 0)
    return {name: recipe.make(columns, size) for name, recipe in _installed(size).items()}


def too_slow(size: MinoritySize) -> list[RecipeResult]:
    """The recipes that are skipped because a fit of them would take many times as long as one of LightGBM."""
    if not size.is_wide:
        return []
    note = f"skipped: slow with {size.n_rows:,} rare rows of {size.n_values:,} values each; tried with a time limit"
    return [RecipeResult(name, note=note) for name, recipe in _installed(size).items() if recipe.is_slow]


def not_installed(size: MinoritySize) -> list[RecipeResult]:
    """The recipes that are skipped because a package is missing, with what to install."""
    missing = {name: recipe.package for name, recipe in size.recipes.items() if find_spec(recipe.package) is None}
    return [
        RecipeResult(name, note=f"skipped: {package} is not installed (pip install 'selfpaced[{package}]')")
        for name, package in missing.items()
    ]


def _installed(size: MinoritySize) -> dict[str, DefaultRecipe]:
    installed = {name: recipe for name, recipe in size.recipes.items() if find_spec(recipe.package) is not None}
    return installed if find_spec("lightgbm") is not None else INSTEAD | installed
