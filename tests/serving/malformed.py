"""Requests that are nearly right: instances of the OpenAPI schema of a service, changed in one or several places."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

# Values that readers of rows have had trouble with, as they are written in JSON.
ODD = [
    *("null", "true", "false", "0", "-0.0", "1e308", "1e400", "-1e-400", "9007199254740993", "18446744073709551616"),
    *("1" * 400, "1" * 5000, "0.1e1", "NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x10", "1_000"),
    *('""', '" "', '"NaN"', '"null"', '"1"', '"\u0661"', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\x"', "'a'"),
    *('"2024-02-30"', '"0000-00-00"', '"9999-12-31T23:59:59.999999Z"', '"0001-01-01T00:00:00+23:59"', '"24:00"'),
    *('"2024-01-01T00:00:00+99:99"', '"2024-01-01T25:61:61"', '"10000-01-01"', '"-0001-01-01"', '"1e5"'),
    *("[]", "{}", "[[]]", '{"a": {"b": [1]}}', "[1, null]", '"' + "x" * 100_000 + '"', "[" * 2000 + "]" * 2000),
    *("[" * 100_000, '{"a":' * 20_000, "", " ", "\x00", "\ufeff1", "undefined", "{", '"', "//", "1 2"),
]
CONTENT_TYPES = [
    *("", "text/plain", "application/json; charset=utf-16", "application/json;", "application/json; charset=latin-1"),
    *("application/x-www-form-urlencoded", "multipart/form-data", "APPLICATION/JSON", "application/vnd.apache.arrow"),
    *("application/vnd.apache.arrow.stream", "*/*", "json", "application/json, text/plain", "\xe9"),
]
METHODS = ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "POST"]
Request = tuple[str, str, dict[str, str], bytes]  # method, path, headers, body


def instance(schema: Any, document: Any, rng: random.Random, depth: int = 0) -> Any:
    """A value that a JSON schema of an OpenAPI document describes."""
    if not isinstance(schema, dict) or depth > 10:
        return None
    if "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return instance(found, document, rng, depth + 1)
    for name in ("const", "example", "default"):
        if name in schema:
            return schema[name]
    for name in ("enum", "examples"):
        if schema.get(name):
            return rng.choice(list(schema[name]))
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return instance(rng.choice(schema[name]), document, rng, depth + 1)
    kinds = schema.get("type", "string")
    kind = rng.choice(kinds) if isinstance(kinds, list) else kinds
    if kind == "object":
        own = schema.get("properties", {})
        return {name: instance(each, document, rng, depth + 1) for name, each in own.items()}
    if kind == "array":
        n_items = rng.randint(max(1, schema.get("minItems", 1)), max(3, schema.get("minItems", 1)))
        return [instance(schema.get("items", {}), document, rng, depth + 1) for _ in range(n_items)]
    dated = {"date-time": "2024-05-01T12:00:00Z", "date": "2024-05-01"}.get(schema.get("format", ""), "a")
    values = {"integer": rng.randint(-5, 5), "number": rng.gauss(0, 1), "boolean": rng.random() < 0.5, "string": dated}
    return values.get(kind)


def written(value: Any, rng: random.Random, change: int) -> str:
    """A value as JSON, in which the `change`-th place is odd; 0 for none, and a number is left for each place."""
    places = 0

    def text(one: Any) -> str:
        nonlocal places
        places += 1
        if places == change:
            return rng.choice(ODD)
        if isinstance(one, dict):
            pairs = [f"{json.dumps(_name(name, rng, change))}: {text(each)}" for name, each in one.items()]
            if change < 0 and pairs:
                pairs = rng.choice([pairs[1:], [*pairs, pairs[0]], pairs[::-1], [*pairs, '"more": [1]'], pairs * 50])
            return "{" + ", ".join(pairs) + "}"
        if isinstance(one, list):
            return "[" + ", ".join(map(text, one)) + "]"
        return json.dumps(one)

    return text(value)


def _name(name: str, rng: random.Random, change: int) -> str:
    return (
        rng.choice([name.upper(), name + " ", "", "__proto__", "\ud800"]) if change < 0 and rng.random() < 0.1 else name
    )


def flipped(body: bytes, rng: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randint(1, 5)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


BYTE_CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    *[lambda body, rng: body] * 12,
    lambda body, rng: body[: rng.randrange(len(body) + 1)],
    flipped,
    lambda body, rng: body + rng.randbytes(rng.randint(1, 20)),
    lambda body, rng: rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08\x00", b"ARROW1", b""]) + body,
    lambda body, rng: body.decode(errors="replace").encode(rng.choice(["utf-16", "utf-32", "utf-7"])),
]


def malformed(document: Any, seed: int) -> Request:
    """One request. Some are right after all: what matters is how the others are answered."""
    rng = random.Random(seed)
    paths = {path: own["post"] for path, own in document["paths"].items() if "post" in own}
    path, operation = rng.choice(sorted(paths.items()))
    content = operation["requestBody"]["content"]["application/json"]
    value = content["example"] if rng.random() < 0.5 else instance(content["schema"], document, rng)
    text = written(value, rng, rng.choice([-1, -1, *range(14)]))
    body = rng.choice(BYTE_CHANGES)(text.encode("utf-8", "surrogatepass"), rng)
    headers = {"Content-Type": rng.choice(CONTENT_TYPES) if rng.random() < 0.05 else "application/json"}
    if rng.random() < 0.02:
        headers["Content-Encoding"] = rng.choice(["gzip", "br", "identity", "x"])
    method = rng.choice(METHODS) if rng.random() < 0.03 else "POST"
    suffix = rng.choice(["?a=1", "/", "//", "%00", "/../score", "?" + "x" * 3000]) if rng.random() < 0.03 else ""
    return method, path + suffix, headers, body
