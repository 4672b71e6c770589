"""The OpenAPI document of a service, with the columns of its model and a row that it scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from selfpaced.history import HistoryState
from selfpaced.monitoring import FeatureReference
from selfpaced.serving.bodies import ARROW, JSON
from selfpaced.serving.served import ServedModel
from selfpaced.tables import Column

Described = dict[str, Any]
MOST_SHOWN = 10  # categories of a column
ANSWERS = {
    "400": "The body cannot be read",
    "401": "The token is missing or wrong",
    "408": "The body did not arrive in time",
    "413": "The body or the batch is too large",
    "415": "The content type is another",
    "422": "A row does not fit the model",
    "503": "Too many requests, or too much work",
}
OWN: Described = {
    "model": {"type": "string", "description": "The version of the model: a hash of its file"},
    "request_id": {"type": "string", "description": "X-Request-ID, or one that was made"},
}
NUMBER, ALERT = {"type": "number", "minimum": 0, "maximum": 1}, {"type": ["boolean", "null"]}


def described(app: FastAPI, model: ServedModel, state: HistoryState | None, most_reasons: int) -> Described:
    """The document: the routes of the application, and those whose rows the model checks."""
    document = get_openapi(title="selfpaced", version=model.version, routes=app.routes)
    row, example = row_schema(model, state), example_row(model, state)
    reasons = {"name": "reasons", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": most_reasons}}
    one = {"probability": NUMBER, "alert": ALERT, "reasons": {"type": "array", "items": {"type": "object"}}, **OWN}
    many = {"probabilities": _list(NUMBER), "alerts": _list(ALERT), **OWN}
    if model.rule.zones is not None:
        zone = {"type": "string", "enum": list(model.rule.zones.names)}
        one, many = {**one, "zone": zone}, {**many, "zones": _list(zone)}
    kind = {"$ref": "#/components/schemas/Row"}
    rows = {"schema": _list(kind), "example": [example]}
    document["paths"] |= {
        "/score": _post("Score one row", {JSON: {"schema": kind, "example": example}}, one, [reasons]),
        "/score/batch": _post("Score many rows", {JSON: rows, ARROW: {"schema": {"type": "string"}}}, many, []),
    }
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    error = {"type": "object", "properties": {"error": {"type": "string"}, "request_id": OWN["request_id"]}}
    schemas |= {"Row": row, "Error": error}
    return document


def _list(items: Described) -> Described:
    return {"type": "array", "items": items}


def _post(summary: str, content: Described, answer: Described, parameters: list[Described]) -> Described:
    errors = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    right = {"description": "The scores", "content": {JSON: {"schema": {"type": "object", "properties": answer}}}}
    wrong = {status: {"description": said, "content": errors} for status, said in ANSWERS.items()}
    return {
        "post": {
            "summary": summary,
            "parameters": parameters,
            "requestBody": {"required": True, "content": content},
            "responses": {"200": right, **wrong},
            "security": [{}, {"token": []}],
        }
    }


def row_schema(model: ServedModel, state: HistoryState | None) -> Described:
    """The columns of a row. Further columns are ignored, and strings that are new to the model are missing values."""
    if not model.has_names:
        n_features = model.card.n_features
        return {**_list({"type": ["number", "null"]}), "minItems": n_features, "maxItems": n_features}
    columns = _columns(model, state)
    properties = {name: _column_schema(columns[name], model.categories.get(name)) for name in columns}
    return {"type": "object", "properties": properties, "required": [*columns], "additionalProperties": True}


def _columns(model: ServedModel, state: HistoryState | None) -> dict[str, Column | None]:
    """The columns that a row must have; None for those that only the history or the decision reads."""
    schema = model.model.model_.reader.schema
    known = {} if schema is None else {one.source: one for one in schema.columns}
    added = () if state is None else state.history.feature_names
    others = [*(() if state is None else state.history.columns), *model.rule.columns]
    own = dict.fromkeys([*(name for name in model.columns if name not in added), *others])
    return {name: known.get(name) for name in own}


def _column_schema(column: Column | None, categories: frozenset[str] | None) -> Described:
    if categories is not None:
        return {"type": ["string", "null"], "examples": sorted(categories)[:MOST_SHOWN]}
    if column is None:
        return {}
    if column.made_of is not None:
        return {"type": ["string", "null"], "format": "date-time", "description": "A date or time in ISO 8601"}
    kind = "boolean" if column.type == "bool" else "integer" if "int" in column.type else "number"
    return {"type": [kind, "null"]}


def example_row(model: ServedModel, state: HistoryState | None) -> Any:
    """A row that the model scores: numbers from the middle of the held-out rows, and known categories."""
    if not model.has_names:
        return [0.0] * model.card.n_features
    reference = model.card.reference
    usual = {} if reference is None else {one.name: one for one in reference.features}
    row = {name: _example(name, column, model, usual) for name, column in _columns(model, state).items()}
    if state is not None and not state.history.has_dates:
        row[state.history.time_column] = 0
    return row


def _example(name: str, column: Column | None, model: ServedModel, usual: Mapping[str, FeatureReference]) -> Any:
    if name in model.categories:
        return min(model.categories[name], default=None)
    if column is not None and column.made_of is not None:
        return "2024-01-01T12:00:00+00:00" if column.has_zone else "2024-01-01T12:00:00"
    edges = usual[name].edges if name in usual else ()
    middle = edges[len(edges) // 2] if edges else 0.0
    if column is not None and column.type == "bool":
        return False
    return int(middle) if column is not None and "int" in column.type else middle
