"""Servers that tests start on this machine, each in a process of its own: S3 and PostgreSQL."""

from __future__ import annotations

import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

from pyarrow import fs

from tests.requirements import required_program
from tools.system_packages import POSTGRESQL

SECONDS_TO_START = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"No server answers on port {port}; its exit code is {process.poll()}.")


class S3Server:
    """A server that speaks S3, on a port that stays the same after `stop` and `start`. It forgets what it held."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process = None
        self.start()

    @property
    def environment(self) -> dict[str, str]:
        """The usual variables, by which pyarrow, deltalake and others find the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port, self.process)
        # The first request takes seconds, more than the usual limit of three on a busy machine.
        self.filesystem(allow_bucket_creation=True, request_timeout=SECONDS_TO_START).create_dir("bucket")

    def stop(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def filesystem(self, port: int | None = None, **options) -> fs.S3FileSystem:
        """A file system that gives up at once: the tests are about what this package does then."""
        return fs.S3FileSystem(
            access_key="test",
            secret_key="test",
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{port or self.port}",
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
            **options,
        )


class _Forwarder(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the S3 server, unless it is told to misbehave."""

    protocol_version = "HTTP/1.1"
    wbufsize = 2**16  # header and body in one packet: the client would wait 40 ms for the second one

    def do_GET(self):
        self.server.n_requests += 1
        self.server.paths.append(self.path)
        status = self.server.misbehave(self.server.n_requests)
        if status == "cut":
            self.close_connection = True
            return
        if status == "late":
            time.sleep(self.server.seconds_late)
        elif status is not None:
            code = {403: "AccessDenied", 503: "SlowDown"}[status]
            self._answer(status, f"<Error><Code>{code}</Code></Error>".encode(), {"Content-Type": "application/xml"})
            return
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.behind}{self.path}", method=self.command)
        for name, value in self.headers.items():
            if name.lower() not in ("connection",):
                request.add_header(name, value)
        try:
            with urllib.request.urlopen(request) as answer:
                self._answer(answer.status, answer.read(), dict(answer.headers))
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.read(), dict(error.headers))

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, status, body, headers):
        self.server.n_bytes += len(body)
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "content-length", "transfer-encoding", "server", "date"):
                self.send_header(name, value)
        length = headers.get("Content-Length", len(body)) if self.command == "HEAD" else len(body)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *given):
        pass


class Proxy(http.server.ThreadingHTTPServer):
    """A proxy that counts requests and bytes, and misbehaves if it is told to.

    Attributes
    ----------
    misbehave : from the number of a request to None, to "cut" the connection, to answer "late", or to the status to
        answer with.
    seconds_late : how late a late answer is.
    """

    def __init__(self, behind: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forwarder)
        self.behind, self.n_requests, self.n_bytes, self.paths = behind, 0, 0, []
        self.misbehave = lambda number: None
        self.seconds_late = 0.1
        threading.Thread(target=self.serve_forever, daemon=True).start()


class PostgresServer:
    """A PostgreSQL server with an empty database. It runs as an unprivileged user: it refuses to run as root."""

    def __init__(self) -> None:
        server = Path(required_program(POSTGRESQL)).resolve()
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="selfpaced-postgres-"))
        self._folder.chmod(0o755)
        data = self._folder / "data"
        data.mkdir(0o700)
        as_user = {}
        if os.geteuid() == 0:
            import pwd  # which Windows lacks

            user = pwd.getpwnam("postgres")
            os.chown(data, user.pw_uid, user.pw_gid)
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}
        initdb = [str(server.with_name("initdb")), "-D", str(data), "-U", "tester", "--auth=trust", "--no-sync"]
        subprocess.run([*initdb, "--encoding=UTF8", "--locale=C"], check=True, capture_output=True, **as_user)
        command = [str(server), "-D", str(data), "-p", str(self.port), "-h", "127.0.0.1", "-k", "", "-c", "fsync=off"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)
        wait_for(self.port, self._process)

    @property
    def url(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def connect(self):
        """A connection of ADBC, as soon as the server has finished starting."""
        from adbc_driver_postgresql import dbapi

        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                return dbapi.connect(self.url)
            except dbapi.Error:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
