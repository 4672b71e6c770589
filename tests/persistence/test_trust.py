"""Only types on the library's own list come to life, unless the caller allows more."""

import json
import zipfile
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.exceptions import ModelFileError, PickledModelWarning
from selfpaced.persistence import read_card, save_model
from selfpaced.persistence.files import CARD, load_model

TREE = DecisionTreeClassifier(max_depth=3)


class Own(ClassifierMixin, BaseEstimator):
    """A base model that the library does not know."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def slow_pacing(round, n_rounds):
    return round / n_rounds


OWN = f"{Own.__module__}.Own"


def own_kind_saved(frauds, folder):
    return save_model(UnderBaggingClassifier(Own(), 2).fit(*frauds), folder / "model.skops", allow=OWN)


def test_an_unknown_type_is_refused_by_name_when_it_is_saved(frauds, tmp_path):
    model = UnderBaggingClassifier(Own(), 2).fit(*frauds)
    with pytest.raises(ModelFileError, match=r"holds .*\.Own, which .* save_model\(\.\.\., allow=\['.*\.Own'\]\)"):
        save_model(model, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_type_is_refused_by_name_when_it_is_loaded(frauds, tmp_path):
    path = own_kind_saved(frauds, tmp_path)
    with pytest.raises(ModelFileError, match=r"holds .*\.Own, which .* load_model\(\.\.\., allow=\['.*\.Own'\]\)"):
        load_model(path)


@pytest.mark.parametrize("allow", [OWN, [OWN], (OWN, "another.Type")], ids=["a name", "a list", "more"])
def test_a_type_that_the_caller_allows_is_loaded(frauds, tmp_path, allow):
    loaded = load_model(own_kind_saved(frauds, tmp_path), allow=allow)
    assert isinstance(loaded.estimators_[0], Own)


@pytest.mark.parametrize("place", ["card", "root of the model"])
def test_the_file_cannot_add_to_the_list(frauds, tmp_path, place):
    path = own_kind_saved(frauds, tmp_path)
    part = CARD if place == "card" else "schema.json"
    claims = {"allow": [OWN], "trusted": [OWN], "trusted_types": [OWN], "storage": "skops"}
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    parts[part] = json.dumps({**json.loads(parts[part]), **claims}).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    with pytest.raises(ModelFileError, match="is not on the list of trusted types"):
        load_model(path)


def test_a_function_that_would_run_is_refused(rewrite):
    def with_a_call(root):
        """The list of members, built by os.system instead of list."""
        return root.replace(b'"__module__": "builtins"', b'"__module__": "os"').replace(
            b'"__class__": "list"', b'"__class__": "system"'
        )

    with pytest.raises(ModelFileError, match=r"os\.system"):
        load_model(rewrite("schema.json", with_a_call))


def test_a_nameless_function_is_refused_by_the_parameter_it_was_given_for(frauds, tmp_path):
    model = SelfPacedEnsembleClassifier(TREE, 2, hardness=lambda doubt: doubt**3, random_state=0).fit(*frauds)
    with pytest.raises(ModelFileError, match=r"parameter hardness is the function .*<lambda>.*set_params"):
        save_model(model, tmp_path / "model.skops")
    assert save_model(model.set_params(hardness="absolute"), tmp_path / "model.skops").exists()


def test_a_function_with_a_name_is_an_unknown_type(frauds, tmp_path):
    model = SelfPacedEnsembleClassifier(TREE, 2, pacing=slow_pacing, random_state=0).fit(*frauds)
    with pytest.raises(ModelFileError, match="slow_pacing"):
        save_model(model, tmp_path / "model.skops")
    assert save_model(model, tmp_path / "model.skops", allow=f"{__name__}.slow_pacing").exists()


# Trees that are none: an allow-list knows types, not contents


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("left_child", 10_000, "children that do not exist"),
        ("right_child", 0, "children that do not exist"),
        ("left_child", -7, "children that do not exist"),
        ("feature", 6, "a feature beyond the 6"),
        ("feature", -3, "a feature beyond the 6"),
    ],
)
def test_a_tree_that_would_read_elsewhere_in_memory_is_refused(frauds, tmp_path, field, value, said):
    model = UnderBaggingClassifier(TREE, 2, random_state=0).fit(*frauds)
    state = model.estimators_[0].tree_.__getstate__()
    state["nodes"][field][0] = value
    model.estimators_[0].tree_.__setstate__(state)
    with pytest.raises(ModelFileError, match=said):
        load_model(save_model(model, tmp_path / "model.skops"))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("left", 10_000, "children that do not exist"),
        ("right", 0, "children that do not exist"),
        ("feature_idx", 2, "a feature beyond the 2"),
        ("bitset_idx", 10_000, "categories that do not exist"),
    ],
)
def test_a_boosted_tree_that_would_read_elsewhere_in_memory_is_refused(frauds, tmp_path, field, value, said):
    X, y = frauds
    frame = pd.DataFrame({"amount": X[:, 0], "shop": pd.Categorical(np.where(X[:, 1] + y > 1, "web", "till"))})
    model = UnderBaggingClassifier(HistGradientBoostingClassifier(max_iter=3), 2, random_state=0).fit(frame, y)
    nodes = model.estimators_[0]._predictors[1][0].nodes
    nodes[field][nodes["is_leaf"] == 0] = value
    with pytest.raises(ModelFileError, match=said):
        load_model(save_model(model, tmp_path / "model.skops"))


def test_a_member_of_other_features_is_refused(frauds, tmp_path):
    X, y = frauds
    model = UnderBaggingClassifier(TREE, 2, random_state=0).fit(X, y)
    (part,) = model.model_.parts
    other = DecisionTreeClassifier(max_depth=2).fit(np.column_stack([X, X]), y)
    wrong = replace(part, members=(part.members[0], other))
    model = model.with_model(replace(model.model_, parts=(wrong,)))
    with pytest.raises(ModelFileError, match="a member has 12 features, but the ensemble has 6"):
        load_model(save_model(model, tmp_path / "model.skops"))


# Pickles


def test_a_pickle_is_written_only_if_asked_for(model, tmp_path):
    with pytest.raises(ModelFileError, match=r"Name it model\.skops, or set format='joblib'"):
        save_model(model, tmp_path / "model.joblib")
    with pytest.raises(ModelFileError, match=r"does not end in \.joblib or \.pkl"):
        save_model(model, tmp_path / "model.skops", format="joblib")


def test_a_pickle_is_loaded_only_if_trusted_and_with_a_warning(frauds, tmp_path):
    X, y = frauds
    model = UnderBaggingClassifier(TREE, 2, random_state=0).fit(X, y)
    path = save_model(model, tmp_path / "model.joblib", format="joblib", notes="a pickle")
    with pytest.raises(ModelFileError, match="trusted_pickle=True"):
        load_model(path)
    with pytest.warns(PickledModelWarning, match="can run any code"):
        loaded = load_model(path, trusted_pickle=True)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (read_card(path).storage, read_card(path).notes) == ("joblib", "a pickle")


def test_a_pickle_under_another_name_is_still_a_pickle(model, tmp_path):
    path = save_model(model, tmp_path / "model.pkl", format="joblib").rename(tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="trusted_pickle=True"):
        load_model(path)


def test_a_pickle_that_save_model_did_not_write_is_never_opened(model, tmp_path):
    joblib.dump(model, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="a pickle that save_model did not write"):
        load_model(tmp_path / "model.skops", trusted_pickle=True)


def test_a_skops_file_of_something_else_is_refused(tmp_path):
    skops.io.dump(TREE, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"load it with skops\.io\.load"):
        load_model(tmp_path / "model.skops")
