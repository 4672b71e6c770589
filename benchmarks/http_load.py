"""Load on an HTTP service of this machine, from a process of its own: `python benchmarks/http_load.py PORT PLAN`.

The plan is a JSON file: `path`, `bodies`, and either `rate` or `connections`. With a `rate`, requests are sent so many
times a second, whether earlier ones have been answered or not, and a latency starts when a request was due. With
`connections`, each sends its next request after the answer. The load ends after `requests` requests or `seconds`
seconds. Connections are kept alive. The result is one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Any

MOST_CONNECTIONS = 256
LONGEST_WAIT = 10.0  # seconds for all answers after the last request


class Connection(asyncio.Protocol):
    """One connection with at most one request under way."""

    def connection_made(self, transport: Any) -> None:
        self._transport, self._received, self.is_lost = transport, b"", False
        self._answer: asyncio.Future[int] | None = None

    def send(self, request: bytes) -> asyncio.Future[int]:
        """The status of the answer, later."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or self._answer is None:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(body) >= int(length or 0):
            self._received = b""
            self._answer.set_result(int(head[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("closed before the answer"))

    def close(self) -> None:
        self._transport.close()


class Load:
    def __init__(self, port: int, plan: dict[str, Any]) -> None:
        self._port, self._plan = port, plan
        self._requests = cycle([as_request(plan["path"], body) for body in plan["bodies"]])
        self._free: list[Connection] = []
        self._n_connections = 0
        self.latencies: list[float] = []
        self.statuses: Counter[str] = Counter()

    async def one(self, since: float) -> None:
        """Send one request, and note the time from `since` to its answer."""
        self._free = [connection for connection in self._free if not connection.is_lost]  # servers close idle ones
        try:
            connection = self._free.pop() if self._free else await self._connected()
            status = str(await connection.send(next(self._requests)))
            self._free.append(connection)
        except OSError as error:
            status = type(error).__name__
        self.latencies.append(time.perf_counter() - since)
        self.statuses[status] += 1

    async def _connected(self) -> Connection:
        if self._n_connections == MOST_CONNECTIONS:
            raise ConnectionError("too many connections were needed")
        self._n_connections += 1
        _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", self._port)
        return connection

    async def at_a_rate(self) -> None:
        start, rate = time.perf_counter(), self._plan["rate"]
        under_way = set()
        for number in range(min(self._plan["requests"], int(rate * self._plan["seconds"]))):
            due = start + number / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            under_way.add(asyncio.ensure_future(self.one(due)))
        _, late = await asyncio.wait(under_way, timeout=LONGEST_WAIT)
        self.statuses["no answer"] += len(late)

    async def one_after_the_other(self) -> None:
        end = time.perf_counter() + self._plan["seconds"]
        left = iter(range(self._plan["requests"]))

        async def client() -> None:
            for _ in left:
                if (now := time.perf_counter()) > end:
                    return
                await self.one(now)

        await asyncio.gather(*(client() for _ in range(self._plan["connections"])))

    async def run(self) -> dict[str, Any]:
        start = time.perf_counter()
        await (self.at_a_rate() if "rate" in self._plan else self.one_after_the_other())
        seconds = time.perf_counter() - start
        for connection in self._free:
            connection.close()
        return {"seconds": seconds, "latencies": self.latencies, "statuses": dict(+self.statuses)}


def as_request(path: str, body: str) -> bytes:
    content = body.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


if __name__ == "__main__":
    plan = json.loads(Path(sys.argv[2]).read_text())
    print(json.dumps(asyncio.run(Load(int(sys.argv[1]), plan).run())))
