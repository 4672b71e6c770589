"""Claim: the service answers 300 rows a second by one worker, a LightGBM ensemble's with a p99 below 10 ms.

    python benchmarks/serving.py [--seconds 10] [--requests 5000] [--rate 300]

A LightGBM ensemble and the default blend are trained on generated payments with 30 features and served by `selfpaced
serve` with one worker, with and without a log. A second process sends single rows over the loopback interface: first as
fast as 16 connections are answered (throughput), then at a fixed rate, whether earlier requests have been answered or
not. Latencies of the second part start at the time at which a request was due. "processor ms" is what the server spent
on a request of it: other programs of the machine change it less than the latencies. An endpoint of the same framework
that reads the body and answers a constant is measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import psutil
from lightgbm import LGBMClassifier

from record import save, significant, versions_of
from selfpaced import AutoSelfPacedClassifier, SelfPacedEnsembleClassifier
from selfpaced.datasets import make_fraud
from selfpaced.monitoring import make_reference
from selfpaced.persistence import save_model
from text_table import text_table

sys.path.append(str(Path(__file__).parent.parent))  # the free port is that of the tests
from tests.servers import free_port

PACKAGES = ("selfpaced", "numpy", "lightgbm", "fastapi", "uvicorn")
CONNECTIONS, N_BODIES, SECONDS_TO_START = 16, 500, 120
HEADER = ["endpoint", "requests/s", "of empty", "processor ms", "p50 ms", "p99 ms", "max ms", "answers"]
EMPTY = """
import sys
import uvicorn
from fastapi import FastAPI, Request, Response

async def constant(request: Request) -> Response:
    await request.body()
    return Response(b'{"probability": 0.5}', media_type="application/json")

async def read(row: dict[str, float]) -> dict[str, float]:
    return {"probability": 0.5}

app = FastAPI()
if sys.argv[2] == "constant":
    app.add_route("/score", constant, ["POST"])  # as the service adds its own
else:
    app.post("/score")(read)
app.add_route("/health", constant, ["GET"])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")
"""


def trained(folder: Path, n_rows: int) -> tuple[dict[str, Path], list[str]]:
    """The model files by what they are called, and rows to send."""
    X, y = make_fraud(n_rows=2 * n_rows, n_frauds=n_rows // 100, n_features=30, random_state=0)
    rows = pd.DataFrame(X, columns=[f"V{number}" for number in range(30)])
    lightgbm = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
    models = {
        "LightGBM ensemble": SelfPacedEnsembleClassifier(lightgbm, 10, random_state=0, calibration="isotonic"),
        "default blend": AutoSelfPacedClassifier(random_state=0),
    }
    paths, is_new = {}, np.random.default_rng(0).random(len(rows)) < 0.5
    for name, model in models.items():
        paths[name] = folder / f"{name.split()[0].lower()}.skops"
        model.fit(rows[~is_new], y[~is_new])
        # As `selfpaced train` saves it: the service counts the drift of every row.
        reference = make_reference(rows[is_new], model.predict_proba(rows[is_new])[:, 1], threshold=0.5)
        save_model(model, paths[name], reference=reference)
    some = np.random.default_rng(0).choice(len(rows), N_BODIES, replace=False)
    return paths, [json.dumps(row) for row in rows.iloc[some].to_dict("records")]


@contextmanager
def running(command: Sequence[Any], port: int) -> Iterator[psutil.Process]:
    """A server, from its first answer to the end of the block."""
    process = subprocess.Popen([sys.executable, *map(str, command)])
    try:
        end = time.monotonic() + SECONDS_TO_START
        while not answers(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"The server did not start; its exit code is {process.poll()}.")
            time.sleep(0.1)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
    except OSError:
        return False
    return True


def measured(
    server: psutil.Process, port: int, bodies: list[str], folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    common = {"path": "/score", "bodies": bodies, "seconds": options.seconds}
    load(port, common | {"connections": CONNECTIONS, "requests": 500}, folder)  # what is prepared once
    full = load(port, common | {"connections": CONNECTIONS, "requests": options.requests}, folder)
    before = processor_seconds(server)
    steady = load(port, common | {"rate": options.rate, "requests": int(options.rate * options.seconds)}, folder)
    busy = (processor_seconds(server) - before) / len(steady["latencies"])
    milliseconds = 1e3 * np.array(steady["latencies"])
    return {
        "throughput": significant(len(full["latencies"]) / full["seconds"], 3),
        "processor_ms": significant(1e3 * busy, 3),
        "p50_ms": significant(float(np.percentile(milliseconds, 50)), 3),
        "p99_ms": significant(float(np.percentile(milliseconds, 99)), 3),
        "max_ms": significant(float(milliseconds.max()), 3),
        "answers": {status: full["statuses"].get(status, 0) + n for status, n in steady["statuses"].items()},
    }


def processor_seconds(server: psutil.Process) -> float:
    spent = server.cpu_times()
    return float(spent.user + spent.system)


def load(port: int, plan: dict[str, Any], folder: Path) -> Any:
    """Send requests from a second process."""
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    client = Path(__file__).with_name("http_load.py")
    return json.loads(subprocess.run([sys.executable, client, str(port), file], check=True, capture_output=True).stdout)


def commands(models: dict[str, Path], folder: Path) -> Iterator[tuple[str, list[Any], int]]:
    for name, answer in (("empty endpoint", "constant"), ("empty endpoint that reads the row", "read")):
        port = free_port()
        yield name, ["-c", EMPTY, port, answer], port
    for name, path in models.items():
        port = free_port()
        yield name, ["-m", "selfpaced", "serve", path, "--port", port], port
    name, path = next(iter(models.items()))
    port = free_port()
    yield f"{name}, with a log", ["-m", "selfpaced", "serve", path, "--port", port, "--log", folder / "log"], port


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="the longest time of each part")
    parser.add_argument("--requests", type=int, default=5_000, help="the most requests of the first part")
    parser.add_argument("--rate", type=float, default=300, help="requests a second in the second part")
    parser.add_argument("--rows", type=int, default=20_000, help="training rows")
    options = parser.parse_args()
    found = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        models, bodies = trained(folder, options.rows)
        for endpoint, command, port in commands(models, folder):
            with running(command, port) as server:
                found[endpoint] = measured(server, port, bodies, folder, options)
    empty = found["empty endpoint"]["throughput"]
    rows = [
        [endpoint, f"{one['throughput']:,.0f}", f"{one['throughput'] / empty:.2f}"]
        + [f"{one[figure]:.2f}" for figure in ("processor_ms", "p50_ms", "p99_ms", "max_ms")]
        + [", ".join(f"{n:,} of {status}" for status, n in one["answers"].items())]
        for endpoint, one in found.items()
    ]
    print(text_table(HEADER, rows))
    facts = {"rate": options.rate, "connections": CONNECTIONS, "endpoints": found}
    print(save("serving", facts, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
