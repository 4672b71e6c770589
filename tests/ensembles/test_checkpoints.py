"""A fit that was stopped goes on and ends with the model it would have had."""

import json
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles import checkpoint as identity
from selfpaced.exceptions import ModelFileError
from selfpaced.tables.sources import open_table
from tests.ensembles.killed import fit_until_killed
from tests.forked import forked

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


def test_a_finished_fit_is_not_done_again(path, tmp_path, passes):
    table = open_table(path, target="label")
    spe().fit_table(table, checkpoint=tmp_path / "kept")
    passes.clear()
    spe().fit_table(table, checkpoint=tmp_path / "kept")
    assert len(passes) == 1  # for the minority


def test_going_on_scores_all_finished_members_in_one_pass(path, tmp_path, passes):
    with pytest.raises(AccidentError):
        spe(callbacks=AccidentAfter(3)).fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    table = open_table(path, target="label")
    passes.clear()
    spe().fit_table(table, checkpoint=tmp_path / "kept")
    # The labels, the minority, the finished members' scores, and one round.
    assert len(passes) == 2 + 2


def test_without_a_seed_it_goes_on_with_the_seed_it_began_with(frame, path, tmp_path):
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


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_kill_9_in_the_middle_of_a_round_costs_that_round_only(frame, path, tmp_path):
    killed = forked(fit_until_killed, spe(), path, tmp_path / "kept", 3)
    killed.join(120)
    assert killed.exitcode == -signal.SIGKILL
    kept = sorted(file.name for file in Path(tmp_path / "kept").iterdir())
    assert kept == ["plan.json", "round-0000.skops", "round-0001.skops"]
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
    spe().fit_table(open_table(tmp_path / "rows.parquet", target="label", where=one), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="belongs to another fit: filter"):
        spe().fit_table(
            open_table(tmp_path / "rows.parquet", target="label", where=other), checkpoint=tmp_path / "kept"
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
    (tmp_path / "kept" / "round-0002.skops").write_bytes(b"")
    with pytest.raises(ValueError, match=r"round-0002\.skops .*is damaged"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    (tmp_path / "kept" / "plan.json").write_text("{")
    with pytest.raises(ValueError, match=r"plan\.json of the checkpoint is damaged"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match=r"is a file. Name a folder"):
        spe().fit_table(open_table(path, target="label"), checkpoint=path)


@pytest.mark.parametrize(
    "base",
    [
        LGBMClassifier(n_estimators=5, verbose=-1),
        HistGradientBoostingClassifier(max_iter=5),
        make_pipeline(FunctionTransformer(np.tanh), LogisticRegression()),
    ],
    ids=["lightgbm", "hist", "pipeline"],
)
@pytest.mark.parametrize("options", [{}, {"calibration": "isotonic"}], ids=["plain", "calibrated"])
def test_members_of_files_score_as_those_that_were_not_saved(frame, path, tmp_path, base, options):
    def fitted(callbacks=None, **others):
        model = SelfPacedEnsembleClassifier(base, 3, random_state=0, callbacks=callbacks, **options)
        return model.fit_table(open_table(path, target="label"), **others)

    with pytest.raises(AccidentError):
        fitted(AccidentAfter(2), checkpoint=tmp_path / "kept")
    resumed, whole, X = fitted(checkpoint=tmp_path / "kept"), fitted(), frame.drop(columns="label")
    assert same(resumed, whole, frame)
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


# What a fit is made of


def cubed(doubts):
    return doubts**3


def to_the(power):
    def hardness(doubts):
        return doubts**power

    return hardness


class Power:
    def __init__(self, power):
        self.power = power

    def __call__(self, doubts):
        return doubts**self.power


def described(value):
    return identity._described(value, set())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DecisionTreeClassifier(max_depth=np.int64(2)), DecisionTreeClassifier(max_depth=np.int64(6))),
        (partial(cubed), partial(cubed, out=None)),
        (partial(pow, 2), partial(pow, 3)),
        (Power(2), Power(3)),
        (Power(2).__call__, Power(3).__call__),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.arange(3), np.arange(3.0)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.array([1, None]), np.array([2, None])),
        ([1, 2], (1, 2)),
        ({"a": 1}, {"a": 2}),
        (1, True),
        ("1", 1),
        (np.log1p, np.expm1),
        (np.random.RandomState(0).normal, np.random.RandomState(1).normal),
        (FunctionTransformer(np.log1p), FunctionTransformer(np.expm1)),
        (
            FrozenEstimator(LogisticRegression().fit([[1], [2]], [0, 1])),
            FrozenEstimator(LogisticRegression().fit([[1], [9]], [0, 1])),
        ),
    ],
)
def test_values_that_differ_are_described_differently(one, other):
    assert described(one) != described(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, np.int64(2)),
        (2, np.int8(2)),
        (0.5, np.float64(0.5)),
        (True, np.bool_(True)),
        ("a", np.str_("a")),
        ({"b", "a"}, {"a", "b"}),
        (Power(2), Power(2)),
    ],
)
def test_values_that_are_equal_are_described_equally(one, other):
    assert described(one) == described(other)


def test_a_description_is_the_same_in_another_process():
    values = "[cubed, Power(2), {'a', 'b', 'c'}]"
    code = f"import gc; gc.disable(); from tests.ensembles.test_checkpoints import *; print(described({values}))"
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    other = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert other.stdout.strip() == str(described(eval(values)))


def test_one_number_of_numpys_is_another_fit(path, tmp_path):
    for depth, refusal in ((np.int64(2), None), (2, None), (np.int64(6), "max_depth was '2' and is '6' now")):
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=depth), 2, random_state=0)
        if refusal is None:
            model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
        else:
            with pytest.raises(ValueError, match=refusal):
                model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


@pytest.mark.parametrize(
    "value", [lambda doubts: doubts, to_the(2), np.vectorize(to_the(2))], ids=["lambda", "local", "inner"]
)
def test_a_function_without_a_name_is_refused(path, tmp_path, value):
    with pytest.raises(ValueError, match=r"the parameter hardness has changed.*top of a module"):
        spe(hardness=value).fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_function_whose_source_has_changed_is_another_fit(path, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for power in (2, 10):  # of another length: Python may keep what it has compiled of the first
        (tmp_path / "own_functions.py").write_text(f"def hardness(doubts):\n    return doubts**{power}\n")
        sys.modules.pop("own_functions", None)
        model = spe(hardness=__import__("own_functions").hardness)
        if power == 2:
            model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match=r"source of own_functions was .* and is .* now"):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


@pytest.mark.parametrize("value", [partial(cubed, out=threading.Lock()), lru_cache(cubed)], ids=["lock", "cached"])
def test_what_cannot_be_described_is_refused_by_the_name_of_the_parameter(path, tmp_path, value):
    with pytest.raises(ValueError, match=r"the parameter hardness has changed.*top of a module"):
        spe(hardness=value).fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("package", ["python", "numpy", "sklearn", "selfpaced", "lightgbm"])
def test_other_versions_are_another_fit(path, tmp_path, monkeypatch, package):
    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=2, verbose=-1), 1, random_state=0)
    model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    installed = identity.versions_of
    monkeypatch.setattr(identity, "versions_of", lambda packages: installed(packages) | {package: "0.0.1"})
    with pytest.raises(ValueError, match=rf"version of {package} was '[\d.]+' and is '0\.0"):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


def test_three_differences_are_shown_and_the_others_counted(path, tmp_path):
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    other = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 4, n_bins=7, ratio=2.0, random_state=1)
    with pytest.raises(ValueError, match="belongs to another fit") as caught:
        other.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    assert (
        "parameter estimator__max_depth was '4' and is '3' now; parameter estimator__max_features was '2' and is "
        "'None' now; parameter n_bins was '20' and is '7' now; and 3 more. Choose another folder"
    ) in str(caught.value)


# The data


def test_a_file_that_took_the_place_of_another_is_other_data(frame, path, tmp_path):
    """With the same name, size and time."""
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    before = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ValueError, match="belongs to another fit: files"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


def test_parts_of_a_memory_map_are_told_apart(frame, tmp_path):
    X, y = np.tile(frame.drop(columns="label").to_numpy(), (2, 1)), frame["label"].to_numpy()
    X[len(y) :] += 1
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for _ in range(2):
        spe().fit_table(open_table(mapped[: len(y)], target=y), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="belongs to another fit: features"):
        spe().fit_table(open_table(mapped[len(y) :], target=y), checkpoint=tmp_path / "kept")


def test_a_table_in_memory_is_known_by_the_filter_that_it_was_loaded_with(path, tmp_path):
    one, other = (open_table(path, target="label", where=[("a", ">", low)]).loaded() for low in (-9, -1))
    spe().fit_table(one, checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="belongs to another fit: files"):
        spe().fit_table(other, checkpoint=tmp_path / "kept")


# Files that run nothing


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("executed",)


class Own(ClassifierMixin, BaseEstimator):
    """A base model that the library does not know."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@pytest.fixture
def kept(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    return tmp_path / "kept"


@pytest.mark.parametrize("name", ["round-0002.skops", "round-0009.skops"])
def test_a_pickle_is_never_opened(path, kept, name):
    (kept / name).write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(ValueError, match="is damaged"):
        spe().fit_table(open_table(path, target="label"), checkpoint=kept)
    assert not Path("executed").exists()
    pickle.loads((kept / name).read_bytes())
    assert Path("executed").exists()  # as this pickle does


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_round_that_was_cut_short_is_named(path, kept, share):
    file = kept / "round-0002.skops"
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    with pytest.raises(ValueError, match=r"round-0002\.skops of the checkpoint is damaged. Remove it"):
        spe().fit_table(open_table(path, target="label"), checkpoint=kept)
    file.unlink()
    spe().fit_table(open_table(path, target="label"), checkpoint=kept)
    assert file.exists()


def test_rounds_of_another_fit_are_refused_without_their_plan_and_under_another_name(path, kept):
    (kept / "plan.json").rename(kept / "old.json")
    with pytest.raises(ValueError, match=r"round-0000\.skops belongs to another fit than plan\.json"):
        spe(n_bins=7).fit_table(open_table(path, target="label"), checkpoint=kept)
    (kept / "old.json").rename(kept / "plan.json")
    shutil.copy(kept / "round-0001.skops", kept / "round-0002.skops")
    with pytest.raises(ValueError, match=r"round-0002\.skops belongs to another fit .* or to another round"):
        spe().fit_table(open_table(path, target="label"), checkpoint=kept)


def test_a_base_model_that_the_library_does_not_know_is_refused_unless_it_is_allowed(path, tmp_path):
    model, own = SelfPacedEnsembleClassifier(Own(), 2, random_state=0), f"{__name__}.Own"
    with pytest.raises(ModelFileError, match=r"holds .*Own, which .*fit_table\(.*, allow=\['.*Own'\]\)"):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")
    for _ in range(2):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept", allow=own)
    with pytest.raises(ModelFileError, match=r"holds .*Own"):
        model.fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


def test_types_are_allowed_for_a_checkpoint_only(path):
    with pytest.raises(ValueError, match="needs a checkpoint"):
        spe().fit_table(open_table(path, target="label"), allow="mypackage.MyClassifier")


def test_without_skops_the_error_names_the_extra(path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"checkpoints .*selfpaced\[models\]"):
        spe().fit_table(open_table(path, target="label"), checkpoint=tmp_path / "kept")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_nobody_else_may_read_it(kept):
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}


def test_temporary_files_of_killed_processes_are_removed_after_a_day(path, kept):
    old, new = (kept / f".{name}.1a2b3c4d.part" for name in ("round-0002.skops", "plan.json"))
    for file in (old, new):
        file.touch()
    os.utime(old, (time.time() - 90_000,) * 2)
    spe().fit_table(open_table(path, target="label"), checkpoint=kept)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("content", ["{}", "[]", '{"seed": "x"}'])
def test_a_plan_without_a_seed_is_damaged(path, kept, content):
    (kept / "plan.json").write_text(content)
    with pytest.raises(ValueError, match=r"plan\.json of the checkpoint is damaged"):
        SelfPacedEnsembleClassifier(TREE, 5).fit_table(open_table(path, target="label"), checkpoint=kept)


def test_the_plan_is_plain_json(kept):
    plan = json.loads((kept / "plan.json").read_text())
    assert plan["seed"] == 0
    assert plan["parameter estimator__max_depth"] == "4"
