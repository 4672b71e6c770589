"""The layers check finds what it is made to find."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.check_layers import complaints

CHECK = Path(__file__).parents[1] / "tools" / "check_layers.py"


def test_the_package_keeps_to_its_layers():
    result = subprocess.run([sys.executable, CHECK], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_complaints_are_the_output_of_a_check_that_fails(tmp_path):
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "strings.py").touch()
    result = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stdout.splitlines() == list(complaints(tmp_path))


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("algorithms/step.py", "import sklearn.base", "algorithms use only numpy, but here sklearn.base"),
        ("algorithms/step.py", "from selfpaced.pools import keys", "algorithms must not use pools"),
        ("scoring/plain.py", "from selfpaced import SelfPacedEnsembleClassifier", "scoring must not use selfpaced"),
        ("scoring/plain.py", "from selfpaced import tables", "scoring must not use tables"),
        ("pools/keys.py", "def f():\n    import selfpaced.tables", "pools must not use tables"),
        ("ensembles/base.py", "import selfpaced.report", "ensembles must not use report"),
        ("scoring/one.py", "from selfpaced.pools import row_keys", "scoring must not use pools"),
        (
            "model/one.py",
            "from selfpaced.tables.labels import Labels",
            "must import Labels from a package, not from its",
        ),
        ("report/page.py", "def f(model):\n    return model._means", "page.py:2: _means is a private name of another"),
        ("cli/talk.py", "from selfpaced.report import _leaks", "talk.py:1: _leaks is a private name of another"),
        ("report/page.py", "def f(a, b, c, d, *, e, f, g, h, i): ...", "page.py:1: f has 9 parameters"),
        ("pools/two.py", "class A: ...\nclass B: ...\nclass A: ...", "The class name A exists 2 times"),
        ("pools/long.py", "\n" * 5000, "pools has 5000 lines in 1 files; its budget is"),
        ("helpers/strings.py", "", "the package 'helpers' has no layer"),
    ],
)
def test_what_crosses_a_border_is_named(tmp_path, file, line, complaint):
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(line)
    assert any(complaint in found for found in complaints(tmp_path))


def test_public_functions_and_constructors_have_as_many_parameters_as_they_need(tmp_path):
    (tmp_path / "ensembles").mkdir()
    path = tmp_path / "ensembles" / "one.py"
    nine = "a, b, c, d, e, f, g, h, i"
    path.write_text(f"class A:\n    def __init__(self, {nine}): ...\n")
    assert list(complaints(tmp_path)) == []
    path.write_text(f'def fit({nine}):\n    """Fit.\n\n    Parameters\n    ----------\n    """\n')
    assert list(complaints(tmp_path)) == []
    path.write_text(f"def fit({nine}): ...\n")
    assert list(complaints(tmp_path)) != []


def test_private_names_of_the_own_package_and_of_self_are_free(tmp_path):
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "one.py").write_text("def _limit():\n    return 1\n")
    (tmp_path / "pools" / "two.py").write_text("from selfpaced.pools import one\n\nprint(one._limit())\n")
    (tmp_path / "pools" / "three.py").write_text("class A(B):\n    def f(self):\n        return self._inherited\n")
    assert list(complaints(tmp_path)) == []
