"""The pools of majority rows, with the same methods for rows in memory, in files and on clusters."""

from selfpaced.pools.blocks import Answer, Block, Question, RowsUnder, Tags
from selfpaced.pools.chunk import GROUP, NO_CLASS, TIME, Rows, RowsOnDemand
from selfpaced.pools.keys import (
    CALIBRATION_SAMPLE_ROUND,
    FOLDS_ROUND,
    HOLDOUT_ROUND,
    LARGEST_KEY,
    RECIPE_FOLDS_ROUND,
    TABLE_SAMPLE_ROUND,
    WORKING_SAMPLE_ROUND,
    Ids,
    Keys,
    bootstrap,
    ids_under,
    mix,
    row_key,
    row_keys,
)
from selfpaced.pools.memory import MemoryPool
from selfpaced.pools.partitioned import Engine, PartitionedPool, Partitions
from selfpaced.pools.streamed import Pass, Stream, StreamedPool, read_pass
