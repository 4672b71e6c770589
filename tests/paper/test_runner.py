"""The runner: every cell once, whatever happens to the others."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import psutil
import pytest

from paper.__main__ import main
from paper.experiment import Budget, Experiment, Surroundings
from paper.experiments import EXPERIMENTS
from paper.results import Results
from paper.runner import run
from tests.paper.cells import kill_own_process, several_rows, square, use_much

REPOSITORY = Path(__file__).parents[2]


def experiment(work=square, numbers=(1, 2, 3), **options):
    return Experiment("squares", "Squares", {"number": list(numbers)}, work, runs=lambda setting: 2, **options)


def run_all(folder, grid, jobs=1):
    lines = []
    surroundings = Surroundings(Path("data"))
    n_failed = run([grid], surroundings, lambda grid: Results(grid, folder), jobs=jobs, say=lines.append)
    return n_failed, lines, Results(grid, folder)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A run of all cells in two processes: how many failed, what was said, and the results."""
    return run_all(tmp_path_factory.mktemp("finished"), experiment(), jobs=2)


@pytest.fixture
def finished(finished_run, tmp_path):
    """A copy of the results of a finished run, to do harm to."""
    copyfile(finished_run[-1].path, (copy := Results(experiment(), tmp_path)).path)
    return copy


def test_every_cell_is_a_row_with_versions_and_seconds(finished_run):
    n_failed, lines, results = finished_run
    frame = results.frame()
    assert n_failed == 0
    assert sorted(zip(frame["number"], frame["run"], frame["square"], strict=True)) == [
        (str(number), str(run), number**2) for number in (1, 2, 3) for run in (0, 1)
    ]
    assert frame["versions"].str.contains("scikit-learn=").all()
    assert (frame["seconds"] >= 0).all()
    assert lines[0] == "6 cells to run, 2 at a time"
    assert "6/6" in lines[-1]
    assert "0:00:00 left" in lines[-1]


@pytest.mark.slow
def test_finished_cells_are_not_run_again(tmp_path):
    run_all(tmp_path, experiment(numbers=[1, 2]))
    _, lines, results = run_all(tmp_path, experiment())
    assert lines[0].startswith("2 cells to run")
    assert len(results.frame()) == 6
    _, lines, _ = run_all(tmp_path, experiment())
    assert lines == ["Everything is finished already"]


def test_a_failing_cell_is_shown_with_its_reason_and_does_not_stop_the_rest(tmp_path):
    n_failed, lines, results = run_all(tmp_path, experiment(numbers=[1, 13, 3]))
    assert n_failed == 2
    assert sum("FAILED, ValueError: 13 is not squared here" in line for line in lines) == 2
    assert sorted(set(results.frame()["number"])) == ["1", "3"]
    assert results.failures()["error"].tolist() == ["ValueError: 13 is not squared here"] * 2


@pytest.mark.slow
def test_failed_cells_are_tried_again_and_forgotten_once_they_succeed(tmp_path):
    run_all(tmp_path, experiment(numbers=[13]))
    n_failed, _, results = run_all(tmp_path, experiment(work=several_rows, numbers=[13]))
    assert n_failed == 0
    assert len(results.failures()) == 0
    assert "not squared" not in results.path.read_text()
    assert results.frame()["square"].tolist() == [0, 1, 4] * 2


@pytest.mark.slow
def test_a_killed_process_costs_its_own_cell_only(tmp_path):
    n_failed, _, results = run_all(tmp_path, experiment(work=kill_own_process), jobs=2)
    assert n_failed == 2
    assert sorted(set(results.frame()["number"])) == ["1", "3"]
    assert results.failures()["error"].str.contains("killed").all()


def test_first_runs_come_first(tmp_path):
    cells = experiment().cells()
    assert [cell.run for cell in cells] == [0, 0, 0, 1, 1, 1]
    assert [cell.run for cell in experiment().cells(most_runs=1)] == [0, 0, 0]


def test_only_some_settings_can_be_asked_for():
    grid = experiment(by_request={"number": [3]})
    assert {dict(cell.setting)["number"] for cell in grid.cells()} == {1, 2}
    assert {dict(cell.setting)["number"] for cell in grid.cells(only={"number": ["3"]})} == {3}
    assert grid.cells(only={"number": ["4"]}) == []


def test_a_line_that_a_killed_run_did_not_finish_is_dropped(finished, tmp_path):
    whole = finished.path.read_text()
    finished.path.write_text(whole[:-20])
    assert len(finished.finished()) == 5
    _, lines, results = run_all(tmp_path, experiment())
    assert lines[0].startswith("1 cells to run")
    assert sorted(results.path.read_text().splitlines())[0] == sorted(whole.splitlines())[0]
    assert len(results.frame()) == 6


@pytest.mark.slow
def test_a_cell_over_its_budget_is_given_up_with_what_it_used_and_is_finished(tmp_path):
    limits = {number: Budget(seconds=1 if number == 2 else 60, gigabytes=0.5) for number in (1, 2, 3)}
    grid = experiment(work=use_much, numbers=[1, 2, 3], budget=lambda setting: limits[setting["number"]])
    n_failed, lines, results = run_all(tmp_path, replace(grid, runs=lambda setting: 1))
    frame = results.frame().set_index("number")
    assert n_failed == 0
    assert frame["given_up"].to_dict() == {"1": "at 0.5 GB", "2": "after 1 s", "3": ""}
    assert frame.loc["1", "peak_gigabytes"] > 0.5
    assert frame.loc["2", "processor_seconds"] >= 1  # rounded
    assert frame.loc["3", "square"] == 9
    assert any("given up, at 0.5 GB" in line for line in lines)
    assert len(results.finished()) == 3


def test_a_cell_that_fails_within_its_budget_is_a_failure_and_not_given_up(tmp_path):
    grid = experiment(numbers=[13], budget=lambda setting: Budget(seconds=30, gigabytes=2))
    n_failed, _, results = run_all(tmp_path, replace(grid, runs=lambda setting: 1))
    assert n_failed == 1
    assert results.failures()["error"].tolist() == ["ValueError: 13 is not squared here"]


def test_an_experiment_without_the_setting_that_is_asked_for_does_not_run():
    assert experiment().cells(only={"dataset": ["credit-fraud"]}) == []


def test_the_list_counts_cells_of_published_files_where_they_are(tmp_path, capsys):
    main(["list", "--data", str(tmp_path)])
    without = capsys.readouterr().out
    (tmp_path / "payment_simulation.csv").touch()
    main(["list", "--data", str(tmp_path)])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("payments_by_time"))
    assert " 0 of   36 cells" in line  # none of the finished cells of the stand-in counts for the published file
    assert len(without.splitlines()) == len(EXPERIMENTS)


# A run whose last cell takes minutes. It imports nothing heavy.
MINUTES = """
import sys
from pathlib import Path
from paper.experiment import Budget, Experiment, Surroundings
from paper.experiments import EXPERIMENTS
from paper.results import Results
from paper.runner import run
from tests.paper.cells import square_in_as_many_seconds

grid = Experiment("squares", "Squares", {"number": [0, 0.1, 120]}, square_in_as_many_seconds, runs=lambda setting: 1)
folder = Path(sys.argv[1])
run([grid], Surroundings(folder), lambda grid: Results(grid, folder), jobs=1, say=lambda line: print(line, flush=True))
"""


def started(*arguments):
    """A Python program that has finished two cells of its run, and the processes it has started."""
    command = [sys.executable, *map(str, arguments)]
    running = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in running.stdout:
        if re.search(r" 2/\d+\]", line):
            break
    return running, psutil.Process(running.pid).children(recursive=True)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends the signal that Ctrl-C sends")
def test_ctrl_c_keeps_finished_cells_and_leaves_no_process(tmp_path):
    running, children = started("-m", "paper", "run", "checkerboard", "--quick", "--results", tmp_path, "--jobs", 1)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Finished cells are kept" in errors
    assert "Traceback" not in errors
    assert len((tmp_path / "quick" / "checkerboard.csv").read_text().splitlines()) >= 3
    assert psutil.wait_procs(children, timeout=20)[1] == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_run_leaves_no_process(tmp_path):
    running, children = started("-c", MINUTES, tmp_path)
    running.kill()
    running.communicate(timeout=60)
    assert len(children) >= 1
    assert psutil.wait_procs(children, timeout=20)[1] == []


def test_a_measure_missing_in_the_first_row_of_a_cell_is_kept_in_the_next(tmp_path):
    grid = experiment()
    results = Results(grid, tmp_path)
    results.add(grid.cells()[0], [{"square": float("nan"), "seconds": 1.0}, {"square": 4.0, "seconds": 1.0}])
    assert results.frame()["square"].fillna(-1).tolist() == [-1, 4]


def test_reading_leaves_a_line_alone_that_is_being_written(finished):
    torn = finished.path.read_text() + "1,0,,"
    finished.path.write_text(torn)
    assert len(finished.frame()) == 6
    assert finished.path.read_text() == torn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nonsense"], "no experiment is called 'nonsense'"),
        (["run", "checkerboard", "--only", "modle=DT"], "no setting is called 'modle'; there are method, model"),
        (["run", "checkerboard", "--only", "model=XX"], "model is never 'XX'; it is one of"),
        (["run", "checkerboard", "--only", "model"], "--only takes NAME=VALUE"),
        (["run", "checkerboard", "--runs", "-1"], "a whole number of at least 1"),
        (["render", "--results", "nowhere"], "There is nothing to render in nowhere"),
    ],
)
def test_a_wrong_call_is_explained(arguments, message, capsys):
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr().err + str(code)
    assert code not in (0, None)
    assert message in said


def test_quick_cells_are_kept_apart_and_pages_go_into_the_folder_that_was_named(tmp_path, capsys):
    arguments = ["checkerboard", "--only", "model=DT", "--only", "method=SPE", "--results", str(tmp_path)]
    assert main(["run", *arguments, "--quick", "--jobs", "1"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["quick"]
    assert main(["render", "--quick", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "quick" / "README.md").exists()
    assert not (tmp_path / "README.md").exists()
