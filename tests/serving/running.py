"""A service in a process of its own, on a free port of this machine, and requests to it."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

TOKEN = "a-token-of-tests-0123456789"
JSON = "application/json"


class Served:
    """`selfpaced serve` with some options. Requests have the token of the tests."""

    def __init__(self, *options, folder):
        command = [sys.executable, "-m", "selfpaced", "serve", *map(str, options), "--port", "0", "--json"]
        environment = {**os.environ, "SELFPACED_TOKEN": TOKEN}
        with (folder / "stderr.txt").open("w") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True)
        self.stderr = folder / "stderr.txt"
        said = ""
        while not said.endswith("}\n"):  # the JSON object
            line = self.process.stdout.readline()
            if not line:
                self.end()
                raise AssertionError(self.stderr.read_text())
            said += line
        self.facts = json.loads(said)
        self.port = int(self.facts["address"].rpartition(":")[2])

    def until(self, is_so, seconds=20):
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, self.stderr.read_text()
            time.sleep(0.05)

    def request(self, method, path, body=None, content_type=JSON, **headers):
        """The status, the headers and the body of an answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {TOKEN}", **({"Content-Type": content_type} if content_type else {}), **named}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path, **headers):
        status, _, content = self.request("GET", path, **headers)
        return status, content.decode()

    def post(self, path, rows, **how):
        """The status and the answer for rows, or for a body."""
        body = rows if isinstance(rows, bytes) else json.dumps(rows).encode()
        status, _, content = self.request("POST", path, body, **how)
        return status, json.loads(content)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        return code


def result_of(coroutine):
    """What a coroutine returns, in a thread of its own: a browser of other tests may have a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
