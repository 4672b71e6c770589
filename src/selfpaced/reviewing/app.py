"""The page of a review and its requests, for browsers of this machine only."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from selfpaced.exceptions import TableError, need
from selfpaced.reviewing.queue import Queue, one_line
from selfpaced.serving import listening, run_app

HOST = "127.0.0.1"
HOSTS = {"127.0.0.1", "localhost", "::1"}  # by other names, another site may have led a browser here
MOST_BYTES = 2**16  # of a request
SECONDS = 5.0  # for requests that are under way when the review ends


def review_at(queue: Queue, port: int, started: Callable[[str], None]) -> None:
    """Answer requests until a signal arrives. `started` gets the address, which contains a secret token."""
    for module in ("starlette", "uvicorn"):
        need(module, "serve", "selfpaced review")
    token = secrets.token_urlsafe(24)
    with listening(HOST, port) as bound:
        address = f"http://{HOST}:{bound.getsockname()[1]}/#{token}"
        run_app(make_app(queue, token), bound, SECONDS, lambda: started(address))


def make_app(queue: Queue, token: str) -> Any:
    """The application. The page itself is open, and has no data: requests for rows need the token.

    A browser does not send the part of an address after #, so the token is in no log. Other sites cannot make a
    browser send it, because it is a header.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    page = files("selfpaced.reviewing").joinpath("page.html").read_text(encoding="utf-8")
    headers = _headers(page)

    def answer(content: Any, status: int = 200) -> Response:
        return JSONResponse(content, status, headers=headers)

    async def show(request: Request) -> Response:
        return Response(page, media_type="text/html; charset=utf-8", headers=headers)

    async def asked(request: Request) -> dict[str, Any]:
        """The object that a request has sent, with the name of the reviewer."""
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {token}".encode()):
            raise HTTPException(401, "The token is missing or old. Open the address that the command has printed.")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise HTTPException(415, "The body must be JSON, with the content type application/json.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise HTTPException(413, f"The request has more than {MOST_BYTES:,} bytes.")
        try:
            sent = json.loads(body)
        except ValueError:
            raise HTTPException(422, "The body is not JSON.") from None
        if not isinstance(sent, dict) or not isinstance(sent.get("reviewer"), str):
            raise HTTPException(422, "The body must be an object with the name of the reviewer.")
        return {**sent, "reviewer": one_line(sent["reviewer"])}

    def number_in(sent: dict[str, Any]) -> int:
        number = sent.get("number")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(queue.items):
            raise HTTPException(404, f"There is no row {number!r} in this review.")
        return number

    def state(number: int | None, reviewer: str) -> Response:
        item = None if number is None else queue.shown(number, reviewer)
        return answer({"facts": queue.facts, "summary": queue.summary(), "item": item})

    async def following(request: Request) -> Response:
        sent = await asked(request)
        return state(queue.next_for(sent["reviewer"]), sent["reviewer"])

    async def one(request: Request) -> Response:
        sent = await asked(request)
        return state(number_in(sent), sent["reviewer"])

    async def verdict(request: Request) -> Response:
        sent = await asked(request)
        number, note = number_in(sent), sent.get("note", "")
        if not isinstance(sent.get("verdict"), str) or not isinstance(note, str):
            raise HTTPException(422, "A verdict and its note must be texts.")
        queue.record(number, sent["reviewer"], sent["verdict"], note)
        # A disagreement is shown at once; otherwise the next row.
        disagrees = queue.shown(number, sent["reviewer"])["outcome"] == "disagreed"
        return state(number if disagrees else queue.next_for(sent["reviewer"]), sent["reviewer"])

    async def refuse(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return answer({"error": str(error.detail)}, error.status_code)
        return answer({"error": str(error)}, 409)

    routes = [
        Route("/", show),
        Route("/next", following, methods=["POST"]),
        Route("/row", one, methods=["POST"]),
        Route("/verdict", verdict, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refuse, TableError: refuse})
    return _LocalOnly(app, answer)


class _LocalOnly:
    """Refuses requests by another name of this machine, and from pages of other sites."""

    def __init__(self, app: Any, answer: Callable[[Any, int], Any]) -> None:
        self._app, self._answer = app, answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            host, origin = headers.get(b"host", ""), headers.get(b"origin")
            if _name(f"http://{host}") not in HOSTS or (origin is not None and origin != f"http://{host}"):
                refusal = self._answer({"error": "This page is for browsers of this machine only."}, 403)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _name(address: str) -> str | None:
    """
    >>> [_name(f"http://{host}") for host in ("localhost:80", "[::1]:80", "evil.example", "[", "")]
    ['localhost', '::1', 'evil.example', None, None]
    """
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _headers(page: str) -> dict[str, str]:
    """Headers by which a browser runs only the page's own script, and asks only this service."""
    found = [re.findall(f"<{name}>(.*?)</{name}>", page, re.S)[0] for name in ("script", "style")]
    script, style = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in found)
    policy = f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; "
    return {
        "Content-Security-Policy": policy
        + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
