"""A fit of the classifier that chooses that was stopped goes on, and ends with the model it would have had."""

import os
import shutil
import signal
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, judging
from selfpaced.ensembles.auto.recipes import RECIPES
from selfpaced.exceptions import CheckpointError, ModelFileError
from selfpaced.tables.sources import open_table
from tests.ensembles.blends import assert_the_same_model, auto, recipes
from tests.ensembles.killed import fit_until_killed
from tests.few_recipes import use_recipes
from tests.forked import forked


class AccidentError(Exception):
    pass


class AccidentBefore(Callback):
    """Fails when the recipe of a number comes to be judged or fitted."""

    def __init__(self, stage, number):
        self.stage, self.number = stage, number

    def on_fit_begin(self, plan):
        self.begun = []

    def on_recipe_begin(self, name, stage):
        self.begun.append(stage)
        if self.begun.count(self.stage) > self.number:
            raise AccidentError


class AccidentInPass(Callback):
    """Fails in the middle of a pass over the rows, so many passes after recipes have been judged."""

    n_passes, is_fitting = 0, False

    def __init__(self, number):
        self.number = number

    def on_recipe_begin(self, name, stage):
        self.is_fitting = stage == "fitting"

    def on_rows_read(self, n_read, n_rows):
        self.n_passes += self.is_fitting and n_read == n_rows
        if self.is_fitting and self.n_passes >= self.number and n_read < n_rows:
            raise AccidentError


@pytest.fixture(scope="module")
def frame():
    X, y = make_fraud(n_rows=2000, n_frauds=50, n_features=4, random_state=0)
    return pd.DataFrame(X.astype(np.float32), columns=list("abcd")).assign(label=y)


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "rows.parquet"
    frame.to_parquet(path, row_group_size=300)
    return path


@pytest.fixture(scope="module")
def whole(path):
    return auto().fit_table(open_table(path, target="label"))


@pytest.fixture(scope="module")
def finished(path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints") / "kept"
    auto().fit_table(open_table(path, target="label"), checkpoint=folder)
    return folder


@pytest.fixture
def kept(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "kept"))


def resumed(path, folder, **options):
    return auto(**options).fit_table(open_table(path, target="label", batch_rows=111), checkpoint=folder)


def broken_off(path, folder, accident):
    with pytest.raises(AccidentError):
        auto(callbacks=accident).fit_table(open_table(path, target="label", batch_rows=100), checkpoint=folder)


@pytest.mark.parametrize(
    "accident",
    [AccidentBefore("judging", 1), AccidentBefore("fitting", 0), AccidentBefore("fitting", 1), AccidentInPass(3)],
    ids=["after the first was judged", "after all were judged", "after the first was fitted", "in the middle of a fit"],
)
def test_after_an_accident_the_model_is_the_same(frame, path, whole, tmp_path, accident):
    broken_off(path, tmp_path / "kept", accident)
    assert_the_same_model(resumed(path, tmp_path / "kept"), whole, frame.drop(columns="label"))


def test_the_error_of_a_callback_is_not_taken_for_a_recipe_that_fails(path):
    with pytest.raises(AccidentError):
        auto(callbacks=AccidentInPass(1)).fit_table(open_table(path, target="label", batch_rows=100))


def test_what_was_judged_and_fitted_is_not_done_again(path, kept, monkeypatch):
    def never(*given):
        raise AssertionError("This has been done.")

    monkeypatch.setattr(judging, "judged_scores", never)
    monkeypatch.setattr(DecisionTreeClassifier, "fit", never)
    resumed(path, kept)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("n_passes", [1, 3, 5])
def test_kill_9_costs_what_was_being_done_only(frame, path, whole, tmp_path, n_passes):
    killed = forked(fit_until_killed, auto(), path, tmp_path / "kept", n_passes)
    killed.join(300)
    assert killed.exitcode == -signal.SIGKILL
    assert_the_same_model(resumed(path, tmp_path / "kept"), whole, frame.drop(columns="label"))


def test_without_a_seed_it_goes_on_with_the_one_it_began_with(frame, path, tmp_path):
    with pytest.raises(AccidentError):
        # By chance one recipe alone may have a weight, so this is before the first one is fitted.
        auto(random_state=None, callbacks=AccidentBefore("fitting", 0)).fit_table(
            open_table(path, target="label"), checkpoint=tmp_path / "kept"
        )
    models = [resumed(path, tmp_path / "kept", random_state=None) for _ in range(2)]
    assert_the_same_model(*models, frame.drop(columns="label"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_state": 1}, "seed was 0 and is 1"),
        ({"calibration": "beta"}, "parameter calibration was .*isotonic.* and is .*beta.* now"),
    ],
    ids=["seed", "calibration"],
)
def test_another_fit_is_refused_by_what_differs(path, kept, options, message):
    with pytest.raises(CheckpointError, match=message):
        resumed(path, kept, **options)


def test_other_recipes_are_refused(path, kept):
    model = AutoSelfPacedClassifier(recipes()[:2], random_state=0)
    with pytest.raises(CheckpointError, match=r"belongs to another fit: parameter recipes was .* and is .* now"):
        model.fit_table(open_table(path, target="label"), checkpoint=kept)


def test_other_default_recipes_are_refused(path, tmp_path, monkeypatch):
    model = AutoSelfPacedClassifier(random_state=0, callbacks=AccidentBefore("judging", 0))
    with pytest.raises(AccidentError):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    use_recipes(monkeypatch, {name: recipe for name, recipe in RECIPES.items() if name != "CatBoost"})
    with pytest.raises(CheckpointError, match="belongs to another fit: parameter recipes"):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


def test_nobody_else_may_read_it(kept):
    for each in kept.rglob("*"):
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each


def test_damage_to_a_judgement_is_named(path, kept):
    judged = sorted(kept.glob("judged-*.skops"))
    assert len(judged) == 3
    judged[0].write_bytes(judged[0].read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=f"{judged[0].name} of the checkpoint is damaged. Remove it"):
        resumed(path, kept)


def test_the_judgement_of_another_recipe_is_refused(path, kept):
    one, other, _ = sorted(kept.glob("judged-*.skops"))
    shutil.copy(one, other)
    with pytest.raises(CheckpointError, match=f"{other.name} belongs to another fit"):
        resumed(path, kept)


def test_damage_to_a_round_is_named_and_no_recipe_is_left_out_for_it(path, kept):
    damaged = sorted(kept.rglob("round-*.skops"))[0]
    damaged.write_bytes(b"")
    with pytest.raises(CheckpointError, match=rf"{damaged.name} of the checkpoint is damaged. Remove it"):
        resumed(path, kept)


class OwnTree(DecisionTreeClassifier):
    """A base model that is on no list."""


def test_a_base_model_that_the_library_does_not_know_is_refused_unless_it_is_allowed(path, tmp_path):
    model = AutoSelfPacedClassifier([("own", SelfPacedEnsembleClassifier(OwnTree(max_depth=3), 2))], random_state=0)
    name = f"{OwnTree.__module__}.OwnTree"
    with pytest.raises(ModelFileError, match=f"{name}, which is not on the list of trusted types"):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept", allow=name)
    assert len(model.ensembles_["own"].estimators_) == 2
