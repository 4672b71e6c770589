"""A service of a model with a history: rows are scored with what their entities did before, and then taken in."""

import json
import signal

import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_transactions
from tests.serving.conftest import command
from tests.serving.running import JSON, Served

pytestmark = pytest.mark.slow  # the training takes two seconds


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with a state of 2,400 payments, the next 40 payments, and the scores that `predict` gives these."""
    folder = tmp_path_factory.mktemp("history")
    payments, is_fraud = make_transactions(n_customers=40, n_terminals=20, days=60, random_state=0)
    table = payments.assign(is_fraud=is_fraud, when=payments["when"].astype("datetime64[us]"))
    past, later = table[:2400], table[2400:2440].drop(columns="is_fraud")
    past.to_parquet(folder / "past.parquet")
    later.to_parquet(folder / "later.parquet")
    later[:0].to_parquet(folder / "none.parquet")
    model = folder / "model.skops"
    learned = ("--target", "is_fraud", "--base", "lightgbm", "--members", 2, "--time-column", "when", "--delay", "2d")
    history = ("--history", "customer,terminal", "--amount", "amount", "--exclude", "transaction")
    command("train", folder / "past.parquet", *learned, *history, "-o", model, "-q")
    given = ("--past", folder / "past.parquet")
    command("predict", model, folder / "later.parquet", *given, "-o", folder / "scores.parquet", "-q")
    command(
        "predict", model, folder / "none.parquet", *given, "--state", folder / "state", "--id", "transaction",
        "-o", folder / "scores_of_none.parquet", "-q",
    )  # fmt: skip
    served = Served(model, "--state", folder / "state", "--decide", "p*amount>5", folder=folder)
    served.rows = later.astype({"when": str}).to_dict("records")
    served.scores = pd.read_parquet(folder / "scores.parquet")["score"].to_numpy()
    yield served
    served.end()


def test_rows_are_scored_with_their_history_and_taken_in(served):
    """Single rows, and then a batch, have the scores that `predict` gives all of them in one table."""
    found = [served.post("/score", row)[1]["probability"] for row in served.rows[:20]]
    found += served.post("/score/batch", served.rows[20:])[1]["probabilities"]
    assert found == served.scores.tolist()


def test_a_row_that_is_sent_again_is_not_counted_twice(served):
    first, second = (served.post("/score", served.rows[-1])[1]["probability"] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("amount", [0.01, 1e6])
def test_the_decision_reads_the_amount_of_the_row(served, amount):
    answer = served.post("/score", {**served.rows[0], "amount": amount})[1]
    assert answer["alert"] == (answer["probability"] * amount > 5)


@pytest.mark.parametrize("amount", ["5", None])
def test_a_row_without_its_cost_is_refused(served, amount):
    status, answer = served.post("/score", {**served.rows[0], "amount": amount})
    assert status == 422
    assert "The rule 'p*amount>5' reads column 'amount'" in answer["error"]


def test_a_row_without_its_entity_column_is_refused(served):
    row = {name: value for name, value in served.rows[0].items() if name != "customer"}
    status, answer = served.post("/score", row)
    assert status == 422
    assert "'customer'" in answer["error"]


def test_the_example_of_the_openapi_document_has_a_date_where_the_history_reads_one(served):
    document = json.loads(served.get("/openapi.json")[1])
    example = document["paths"]["/score"]["post"]["requestBody"]["content"][JSON]["example"]
    assert example["when"] == "2024-01-01T12:00:00"


def test_a_model_with_a_history_needs_a_state(served, capsys):
    model = served.facts["model"]
    assert main(["serve", model, "--port", "0"]) == 2
    assert "it needs a state: --state FOLDER" in capsys.readouterr().err


def test_one_process_keeps_the_state(served, capsys):
    assert main(["serve", served.facts["model"], "--state", "folder", "--workers", "2"]) == 2
    assert "One process keeps the state" in capsys.readouterr().err


def test_ctrl_c_ends_the_service_as_it_ends_other_commands(served):
    """The last test of this service."""
    assert served.end(signal.SIGINT) == 130
    assert "Traceback" not in served.stderr.read_text()
