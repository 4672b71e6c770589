"""Questions to a block of rows on a cluster, and steps that change its tags: pure functions of rows and tags.

An engine may call them anywhere, and call them again after a machine has died.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms import Hardness
from selfpaced.pools import chunk
from selfpaced.pools.chunk import BinNumbers, Candidates, Floats, Rows
from selfpaced.pools.keys import Ids, Keys, ids_under, row_keys
from selfpaced.scoring import Scorer, chunks_for, in_one_thread, scorer_of


@dataclass(frozen=True)
class Tags:
    """What is remembered of some rows: their ids, the numbers of their classes, and the sums of their doubts."""

    ids: Ids
    classes: NDArray[np.uint8]
    doubt_sum: Floats

    def doubts(self, some: NDArray[np.intp], n_models: int) -> Floats:
        return chunk.mean_doubt(self.doubt_sum[some], n_models)


@dataclass(frozen=True)
class Block:
    """Some rows of a partition with their tags. `rows` may be None for a question about tags alone."""

    tags: Tags
    rows: chunk.RowsOnDemand | None

    def take(self, some: NDArray[np.intp]) -> Rows:
        assert self.rows is not None
        return self.rows.rows(some).with_ids(self.tags.ids[some])


Answer = TypeVar("Answer")


class Question(Generic[Answer]):
    """What is asked of every block of a table."""

    features: ClassVar[bool] = False  # whether the question needs the features, or is about tags alone

    def __call__(self, block: Block) -> Answer:
        """The answer of a block."""
        raise NotImplementedError

    @staticmethod
    def merge(parts: Sequence[Answer]) -> Answer:
        """One answer of several, which come in any order and are merged in any number of steps."""
        raise NotImplementedError


class SentModel:
    """A model that is sent to the machines that hold the rows. There it uses one thread: other tasks run beside it."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._scorer: Scorer | None = None

    def scorer(self) -> Scorer:
        """Made once on every machine: preparing a large model takes time."""
        if self._scorer is None:
            self._scorer = scorer_of(self._model)
        return self._scorer

    def __getstate__(self) -> tuple[Any]:
        return (self._model,)

    def __setstate__(self, state: tuple[Any]) -> None:
        self.__init__(in_one_thread(state[0]))  # type: ignore[misc]


@dataclass(frozen=True)
class FoldScores:
    """A step: add the doubt of some models about the class of each row to its sum."""

    classes: Sequence[int]

    def __call__(self, block: Block, *models: SentModel) -> Tags:
        assert block.rows is not None
        tags, doubt_sum = block.tags, block.tags.doubt_sum.copy()
        scorers = [model.scorer() for model in models]
        rows_at_once, _ = chunks_for(scorers, block.rows.bytes_per_row, 1)
        for start in range(0, tags.ids.size, rows_at_once):
            some = slice(start, start + rows_at_once)
            features = block.rows.span(start, min(some.stop, tags.ids.size))
            chunk.add_doubts(doubt_sum[some], scorers, features, tags.classes[some], self.classes)
        return replace(tags, doubt_sum=doubt_sum)


@dataclass(frozen=True)
class Cut:
    """How the rows of a class are sorted into bins."""

    hardness: Hardness
    n_bins: int
    top: float
    n_models: int

    def __call__(self, tags: Tags, some: NDArray[np.intp]) -> tuple[BinNumbers, chunk.BinTotals]:
        return chunk.binned(tags.doubts(some, self.n_models), self.hardness, self.top, self.n_bins)


def own_rows(tags: Tags, class_number: int) -> NDArray[np.intp]:
    return np.flatnonzero(tags.classes == class_number)


@dataclass(frozen=True)
class Largest(Question[dict[int, float]]):
    """A question: the largest hardness of each class; minus infinity for a class without rows."""

    hardness: Hardness
    n_models: int
    classes: Sequence[int]

    def __call__(self, block: Block) -> dict[int, float]:
        own = {number: own_rows(block.tags, number) for number in self.classes}
        return {
            number: float(self.hardness(block.tags.doubts(some, self.n_models)).max(initial=-np.inf))
            for number, some in own.items()
        }

    @staticmethod
    def merge(parts: Sequence[dict[int, float]]) -> dict[int, float]:
        return {number: max(part[number] for part in parts) for number in parts[0]}


@dataclass(frozen=True)
class OneBin:
    """The rows of a class share one bin: all of them, or those whose sum has certain bits."""

    class_number: int
    bits: int | None = None

    def __call__(self, tags: Tags) -> tuple[NDArray[np.intp], BinNumbers]:
        own = own_rows(tags, self.class_number)
        if self.bits is not None:
            own = own[_bits(tags.doubt_sum[own]) == self.bits]
        return own, np.zeros(own.size, dtype=np.uint8)


@dataclass(frozen=True)
class ManyBins:
    """The rows of a class lie in the bins of a cut."""

    class_number: int
    cut: Cut

    def __call__(self, tags: Tags) -> tuple[NDArray[np.intp], BinNumbers]:
        own = own_rows(tags, self.class_number)
        return own, self.cut(tags, own)[0]


Bins = OneBin | ManyBins


@dataclass(frozen=True)
class Under:
    """The rows of some bins whose keys are not above the limits of their bins."""

    bins: Bins
    limits: Keys
    seed: int
    round_number: int


class CandidatesUnder(Under, Question[Candidates]):
    """A question: the ids, bins and keys of such rows."""

    merge = Candidates.joined

    def __call__(self, block: Block) -> Candidates:
        own, bins = self.bins(block.tags)
        return chunk.take_candidates(block.tags.ids[own], bins, self.limits, self.seed, self.round_number)


class RowsUnder(Under, Question[Sequence[Rows]]):
    """A question: such rows themselves."""

    features = True

    def __call__(self, block: Block) -> Sequence[Rows]:
        own, bins = self.bins(block.tags)
        keys = row_keys(block.tags.ids[own], self.seed, self.round_number)
        return [block.take(own[keys <= self.limits.take(bins)])]

    @staticmethod
    def merge(parts: Sequence[Sequence[Rows]]) -> Sequence[Rows]:
        return list(chain.from_iterable(parts))


@dataclass(frozen=True)
class FirstAnswer:
    """The answers of blocks to `FirstQuestion`."""

    minority: Sequence[Rows]
    ids: Ids
    candidates: Mapping[int, Candidates]


@dataclass(frozen=True)
class FirstQuestion(Question[FirstAnswer]):
    """The questions at the beginning of a fit as one: the rows of a class, some ids, and rows that may be drawn."""

    features = True
    minority: int
    ids_under: int  # the ids are those whose keys are not above it
    under: Mapping[int, CandidatesUnder]  # the rows of the first draw are among these, by class

    def __call__(self, block: Block) -> FirstAnswer:
        candidates = {number: under(block) for number, under in self.under.items()}
        minority = [block.take(own_rows(block.tags, self.minority))]
        return FirstAnswer(minority, ids_under(self.ids_under, block.tags.ids), candidates)

    @staticmethod
    def merge(parts: Sequence[FirstAnswer]) -> FirstAnswer:
        return FirstAnswer(
            list(chain.from_iterable(part.minority for part in parts)),
            np.concatenate([part.ids for part in parts]),
            {number: Candidates.joined([part.candidates[number] for part in parts]) for number in parts[0].candidates},
        )


@dataclass(frozen=True)
class CountBits(Question[Counter[int]]):
    """A question: how often each value of some bits occurs among the sums of a class.

    The bits are the upper half, or the lower half where the upper is known. Floats that are not negative have the
    order of their bits.
    """

    class_number: int
    upper: int | None = None

    def __call__(self, block: Block) -> Counter[int]:
        bits = _bits(block.tags.doubt_sum[own_rows(block.tags, self.class_number)])
        upper = bits >> np.uint32(16)
        counted = upper if self.upper is None else bits[upper == self.upper] & np.uint32(0xFFFF)
        values, counts = np.unique(counted, return_counts=True)
        return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    @staticmethod
    def merge(parts: Sequence[Counter[int]]) -> Counter[int]:
        return sum(parts, Counter())


@dataclass(frozen=True)
class DropEasier:
    """A step: drop the rows of a class whose sums are smaller than some bits, or equal with a key above a limit."""

    class_number: int
    bits: int
    limit: int
    seed: int
    round_number: int

    def __call__(self, block: Block) -> Tags:
        tags = block.tags
        own, bits = own_rows(tags, self.class_number), _bits(tags.doubt_sum)
        keys = row_keys(tags.ids[own], self.seed, self.round_number)
        dropped = (bits[own] < self.bits) | ((bits[own] == self.bits) & (keys > np.uint64(self.limit)))
        classes = tags.classes.copy()
        classes[own[dropped]] = chunk.NO_CLASS
        return replace(tags, classes=classes)


def _bits(doubt_sum: Floats) -> NDArray[np.uint32]:
    return doubt_sum.view(np.uint32)
