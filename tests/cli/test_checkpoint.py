"""`selfpaced train --checkpoint`"""

import json

from selfpaced.persistence.files import load_model
from tests.cli.commands import train


def test_the_same_command_goes_on_with_the_rounds_that_are_there(run, csv, folder):
    assert run(*train(csv, "--checkpoint", "fit", "-o", "first.skops"))[0] == 0
    (folder / "fit" / "round-0003.skops").unlink()
    assert run(*train(csv, "--checkpoint", "fit", "-o", "second.skops"))[0] == 0
    first, second = load_model("first.skops"), load_model("second.skops")
    assert [note.seconds for note in first.rounds_[:3]] == [note.seconds for note in second.rounds_[:3]]
    assert first.rounds_[3].seconds != second.rounds_[3].seconds
    figures = [
        json.loads(run("inspect", name, "--json")[1])["metrics"]["aucprc"] for name in ("first.skops", "second.skops")
    ]
    assert figures[0] == figures[1]


def test_the_checkpoint_of_another_training_is_refused(run, csv):
    assert run(*train(csv, "--checkpoint", "fit"))[0] == 0
    code, _, err = run(*train(csv, "--checkpoint", "fit", "--seed", 1))
    assert code == 2
    assert "belongs to another fit" in err
