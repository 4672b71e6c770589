"""Scores of payments, some of them alerts, and the payments themselves."""

import numpy as np
import pandas as pd
import pytest

from tests.reviewing.running import InThread

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202eü"


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """A folder to work in, with 40 scored payments, of which the best eight are alerts; one id means harm."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = [f"t{number}" for number in range(40)]
    ids[3] = HOSTILE
    score = np.sort(rng.random(40))[::-1].round(4)
    rows = pd.DataFrame({"tx": ids, "score": score, "alert": np.arange(40) < 8})
    rows["reason_1"] = np.where(rows["alert"], HOSTILE, None)
    rows["reason_1_column"] = np.where(rows["alert"], "amount", None)
    rows["reason_1_log_odds"] = np.where(rows["alert"], 1.5, np.nan)
    rows.to_parquet(tmp_path / "scores.parquet")
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(40), unit="h")
    payments = pd.DataFrame({"tx": ids, "when": when, "card": np.arange(40) % 4, "channel": [HOSTILE, None] * 20})
    payments.assign(is_fraud=np.arange(40) < 6).to_parquet(tmp_path / "payments.parquet")
    return tmp_path


@pytest.fixture
def reviewing(scores):
    """Start reviews of the scores; they are ended after the test."""
    started = []

    def start(*options):
        started.append(InThread("scores.parquet", "-o", "verdicts.csv", *options))
        return started[-1]

    yield start
    for one in started:
        one.end()
