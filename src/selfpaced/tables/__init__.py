"""Tables: every source of rows that a user can name, split into minority rows and majority pools."""

from selfpaced.tables.frames import NewCategories, as_trained, categories_in, schema_of_frame, warn_of_new
from selfpaced.tables.groups import column_groups, group_hashes
from selfpaced.tables.labels import (
    MOST_LABELS,
    ClassCounts,
    LabelLook,
    Labels,
    encode_labels,
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
    split_classes,
    stack,
)
from selfpaced.tables.profile import ColumnLook, ColumnProfile, look_through
from selfpaced.tables.schema import MOST_CATEGORIES, Column, Schema, are_strings, frozen, plain, unified_fields
from selfpaced.tables.table import (
    ID,
    WEIGHT,
    ClassSplit,
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
from selfpaced.tables.times import PERIODS, Moments, checked_moments, iso_date, moments_in, periods_of, zone_of
