"""`selfpaced serve`: answer requests for scores over HTTP."""

import os
from argparse import Namespace
from pathlib import Path

from selfpaced.cli.commands.predict import threshold_of
from selfpaced.cli.output import Talk
from selfpaced.exceptions import TableError
from selfpaced.serving import Settings, serve

TOKEN = "SELFPACED_TOKEN"
SHORTEST_TOKEN = 16


def run(options: Namespace) -> None:
    talk, threshold = Talk(options), threshold_of(options.threshold, options.model)
    settings = Settings(
        model=Path(options.model),
        host=options.host,
        port=options.port,
        workers=options.workers,
        token=token_of(options),
        # Each new model has its own best threshold.
        threshold=None if options.threshold == "best" and options.decide is None else threshold,
        decide=options.decide,
        shadow=_path(options.shadow),
        state=_path(options.state),
        log=_path(options.log),
        log_also=_names(options.log_also),
        log_without=_names(options.log_without),
        most_bytes=options.most_bytes,
        most_rows=options.most_rows,
        most_requests=options.most_requests,
        seconds=options.seconds,
    )

    def started(address: str, version: str) -> None:
        talk.say(f"{options.model}, version {version}, answers at {address}. {address}/openapi.json describes it.")
        talk.result({"address": address, "model": options.model, "version": version})

    serve(settings, started)


def token_of(options: Namespace) -> str | None:
    """The token that requests must have, from a file or from the environment; None if there is none."""
    token = os.environ.get(TOKEN)
    if options.token_file is not None:
        token = Path(options.token_file).read_text().strip()
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        where = TOKEN if options.token_file is None else options.token_file
        raise TableError(
            f"The token of {where} must have at least {SHORTEST_TOKEN} printable ASCII characters. Make one: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]
