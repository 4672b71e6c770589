"""Ctrl-C and SIGTERM end a command the same way: nothing unfinished is left behind."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from selfpaced.persistence.files import load_model
from tests.forked import forked, run_command

# A command that is interrupted inside a string that `exec` runs: CPython once reported it as killed by SIGINT.
INTERRUPTED_IN_EXEC = """
import os, signal, sys, types
from selfpaced.cli import main

def run(options):
    exec("os.kill(os.getpid(), signal.{signal}); [None for _ in range(1000)]", globals())

sys.modules["selfpaced.cli.commands.inspect"] = types.SimpleNamespace(run=run)
sys.exit(main(["inspect", "model.skops"]))
"""


@pytest.fixture
def inspecting(monkeypatch):
    """Replace the command `inspect` by a function, and run it: its exit code."""

    def inspecting(function):
        command = SimpleNamespace(run=lambda options: function())
        monkeypatch.setitem(sys.modules, "selfpaced.cli.commands.inspect", command)
        return main(["inspect", "model.skops"])

    return inspecting


@pytest.mark.parametrize(("name", "code", "said"), [("SIGINT", 130, "Stopped."), ("SIGTERM", 143, "Terminated.")])
class TestOneSignal:
    def test_ends_the_command_with_its_exit_code_and_a_word(self, inspecting, capsys, name, code, said):
        assert inspecting(lambda: signal.raise_signal(signal.Signals[name])) == code
        assert capsys.readouterr().err == f"\n{said}\n"

    def test_lets_the_command_clean_up(self, inspecting, name, code, said):
        cleaned = []

        def command():
            try:
                signal.raise_signal(signal.Signals[name])
            finally:
                cleaned.append(True)

        assert inspecting(command) == code
        assert cleaned == [True]

    def test_counts_although_a_library_turned_it_into_an_error(self, inspecting, capsys, name, code, said):
        def command():
            try:
                signal.raise_signal(signal.Signals[name])
            except BaseException as error:
                raise ValueError("not a valid format") from error

        assert inspecting(command) == code
        assert capsys.readouterr().err == f"\n{said}\n"

    def test_has_the_same_exit_code_inside_exec(self, name, code, said):
        script = INTERRUPTED_IN_EXEC.format(signal=name)
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert (result.returncode, result.stderr.strip()) == (code, said)

    def test_is_handled_as_before_after_the_command(self, inspecting, name, code, said):
        before = signal.getsignal(signal.Signals[name])
        inspecting(lambda: None)
        assert signal.getsignal(signal.Signals[name]) is before

    def test_stays_ignored_if_the_parent_process_ignores_it(self, inspecting, name, code, said):
        before = signal.signal(signal.Signals[name], signal.SIG_IGN)
        try:
            assert inspecting(lambda: signal.raise_signal(signal.Signals[name])) == 0
        finally:
            signal.signal(signal.Signals[name], before)


def test_a_command_runs_in_another_thread_as_well(inspecting):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(inspecting(lambda: None)))
    thread.start()
    thread.join()
    assert codes == [0]


def whole_parquet(path):
    return pq.read_table(path).num_rows == N_ROWS


def whole_page(path):
    return path.read_text().rstrip().endswith("</html>")


N_ROWS = 8000
TRAIN = ("train", "{data}", "--target", "y", "--base", "tree", "--members", "5", "--calibration", "none", "-q")
COMMANDS = {
    "train": (TRAIN, "model.skops", load_model),
    "predict": (("predict", "../model.skops", "{data}", "-o", "scores.parquet", "-q"), "scores.parquet", whole_parquet),
    "report": (("report", "../model.skops", "{data}", "-q"), "report.html", whole_page),
}
DATA = ("rows.csv", "rows.parquet")
N_MOMENTS = 12


class Killer:
    """Starts commands on a table and sends them SIGTERM."""

    def __init__(self, folder):
        self.folder = folder
        X, y = make_fraud(n_rows=N_ROWS, n_frauds=200, n_features=12, random_state=0)
        rows = pd.DataFrame(X, columns=[f"c{i}" for i in range(12)]).assign(y=y)
        rows.to_csv(folder / "rows.csv", index=False)
        rows.to_parquet(folder / "rows.parquet", index=False)

    def run(self, command, data, seconds=None):
        """Run a command in a folder of its own, and stop it after some seconds: its exit code and its folder."""
        arguments, _, _ = COMMANDS[command]
        place = self.folder / f"{command}-{data}-{seconds}"
        (place / "tmp").mkdir(parents=True)
        # Not a link: one more link to a file that another command is reading would be a change of it.
        shutil.copyfile(self.folder / data, place / data)
        told = [argument.format(data=data) for argument in arguments]
        process = forked(run_command, told, place, {"TMPDIR": str(place / "tmp")})
        process.join(seconds)
        process.terminate()
        process.join(60)
        return process.exitcode, place


@pytest.mark.slow
def test_sigterm_at_any_moment_leaves_nothing_unfinished(tmp_path):
    killer = Killer(tmp_path)
    forked(os.getpid).join()  # the process that all commands are forked from takes seconds to start
    seconds = {}
    for command in COMMANDS:
        start = time.perf_counter()
        code, place = killer.run(command, "rows.csv")
        seconds[command] = time.perf_counter() - start
        assert code == 0
        if command == "train":
            os.link(place / "model.skops", tmp_path / "model.skops")

    shares = np.random.default_rng(0).uniform(0.02, 1, N_MOMENTS)
    jobs = [(command, data) for command in COMMANDS for data in DATA]
    moments = [(*jobs[i % len(jobs)], share * seconds[jobs[i % len(jobs)][0]]) for i, share in enumerate(shares)]
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda moment: killer.run(*moment), moments))

    assert [code for code, _ in results].count(143) >= N_MOMENTS // 4
    for (command, data, _), (code, place) in zip(moments, results, strict=True):
        _, output, is_whole = COMMANDS[command]
        # Python itself is killed, -15, before the first line of the command or after its last: 143 in a shell as well.
        assert code in (0, 143, -signal.SIGTERM)
        found = {str(path.relative_to(place)) for path in place.rglob("*")}
        assert found <= {data, "tmp", "rows.csv.selfpaced.parquet", output}
        assert output not in found or is_whole(place / output)
        assert code != 0 or output in found
