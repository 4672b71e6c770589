"""Rows for `massive.py`: generated chunk by chunk from the number of the chunk, so that no row need be stored.

A common row has 20 features between -1 and 1, uniform and independent: trees see nothing but the order of values.
Each of twelve schemes of rare rows puts four of the features into a small range. One in 3,000 common rows looks like a
scheme but for one of its features: the more common rows there are, the better these rows are known. A tenth of the rare
rows is like common rows, and no model can find it.

Tables of all sizes have the same rare rows. The common rows of a table of another size are other ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from selfpaced.tables import Roles, unified_fields
from selfpaced.tables.files import Reader, StreamedTable
from selfpaced.tables.sources import frozen_schema

N_FEATURES = 20
NAMES = [f"V{number}" for number in range(N_FEATURES)]
TARGET = "is_rare"
N_RARE = 10_000
ROWS_PER_CHUNK = 50_000
CHUNKS_PER_FILE = 20
N_SCHEMES, FEATURES_OF_A_SCHEME, WIDTH = 12, 4, 0.1
LOOK_ALIKES, NOISE = 1 / 3000, 0.1
# Chunks and rare rows of the test have numbers that no training table reaches.
TEST_CHUNKS = range(2**40, 2**40 + 80)
N_TEST_RARE = 4000

Features = NDArray[np.float32]  # one row a feature


def _generator(*numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(numbers))


@dataclass(frozen=True)
class Schemes:
    """Where the rare rows of each scheme are: some features, and the centre of each."""

    features: NDArray[np.intp]
    centres: Features

    @classmethod
    def drawn(cls) -> Schemes:
        rng = _generator(0)
        features = [rng.choice(N_FEATURES, FEATURES_OF_A_SCHEME, replace=False) for _ in range(N_SCHEMES)]
        shape = (N_SCHEMES, FEATURES_OF_A_SCHEME)
        return cls(np.array(features), rng.uniform(WIDTH - 1, 1 - WIDTH, shape).astype(np.float32))

    def move(self, rows: Features, some: NDArray[np.intp], rng: np.random.Generator, n_wrong: int = 0) -> None:
        """Move some rows to schemes, except for the first features of each scheme."""
        scheme = rng.integers(N_SCHEMES, size=some.size)
        for place in range(n_wrong, FEATURES_OF_A_SCHEME):
            features = self.features[scheme, place]
            rows[features, some] *= np.float32(WIDTH)
            rows[features, some] += self.centres[scheme, place]


SCHEMES = Schemes.drawn()


def _uniform(rng: np.random.Generator, n_rows: int) -> Features:
    """Numbers between -1 and 1 in steps of 2**-15: four of each random number of 64 bits."""
    bits = rng.bit_generator.random_raw(-(-N_FEATURES * n_rows // 4)).view(np.uint16)[: N_FEATURES * n_rows]
    rows = bits.astype(np.float32).reshape(N_FEATURES, n_rows)
    rows *= np.float32(2**-15)
    rows -= np.float32(1)
    return rows


def rare_rows(n_rows: int, seed: int) -> Features:
    rng = _generator(1, seed)
    rows = _uniform(rng, n_rows)
    SCHEMES.move(rows, np.flatnonzero(rng.random(n_rows) >= NOISE), rng)
    return rows


def common_rows(number: int, n_more: int = 0) -> Features:
    """The common rows of a chunk, with room for more rows at the end."""
    rng = _generator(2, number)
    rows = _uniform(rng, ROWS_PER_CHUNK + n_more)
    some = rng.choice(ROWS_PER_CHUNK, rng.binomial(ROWS_PER_CHUNK, LOOK_ALIKES), replace=False)
    SCHEMES.move(rows, some, rng, n_wrong=1)
    return rows


class Rows:
    """A table of so many common rows, and the rare rows spread over all its chunks."""

    def __init__(self, n_common: int, n_rare: int = N_RARE) -> None:
        self.n_common, self.n_chunks = n_common, n_common // ROWS_PER_CHUNK
        self._rare = rare_rows(n_rare, seed=0)
        self._ends = np.arange(self.n_chunks + 1) * n_rare // self.n_chunks

    @property
    def n_rows(self) -> int:
        return self.n_common + self._rare.shape[1]

    def labels(self, number: int) -> NDArray[np.int8]:
        labels = np.zeros(ROWS_PER_CHUNK + self._ends[number + 1] - self._ends[number], dtype=np.int8)
        labels[ROWS_PER_CHUNK:] = 1
        return labels

    def features(self, number: int) -> Features:
        rare = self._rare[:, self._ends[number] : self._ends[number + 1]]
        rows = common_rows(number, rare.shape[1])
        rows[:, ROWS_PER_CHUNK:] = rare
        return rows

    def batch(self, number: int, columns: Sequence[str]) -> Any:
        """A chunk as a record batch. Features are generated only if one of them is asked for."""
        features = dict(zip(NAMES, self.features(number), strict=True)) if set(columns) & set(NAMES) else {}
        arrays = [self.labels(number) if name == TARGET else features[name] for name in columns]
        return pa.RecordBatch.from_arrays([pa.array(array) for array in arrays], names=list(columns))


def test_rows(n_chunks: int, n_rare: int) -> tuple[Features, NDArray[np.int8]]:
    """The rows by which all models are judged, a row each, and their labels."""
    common = [common_rows(number) for number in TEST_CHUNKS[:n_chunks]]
    rows = np.concatenate([*common, rare_rows(n_rare, seed=1)], axis=1)
    labels = np.zeros(rows.shape[1], dtype=np.int8)
    labels[-n_rare:] = 1
    return np.ascontiguousarray(rows.T), labels


@dataclass(frozen=True)
class GeneratedFile:
    """Rows in the place of a file: every pass generates them again."""

    rows: Rows
    path: str = "generated rows"

    @property
    def data(self) -> str:
        return self.path

    @property
    def schema(self) -> Any:
        return pa.schema([*((name, pa.float32()) for name in NAMES), (TARGET, pa.int8())])

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def without_missing(self) -> frozenset[str]:
        return frozenset([*NAMES, TARGET])

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        yield from (self.rows.batch(number, columns) for number in range(self.rows.n_chunks))

    def identity(self) -> tuple[str, Any]:
        return self.path, self.rows.n_common


def streamed(n_common: int, n_rare: int = N_RARE) -> StreamedTable:
    """A table whose rows are generated in every pass. A table of files is read by the same code."""
    reader = Reader([GeneratedFile(Rows(n_common, n_rare))])
    schema = frozen_schema(reader, unified_fields(reader.files), NAMES)
    return StreamedTable(reader, schema, Roles(TARGET))


def write_files(n_common: int, folder: Path, n_rare: int = N_RARE) -> None:
    """The same rows as Parquet files, as the library writes those that it reads again."""
    rows, schema = Rows(n_common, n_rare), GeneratedFile(Rows(ROWS_PER_CHUNK, 1)).schema
    folder.mkdir(parents=True)
    for first in range(0, rows.n_chunks, CHUNKS_PER_FILE):
        path = folder / f"{first // CHUNKS_PER_FILE:05}.parquet"
        with pq.ParquetWriter(
            path, schema, compression="lz4", use_dictionary=[TARGET], use_byte_stream_split=NAMES
        ) as writer:
            for number in range(first, min(first + CHUNKS_PER_FILE, rows.n_chunks)):
                writer.write_batch(rows.batch(number, schema.names))
