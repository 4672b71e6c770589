"""Tree models of each library, read in one place: sums of trees by bit vectors, for many rows and for one."""

from selfpaced.trees.bitvectors import MOST_LEAVES, AnySplit, CategorySplit, Numbering, Split, TreeSum
from selfpaced.trees.columns import ArrowRows, FrameColumns, Numbered, NumberedRows, float64_columns, lightgbm_columns
from selfpaced.trees.lightgbm import BoosterTrees, booster_trees, frame_categories, missing_goes_left
from selfpaced.trees.single_rows import BoostersOfARow
