"""`selfpaced serve`: answer requests for scores over HTTP."""

import os
from argparse import Namespace
from pathlib import Path

from selfpaced.cli.commands.predict import threshold_of
from selfpaced.cli.output import Talk
from selfpaced.cli.request import request_from
from selfpaced.exceptions import TableError
from selfpaced.serving import Settings, serve

TOKEN = "SELFPACED_TOKEN"
SHORTEST_TOKEN = 16


def run(options: Namespace) -> None:
    talk, threshold = Talk(options), threshold_of(options.threshold, options.model)
    # Each new model has its own best threshold.
    threshold = None if options.threshold == "best" and options.decide is None else threshold
    given = {name: getattr(options, name) for name in ("model", "shadow", "state", "log")}
    paths = {name: None if path is None else Path(path) for name, path in given.items()}
    settings = request_from(Settings, options, token=token_of(options), threshold=threshold, **paths)

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
