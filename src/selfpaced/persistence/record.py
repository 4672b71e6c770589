"""The record of a training: what a model was trained on, by whom and how, and the models that it replaced."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256


def model_id(content: bytes) -> str:
    """The id of a model: a hash of the content of its file.

    >>> model_id(b"a model")
    '97ff8a35544dcf40'
    """
    return sha256(content).hexdigest()[:16]


@dataclass(frozen=True)
class DataRecord:
    """The rows that a model was trained on and judged by. The digests are those of `selfpaced verify`.

    A training on a cluster has no digests.
    """

    sources: tuple[str, ...]
    n_rows: int
    digest: str | None
    columns: Mapping[str, str | None]  # the digest of each column
    time_column: str | None = None
    first: str | None = None  # the first and the last time
    last: str | None = None
    trained: tuple[str, ...] = ()  # the hashes of some of the rows that were trained on
    repeated: float = 0.0  # the share of other rows of the source that are equal to rows that were trained on


@dataclass(frozen=True)
class Promotion:
    """A model that was replaced, and the figures of both on the same rows."""

    replaced: str  # its id
    replaced_created_at: str
    goal: str
    old: float
    new: float
    low: float  # the paired 90% interval of the difference
    high: float
    n_rows: int
    if_better: bool = True  # whether the new model had to be better to be written


@dataclass(frozen=True)
class TrainingRecord:
    """How a model came to be. What is not known is None or empty."""

    data: DataRecord | None
    command: str | None = None
    author: str | None = None
    promotions: tuple[Promotion, ...] = ()  # the latest one last
