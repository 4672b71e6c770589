"""Fits with groups: no row is judged by a model that has seen its group."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import MemberFactory, SelfPacedEnsembleClassifier
from selfpaced.ensembles.cross_fitting import cross_fit, folds
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.pools import GROUP, Rows
from selfpaced.tables import group_hashes
from selfpaced.tables.sources import open_table

N_CARDS = 300
TREE = DecisionTreeClassifier(random_state=0)


@pytest.fixture(scope="module")
def cards():
    """Cards with some ten rows each. Whoever knows the card knows the answer, and a new card is a guess."""
    rng = np.random.default_rng(0)
    card = rng.integers(N_CARDS, size=3000)
    is_bad = rng.random(N_CARDS) < 0.05
    X = rng.normal(size=(N_CARDS, 4))[card] + 0.001 * rng.normal(size=(3000, 4))
    return pd.DataFrame(X, columns=list("abcd")).assign(card=card, label=(is_bad[card] & (rng.random(3000) < 0.5)))


def model(**params):
    return SelfPacedEnsembleClassifier(TREE, 3, random_state=0, **{"calibration": "sigmoid"} | params)


def fitted(rows, groups):
    return model().fit(rows[list("abcd")], rows["label"], groups=groups)


def test_no_group_is_in_two_folds_and_every_fold_has_rare_rows(cards):
    groups, y = group_hashes(cards["card"]), cards["label"].to_numpy().astype(int)
    parts = folds(np.arange(len(y)), y, 0, 1, groups)
    assert all(np.unique(parts[groups == one]).size == 1 for one in np.unique(groups))
    assert all(y[parts == part].any() for part in range(5))


def test_copies_score_only_rows_of_groups_that_they_have_not_seen(cards):
    """A copy that has seen the card knows the answer: its scores of the card's rows would be 0 or 1 as the card is."""
    y, groups = cards["label"].to_numpy().astype(int), group_hashes(cards["card"])
    features = cards[["card"]].to_numpy(dtype=float)
    rows = Rows(np.arange(len(y)), features, {GROUP: groups})
    copies = cross_fit(MemberFactory([TREE], 0, {}), 1, rows, y, seed=0, n_threads=1).copies
    for number, copy in enumerate(copies.models):
        left_out = np.unique(features[copies.numbers_for(groups) == number])
        thresholds = copy.tree_.threshold[copy.tree_.feature >= 0]
        learnt = np.setdiff1d(np.arange(N_CARDS), left_out)
        # Trees cut halfway between two cards that they have seen.
        halves = {(one + other) / 2 for one, other in pairwise(learnt)}
        assert set(thresholds.tolist()) <= halves


def test_groups_keep_the_calibration_from_believing_what_members_know_of_cards(cards):
    """Of new cards nothing can be known: the share of rare rows is the same for all of them."""
    new = pd.DataFrame(np.random.default_rng(1).normal(size=(4000, 4)), columns=list("abcd"))
    flattered, honest = (fitted(cards, groups).predict_proba(new)[:, 1].max() for groups in (None, cards["card"]))
    assert flattered > 0.3
    assert honest < 0.1


def test_files_have_the_calibration_of_the_fit_in_memory(cards, tmp_path):
    cards.to_csv(tmp_path / "cards.csv", index=False)
    cards.assign(card=cards["card"].astype(str)).to_parquet(tmp_path / "cards.parquet", row_group_size=500)
    expected = fitted(cards, cards["card"])
    for name in ("cards.csv", "cards.parquet"):
        table = open_table(tmp_path / name, target="label", group_column="card", batch_rows=700)
        other = model().fit_table(table)
        assert other.calibrator_ == expected.calibrator_
        assert other.trained_on_.group == "card"


def test_a_checkpoint_goes_on_with_the_copies_of_finished_rounds(cards, tmp_path):
    cards.to_parquet(tmp_path / "cards.parquet")
    table = open_table(tmp_path / "cards.parquet", target="label", group_column="card")
    expected = model().fit_table(table, checkpoint=tmp_path / "rounds")
    sorted((tmp_path / "rounds").glob("round-*"))[-1].unlink()
    assert model().fit_table(table, checkpoint=tmp_path / "rounds").calibrator_ == expected.calibrator_


def test_suspects_are_judged_by_models_that_have_not_seen_their_group(cards):
    X, y = cards[list("abcd")], cards["label"]
    known = fitted(cards, cards["card"])
    found = known.suspects(X, y, n=20, groups=cards["card"], label=True)
    assert found.cross_fitted
    assert found.doubts.min() > 0.8  # a new card is a guess
    with pytest.raises(ValueError, match=r"trained with groups. Pass the same as groups="):
        known.suspects(X, y)
    with pytest.raises(ValueError, match="trained without groups"):
        fitted(cards, None).suspects(X, y, groups=cards["card"])


def test_a_saved_model_knows_that_it_had_groups(cards, tmp_path):
    saved = save_model(fitted(cards, cards["card"]), tmp_path / "model.skops")
    assert load_model(saved).trained_on_.group == "card"


@pytest.mark.filterwarnings("ignore:The calibration uses only")  # scikit-learn's versions divide groups otherwise
def test_scikit_learn_routes_groups_to_the_fit_and_to_the_splitter(cards):
    X, y, groups = cards[list("abcd")].to_numpy(), cards["label"].to_numpy(), cards["card"].to_numpy()
    with sklearn.config_context(enable_metadata_routing=True):
        asking = model().set_fit_request(groups=True)
        found = cross_validate(
            asking, X, y, params={"groups": groups}, cv=GroupKFold(2), return_estimator=True, error_score="raise"
        )
    assert [one.trained_on_.group for one in found["estimator"]] == ["groups", "groups"]


def test_rare_rows_in_one_group_cannot_be_calibrated_by(cards):
    rows = cards.assign(card=np.where(cards["label"], -1, cards["card"]))
    with pytest.raises(ValueError, match=r"rows of class number 1 .* are in too few groups"):
        fitted(rows, rows["card"])


def test_groups_of_another_length_are_refused(cards):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted(cards, cards["card"][:10])
