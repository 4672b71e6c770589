"""Tree models of each library, read in one place, and the sums of small trees by bit vectors."""

from selfpaced.trees.bitvectors import SmallTrees, small_trees_of
from selfpaced.trees.columns import SharedTrees, float64_columns, lightgbm_columns
from selfpaced.trees.libraries import (
    check_decision_tree,
    check_hist_gradient_boosting,
    forest_of_class,
    hist_categories,
    read_booster,
    read_catboost,
    read_forest,
    read_hist_gradient_boosting,
    read_xgboost,
)
from selfpaced.trees.shapley import Reach, TwoRowTrees
from selfpaced.trees.tree import NO_CHILD, Link, TreeModel, Trees, UnsupportedTreesError, link_of
