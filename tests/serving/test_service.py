"""`selfpaced serve`, as a client sees it."""

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pandas as pd
import pytest
from fastapi.openapi.models import OpenAPI
from prometheus_client.parser import text_string_to_metric_families

from selfpaced.cli import main
from selfpaced.persistence import load_model, save_model
from selfpaced.serving.bodies import RefusedError
from selfpaced.serving.served import ModelSlot, Wanted, load_served
from tests.serving.running import JSON, TOKEN

ARROW = "application/vnd.apache.arrow.stream"


def metrics(service):
    """The values of the metrics, by name and labels."""
    status, text = service.get("/metrics")
    families = text_string_to_metric_families(text if status == 200 else "")
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_a_row_has_the_probability_and_the_alert_that_predict_gives_it(service, rows, predicted):
    status, answer = service.post("/score", rows[3])
    assert (status, answer["probability"], answer["alert"]) == (200, predicted.score[3], predicted.alert[3])
    assert answer["model"] == service.facts["version"]


def test_rows_that_arrive_together_have_the_probabilities_that_they_have_alone(service, rows, predicted):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda row: service.post("/score", row)[1]["probability"], rows[:64]))
    assert found == predicted.score[:64].tolist()


def test_a_batch_of_json_has_the_probabilities_of_predict(service, rows, predicted):
    status, answer = service.post("/score/batch", rows)
    assert (status, answer["probabilities"], answer["alerts"]) == (
        200,
        predicted.score.tolist(),
        predicted.alert.tolist(),
    )


def test_a_batch_of_arrow_has_the_probabilities_of_predict(service, as_arrow, predicted):
    status, answer = service.post("/score/batch", as_arrow(2000), content_type=ARROW)
    assert (status, answer["probabilities"], answer["alerts"]) == (
        200,
        predicted.score.tolist(),
        predicted.alert.tolist(),
    )


def test_the_answer_has_the_request_id_of_the_client(service, rows):
    body = json.dumps(rows[0]).encode()
    _, headers, content = service.request("POST", "/score", body, X_Request_ID="order-7")
    assert headers["X-Request-ID"] == json.loads(content)["request_id"] == "order-7"


def test_a_request_id_that_could_break_a_log_is_replaced(service, rows):
    _, answer = service.post("/score", rows[0], X_Request_ID="a b")
    assert re.fullmatch("[0-9a-f]{32}", answer["request_id"])


def without(row, name):
    return {key: value for key, value in row.items() if key != name}


BAD = {
    "a missing column": (lambda row: without(row, "amount"), 422, "no value for 'amount'"),
    "a string in the place of a number": (lambda row: {**row, "amount": "much"}, 422, "'amount'"),
    "a number in the place of a string": (lambda row: {**row, "channel": 7}, 422, "'channel'"),
    "a list as a value": (lambda row: {**row, "channel": ["web"]}, 422, "'channel'"),
    "an object as a value": (lambda row: {**row, "amount": {"a": 1}}, 422, "'amount'"),
    "a fraction in a column of whole numbers": (lambda row: {**row, "items": 1.5}, 422, "'items'"),
    "a whole number that is too large": (lambda row: {**row, "items": 10**400}, 422, "'items'"),
    "text that is not a time": (lambda row: {**row, "when": "yesterday"}, 422, "'when'"),
    "a lone surrogate": (lambda row: {**row, "amount": "\ud800"}, 422, "not Unicode text"),
    "a list in the place of a row": (lambda row: [row], 422, "got a list"),
    "a number in the place of a row": (lambda row: 7, 422, "got a number"),
    "a number beyond floats": (
        lambda row: body(row).replace(b'"items": ', b'"amount2": 1, "items": 1e999, "i": '),
        422,
        "",
    ),
    "NaN": (lambda row: body({**row, "amount": float("nan")}), 400, "NaN, which JSON does not have"),
    "infinity": (lambda row: body({**row, "amount": float("inf")}), 400, "Infinity, which JSON does not have"),
    "a key twice": (lambda row: b'{"amount": 1, "amount": 2}', 400, "the key 'amount' twice"),
    "deep JSON": (lambda row: b"[" * 100_000, 400, "nested too deeply"),
    "a number of 5,000 digits": (lambda row: b'{"amount": ' + b"9" * 5000 + b"}", 400, "thousands of digits"),
    "invalid UTF-8": (lambda row: b'{"amount": "\xff"}', 400, "not UTF-8"),
    "half of a row": (lambda row: body(row)[:-9], 400, "not JSON"),
    "no body": (lambda row: b"", 400, "not JSON"),
    "a byte order mark": (lambda row: b"\xef\xbb\xbf" + body(row), 400, "starts with a byte order mark"),
    "a body that is too large": (lambda row: b" " * 1_000_001, 413, "more than 1,000,000 bytes"),
}


def body(row):
    return json.dumps(row).encode()


@pytest.mark.parametrize("what", BAD)
def test_the_service_refuses_in_one_sentence(service, rows, what):
    make, status, said = BAD[what]
    found, answer = service.post("/score", make(rows[0]))
    assert found == status
    assert said in answer["error"]
    assert not re.search(r"Traceback|\n", answer["error"])


MISFITS = {
    "amount": ("much", "a number of the type double"),
    "items": (1.5, "a number of the type int64"),
    "channel": (7, "a string"),
    "abroad": (2, "true or false"),
    "when": ("yesterday", "a time such as 2024-01-31T23:59Z"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_value_that_does_not_fit_its_column_is_shown_with_what_would(service, rows, name):
    given, wanted = MISFITS[name]
    said = f"The value of {name!r} must be {wanted}, or null; got {json.dumps(given)}."
    status, answer = service.post("/score", {**rows[0], name: given})
    assert (status, answer["error"]) == (422, said)
    status, answer = service.post("/score/batch", [rows[0], {**rows[1], name: given}])
    assert (status, answer["error"]) == (422, f"Row 1 of the batch: {said}")


@pytest.mark.parametrize("content_type", ["text/plain", "application/json; charset=latin-1", None, ARROW])
def test_another_content_type_is_refused(service, rows, content_type):
    status, answer = service.post("/score", rows[0], content_type=content_type)
    assert status == 415
    assert "content type" in answer["error"]


def test_a_compressed_body_is_refused(service, rows):
    assert service.post("/score", rows[0], Content_Encoding="gzip")[0] == 415


def test_a_misspelled_column_is_suggested(service, rows):
    row = {**without(rows[0], "balance"), "balanse": 1}
    assert "Did you mean 'balanse'?" in service.post("/score", row)[1]["error"]


def test_further_columns_are_ignored_as_predict_ignores_them(service, rows, predicted):
    status, answer = service.post("/score", {**rows[0], "colour": "red", "nested": [{}]})
    assert (status, answer["probability"]) == (200, predicted.score[0])


def test_a_bad_row_of_a_batch_is_named(service, rows):
    status, answer = service.post("/score/batch", [rows[0], {**rows[1], "amount": "much"}])
    assert status == 422
    assert answer["error"].startswith("Row 1 of the batch: ")


@pytest.mark.parametrize(
    ("sent", "status"), [([], 422), ({}, 422), ([7], 422), ([{}] * 2001, 413)], ids=["none", "object", "number", "many"]
)
def test_a_wrong_batch_is_refused(service, sent, status):
    assert service.post("/score/batch", sent)[0] == status


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"\xff\xff\xff\xff\x10\x00\x00\x00" + b"a" * 40])
def test_bytes_that_are_not_an_arrow_stream_are_refused(service, content):
    status, answer = service.post("/score/batch", content, content_type=ARROW)
    assert status == 400
    assert "not an Arrow IPC stream" in answer["error"]


WRONG_COLUMNS = {
    "text": {"amount": "much"},
    "infinity": {"amount": float("inf")},
    "a fraction": {"items": 1.5},
    "numbers": {"channel": 7},
}


@pytest.mark.parametrize("what", WRONG_COLUMNS)
def test_the_service_refuses_arrow_in_the_words_of_predict(service, folder, payments, as_arrow, tmp_path, capsys, what):
    changed = WRONG_COLUMNS[what]
    file = tmp_path / "rows.parquet"
    payments[:5].assign(**changed).to_parquet(file)
    assert main(["predict", str(folder / "model.skops"), str(file), "-o", str(tmp_path / "scores.csv"), "-q"]) == 2
    said = capsys.readouterr().err.removeprefix("selfpaced: error: ").strip().replace(str(file), "the request")
    status, answer = service.post("/score/batch", as_arrow(5, **changed), content_type=ARROW)
    assert (status, answer["error"]) == (422, said)


@pytest.mark.parametrize("path", ["/metrics", "/model", "/openapi.json", "/none"])
@pytest.mark.parametrize("token", ["", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_a_request_without_the_token_is_refused(service, path, token):
    status, headers, content = service.request("GET", path, Authorization=token)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert TOKEN not in content.decode()


def test_health_and_readiness_need_no_token(service):
    assert [service.get(path, Authorization="")[0] for path in ("/health", "/ready")] == [200, 200]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/score", 405), ("POST", "/health", 405), ("GET", "/", 404)]
)
def test_other_methods_and_paths_are_refused_in_json(service, method, path, status):
    found, _, content = service.request(method, path)
    assert found == status
    assert json.loads(content)["error"]


@pytest.mark.parametrize("asked", ["-1", "101", "two", "1e1"])
def test_a_wrong_number_of_reasons_is_refused(service, rows, asked):
    assert service.post(f"/score?reasons={asked}", rows[0])[0] == 422


def test_the_openapi_document_has_an_example_that_scores(service):
    document = json.loads(service.get("/openapi.json")[1])
    OpenAPI.model_validate(document)
    assert {"/score", "/score/batch", "/health", "/ready", "/model", "/metrics"} <= document["paths"].keys()
    example = document["paths"]["/score"]["post"]["requestBody"]["content"][JSON]["example"]
    row = document["components"]["schemas"]["Row"]
    assert set(row["required"]) == example.keys() == row["properties"].keys()
    assert service.post("/score", example)[0] == 200


def test_the_card_of_the_model_is_shown(service):
    shown = json.loads(service.get("/model")[1])
    assert shown["version"] == service.facts["version"]
    assert shown["card"]["target"] == "is_fraud"


def test_the_metrics_count_rows_alerts_refusals_and_new_categories(service, rows):
    before = metrics(service)
    service.post("/score", {**rows[0], "channel": "pigeon"})
    service.post("/score/batch", rows[:10])
    service.post("/score", {})
    after = metrics(service)
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown["selfpaced_rows_total",] == 11
    assert grown["selfpaced_refusals_total", "422"] == 1
    assert grown["selfpaced_new_categories_total", "channel"] == 1
    assert grown["selfpaced_requests_total", "/score", "200"] == 1
    assert grown["selfpaced_request_seconds_count", "/score"] == 2
    assert grown["selfpaced_scores_count",] == 11


def test_new_categories_in_arrow_are_counted(service, as_arrow):
    before = metrics(service)
    service.post("/score/batch", as_arrow(7, channel="pigeon"), content_type=ARROW)
    name = "selfpaced_new_categories_total", "channel"
    assert metrics(service)[name] - before.get(name, 0) == 7


def test_the_drift_of_a_column_that_changed_is_larger_than_that_of_others(service, rows):
    service.post("/score/batch", [{**row, "items": 199} for row in rows])
    found = metrics(service)
    psi = {column: found["selfpaced_drift_psi", column] for column in ("items", "amount", "channel", "score")}
    assert psi["items"] > 0.25 > psi["amount"]


def half_a_request(service, length):
    """A connection that has sent the head of a request and one byte of its body."""
    client = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    head = f"POST /score HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {JSON}\r\n"
    client.sendall(f"{head}Content-Length: {length}\r\n\r\n{{".encode())
    return client


def test_more_requests_than_allowed_at_once_are_refused(service, rows):
    with ExitStack() as open_clients:
        for _ in range(40):
            open_clients.enter_context(half_a_request(service, 100))
        status, headers, content = service.request("POST", "/score", body(rows[0]))
        assert (status, headers["Retry-After"]) == (503, "1")
        assert "40 requests are under way" in json.loads(content)["error"]
        assert service.get("/health")[0] == 200
    service.until(lambda: metrics(service).get(("selfpaced_requests_in_progress",)) == 1)  # the others have gone


def test_a_body_without_a_length_that_is_too_large_is_refused(service):
    chunks = (b" " * 100_000 for _ in range(11))
    assert service.request("POST", "/score", chunks)[0] == 413


@pytest.mark.slow
def test_a_body_that_does_not_arrive_is_answered_in_time(service):
    with half_a_request(service, 100) as client:
        assert client.recv(4096).startswith(b"HTTP/1.1 408")


def test_the_shadow_model_is_logged_beside_the_first_one(service, rows, predicted):
    service.post("/score", rows[0], X_Request_ID="with-a-shadow")

    def logged():
        lines = [line for one in service.folder.glob("log/.requests-*") for line in one.read_text().splitlines()]
        return [line for line in lines if "with-a-shadow" in line]

    service.until(logged)
    own = json.loads(logged()[0])
    assert own["served_probability"] == predicted.score[0]
    assert own["tx"] == "t0"
    assert own["served_shadow_model"] not in (None, own["served_model"])
    assert 0 <= own["served_shadow_probability"] <= 1


@pytest.mark.slow
def test_a_replaced_model_is_served_without_a_lost_request(service, folder, rows):
    """Requests go on all the time. The damaged file leaves the old model in its place, and /ready says so."""
    statuses, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            statuses.append(service.post("/score", rows[0])[0])

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        first = service.facts["version"]
        replace(service.model, (folder / "other.skops").read_bytes())
        service.until(lambda: service.post("/score", rows[0])[1]["model"] != first)
        second = service.post("/score", rows[0])[1]["model"]
        replace(service.model, (folder / "model.skops").read_bytes()[:-50])
        service.until(lambda: service.get("/ready")[0] == 503)
        assert f"version {second} is still served" in json.loads(service.get("/ready")[1])["problems"][0]
        assert service.post("/score", rows[0])[1]["model"] == second
        replace(service.model, (folder / "model.skops").read_bytes())
        service.until(lambda: service.get("/ready")[0] == 200)
        assert service.post("/score", rows[0])[1]["model"] == first
    finally:
        stop.set()
        asking.join()
    assert set(statuses) == {200}


def replace(path, content):
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)


def test_sigterm_lets_a_request_end(service, rows):
    """The last test of this service: a request is half sent when the signal arrives, and is answered."""
    sent = body(rows[0])
    with half_a_request(service, len(sent)) as client:
        time.sleep(0.2)
        service.process.terminate()
        time.sleep(0.2)
        client.sendall(sent[1:])
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
    assert service.end() == 143
    logged = pd.concat(pd.read_json(one, lines=True) for one in service.folder.glob("log/requests-*"))
    assert len(logged) > 2000


def refused(capsys, *options):
    assert main(["serve", *map(str, options)]) == 2
    return capsys.readouterr().err


def test_a_port_in_use_is_one_clear_error(folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"Port {port} of 127.0.0.1 is in use." in refused(capsys, folder / "model.skops", "--port", port)


def test_another_address_needs_a_token(folder, capsys, monkeypatch):
    monkeypatch.delenv("SELFPACED_TOKEN", raising=False)
    assert "requests need a token" in refused(capsys, folder / "model.skops", "--host", "0.0.0.0")


def test_a_short_token_is_refused(folder, capsys, tmp_path):
    (tmp_path / "token").write_text("secret\n")
    said = refused(capsys, folder / "model.skops", "--token-file", tmp_path / "token")
    assert "at least 16" in said
    assert "secret\n" not in said


def test_a_model_without_a_history_refuses_a_state(folder, capsys, tmp_path):
    assert "There is no folder" in refused(capsys, folder / "model.skops", "--state", tmp_path / "none")


def test_a_missing_model_is_one_clear_error(capsys, tmp_path):
    assert "There is no file" in refused(capsys, tmp_path / "none.skops", "--port", 0)


def test_a_cost_that_is_negative_refuses_its_row_alone(folder, rows):
    path = folder / "model.skops"
    served = load_served(path, path.read_bytes(), Wanted(decide="p*amount>5"))
    with pytest.raises(RefusedError, match=r"cost of a missed row in 1 of 1 rows is negative") as refused:
        served.rule.numbers([{**rows[0], "amount": -1.0}])
    assert refused.value.status == 422
    assert served.rule.numbers([{**rows[0], "amount": 1.0}])["amount"].tolist() == [1.0]


def test_a_model_without_a_threshold_does_not_replace_one_with_a_threshold(folder, tmp_path):
    path = tmp_path / "model.skops"
    replace(path, (folder / "model.skops").read_bytes())
    slot = ModelSlot(path, Wanted())
    first = slot.current
    save_model(load_model(folder / "other.skops"), path)
    assert not slot.refresh()
    assert slot.current is first
    assert "has no threshold" in slot.problem
