"""The HTTP interface: routes, answers, tokens and limits."""

import asyncio
import hmac
import json
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from selfpaced.persistence import card_as_json
from selfpaced.serving import metrics
from selfpaced.serving.answering import Answer, Service, count_new_categories
from selfpaced.serving.bodies import ARROW, JSON, RefusedError, check_type, row_in, rows_in, table_in
from selfpaced.serving.description import described
from selfpaced.serving.settings import Settings

logger = logging.getLogger("selfpaced.serving")

PATHS = ("/score", "/score/batch", "/health", "/ready", "/metrics", "/model", "/openapi.json")
OPEN = ("/health", "/ready")  # answered without a token, and however many requests are under way
REQUEST_ID = re.compile(r"[\w.:+/=-]{1,128}", re.ASCII)
MOST_REASONS = 100


class Guard:
    """Everything about a request but its answer: its id, token, limits and metrics."""

    def __init__(self, app: ASGIApp, settings: Settings, version: str) -> None:
        self._app, self._settings, self.version = app, settings, version  # the model at the start
        self._token = None if settings.token is None else settings.token.encode()
        self._n_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, headers = time.perf_counter(), dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        scope["request_id"] = given if REQUEST_ID.fullmatch(given) else uuid4().hex
        path = scope["path"] if scope["path"] in PATHS else "other"
        exchange = Exchange(scope, receive, send, self._settings)
        self._n_requests += 1
        metrics.in_progress.inc()
        try:
            async with asyncio.timeout(self._settings.seconds):
                refusal = self._refusal(path, headers)
                answer = self._app if refusal is None else error_response(scope, refusal)
                await answer(scope, exchange.receive, exchange.send)
        except TimeoutError:
            status, more = (503, ". Send fewer rows.") if exchange.has_body else (408, " to arrive.")
            late = RefusedError(status, f"The request took longer than {self._settings.seconds:g} seconds{more}")
            if exchange.status is None:
                await error_response(scope, late)(scope, receive, exchange.send)
        finally:
            self._n_requests -= 1
            metrics.in_progress.dec()
            status = exchange.status or 499  # the client has gone
            metrics.requests.labels(path, status).inc()
            metrics.latency.labels(path).observe(time.perf_counter() - started)
            if status >= 400:
                metrics.refusals.labels(status).inc()

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> RefusedError | None:
        if path in OPEN:
            return None
        if self._token is not None:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer":
                return RefusedError(401, "This service needs a token. Send the header Authorization: Bearer TOKEN.")
            if not hmac.compare_digest(given, self._token):
                return RefusedError(401, "The token is wrong.")
        if self._n_requests > self._settings.most_requests:
            return RefusedError(503, f"{self._settings.most_requests:,} requests are under way. Try again soon.")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._settings.most_bytes:
            return too_large(self._settings)
        return None


class Exchange:
    """The messages of a request and its answer, counted on their way."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, settings: Settings) -> None:
        self._scope, self._receive, self._send, self._settings = scope, receive, send, settings
        self._n_bytes = 0
        self.has_body, self.status = False, None

    async def receive(self) -> Message:
        message = await self._receive()
        self._n_bytes += len(message.get("body", b""))
        self.has_body = not message.get("more_body", False)
        if self._n_bytes > self._settings.most_bytes:
            raise too_large(self._settings, closes=True)  # the rest of the body may have no end
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"].append((b"x-request-id", self._scope["request_id"].encode()))
        await self._send(message)


def too_large(settings: Settings, closes: bool = False) -> RefusedError:
    return RefusedError(413, f"The body has more than {settings.most_bytes:,} bytes. Send fewer rows.", closes)


def error_response(scope: Scope, refusal: RefusedError) -> Response:
    more = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}, 503: {"Retry-After": "1"}}
    content = {"error": refusal.said, "request_id": scope["request_id"]}
    headers = more.get(refusal.status, {}) | ({"Connection": "close"} if refusal.closes else {})
    return JsonAnswer(content, refusal.status, headers=headers)


class JsonAnswer(JSONResponse):
    """JSON in ASCII, which also holds what cannot be encoded as UTF-8."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":"), default=str).encode()


def make_app(settings: Settings, counts_folder: Path) -> ASGIApp:
    """The application of one process. The model is loaded here, before the first request."""
    service = Service(settings, counts_folder)
    count_new_categories()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch())
        yield
        watching.cancel()
        service.close()

    app = FastAPI(title="selfpaced", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    _add_descriptions(app, service)
    for kind in (HTTPException, Exception):
        app.add_exception_handler(kind, lambda request, error: error_response(request.scope, _as_refusal(error)))
    return Guard(Scoring(app, service, settings.most_rows), settings, service.slot.current.version)


def _as_refusal(error: Exception) -> RefusedError:
    """What is answered for an error. Unexpected ones are in the log of the service, with the traceback."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, ClientDisconnect):
        return RefusedError(400, "The client has gone.")
    if isinstance(error, HTTPException):
        said = {
            404: f"There is no such path. The paths are {', '.join(PATHS)}.",
            405: "Scores are asked for by POST, all else by GET.",
        }
        return RefusedError(error.status_code, said.get(error.status_code, str(error.detail)))
    return RefusedError(500, "An unexpected error. The service has logged it with the request id.")


class Scoring:
    """The answers with scores. FastAPI answers all else: it would check what the model checks, in twice the time."""

    def __init__(self, app: ASGIApp, service: Service, most_rows: int) -> None:
        self._app, self._service, self._most_rows = app, service, most_rows
        self._answers = {"/score": self._one, "/score/batch": self._many}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answers.get(scope.get("path", ""))
        if answer is None:
            await self._app(scope, receive, send)
            return
        try:
            if scope["method"] != "POST":
                raise HTTPException(405)
            response = await answer(Request(scope, receive))
        except Exception as error:
            refusal = _as_refusal(error)
            if refusal.status == 500:
                logger.exception("request %s failed", scope["request_id"])
            response = error_response(scope, refusal)
        await response(scope, receive, send)

    async def _one(self, request: Request) -> Response:
        headers, identity = request.headers, request.scope["request_id"]
        n_reasons = _n_reasons(request)
        check_type(headers.get("content-type"), headers.get("content-encoding"), [JSON])
        row = row_in(await request.body(), self._service.slot.current.has_names)
        answer = await self._service.score(row, identity)
        found = {"probability": answer.scores[0], "alert": answer.alerts[0], **_facts(answer, identity)}
        if answer.zones is not None:
            found["zone"] = answer.zones[0]
        if answer.probabilities.shape[1] > 2:
            classes = map(str, answer.model.scorer.classes_)
            found["probabilities"] = dict(zip(classes, answer.probabilities[0].tolist(), strict=True))
        if n_reasons:
            found["reasons"] = await self._service.reasons(answer, n_reasons)
        return JsonAnswer(found)

    async def _many(self, request: Request) -> Response:
        headers, identity = request.headers, request.scope["request_id"]
        if request.query_params:
            raise RefusedError(422, "Batches have no parameters. Ask for the reasons of single rows: /score?reasons=4.")
        kind = check_type(headers.get("content-type"), headers.get("content-encoding"), [JSON, ARROW])
        body = await request.body()
        has_names = self._service.slot.current.has_names
        read = partial(table_in, body) if kind == ARROW else partial(rows_in, body, has_names)
        rows = await asyncio.to_thread(read, self._most_rows)
        answer = await self._service.score_batch(rows, identity)
        zones = {} if answer.zones is None else {"zones": answer.zones}
        return JsonAnswer(
            {"probabilities": answer.scores, "alerts": answer.alerts, **zones, **_facts(answer, identity)}
        )


def _facts(answer: Answer, identity: str) -> dict[str, Any]:
    return {"model": answer.model.version, "request_id": identity}


def _n_reasons(request: Request) -> int:
    """The number of reasons that are asked for; 0 without the parameter."""
    given = request.query_params
    unknown = [name for name in given if name != "reasons"]
    if unknown:
        raise RefusedError(422, f"{unknown[0]!r} is not a parameter of /score. It has one: reasons.")
    text = given.get("reasons", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= MOST_REASONS):
        raise RefusedError(422, f"reasons must be a whole number up to {MOST_REASONS}; got {text!r}.")
    return int(text)


def _add_descriptions(app: FastAPI, service: Service) -> None:
    """The routes about the service and its model."""

    @app.get("/health", summary="Whether the process answers")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready", summary="Whether all is as it should be", responses={503: {"description": "The problems"}})
    async def ready() -> Response:
        problems = service.problems
        found = {"status": "degraded" if problems else "ready", "model": service.slot.current.version}
        return JsonAnswer({**found, "problems": problems}, 503 if problems else 200)

    @app.get("/metrics", summary="Metrics in the text format of Prometheus")
    async def scrape() -> Response:
        metrics.state_rows.set(0 if service.state is None else service.state.n_rows)
        drifts = await asyncio.to_thread(service.drift.drifts)
        return Response(metrics.exposition(drifts), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/model", summary="The card of the model")
    async def model() -> Response:
        current = service.slot.current
        card = json.loads(card_as_json(current.card), parse_constant=lambda _: None)  # JSON has no NaN
        return JsonAnswer({"version": current.version, "card": card})

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JsonAnswer(described(app, service.slot.current, service.state, MOST_REASONS))
