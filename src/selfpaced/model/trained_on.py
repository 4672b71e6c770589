"""The record of the data that an ensemble was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfpaced.tables import ClassCounts, Roles, Schema
from selfpaced.versions import versions_for


@dataclass(frozen=True)
class TrainedOn:
    """The record of the training data of an ensemble. Every fit makes one. It is saved with the model.

    Attributes
    ----------
    classes : tuple
        The labels, sorted, as plain Python values.
    class_counts : tuple of int
        Training rows of each label.
    target : str or None
        The column of labels; None if the labels had no name.
    pos_label : label or None
        The label that was separated from all others, if `open_table` was given one.
    schema : Schema or None
        The features as they were read from a table; None for rows in memory, which models read as they are.
    versions : mapping of str to str
        The versions of Python and of the packages that trained the members.
    snapshot : str or None
        The version of a lake table that the rows are from.
    group : str or None
        The column of groups; "groups" for an array without a name, and None if the rows had no groups.
    categories : mapping of str to tuple of str, or None
        The categories of each column of categories in a frame that models read as it is; None if there is none.
    """

    classes: tuple[Any, ...]
    class_counts: tuple[int, ...]
    target: str | None
    pos_label: Any
    schema: Schema | None
    versions: Mapping[str, str]
    snapshot: str | None = None
    group: str | None = None
    categories: Mapping[str, tuple[str, ...]] | None = None

    @property
    def counts(self) -> dict[Any, int]:
        """Training rows by label."""
        return dict(zip(self.classes, self.class_counts, strict=True))

    @property
    def labels(self) -> ClassCounts:
        """The classes and their counts as they were in training."""
        return ClassCounts(np.array(self.classes, dtype=object), np.array(self.class_counts))

    @property
    def minority_number(self) -> int:
        """The column of the rarest class in `predict_proba`."""
        return self.labels.rarest

    @property
    def score_label(self) -> Any:
        """The label whose probability is the score, as it is written in the data."""
        return self.labels.score_label(self.pos_label)

    @property
    def score_column(self) -> int:
        """The column of the score in `predict_proba`."""
        return self.classes.index(named_among(self.classes, self.score_label))

    @property
    def is_one_against_all(self) -> bool:
        """Whether the classes are one label and all others, and not labels of the data."""
        return named_among(self.classes, self.score_label) is not self.score_label

    @property
    def roles(self) -> Roles:
        """How the labels of another table are read to be compared with these."""
        return Roles(self.target, self.pos_label)


def named_among(classes: Sequence[Any], label: Any) -> Any:
    """The class of a label: True if the classes are the label and all others, or else the label itself.

    >>> named_among([False, True], "fraud"), named_among([False, True], False), named_among([0, 1], 0)
    (True, False, 0)
    """
    # 0 and 1 must not be mistaken for False and True.
    return True if isinstance(classes[-1], bool) and not isinstance(label, bool) else label


def record_of(
    labels: ClassCounts, roles: Roles, schema: Schema | None, members: Sequence[Any], snapshot: str | None = None
) -> TrainedOn:
    """The record of a fit that has ended with some members."""
    pos_label = roles.pos_label.item() if isinstance(roles.pos_label, np.generic) else roles.pos_label
    counts = tuple(labels.counts.tolist())
    versions = versions_for(members)
    return TrainedOn(
        tuple(labels.names), counts, roles.target, pos_label, schema, versions, snapshot, roles.group_column
    )
