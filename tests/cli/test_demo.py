"""The demonstration as a user runs it, but on a quarter of its common transactions."""

import os
import re
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# Most of the whole demonstration is the training of the rivals on all rows.
SHORT = """
import gc
import sys

gc.disable()
from selfpaced.cli import main
from selfpaced.cli.commands import compare

make_fraud = compare.make_fraud
compare.make_fraud = lambda n_rows, **options: make_fraud(n_rows=n_rows // 4, n_frauds=400, **options)
sys.argv[1:] = ["demo"]
main()
"""
DEMO = [sys.executable, "-c", SHORT]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def output(folder):
    result = subprocess.run(DEMO, capture_output=True, text=True, timeout=600, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def scores(output, table):
    section = output.split(table)[1].split("\n\n")[0]
    return {name.strip(): float(score) for name, score in re.findall(r"^  (.+?) +(\d\.\d{3}) ", section, re.M)}


def test_both_tables_are_compared(output):
    assert len(scores(output, "The paper's checkerboard")) == 6
    assert len(scores(output, "A table of transactions")) == 11


def test_self_paced_ensemble_is_far_above_random_under_sampling_of_the_same_model(output):
    transactions = scores(output, "A table of transactions")
    assert transactions["tree x 10, Self-paced Ensemble"] > 3 * transactions["tree, random under-sample"]


def test_the_picture_shows_the_rare_fields_dark_and_the_others_light(output):
    picture = output.split("the darker the higher:\n\n")[1].split("\n\n")[0].splitlines()
    assert len(picture) == 28
    assert (picture[2][6], picture[2][21], picture[10][50], picture[10][6]) == ("█", " ", "█", " ")


def test_a_report_is_written(output, folder):
    assert "A report on the last model is in selfpaced-demo.html." in output
    page = (folder / "selfpaced-demo.html").read_text("utf-8")
    assert "rows where is_fraud is True" in page


def test_lines_fit_a_terminal(output):
    assert max(map(len, output.splitlines())) <= 110


def test_a_terminal_sees_a_progress_bar():
    leader, follower = pytest.importorskip("pty").openpty()  # Windows has none
    process = subprocess.Popen(DEMO, stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    seen = b""
    try:
        while b"member 10/10" not in seen:
            seen += os.read(leader, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert b"warming up" in seen


def test_ctrl_c_stops_without_a_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "selfpaced", "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "checkerboard" in process.stdout.readline() + process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "Stopped."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "required"), (["dance"], "invalid choice"), (["demo", "--seed", "x"], "invalid int")],
)
def test_a_wrong_call_is_explained(arguments, message):
    result = subprocess.run([sys.executable, "-m", "selfpaced", *arguments], capture_output=True, text=True)
    assert result.returncode == 2
    assert message in result.stderr
