"""The options of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from selfpaced.monitoring import Reference
from selfpaced.thresholds import Rule


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options that `make_report` and `report_of_scores` share. `make_report` explains them."""

    ids: Any = None
    threshold: float | str | Rule | None = None
    costs: tuple[float, float] | None = None
    amounts: Any = None
    y_train: Any = None
    dropped: Mapping[str, str] | None = None
    title: str | None = None
    target: str | None = None
    times: Any = None
    decide: str | None = None
    decide_columns: Mapping[str, Any] | None = None
    reference: Reference | None = None
    cautions: Sequence[str] = ()

    @classmethod
    def checked(cls, function: str, given: Mapping[str, Any], *others: str) -> Self:
        """Options from keywords. `others` are further keywords of the function, which the message names as well."""
        known = [field.name for field in fields(cls)]
        unknown = [name for name in given if name not in known]
        if unknown:
            options = ", ".join(sorted([*known, *others], key=str.lower))
            raise TypeError(f"{function} has no option {unknown[0]!r}. Its options are: {options}.")
        return cls(**given)


@dataclass(frozen=True, kw_only=True)
class ScoresOptions(ReportOptions):
    """All options of `report_of_scores`, which explains them."""

    rare: Any = 1
    model: Any = None
    sample: Any = None
    sample_rows: Any = None
    train_sample: Any = None
    stage_scores: Sequence[float] | None = None
