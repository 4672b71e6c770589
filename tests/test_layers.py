"""The layers check finds what it is made to find."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = [sys.executable, str(Path(__file__).parents[1] / "tools" / "check_layers.py")]


def run(*arguments):
    return subprocess.run([*CHECK, *map(str, arguments)], capture_output=True, text=True)


def test_the_house_is_in_order():
    result = run()
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("algorithms/step.py", "import sklearn.base", "the paper's room is plain numpy, but uses sklearn.base"),
        ("algorithms/step.py", "from selfpaced.pools import keys", "algorithms must not use pools"),
        ("scoring/plain.py", "from selfpaced import SelfPacedEnsembleClassifier", "scoring must not use selfpaced"),
        ("pools/keys.py", "def f():\n    import selfpaced.tables.labels", "pools must not use tables"),
        ("ensembles/averaging.py", "import selfpaced.report", "ensembles must not use report"),
        ("helpers/strings.py", "", "the room 'helpers' has no floor"),
    ],
)
def test_a_wrong_import_is_named(tmp_path, file, line, complaint):
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(line)
    result = run(tmp_path)
    assert result.returncode == 1
    assert complaint in result.stdout
