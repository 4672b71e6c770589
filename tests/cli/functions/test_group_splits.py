"""Whole groups held out, and the warning where none were named."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.cli.commands.compare import Method, judged, task_of
from selfpaced.cli.commands.train import open_data, train
from selfpaced.cli.request import TrainRequest
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    card = rng.integers(200, size=2000)
    is_bad = (rng.random(200) < 0.1)[card]
    label = (is_bad & (rng.random(2000) < 0.7)).astype(int)
    X = rng.normal(size=(200, 3))[card] + 0.001 * rng.normal(size=(2000, 3))
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(2000), unit="h")
    return pd.DataFrame(X, columns=list("abc")).assign(card_id=card, when=when, label=label)


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "cards.parquet"
    frame.to_parquet(path, row_group_size=300)
    return path


def request(path, **options):
    return TrainRequest(path, "label", base="tree", members=5, calibration="none", **options)


def split(path, **options):
    return open_data(request(path, **options))


def cards(table):
    return set(np.asarray(table.column("card_id")).tolist())


@pytest.mark.parametrize("out_of_core", [False, True])
def test_no_group_is_trained_on_and_held_out(path, frame, out_of_core):
    found = split(path, group="card_id", out_of_core=out_of_core)
    assert not cards(found.train) & cards(found.test)
    assert found.train.n_rows + found.test.n_rows == len(frame)
    rare = np.asarray(found.test.column("label")).sum() / frame["label"].sum()
    assert 0.15 < rare < 0.25
    assert 0.1 < found.test.n_rows / len(frame) < 0.3
    assert "card_id" not in found.train.schema.names


def test_text_and_numbers_hold_out_the_same_groups(path, frame, tmp_path):
    frame.assign(card_id=frame["card_id"].astype(str)).to_parquet(tmp_path / "text.parquet")
    numbers, texts = (split(one, group="card_id").test for one in (path, tmp_path / "text.parquet"))
    assert np.asarray(numbers.column("a")).tolist() == np.asarray(texts.column("a")).tolist()


def test_with_times_the_last_rows_of_some_groups_are_held_out(path, frame):
    found = split(path, group="card_id", time_column="when", holdout=0.4)
    assert not cards(found.train) & cards(found.test)
    train_rows, test_rows = (frame["a"].isin(part.features()["a"]) for part in (found.train, found.test))
    assert frame["when"][train_rows].max() < frame["when"][test_rows].min()
    (n_not_used,) = found.facts.not_used.values()
    assert found.train.n_rows + found.test.n_rows + n_not_used == len(frame)


def test_rows_of_another_file_whose_groups_are_trained_on_are_not_judged_by(path, frame, tmp_path):
    later = pd.concat([frame.iloc[:100], frame.iloc[100:300].assign(card_id=lambda rows: rows["card_id"] + 1000)])
    later.to_parquet(tmp_path / "later.parquet")
    found = split(path, group="card_id", valid=tmp_path / "later.parquet")
    assert found.test.n_rows == 200
    assert list(found.facts.not_used.values()) == [100]


def test_rare_rows_in_one_group_are_refused(frame, tmp_path):
    frame.assign(card_id=np.where(frame["label"], -1, frame["card_id"])).to_parquet(tmp_path / "one.parquet")
    with pytest.raises(TableError, match=r"No row of the class 1 would be .* in too few groups"):
        split(tmp_path / "one.parquet", group="card_id")


def test_one_giant_group_is_refused(frame, tmp_path):
    frame.assign(card_id=7).to_parquet(tmp_path / "giant.parquet")
    with pytest.raises(TableError, match="No row of the class"):
        split(tmp_path / "giant.parquet", group="card_id")


def test_a_group_with_most_rare_rows_is_trained_on_and_warned_about(frame, tmp_path):
    rng = np.random.default_rng(1)
    most = (frame["label"] == 1) & (rng.random(len(frame)) < 0.8)
    frame.assign(card_id=np.where(most, -1, frame["card_id"])).to_parquet(tmp_path / "most.parquet")
    found = split(tmp_path / "most.parquet", group="card_id")
    assert -1 in cards(found.train)
    (warning,) = map(str, found.facts.cautions)
    assert "One group of 'card_id' has 8" in warning
    assert "of the rows of the class 1" in warning


def test_groups_bring_down_what_known_cards_flatter(path):
    flattered, honest = (train(request(path, group=group)).evaluation.aucprc for group in (None, "card_id"))
    assert flattered > 0.6
    assert honest < 0.3


def test_a_comparison_gives_groups_to_the_models_that_take_them(path):
    asked = request(path, group="card_id")
    task = task_of(asked, open_data(asked))
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 2, random_state=0)
    judged(Method("ours", model), task)
    assert model.trained_on_.group == "groups"
    judged(Method("others", DecisionTreeClassifier(max_depth=3)), task)


def test_a_column_like_a_card_that_repeats_is_warned_about(path):
    (one,) = split(path).facts.cautions
    assert (one.kind, one.name) == ("repeats", "card_id")
    assert one.figure > 0.99
    assert split(path, group="card_id").facts.cautions == []


def test_columns_that_only_look_like_ids_are_not_warned_about(frame, tmp_path):
    rows = frame.assign(card_id=np.arange(2000), card_type=np.arange(2000) % 3)
    rows.to_parquet(tmp_path / "unique.parquet")
    assert split(tmp_path / "unique.parquet").facts.cautions == []
