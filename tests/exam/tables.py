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
    kinds += [
        (kind, list(STRINGS)) for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))
    ]
    days = [FIRST_DAY, -1, 0, 1, 19_000, 19_800, LAST_DAY]
    kinds.append((pa.date32(), days))
    kinds.append((pa.date64(), [day * DAY * 1000 for day in days]))
    for unit, factor in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        seconds = [day * DAY + second for day in days for second in (0, 1, 3_599, 43_200)]
        moments = [second * factor for second in seconds] + [1_700_000_000 * factor + 1]
        kinds += [(pa.timestamp(unit, zone), moments) for zone in ZONES]
    kinds.append((pa.decimal128(9, 2), [0, 1, 110, 333, 123_456_789, -50]))
    return kinds


KINDS = _kinds()


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
        return pa.array(chosen, pa.string()).dictionary_encode().cast(kind)
    return pa.array(chosen, kind)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A few columns, some with missing values, and labels that depend on the first."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(range(len(KINDS))), min_size=1, max_size=5))
    columns = {}
    for number, which in enumerate(kinds):
        share = draw(st.sampled_from([0.0, 0.0, 0.2]))
        picks = rng.integers(0, 1000, size=N_ROWS)
        columns[f"c{number}"] = array_of(*KINDS[which], picks, rng.random(N_ROWS) < share)
    if draw(st.booleans()):
        columns["empty"] = pa.nulls(N_ROWS)
    label = np.zeros(N_ROWS, dtype=np.int64)
    label[rng.choice(N_ROWS, N_RARE, replace=False)] = 1
    return pa.table({**columns, "amount": rng.normal(label), "label": label})
