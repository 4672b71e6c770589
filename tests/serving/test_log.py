"""The log of answered requests: whole, private, bounded, and read as the rows that were sent."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfile

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.exceptions import TableError
from selfpaced.persistence import load_model
from selfpaced.serving import RequestLog, Settings, column_kinds
from selfpaced.serving.answering import Service
from selfpaced.serving.served import Wanted, load_served
from tests.serving.rows import mixed_rows
from tests.serving.running import Served, result_of

FAST = {"flush_seconds": 0.02}


def record(number, **row):
    return {"request_id": f"r{number}", "probability": 0.25, "alert": False, "row": {"number": number, **row}}


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def closed(folder):
    return sorted(Path(folder).glob("requests-*.jsonl*"))


def lines(folder):
    """The lines of all complete files, in the order of their names."""
    found = []
    for path in closed(folder):
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found += [json.loads(line) for line in content.splitlines()]
    return found


def numbers(folder):
    return sorted(line["number"] for line in lines(folder))


def in_process(code, *arguments):
    program = f"import gc; gc.disable()  # imports are most of what it does\n{code}"
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE)


# What a process does that writes records until it is killed; it prints the number of those that it answered.
WRITER = """
import itertools, sys, time
from pathlib import Path
from selfpaced.serving import RequestLog
log = RequestLog(Path(sys.argv[1]), flush_seconds=0.05)
for number in itertools.count(int(sys.argv[2])):
    log.append([{"request_id": "r", "row": {"number": number}}])
    print(number, flush=True)
    time.sleep(0.001)
"""


def test_all_records_are_in_the_folder_after_close_and_only_their_owner_may_read_them(tmp_path):
    log = RequestLog(tmp_path / "log", **FAST)
    for number in range(1000):
        log.append([record(number)])
    log.close()
    assert numbers(tmp_path / "log") == list(range(1000))
    assert (log.dropped, log.problem) == (0, None)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "log").iterdir()} == {0o600}
    assert set(lines(tmp_path / "log")[0]) == {
        *("number", "served_time", "served_request_id", "served_model", "served_probability", "served_alert"),
        *("served_shadow_model", "served_shadow_probability", "served_other"),
    }


def test_a_file_is_completed_at_its_size(tmp_path):
    log = RequestLog(tmp_path, file_bytes=50_000, **FAST)
    log.append([record(number) for number in range(1000)])
    log.close()
    assert len(closed(tmp_path)) >= 3
    assert numbers(tmp_path) == list(range(1000))


def test_a_file_is_completed_when_its_period_ends_even_without_requests(tmp_path):
    log = RequestLog(tmp_path, file_seconds=0.5, **FAST)
    log.append([record(1)])
    until(lambda: len(closed(tmp_path)) == 1)
    log.append([record(2)])
    until(lambda: len(closed(tmp_path)) == 2)
    log.close()
    assert numbers(tmp_path) == [1, 2]


def test_the_oldest_files_are_removed_with_the_copies_that_readers_made(tmp_path):
    oldest = tmp_path / "requests-20200101T000000-1-00000000.jsonl.gz"
    copy = tmp_path / f"{oldest.name}.selfpaced.parquet"
    for path in (oldest, copy, tmp_path / "notes.txt"):
        path.write_bytes(bytes(60_000))
    log = RequestLog(tmp_path, most_bytes=100_000, file_bytes=10_000, **FAST)
    until(lambda: not oldest.exists() and not copy.exists())
    rng = np.random.default_rng(0)
    for number in range(4000):
        log.append([record(number, noise=rng.bytes(100).hex())])
    log.close()
    assert sum(path.stat().st_size for path in closed(tmp_path)) <= 100_000
    kept = numbers(tmp_path)
    assert kept == list(range(kept[0], 4000))
    assert kept[0] > 0
    assert (tmp_path / "notes.txt").exists()


def test_columns_that_are_left_out_never_touch_the_disk(tmp_path):
    log = RequestLog(tmp_path, leave_out=["card"], columns={"number": "number", "card": "string"}, **FAST)
    log.append([record(1, card="4111-1111", name="of the client, not of the model"), record(2, card={"pan": "4111"})])
    until(lambda: list(tmp_path.glob(".requests-*")))
    time.sleep(0.1)
    log.close()
    assert all(b"4111" not in gzip.decompress(path.read_bytes()) for path in closed(tmp_path))
    assert not any("card" in line or "name" in line for line in lines(tmp_path))


def test_a_model_without_a_column_that_is_not_to_be_logged_is_refused(folder):
    """At the start, and in the place of another model: the column may have another name there."""
    path = folder / "model.skops"
    with pytest.raises(TableError, match=r"--log-without names 'amuont'.*Did you mean 'amount'"):
        load_served(path, path.read_bytes(), Wanted(left_out=["amuont"]))
    assert load_served(path, path.read_bytes(), Wanted(left_out=["amount"])).columns


@pytest.mark.parametrize(("place", "reason"), [("a file", "a file is a file"), ("a file/log", "Not a directory")])
def test_a_folder_that_cannot_be_written_is_refused_with_its_option(tmp_path, monkeypatch, place, reason):
    monkeypatch.chdir(tmp_path)
    Path("a file").write_text("")
    with pytest.raises(TableError, match=f"--log {place} cannot be written: {reason}. Name a folder"):
        RequestLog(place)


def test_each_column_of_a_file_has_values_of_one_type_and_others_are_kept_as_json(tmp_path):
    kinds = {"amount": "number", "abroad": "boolean", "shop": "string"}
    log = RequestLog(tmp_path, columns=kinds, also=["note"], **FAST)
    rows = [
        {"amount": True, "abroad": 1, "shop": "7", "note": 1},
        {"amount": 2**70, "abroad": False, "shop": None, "note": "one"},
        {"amount": float("nan"), "abroad": None, "shop": "\ud800", "note": {"nested": [1]}},
        {"amount": "a string", "abroad": 0.5, "shop": 7},
    ]
    log.append([{"row": row} for row in rows])
    log.close()
    found = {name: [line[name] for line in lines(tmp_path)] for name in (*kinds, "note", "served_other")}
    assert found["amount"] == [1, 2.0**70, None, None]
    assert found["abroad"] == [True, False, None, None]
    assert found["shop"] == ["7", None, "?", None]
    assert found["note"] == [1, None, None, None]
    others = [None if other is None else json.loads(other) for other in found["served_other"]]
    nested = {"note": {"nested": [1]}}
    assert others == [None, {"note": "one"}, nested, {"amount": "a string", "abroad": 0.5, "shop": 7}]


def test_names_of_the_model_and_of_the_log_never_clash(tmp_path):
    log = RequestLog(tmp_path, columns={"served_time": "number"}, **FAST)
    log.append([{"time": datetime(2024, 5, 1, tzinfo=UTC), "row": {"served_time": 3}}])
    log.close()
    [line] = lines(tmp_path)
    assert (line["served_time"], line["_served_time"]) == (3, "2024-05-01T00:00:00+00:00")


def test_the_columns_of_a_new_model_are_in_a_new_file(tmp_path):
    log = RequestLog(tmp_path, columns={"number": "number", "old": "number"}, leave_out=["old"], also=["id"], **FAST)
    log.append([record(1, old=1, new="a", id="i")])
    log.use({"number": "number", "new": "string"})
    log.append([record(2, old=1, new="b", id="j")])
    log.close()
    first, second = (path for path in closed(tmp_path))
    found = [json.loads(gzip.decompress(path.read_bytes())) for path in (first, second)]
    own = [{name: value for name, value in line.items() if not name.startswith("served_")} for line in found]
    assert own == [{"id": "i", "number": 1}, {"id": "j", "number": 2, "new": "b"}]


def test_a_row_without_names_is_written_by_position(tmp_path):
    log = RequestLog(tmp_path, **FAST)
    log.append([{"row": [1.5, None]}])
    log.close()
    [line] = lines(tmp_path)
    assert (line["x0"], line["x1"]) == (1.5, None)


def test_a_record_that_cannot_be_written_is_counted_and_the_others_are_written(tmp_path):
    log = RequestLog(tmp_path, **FAST)
    log.append([{"row": None}, record(1)])
    log.close()
    assert numbers(tmp_path) == [1]
    assert log.dropped == 1


def test_records_beyond_the_queue_and_after_close_are_dropped_and_counted(tmp_path):
    log = RequestLog(tmp_path, most_waiting=10, flush_seconds=60)
    log.append([record(number) for number in range(15)])
    log.append([record(15)])
    assert log.dropped == 6
    log.close()
    log.append([record(16)])
    assert log.dropped == 7
    assert numbers(tmp_path) == list(range(10))


@pytest.mark.slow
def test_a_killed_process_loses_no_more_than_the_last_interval_and_the_next_one_completes_its_file(tmp_path):
    process = in_process(WRITER, tmp_path, 0)
    answered = [int(process.stdout.readline()) for _ in range(500)]
    time.sleep(0.2)  # the next intervals
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [left] = tmp_path.glob(".requests-*")
    with left.open("ab") as file:
        file.write(b'{"number": 12')  # as a power cut would leave it
    RequestLog(tmp_path, **FAST).close()
    found = numbers(tmp_path)
    assert found == list(range(len(found)))
    assert len(found) >= len(answered)
    assert not list(tmp_path.glob(".requests-*"))


@pytest.mark.slow
def test_several_processes_write_to_one_folder(tmp_path):
    """Also while others are killed, and a fork of this one."""
    processes = [in_process(WRITER, tmp_path, 10**6 * number) for number in (1, 2)]
    log = RequestLog(tmp_path, file_seconds=0.1, **FAST)
    log.append([record(-1)])
    for process in processes:
        for _ in range(200):
            process.stdout.readline()
    time.sleep(0.2)
    for process in processes:
        process.kill()
        process.communicate()
    log.append([record(-2)])
    log.close()
    found = numbers(tmp_path)
    assert len(found) == len(set(found))
    assert found[:2] == [-2, -1]
    assert all(sum(number // 10**6 == own for number in found) >= 200 for own in (1, 2))


def test_a_fork_has_a_file_of_its_own(tmp_path):
    log = RequestLog(tmp_path, **FAST)
    log.append([record(1)])
    until(lambda: list(tmp_path.glob(".requests-*")))
    if not (child := os.fork()):
        log.append([record(2)])
        log.close()
        os._exit(0)
    os.waitpid(child, 0)
    log.append([record(3)])
    log.close()
    assert numbers(tmp_path) == [1, 2, 3]
    assert len(closed(tmp_path)) == 2


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A log that cannot be written, because a file has taken the place of its folder."""
    monkeypatch.setattr(RequestLog, "_tidy", lambda self: None)  # at the start, it may find the folder or the file
    log = RequestLog(tmp_path / "log", **FAST)
    (tmp_path / "log").rmdir()
    (tmp_path / "log").write_text("")
    log.append([record(number) for number in range(3)])
    until(lambda: log.problem is not None)
    return log


def messages(caplog):
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    return [(one.levelname, one.getMessage()) for one in records]


def test_it_is_said_once_that_the_log_cannot_be_written_and_that_it_can_be_again(broken, tmp_path, caplog):
    broken.append([record(3)])
    time.sleep(0.2)  # ten more attempts
    assert broken.problem.endswith("4 rows wait.")
    (tmp_path / "log").unlink()
    until(lambda: broken.problem is None)
    broken.close()
    broken.close()
    assert numbers(tmp_path / "log") == list(range(4))
    assert messages(caplog) == [
        ("ERROR", f"The log cannot be written to {tmp_path / 'log'}: File exists. 3 rows wait."),
        ("WARNING", f"The log can be written to {tmp_path / 'log'} again."),
    ]


def test_the_rows_that_could_not_be_logged_are_counted_at_the_end(broken, tmp_path, caplog):
    broken.use({"number": "number"})  # which is not a row
    broken.close()
    broken.close()
    assert messages(caplog)[1:] == [("ERROR", f"3 rows could not be logged to {tmp_path / 'log'}: File exists.")]
    assert broken.dropped == 3


@pytest.mark.slow
def test_a_service_that_is_stopped_says_which_rows_it_could_not_log(folder, rows, tmp_path):
    service = Served(folder / "model.skops", "--log", tmp_path / "log", folder=tmp_path)
    (tmp_path / "log").rmdir()
    (tmp_path / "log").write_text("")
    assert service.post("/score/batch", rows[:7])[0] == 200
    service.until(lambda: service.get("/ready")[0] == 503)
    assert service.end() == 143
    said = service.stderr.read_text()
    assert said.count(f"ERROR The log cannot be written to {tmp_path / 'log'}: File exists.") == 1
    assert f"ERROR 7 rows could not be logged to {tmp_path / 'log'}: File exists." in said


# Files may have 20,000 bytes, as on a full disk, until there is space again.
FULL = """
import resource, sys, time
from pathlib import Path
from selfpaced.serving import RequestLog
log = RequestLog(Path(sys.argv[1]), flush_seconds=0.02, most_waiting=1000)

def problem(is_one):
    end = time.monotonic() + 20
    while (log.problem is not None) != is_one and time.monotonic() < end:
        time.sleep(0.01)
    return log.problem

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
for number in range(1000):
    log.append([{"row": {"number": number}}])
    time.sleep(0.0005)
print(problem(True))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(problem(False))
log.close()
print(log.dropped)
"""


@pytest.mark.slow
def test_a_full_disk_is_a_problem_until_there_is_space_and_no_line_is_torn(tmp_path):
    said, _ = in_process(FULL, tmp_path).communicate()
    full, then, dropped = said.decode().splitlines()
    assert full.startswith(f"The log cannot be written to {tmp_path}: ")
    assert "rows wait" in full
    assert (then, dropped) == ("None", "0")
    assert numbers(tmp_path) == list(range(1000))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="Only root may mount a small disk.")
def test_a_disk_that_is_full_to_the_end_keeps_its_whole_lines(tmp_path, caplog):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"A small disk cannot be mounted here: {mounted.stderr.decode()}")
    try:
        log = RequestLog(disk / "log", **FAST)
        log.append([record(number, noise=os.urandom(500).hex()) for number in range(2000)])
        until(lambda: log.problem is not None)
        assert "No space left" in log.problem
        log.close()
        found = numbers(disk / "log")
        assert found == list(range(len(found)))
        assert log.dropped == 2000 - len(found) > 0
        last = f"{log.dropped:,} rows could not be logged to {disk / 'log'}: No space left on device."
        assert messages(caplog)[-1] == ("ERROR", last)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Payments with values of all types, and a model of them."""
    folder = tmp_path_factory.mktemp("payments")
    mixed_rows().to_parquet(folder / "payments.parquet")
    command = ("train", folder / "payments.parquet", "--target", "fraud", "--base", "tree", "--members", 2)
    assert main([*map(str, command), "-o", str(folder / "model.skops"), "-q"]) == 0
    return folder


def as_sent(rows):
    """Rows as a client sends them: in JSON, booleans now and then as numbers."""
    sent = json.loads(rows.to_json(orient="records", date_format="iso", double_precision=15))
    exact = rows.to_dict("records")
    for number, (row, own) in enumerate(zip(sent, exact, strict=True)):
        row.update({name: own[name] for name in ("amount", "balance", "age", "risk")})
        row["abroad"] = int(row["abroad"]) if number % 3 == 0 else row["abroad"]
    return sent


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_monitor_and_predict_read_the_log_as_the_rows_that_were_sent(trained, tmp_path, capsys):
    model = load_model(trained / "model.skops")
    rows = pd.read_parquet(trained / "payments.parquet").drop(columns="fraud")
    log = RequestLog(tmp_path / "log", columns=column_kinds(model.model_.reader), file_bytes=100_000, **FAST)
    score = model.row_scorer()
    probabilities = [score(row) for row in as_sent(rows)]
    moments = [datetime(2024, 5, 1, 12, 0, 0, micro, UTC) for micro in (0, 7, 500_000)]
    log.append(
        [
            {"time": moments[n % 3], "request_id": str(n), "probability": p, "row": row}
            for n, (p, row) in enumerate(zip(probabilities, as_sent(rows), strict=True))
        ]
    )
    log.close()
    assert len(closed(tmp_path / "log")) > 1

    def said(*arguments):
        assert main([str(each) for each in arguments]) == 0
        return capsys.readouterr().out

    found = [
        json.loads(said("monitor", trained / "model.skops", source, "--json"))["all"]
        for source in (tmp_path / "log", trained / "payments.parquet")
    ]
    assert found[0]["n_rows"] == 1500
    assert found[0] == found[1]
    keep = ("--keep", "served_request_id,served_probability,served_time", "-o", tmp_path / "scores.parquet", "-q")
    said("predict", trained / "model.skops", tmp_path / "log", *keep)
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    assert (scores["score"] == scores["served_probability"]).all()
    assert sorted(scores["served_request_id"].astype(int)) == list(range(1500))
    assert set(scores["served_time"]) == set(map(pd.Timestamp, moments))


@pytest.mark.slow
def test_a_model_that_replaces_another_has_its_own_columns_in_the_log(trained, tmp_path):
    model, other = tmp_path / "model.skops", tmp_path / "other.skops"
    copyfile(trained / "model.skops", model)
    command = ("train", trained / "payments.parquet", "--target", "fraud", "--base", "tree", "--members", 1)
    assert main([*map(str, command), "--exclude", "code,when", "-o", str(other), "-q"]) == 0
    row = as_sent(pd.read_parquet(trained / "payments.parquet")[:1])[0]

    async def replaced():
        service = Service(Settings(model, log=tmp_path / "log"), tmp_path)
        watching, first = asyncio.create_task(service.watch()), service.slot.current
        await service.score(row, "before")
        os.replace(other, model)
        while service.slot.current is first:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)
        await service.score({name: row[name] for name in service.slot.current.columns}, "after")
        watching.cancel()
        service.close()

    result_of(asyncio.wait_for(replaced(), 30))
    before, after = lines(tmp_path / "log")
    assert (before["served_request_id"], after["served_request_id"]) == ("before", "after")
    assert before.keys() - after.keys() == {"code", "when"}
