"""Misspelled commands, options and columns: the error names what was probably meant."""

import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.cli.parser import COMMANDS, GROUPS


@pytest.fixture
def complaint(capsys):
    """What wrong use is answered with, on standard error."""

    def complaint(*arguments):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        return capsys.readouterr().err

    return complaint


def test_a_misspelled_command_is_answered_with_the_command(complaint):
    assert "Did you mean 'train'?" in complaint("trian", "rows.csv")


def test_a_misspelled_option_is_answered_with_the_option(complaint):
    assert "Did you mean '--report'?" in complaint("train", "rows.csv", "--target", "y", "--reprot", "page.html")


def test_a_misspelled_option_is_found_also_if_it_is_the_one_that_is_missing(complaint):
    assert "Did you mean '--target'?" in complaint("train", "rows.csv", "--traget", "y")


def test_a_misspelled_value_is_answered_with_the_value(complaint):
    assert "Did you mean 'lightgbm'?" in complaint("train", "rows.csv", "--target", "y", "--base", "lightgmb")


def test_an_option_of_no_likeness_is_answered_without_a_guess(complaint):
    assert "Did you mean" not in complaint("train", "rows.csv", "--target", "y", "--colour", "red")


def test_a_misspelled_column_is_answered_with_the_column(run, folder):
    pd.DataFrame({"amount": range(20), "is_fraud": [0, 1] * 10}).to_csv("rows.csv", index=False)
    code, _, complained = run("train", "rows.csv", "--target", "is_frud")
    assert code == 2
    assert "Did you mean 'is_fraud'?" in complained


def test_the_help_lists_every_command_in_one_group(capsys):
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n  {name} " in said and COMMANDS[name][0] in said for name in COMMANDS)


def test_an_error_fits_on_the_screen_and_says_where_the_options_are(complaint):
    lines = complaint("train", "rows.csv").splitlines()
    assert lines == [
        "selfpaced train: error: the following arguments are required: --target",
        "selfpaced train --help shows the options and examples.",
    ]
