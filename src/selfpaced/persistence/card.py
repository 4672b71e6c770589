"""The card of a model: what it is and where it comes from, as plain facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from selfpaced.ensembles.averaged import base_of
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.table_scoring import feature_names_of
from selfpaced.tables.schema import Column, Schema
from selfpaced.versions import versions_for

# Files of a higher number are refused. A new field with a default does not need one.
FORMAT_VERSION = 1


@dataclass(frozen=True)
class RoundSummary:
    """What a card says of a round; None where the ensemble takes no such note."""

    number: int
    n_rows: int
    alpha: float | None = None
    score: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ModelCard:
    """What a model file says of its model, without loading it. It is read as data and decides nothing.

    Attributes
    ----------
    kind : the ensemble's class.
    created_at : when the file was written, in UTC.
    base_model, parameters : as text.
    feature_names : None for a model that was trained without names.
    schema, target, positive : of the files it was trained on with `fit_table`; None otherwise.
    classes, class_counts : the labels in sorted order, and how many training rows each had.
    rounds : a summary of each round, or of each member where there are no notes of rounds.
    metrics, notes : what `save_model` was given.
    versions : of Python and the packages that the model is made of.
    storage : "skops" or "joblib".
    """

    kind: str
    created_at: str
    base_model: str
    parameters: Mapping[str, str]
    n_features: int
    feature_names: tuple[str, ...] | None
    schema: Schema | None
    target: str | None
    positive: Any
    classes: tuple[Any, ...]
    class_counts: tuple[int, ...]
    minority_class: Any
    rounds: tuple[RoundSummary, ...]
    metrics: Mapping[str, Any]
    notes: str | None
    versions: Mapping[str, str]
    storage: str
    format_version: int = FORMAT_VERSION


def card_of(model: AveragingEnsemble, storage: str, metrics: Mapping[str, Any] | None, notes: str | None) -> ModelCard:
    """The card of a fitted ensemble, written now."""
    trained_on = model.trained_on_
    names = feature_names_of(model)
    return ModelCard(
        kind=type(model).__name__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        base_model=repr(base_of(model)),
        parameters={name: repr(value) for name, value in model.get_params(deep=False).items() if name != "estimator"},
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else tuple(names),
        schema=trained_on.schema,
        target=trained_on.target,
        positive=trained_on.positive,
        classes=trained_on.classes,
        class_counts=trained_on.class_counts,
        minority_class=trained_on.classes[trained_on.minority_number],
        rounds=tuple(_rounds(model)),
        metrics=dict(metrics or {}),
        notes=notes,
        versions=versions_for(model.estimators_[0]),
        storage=storage,
    )


def _rounds(model: Any) -> list[RoundSummary]:
    if not hasattr(model, "rounds_"):  # boosting and SMOTE note the rows of each member only
        return [RoundSummary(number, n_rows) for number, n_rows in enumerate(model.n_training_rows_, start=1)]
    return [
        RoundSummary(
            each.number,
            each.n_rows,
            each.alpha,
            each.score,
            each.seconds_scoring + each.seconds_drawing + each.seconds_fitting,
        )
        for each in model.rounds_
    ]


def card_as_json(card: ModelCard) -> str:
    return json.dumps(asdict(card), indent=1, default=_plain)


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's; what JSON does not know, such as a date, as text."""
    return value.item() if hasattr(value, "item") else str(value)


def card_from_json(text: str) -> ModelCard:
    facts = json.loads(text)
    known = {field.name: facts[field.name] for field in fields(ModelCard) if field.name in facts}
    for name in ("feature_names", "classes", "class_counts"):
        known[name] = None if known[name] is None else tuple(known[name])
    known["rounds"] = tuple(RoundSummary(**each) for each in known["rounds"])
    known["schema"] = None if known["schema"] is None else _schema(known["schema"])
    return ModelCard(**known)


def _schema(facts: Mapping[str, Any]) -> Schema:
    return Schema(tuple(Column(**{**each, "categories": _words(each["categories"])}) for each in facts["columns"]))


def _words(categories: list[str] | None) -> tuple[str, ...] | None:
    return None if categories is None else tuple(categories)
