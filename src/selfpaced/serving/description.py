"""The OpenAPI document of a service, with the columns of its model and a row that it scores."""

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
MOMENT = "2024-01-01T12:00:00"
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
# Models read booleans as 0 and 1. Columns that had booleans and missing values in training are numbers.
NUMBER_OF_A_ROW: Described = {"type": ["number", "boolean", "null"]}


def described(app: FastAPI, model: ServedModel, state: HistoryState | None, most_reasons: int) -> Described:
    """The document: the routes of the application, and those whose rows the model checks."""
    document = get_openapi(title="selfpaced", version=model.version, routes=app.routes)
    row = row_schema(model, state)
    named = {name: own["examples"][0] for name, own in row.get("properties", {}).items()}
    example = named if model.has_names else [0.0] * model.card.n_features
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
        return {**_list(NUMBER_OF_A_ROW), "minItems": n_features, "maxItems": n_features}
    schema, reference = model.model.model_.reader.schema, model.card.reference
    known = {} if schema is None else {one.source: one for one in schema.columns}
    usual = {} if reference is None else {one.name: one for one in reference.features}
    added = () if state is None else state.history.feature_names
    read = [*(name for name in model.columns if name not in added), *model.rule.columns]
    names = dict.fromkeys([*read, *(() if state is None else state.history.columns)])
    properties = {name: _column_schema(name, known.get(name), model, usual.get(name)) for name in names}
    if state is not None and state.history.time_column not in known:
        properties[state.history.time_column]["examples"] = [MOMENT if state.history.has_dates else 0]
    return {"type": "object", "properties": properties, "required": [*names], "additionalProperties": True}


def _column_schema(name: str, column: Column | None, model: ServedModel, usual: FeatureReference | None) -> Described:
    """The values of a column that the model scores, with a known category or a number from the middle of the held-out
    rows. Without a column, only the history or the decision reads them."""
    if name in model.categories:
        return {"type": ["string", "null"], "examples": sorted(model.categories[name])[:MOST_SHOWN] or [None]}
    if column is not None and column.made_of is not None:
        moment = f"{MOMENT}+00:00" if column.has_zone else MOMENT
        return {"type": ["string", "null"], "description": "A date or time in ISO 8601", "examples": [moment]}
    middle = usual.edges[len(usual.edges) // 2] if usual is not None and usual.edges else 0.0
    if column is None:
        return {"examples": [middle]}
    if column.type == "bool":
        return {"type": ["boolean", "integer", "null"], "minimum": 0, "maximum": 1, "examples": [False]}
    if "int" in column.type:
        return {"type": ["integer", "boolean", "null"], "examples": [int(middle)]}
    return {**NUMBER_OF_A_ROW, "examples": [middle]}
