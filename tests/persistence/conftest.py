"""A small saved model."""

import zipfile

import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.persistence import save_model


@pytest.fixture(scope="session")
def model(frauds):
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 3, random_state=0).fit(*frauds)


@pytest.fixture
def saved(model, tmp_path):
    return save_model(model, tmp_path / "model.skops")


@pytest.fixture
def rewrite(saved):
    """Writes the saved model again with one part changed by a function of its bytes."""

    def rewrite(part, change):
        with zipfile.ZipFile(saved) as old:
            parts = {name: old.read(name) for name in old.namelist()}
        parts[part] = change(parts[part])
        with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as new:
            for name, content in parts.items():
                new.writestr(name, content)
        return saved

    return rewrite
