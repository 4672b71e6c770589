"""Tables: every source of rows that a user can name, split into minority rows and majority pools."""

from selfpaced.tables.frames import NewCategories, as_trained, categories_in, schema_of_frame, warn_of_new
from selfpaced.tables.labels import (
    MOST_LABELS,
    ClassCounts,
    LabelLook,
    Labels,
    column_groups,
    encode_labels,
    group_hashes,
    keys_looked_at,
    read_labels,
    refuse_bad,
    refuse_missing_labels,
    refuse_repeated,
    refuse_weightless,
)
from selfpaced.tables.memory import (
    KINDS,
    InMemoryTable,
    LabelledTable,
    float_array,
    float_columns,
    is_dask,
    is_dask_array,
    is_dask_frame,
    is_frame,
    kind_of,
    not_numbers,
    polars_as_arrow,
    refuse_infinity,
    split_classes,
    stack,
)
from selfpaced.tables.profile import ColumnLook, ColumnProfile, look_through
from selfpaced.tables.schema import MOST_CATEGORIES, Column, Schema, frozen, plain, unified_fields
from selfpaced.tables.table import (
    ID,
    WEIGHT,
    ClassSplit,
    DatabaseTable,
    Elsewhere,
    Progress,
    ReadingOptions,
    Roles,
    SplitPlan,
    Table,
    TableOptions,
    check_names,
    feature_names,
    names_of,
)
from selfpaced.tables.times import (
    PERIODS,
    TIME_UNITS,
    Moments,
    are_strings,
    checked_moments,
    moment_of,
    moments_in,
    periods_of,
    zone_of,
)
