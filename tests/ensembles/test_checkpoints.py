"""A fit that was stopped goes on and ends with the model it would have had."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier, open_table
from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud

TREE = DecisionTreeClassifier(max_depth=4, max_features=2)


class AccidentError(Exception):
    pass


class AccidentAfter(Callback):
    def __init__(self, number):
        self.number = number

    def on_round_end(self, round):
        if round.number == self.number:
            raise AccidentError


def spe(**options):
    return SelfPacedEnsembleClassifier(TREE, 5, random_state=0, **options)


@pytest.fixture(scope="module")
def frame():
    X, y = make_fraud(n_rows=2000, n_frauds=50, n_features=4, random_state=0)
    return pd.DataFrame(X.astype(np.float32), columns=list("abcd")).assign(label=y)


@pytest.fixture
def path(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    return tmp_path / "rows.parquet"


def same(one, other, frame):
    X = frame.drop(columns="label")
    return all(
        np.array_equal(a.predict_proba(X), b.predict_proba(X))
        for a, b in zip(one.estimators_, other.estimators_, strict=True)
    )


@pytest.mark.parametrize("stopped_after", range(5))
def test_after_an_accident_in_any_round_the_model_is_the_same(frame, path, tmp_path, stopped_after):
    whole = spe().fit_table(open_table(path, target="label"))
    with pytest.raises(AccidentError):
        spe(callbacks=AccidentAfter(stopped_after)).fit_table(
            open_table(path, target="label"), checkpoint=tmp_path / "kept"
        )
    resumed = spe().fit_table(open_table(path, target="label", batch_rows=111), checkpoint=tmp_path / "kept")
    assert same(resumed, whole, frame)
    for ours, theirs in zip(resumed.rounds_, whole.rounds_, strict=True):
        np.testing.assert_array_equal(ours.counts, theirs.counts)
        np.testing.assert_array_equal(ours.quota, theirs.quota)


@pytest.mark.parametrize("kind", [BalanceCascadeClassifier, UnderBaggingClassifier])
def test_the_rivals_go_on_too(frame, path, tmp_path, kind):
    whole = kind(TREE, 4, random_state=0).fit_table(open_table(path, target="label"))
    with pytest.raises(AccidentError):
        kind(TREE, 4, random_state=0, callbacks=AccidentAfter(2)).fit_table(
            open_table(path, target="label"), checkpoint=tmp_path / "kept"
        )
    resumed = kind(TREE, 4, random_state=0).fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    assert same(resumed, whole, frame)


def test_a_finished_fit_is_not_done_again(path, tmp_path, monkeypatch):
    table = open_table(path, target="label")
    spe().fit_table(table, checkpoint=tmp_path / "kept")
    passes = []
    original = type(table).batches
    monkeypatch.setattr(type(table), "batches", lambda self: passes.append(1) or original(self))
    spe().fit_table(table, checkpoint=tmp_path / "kept")
    assert len(passes) == 1  # for the minority


def test_going_on_scores_all_finished_members_in_one_pass(path, tmp_path, monkeypatch):
    with pytest.raises(AccidentError):
        spe(callbacks=AccidentAfter(3)).fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    table = open_table(path, target="label")
    passes = []
    original = type(table).batches
    monkeypatch.setattr(type(table), "batches", lambda self: passes.append(1) or original(self))
    spe().fit_table(table, checkpoint=tmp_path / "kept")
    assert len(passes) == 1 + 2


def test_without_a_seed_it_goes_on_with_the_dice_it_began_with(frame, path, tmp_path):
    unseeded = SelfPacedEnsembleClassifier(TREE, 5)
    with pytest.raises(AccidentError):
        SelfPacedEnsembleClassifier(TREE, 5, callbacks=AccidentAfter(2)).fit_table(
            open_table(path, target="label"), checkpoint=tmp_path / "kept"
        )
    one = unseeded.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    first = [member.predict_proba(frame.drop(columns="label")) for member in one.estimators_]
    two = SelfPacedEnsembleClassifier(TREE, 5).fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    for before, member in zip(first, two.estimators_, strict=True):
        np.testing.assert_array_equal(before, member.predict_proba(frame.drop(columns="label")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: spe(n_bins=7).fit_table, "parameter n_bins was '20' and is '7' now"),
        (lambda path: spe().set_params(random_state=1).fit_table, "seed was 0 and is 1"),
    ],
)
def test_another_fit_is_refused(path, tmp_path, change, message):
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match=message):
        change(path)(open_table(path, target="label"), checkpoint=tmp_path / "kept")


def test_other_data_are_refused(frame, path, tmp_path):
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    frame.iloc[::-1].to_parquet(path)
    with pytest.raises(ValueError, match="belongs to another fit: files"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


KILLED = """
import os, signal, sys
from sklearn.tree import DecisionTreeClassifier
from selfpaced import SelfPacedEnsembleClassifier, open_table
from selfpaced.callbacks import Callback

class Kill(Callback):
    def on_rows_read(self, n_read, n_rows):
        self.passes = getattr(self, "passes", 0) + (n_read == n_rows)
        if self.passes == 3 and n_read > n_rows / 2:
            os.kill(os.getpid(), signal.SIGKILL)

tree = DecisionTreeClassifier(max_depth=4, max_features=2)
model = SelfPacedEnsembleClassifier(tree, 5, random_state=0, callbacks=Kill())
model.fit_table(open_table(sys.argv[1], target="label", batch_rows=100), checkpoint=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_kill_9_in_the_middle_of_a_round_costs_that_round_only(frame, path, tmp_path):
    command = [sys.executable, "-c", KILLED, str(path), str(tmp_path / "kept")]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    kept = sorted(file.name for file in Path(tmp_path / "kept").iterdir())
    assert kept == ["plan.json", "round-0000.joblib", "round-0001.joblib"]
    resumed = spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    assert same(resumed, spe().fit_table(open_table(path, target="label")), frame)


def test_arrays_with_other_labels_or_other_numbers_are_refused(frame, tmp_path):
    X, y = frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()
    spe().fit_table(open_table(X, target=y), checkpoint=tmp_path / "kept")
    for other, labels, name in ((X, np.roll(y, 1), "labels"), (X + 1, y, "features")):
        with pytest.raises(ValueError, match=f"belongs to another fit: {name}"):
            spe().fit_table(open_table(other, target=labels), checkpoint=tmp_path / "kept")


def test_filters_that_read_alike_are_told_apart(frame, tmp_path):
    frame.assign(n=np.arange(len(frame))).to_parquet(tmp_path / "rows.parquet")
    kept = np.delete(np.arange(len(frame)), [900]).tolist(), np.delete(np.arange(len(frame)), [901]).tolist()
    one, other = (pc.field("n").isin(values) for values in kept)
    assert str(one) == str(other)
    spe().fit_table(open_table(tmp_path / "rows.parquet", target="label", filter=one), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="belongs to another fit: filter"):
        spe().fit_table(
            open_table(tmp_path / "rows.parquet", target="label", filter=other), checkpoint=tmp_path / "kept"
        )


def own_hardness(doubts):
    return doubts


def test_functions_and_generators_among_the_parameters_do_not_stop_it(frame, path, tmp_path):
    def begun():
        return SelfPacedEnsembleClassifier(TREE, 3, hardness=own_hardness, random_state=np.random.RandomState(3))

    for _ in range(2):
        model = begun().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    assert same(model, begun().fit_table(open_table(path, target="label")), frame)


def test_scores_of_finished_rounds_are_of_this_fits_eval_set(frame, path, tmp_path):
    eval_set = frame.drop(columns="label"), frame["label"]
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    again = spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept", eval_set=eval_set)
    fresh = spe().fit_table(open_table(path, target="label"), eval_set=eval_set)
    assert [round.score for round in again.rounds_] == [round.score for round in fresh.rounds_]


def test_damage_to_a_checkpoint_is_named(path, tmp_path):
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    (tmp_path / "kept" / "round-0002.joblib").write_bytes(b"")
    with pytest.raises(ValueError, match=r"round-0002\.joblib .*is damaged"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    (tmp_path / "kept" / "plan.json").write_text("{")
    with pytest.raises(ValueError, match=r"plan\.json of the checkpoint is damaged"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="is a file; name a folder"):
        spe().fit_table(open_table(path, target="label"), checkpoint=path)
