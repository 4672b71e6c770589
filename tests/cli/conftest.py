"""Tables as people have them: numbers, strings, dates, missing values, ids, constants."""

from shutil import copyfile

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from tests.cli.commands import CSV, MODEL, train_calibrated


@pytest.fixture(scope="session")
def mixed():
    """3,000 payments, 90 of them frauds, which prefer the web and the night."""
    X, y = make_fraud(n_rows=3000, n_frauds=90, n_features=4, random_state=0)
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 90 * 86400, len(y))), unit="s")
    rows = pd.DataFrame(X, columns=["amount", "balance", "age of account", "<b>risk</b>"])
    rows["channel"] = np.where(y & (rng.random(len(y)) < 0.5), "web", rng.choice(["web", "till", "phone"], len(y)))
    rows["when"] = when
    rows["abroad"] = rng.random(len(y)) < 0.3
    rows["currency"] = "EUR"
    rows["tx_id"] = rng.permutation(len(y)) + 1000
    rows["note"] = [f"payment {i:x} for you" for i in rng.permutation(len(y))]
    rows.loc[rng.random(len(y)) < 0.1, "balance"] = np.nan
    rows.loc[rng.random(len(y)) < 0.05, "channel"] = None
    return rows.assign(is_fraud=y)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that commands are called in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def payments(mixed, tmp_path_factory):
    """A folder with the payments and a model that was trained on them; tests copy from it."""
    folder = tmp_path_factory.mktemp("payments")
    mixed.to_csv(folder / CSV, index=False)
    command = train_calibrated(folder / CSV, "-o", folder / MODEL, "-q")
    assert main([str(argument) for argument in command]) == 0
    return folder


@pytest.fixture
def csv(folder, payments):
    copyfile(payments / CSV, folder / CSV)
    return CSV


@pytest.fixture
def run(capsys):
    """Run a command: its exit code, what it said, and what it complained of."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def trained(folder, payments, csv):
    """A model trained on the payments."""
    copyfile(payments / MODEL, folder / MODEL)
    return MODEL
