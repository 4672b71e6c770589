"""What an import loads: sources, clusters, pages and commands are loaded when they are used."""

import subprocess
import sys

import pytest

MOST_MODULES = 60


def loaded_by(statement):
    code = f"{statement}; import sys; print(*(name for name in sys.modules if name.split('.')[0] == 'selfpaced'))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", ["SelfPacedEnsembleClassifier", "UnderBaggingClassifier", "BalanceCascadeClassifier"])
def test_an_estimator_loads_few_modules(name):
    loaded = loaded_by(f"from selfpaced import {name}")
    assert len(loaded) <= MOST_MODULES
    others = ("clusters", "cli", "report", "trees", "thresholds", "tables.files", "tables.sources", "tables.text")
    assert not [each for each in loaded if each.removeprefix("selfpaced.").startswith(others)]


def test_the_package_alone_loads_nothing():
    assert loaded_by("import selfpaced") == ["selfpaced"]
