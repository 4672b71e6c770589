"""The card of a model: its type, training data, metrics and versions, as plain facts."""

import json
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from selfpaced.ensembles import AveragingEnsemble, bases_of
from selfpaced.model import RecipeResult, feature_names_of
from selfpaced.monitoring import Reference
from selfpaced.persistence.record import TrainingRecord
from selfpaced.storage import versions_for
from selfpaced.tables import Schema

# How to get the fitted model inside, by the name of a class. The allow-list decides which classes are loaded.
INSIDE: dict[str, Callable[[Any], Any]] = {
    "Pipeline": lambda model: model.steps[-1][1],
    "BaseSearchCV": lambda model: model.best_estimator_,
    "FixedThresholdClassifier": lambda model: model.estimator_,
    "TunedThresholdClassifierCV": lambda model: model.estimator_,
    "CostDecisionClassifier": lambda model: model.estimator_,
    "CalibratedClassifierCV": lambda model: model.calibrated_classifiers_[0].estimator,
    "FrozenEstimator": lambda model: model.estimator,
}


def ensemble_in(model: Any) -> AveragingEnsemble | None:
    """The fitted ensemble: the model itself, or the one inside it; None if there is none."""
    if isinstance(model, AveragingEnsemble):
        return model
    inside = next((INSIDE[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in INSIDE), None)
    if inside is None:
        return None
    try:
        return ensemble_in(inside(model))
    except (AttributeError, IndexError, TypeError):  # it has not been fitted
        return None


def kind_of(model: Any) -> str:
    """The kind of a model in its card: its class, and the class of the ensemble in it.

    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> kind_of(SelfPacedEnsembleClassifier())
    'SelfPacedEnsembleClassifier'
    """
    ensemble = ensemble_in(model)
    own = type(model).__name__
    return own if ensemble is None or ensemble is model else f"{own} around {type(ensemble).__name__}"


# Files of a higher number are refused. A new field with a default does not need one.
FORMAT_VERSION = 1

Label = str | bool | int | float | None


@dataclass(frozen=True)
class RoundSummary:
    """The summary of a round in a card; None for notes that the ensemble does not keep."""

    number: int
    n_rows: int
    alpha: float | None = None
    score: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ModelCard:
    """The description of a model in its file. It is read without loading the model.

    Attributes
    ----------
    kind : str
        The class of the ensemble, or of the model around it and of the ensemble.
    created_at : str
        The time when the file was written, in UTC.
    base_model, parameters
        The base model and the parameters as text. Commas separate several base models.
    feature_names : tuple[str, ...] | None
        The names of the features; None for a model that was trained without names.
    schema, target, pos_label
        The schema and the roles of the table that it was trained on; None for rows in memory.
    snapshot : str | None, default=None
        The version of the lake table that it was trained on, if it was one.
    classes, class_counts
        The labels in sorted order, and the number of training rows of each. For a model that was trained elsewhere and
        adopted, the number of the rows that it was adopted with, unless the caller stated others.
    rounds : tuple[RoundSummary, ...]
        A summary of each round, or of each member if there are no notes of rounds.
    metrics, notes
        The arguments of `save_model`.
    versions : Mapping[str, str]
        The versions of Python and of the packages of the model.
    storage : str
        "skops" or "joblib".
    recipes : tuple[RecipeResult, ...]
        The results of the recipes, for a model that chose among several.
    reference : Reference | None, default=None
        The distribution of rows and scores when the model was judged, for monitoring.
    record : TrainingRecord | None, default=None
        The data, the command and the author of the training, and the models that this one replaced, if they are known.

    See Also
    --------
    selfpaced.persistence.read_card : Reads the card of a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from selfpaced import UnderBaggingClassifier, save_model
    >>> from selfpaced.datasets import make_checkerboard
    >>> from selfpaced.persistence import read_card
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> model = UnderBaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     card = read_card(save_model(model, os.path.join(folder, "model.skops")))
    >>> card.base_model, card.n_features, len(card.rounds)
    ('DecisionTreeClassifier()', 2, 2)
    """

    kind: str
    created_at: str
    base_model: str
    parameters: Mapping[str, str]
    n_features: int
    feature_names: tuple[str, ...] | None
    schema: Schema | None
    target: str | None
    pos_label: Label
    classes: tuple[Label, ...]
    class_counts: tuple[int, ...]
    minority_class: Label
    rounds: tuple[RoundSummary, ...]
    metrics: Mapping[str, Any]
    notes: str | None
    versions: Mapping[str, str]
    storage: str
    snapshot: str | None = None
    format_version: int = FORMAT_VERSION
    recipes: tuple[RecipeResult, ...] = ()
    reference: Reference | None = None
    record: TrainingRecord | None = None


@dataclass(frozen=True)
class Said:
    """The facts in a card that the caller of `save_model` gives."""

    metrics: Mapping[str, Any] | None = None
    notes: str | None = None
    reference: Reference | None = None
    record: TrainingRecord | None = None


def card_of(model: Any, storage: str, said: Said) -> ModelCard:
    """The card of a fitted ensemble, or of a model around one, written now."""
    names, n_features, kind = feature_names_of(model), int(model.n_features_in_), kind_of(model)
    model = ensemble_in(model)
    trained_on = model.trained_on_
    return ModelCard(
        kind=kind,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        base_model=", ".join(map(repr, bases_of(model))),
        parameters={name: repr(value) for name, value in model.get_params(deep=False).items() if name != "estimator"},
        n_features=n_features,
        feature_names=None if names is None else tuple(names),
        schema=trained_on.schema,
        target=trained_on.target,
        pos_label=trained_on.pos_label,
        classes=trained_on.classes,
        class_counts=trained_on.class_counts,
        minority_class=trained_on.classes[trained_on.minority_number],
        rounds=tuple(_rounds(model)),
        metrics=dict(said.metrics or {}),
        notes=said.notes,
        versions=versions_for(model.estimators_),
        storage=storage,
        recipes=tuple(model.recipes_),
        snapshot=trained_on.snapshot,
        reference=said.reference,
        record=said.record,
    )


def _rounds(model: Any) -> list[RoundSummary]:
    if not hasattr(model, "rounds_"):  # boosting and SMOTE only keep the number of rows of each member
        return [RoundSummary(number, n_rows) for number, n_rows in enumerate(model.n_training_rows_, start=1)]
    return [RoundSummary(each.number, each.n_rows, each.alpha, each.score, each.seconds) for each in model.rounds_]


def card_as_json(card: ModelCard) -> str:
    return json.dumps(asdict(card), indent=1, default=_plain)


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's; other types that JSON does not have, such as dates, as text."""
    return value.item() if hasattr(value, "item") else str(value)


def read_as(kind: Any, value: Any, where: str) -> Any:
    """A value of JSON converted to a type: lists to tuples, objects to dataclasses, such as a card.

    Facts that a later version added are ignored; a missing one or one of another type is a ValueError.
    """
    if isinstance(kind, UnionType):
        kind = next((one for one in get_args(kind) if _fits(one, value)), NoneType)
    if not _fits(kind, value):
        raise ValueError(f"{where} is {reprlib.repr(value)}")
    if is_dataclass(kind):
        return _read_record(kind, value, where)
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        return tuple(read_as(parts[0], each, f"a part of {where}") for each in value)
    if get_origin(kind) is Mapping:
        return {name: read_as(parts[1], each, f"{name!r} in {where}") for name, each in value.items()}
    return value


def _read_record(kind: Any, facts: Mapping[str, Any], where: str) -> Any:
    annotations = get_type_hints(kind)
    missing = [field.name for field in fields(kind) if field.default is MISSING and field.name not in facts]
    if missing:
        raise ValueError(f"{where} lacks {missing[0]!r}")
    names = [name for name in annotations if name in facts]
    return kind(**{name: read_as(annotations[name], facts[name], f"{name!r} in {where}") for name in names})


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value of JSON can be of a type, whatever its parts are."""
    if kind is Any:
        return True
    if is_dataclass(kind) or get_origin(kind) is Mapping:
        return isinstance(value, dict)
    if get_origin(kind) is tuple:
        return isinstance(value, list)
    if isinstance(value, bool):  # Python's booleans are integers
        return kind is bool
    return isinstance(value, float | int if kind is float else kind)
