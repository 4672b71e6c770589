"""The processes of a service: one port, several workers, and signals that let requests end."""

import errno
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from selfpaced.exceptions import TableError, need
from selfpaced.serving.settings import Settings

SECONDS_TO_LIVE = 10.0  # a worker that ends earlier is not started again
BACKLOG = 1024
# Python's 5 ms would pass at every step of an answer for which a thread that logs or counts has to give way.
SECONDS_OF_A_THREAD = 0.0005
FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def serve(settings: Settings, started: Callable[[str, str], None]) -> None:
    """Answer requests until a signal arrives. `started` gets the address and the version of the model."""
    settings.check()
    for module in ("fastapi", "prometheus_client", "uvicorn"):
        need(module, "serve", "selfpaced serve")
    run = _run if settings.workers == 1 else _run_workers
    with TemporaryDirectory(prefix="selfpaced-serve-") as folder, listening(settings.host, settings.port) as bound:
        host, port = bound.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        run(settings, Path(folder), bound, lambda version: started(address, version))


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound to a port; to any free one if it is 0."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows, two services would share the port
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except BaseException:
            bound.close()
            raise
        return bound
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            said = f"Port {port} of {host} is in use. Choose another one: --port 0 is any free port."
            raise TableError(said) from None
        raise TableError(f"{host} port {port} cannot be listened on: {error}.") from None


def _run(settings: Settings, folder: Path, bound: socket.socket, started: Callable[[str], None]) -> None:
    """One process. Imported here, because prometheus_client looks for its folder when it is imported."""
    gc.disable()  # to look for garbage among what is imported takes a third of the imports
    from selfpaced.serving.app import make_app

    _log_to_stderr()
    app: Any = make_app(settings, folder)
    gc.collect()
    gc.freeze()  # or else each full collection looks at all libraries again, and answers wait for 50 to 100 ms
    gc.enable()
    sys.setswitchinterval(SECONDS_OF_A_THREAD)
    run_app(app, bound, settings.seconds, lambda: started(app.version))


def run_app(app: Any, bound: socket.socket, seconds: float, started: Callable[[], None]) -> None:
    """Answer requests until a signal arrives. Those that are under way then have some more seconds."""
    import uvicorn

    config = uvicorn.Config(
        app,
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(seconds) + 1,
        backlog=BACKLOG,
    )
    bound.listen(BACKLOG)  # requests that arrive before the loop runs wait
    started()
    uvicorn.Server(config).run(sockets=[bound])


def _run_workers(settings: Settings, folder: Path, bound: socket.socket, started: Callable[[str], None]) -> None:
    """Several processes share a port, announced when all of them answer. One that ends is started again."""
    from selfpaced.serving.served import ModelSlot, Wanted

    version = ModelSlot(settings.model, Wanted(settings.threshold, settings.decide)).current.version
    os.environ[FOLDER] = str(folder)  # where the workers put their metrics together
    from prometheus_client.multiprocess import mark_process_dead

    context = multiprocessing.get_context("spawn")
    told, tell = context.Pipe(duplex=False)  # a message of each worker that answers requests

    def start() -> tuple[Any, float]:
        worker = context.Process(target=_work, args=(settings, folder, bound, tell))
        worker.start()
        return worker, time.monotonic()

    workers, n_told = [start() for _ in range(settings.workers)], 0
    try:
        while True:
            if told in wait([told, *(worker.sentinel for worker, _ in workers)]):
                told.recv()
                n_told += 1
                if n_told == settings.workers:
                    started(version)
            for at, (worker, began) in enumerate(workers):
                if worker.is_alive():
                    continue
                if time.monotonic() - began < SECONDS_TO_LIVE:
                    raise TableError(f"A worker ended soon after its start, with code {worker.exitcode}.")
                mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # its gauges count no more
                workers[at] = start()
    finally:
        for worker, _ in workers:
            worker.terminate()
        for worker, _ in workers:
            worker.join()
        del os.environ[FOLDER]


def _work(settings: Settings, folder: Path, bound: socket.socket, tell: Any) -> None:
    """A worker. It ends when the process that started it ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=follow, daemon=True).start()
    _run(settings, folder, bound, tell.send)


class _OneLine(logging.Formatter):
    """Messages in which line breaks and control characters, which a client may have sent, are escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        text = super().formatMessage(record)
        return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
