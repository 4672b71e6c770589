"""Payments, models that were trained on them, and a service of one of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from tests.serving.running import Served


def command(*arguments):
    assert main([str(argument) for argument in arguments]) == 0


@pytest.fixture(scope="session")
def payments():
    """2,000 payments, 80 of them frauds: numbers, a whole number, a category, a flag, a time, missing values."""
    X, y = make_fraud(n_rows=2000, n_frauds=80, n_features=4, random_state=0)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(X, columns=["amount", "balance", "age", "<b>risk</b>"])
    rows["items"] = rng.integers(0, 200, len(y))
    rows["channel"] = np.where(y & (rng.random(len(y)) < 0.5), "web", rng.choice(["web", "till", "phone"], len(y)))
    rows["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(90 * 86400)[: len(y)], unit="s")
    rows["abroad"] = rng.random(len(y)) < 0.3
    rows["tx"] = [f"t{number}" for number in range(len(y))]
    rows.loc[rng.random(len(y)) < 0.1, "balance"] = np.nan
    rows.loc[rng.random(len(y)) < 0.05, "channel"] = None
    return rows.assign(is_fraud=y)


@pytest.fixture(scope="session")
def folder(payments, tmp_path_factory):
    """A folder with the payments, two models, and the scores that `predict` gives the payments."""
    folder = tmp_path_factory.mktemp("served")
    data = folder / "payments.parquet"
    payments.to_parquet(data)
    learned = ("--target", "is_fraud", "--base", "lightgbm", "--exclude", "tx", "-q")
    for members, name in ((3, "model.skops"), (2, "other.skops")):
        command("train", data, *learned, "--members", members, "-o", folder / name)
    command("predict", folder / "model.skops", data, "-o", folder / "scores.parquet", "--threshold", "best", "-q")
    return folder


@pytest.fixture(scope="session")
def predicted(folder):
    return pd.read_parquet(folder / "scores.parquet")


@pytest.fixture(scope="session")
def rows(payments):
    """The payments as a client sends them in JSON."""
    frame = payments.drop(columns="is_fraud").astype({"when": str}).astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


@pytest.fixture(scope="session")
def as_arrow(payments):
    """Bytes of an Arrow stream with some of the payments."""

    def write(n_rows, **changed):
        table = pa.Table.from_pandas(payments[:n_rows].assign(**changed), preserve_index=False)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()

    return write


@pytest.fixture(scope="module")
def service(folder, tmp_path_factory):
    own = tmp_path_factory.mktemp("service")
    model = own / "model.skops"
    model.write_bytes((folder / "model.skops").read_bytes())
    options = ("--shadow", folder / "other.skops", "--log", own / "log", "--log-also", "tx", "--most-rows", 2000)
    served = Served(model, *options, "--most-bytes", 1_000_000, "--seconds", 2, "--most-requests", 40, folder=own)
    served.model, served.folder = model, own
    yield served
    served.end()
