"""Where standard error is not a terminal, long work tells what it is at."""

import re
import time

import pytest

from selfpaced.callbacks import FitPlan
from selfpaced.cli import output
from tests.cli.commands import train


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.02)


@pytest.mark.usefixtures("often")
def test_a_training_writes_a_line_every_so_often(run, csv):
    code, _, complained = run(*train(csv, "--calibration", "isotonic"))
    assert code == 0
    lines = [line for line in complained.splitlines() if re.match(r"\d+ s: ", line)]
    assert any(
        re.fullmatch(r"\d+ s: (fitting 2,400 rows, 72 of them rare|round \d of 3: .* rows)", line) for line in lines
    )


@pytest.mark.parametrize("option", ["--quiet", "--json"])
@pytest.mark.usefixtures("often")
def test_a_quiet_training_writes_no_lines(run, csv, option):
    assert run(*train(csv, option))[2] == ""


def test_a_line_has_the_last_news_and_the_time(capsys):
    lines = output.LogLines(0.05)
    with lines.during("reading") as update:
        update(25, 100)
        time.sleep(0.2)
        lines.on_fit_begin(FitPlan(n_members=3, n_rows=2400, n_minority=72, has_eval_set=False))
        time.sleep(0.2)
    told = capsys.readouterr().err
    assert re.match(r"\d s: reading, 25%\n", told)
    assert re.search(r"\n\d s: fitting 2,400 rows, 72 of them rare\n$", told)


def test_with_no_seconds_between_lines_every_one_is_printed_as_it_comes(capsys):
    lines = output.LogLines()
    lines.on_recipe_begin("linear", "judging")
    lines.on_recipe_begin("trees", "judging")
    assert capsys.readouterr().err == "judging linear\njudging trees\n"
