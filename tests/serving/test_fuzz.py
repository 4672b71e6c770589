"""Malformed requests: none is a failure of the service, and its log stays readable."""

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection, HTTPException

import pandas as pd
import pytest
from lightgbm import LGBMClassifier

from selfpaced import SelfPacedEnsembleClassifier, open_table
from selfpaced.persistence import load_model, save_model
from tests.servers import free_port, wait_for
from tests.serving.malformed import malformed
from tests.serving.rows import mixed_rows

N_REQUESTS = int(os.environ.get("SELFPACED_FUZZ_REQUESTS", "400"))  # 10,000 take two minutes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with numbers, strings, dates and booleans, and what a service of it answered and logged."""
    folder = tmp_path_factory.mktemp("served")
    mixed_rows().to_parquet(folder / "rows.parquet")
    base = LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    model = SelfPacedEnsembleClassifier(base, 2, random_state=0)
    save_model(model.fit_table(open_table(folder / "rows.parquet", target="fraud")), folder / "model.skops")
    port = free_port()
    command = [sys.executable, "-m", "selfpaced", "serve", folder / "model.skops", "--port", str(port)]
    with subprocess.Popen([*command, "--log", folder / "log"]) as process:
        wait_for(port, process)
        found = answers(port)
        process.terminate()
    (folder / "answers.json").write_text(json.dumps(found))
    return folder


def answers(port):
    """How many requests got each status, and the failures by the seed of the request."""
    statuses, failures, n_rows = Counter(), {}, 0
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/openapi.json")
        document = json.load(connection.getresponse())
        for seed in range(N_REQUESTS):
            method, path, headers, body = malformed(document, seed)
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                said = answer.read()
            except (OSError, HTTPException) as error:
                failures[seed] = repr(error)
                connection.close()
                continue
            statuses[str(answer.status)] += 1
            if answer.status >= 500 or (answer.status >= 400 and method == "POST" and not said):
                failures[seed] = answer.status, said[:200].decode()
            if answer.status == 200:
                n_rows += len(json.loads(said).get("probabilities", [1]))
    return {"statuses": statuses, "failures": failures, "n_rows": n_rows}


@pytest.fixture
def answered(folder):
    return json.loads((folder / "answers.json").read_text())


def test_no_malformed_request_is_a_failure_of_the_service(answered):
    assert answered["failures"] == {}
    assert answered["statuses"].keys() >= {"200", "400", "415", "422"}


@pytest.mark.filterwarnings("ignore::selfpaced.exceptions.NewCategoryWarning")
def test_the_log_of_malformed_requests_has_every_answered_row_with_its_probability(answered, folder):
    output = folder / "again.parquet"
    load_model(folder / "model.skops").write_predictions(folder / "log", output, keep=["served_probability"])
    found = pd.read_parquet(output)
    assert len(found) == answered["n_rows"]
    assert (found["score"] == found["served_probability"]).all()
