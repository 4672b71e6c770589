"""Random tables of every type that a user can have, for the exam."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

N_ROWS, N_RARE = 90, 24
ZONES = (None, "UTC", "America/New_York", "Asia/Kolkata")
STRINGS = ("a", "b", "ü", "007", "1.5", "-3", "2024-01-31", "true", "a,b", 'x"y', "a;b\tc", " a", "A", "0x1F", "1e5")
# Days between the years 1915 and 2200. Before, zones had offsets with seconds, which text does not show.
FIRST_DAY, LAST_DAY = -20_000, 84_000
DAY = 86_400


def integers(bits: int, signed: bool) -> list[int]:
    """Common values, and the ends of the range."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [low, high, high // 2, 0, 1, 2, 3, 7]


def floats(kind: pa.DataType) -> list[float]:
    largest = {16: 60_000.0, 32: 3e38, 64: 1e300}[kind.bit_width]
    return [0.0, -0.0, 1.0, 1.5, -2.25, 0.1, 1 / 3, largest, -largest, 6e-5, float("nan")]


def _kinds() -> list[tuple[pa.DataType, list]]:
    kinds: list[tuple[pa.DataType, list]] = []
    for bits in (8, 16, 32, 64):
        kinds.append((getattr(pa, f"int{bits}")(), integers(bits, signed=True)))
        kinds.append((getattr(pa, f"uint{bits}")(), integers(bits, signed=False)))
    kinds += [(kind, floats(kind)) for kind in (pa.float16(), pa.float32(), pa.float64())]
    kinds.append((pa.bool_(), [True, False]))
    texts = (pa.string(), pa.large_string(), pa.string_view())
    kinds += [(kind, list(STRINGS)) for kind in texts]
    kinds += [
        (pa.dictionary(pa.int32(), pa.string()), list(STRINGS)),
        (pa.dictionary(pa.int8(), pa.int64()), [3, 1, 7]),
    ]
    days = [FIRST_DAY, -1, 0, 1, 19_000, 19_800, LAST_DAY]
    kinds.append((pa.date32(), days))
    kinds.append((pa.date64(), [day * DAY * 1000 for day in days]))
    for unit, factor in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        seconds = [day * DAY + second for day in days for second in (0, 1, 3_599, 43_200)]
        moments = [second * factor for second in seconds] + [1_700_000_000 * factor + 1]
        kinds += [(pa.timestamp(unit, zone), moments) for zone in ZONES]
    kinds += [(kind, [0, 1, 110, 333, 123_456_789, -50]) for kind in (pa.decimal128(9, 2), pa.decimal256(40, 7))]
    return kinds


KINDS = _kinds()
# Types that no model reads: the refusal names the column.
UNREADABLE = (
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.binary(), pa.large_binary(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])),
)


def array_of(kind: pa.DataType, values: list, picks: np.ndarray, missing: np.ndarray) -> pa.Array:
    chosen = [None if gone else values[pick % len(values)] for pick, gone in zip(picks, missing, strict=True)]
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else f"{value / 100:.2f}" for value in chosen]).cast(kind)
    if pa.types.is_float16(kind):
        chosen = [None if value is None else np.float16(value) for value in chosen]
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array(chosen, width).cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(chosen, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(chosen, kind)


@st.composite
def tables(draw: st.DrawFn, n_classes: int = 2) -> pa.Table:
    """A few columns, some with missing values, and labels of two or three classes. `amount` depends on the label."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rare = (n_classes - 1) * N_RARE
    n_rows = N_ROWS - N_RARE + n_rare
    kinds = draw(st.lists(st.sampled_from(range(len(KINDS))), min_size=1, max_size=5))
    columns = {}
    for number, which in enumerate(kinds):
        share = draw(st.sampled_from([0.0, 0.0, 0.2]))
        picks = rng.integers(0, 1000, size=n_rows)
        columns[f"c{number}"] = array_of(*KINDS[which], picks, rng.random(n_rows) < share)
    if draw(st.booleans()):
        columns["empty"] = pa.nulls(n_rows)
    label = np.zeros(n_rows, dtype=np.int64)
    rare = rng.choice(n_rows, n_rare, replace=False)
    label[rare] = 1 + np.arange(n_rare) % (n_classes - 1)
    return pa.table({**columns, "amount": rng.normal(label), "label": label})


def written_without_loss(table: pa.Table) -> pa.Table:
    """The same columns of the types that text is read as: a text file says as much of these as a typed one."""

    def wide(kind: pa.DataType) -> pa.DataType:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return pa.timestamp("us", None if getattr(kind, "tz", None) is None else "UTC")
        if pa.types.is_signed_integer(kind):
            return pa.int64()
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return pa.float64()
        return kind

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_unsigned_integer(column.type):  # text does not say that a number has no sign
            columns[name] = column.cast(wide(column.type), safe=False)
    return pa.table(columns)


def as_frames_have_them(table: pa.Table) -> pa.Table:
    """Plain columns: frames keep the order of their categories, files sort them; Dask has no views of strings."""

    def plain(kind: pa.DataType) -> pa.DataType:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.string() if pa.types.is_string_view(kind) else kind

    return table.cast(pa.schema([field.with_type(plain(field.type)) for field in table.schema]))
