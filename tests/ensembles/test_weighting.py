"""Drawn rows weighted by what they stand for."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.calibration import PriorCorrection
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.scoring import Rebalanced, scorer_of
from selfpaced.tables.sources import open_table


class Recording(DecisionTreeClassifier):
    """A tree that remembers the weights of its training rows."""

    def fit(self, X, y, sample_weight=None):
        self.weights_ = None if sample_weight is None else np.array(sample_weight)
        self.y_ = np.array(y)
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.fixture(scope="module")
def rows():
    return make_fraud(n_rows=4000, n_frauds=60, random_state=0)


def fitted(rows, weighting, base=None, **params):
    base = Recording(max_depth=4) if base is None else base
    return SelfPacedEnsembleClassifier(base, 4, weighting=weighting, random_state=0, **params).fit(*rows)


def test_by_default_no_weights_reach_the_members(rows):
    assert all(member.weights_ is None for member in fitted(rows, None).estimators_)


@pytest.mark.parametrize(("weighting", "power"), [("sqrt", 0.5), ("inverse", 1.0)])
def test_a_drawn_row_weighs_as_its_bin_has_rows_for_each_that_was_drawn(rows, weighting, power):
    model = fitted(rows, weighting, n_bins=5, ratio=2)
    for member, notes in zip(model.estimators_, model.rounds_[1:], strict=True):
        drawn = notes.quota > 0
        expected = np.repeat((notes.counts[drawn] / notes.quota[drawn]) ** power, notes.quota[drawn])
        np.testing.assert_allclose(np.sort(member.weights_[member.y_ == 0]), np.sort(expected))
        assert (member.weights_[member.y_ == 1] == 1).all()


def test_inverse_weights_add_up_to_all_common_rows(rows):
    for member in fitted(rows, "inverse").estimators_:
        assert member.weights_[member.y_ == 0].sum() == pytest.approx(4000 - 60, rel=0.02)


def test_with_inverse_weights_every_bin_with_many_rows_is_drawn_from(rows):
    model = fitted(rows, "inverse", n_bins=5, ratio=5)
    for notes in model.rounds_[1:]:
        expected = 0.3 * notes.quota.sum() * notes.counts / notes.counts.sum()
        assert (notes.quota >= np.floor(np.minimum(expected, notes.counts))).all()


def test_weights_multiply_the_sample_weights(rows):
    given = np.where(np.arange(4000) % 2, 3.0, 1.0)
    base = Recording(max_depth=4)
    model = SelfPacedEnsembleClassifier(base, 2, weighting="sqrt", random_state=0).fit(*rows, sample_weight=given)
    for member, notes in zip(model.estimators_, model.rounds_[1:], strict=True):
        np.testing.assert_allclose(member.weights_, notes.weights * given[notes.ids])


def test_with_inverse_weights_hardness_is_judged_at_equal_shares_of_the_classes(rows):
    _, y = rows
    model = fitted(rows, "inverse", base=LogisticRegression(max_iter=500), n_bins=10)
    hard = np.nansum(model.rounds_[1].counts * np.nan_to_num(model.rounds_[1].mean_hardness)) / (y == 0).sum()
    warm_up_sees_shares_of = (y == 1).mean()
    assert hard > 3 * warm_up_sees_shares_of


def test_rebalanced_probabilities_are_those_of_a_world_with_equal_shares():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (np.arange(300) < 30).astype(int)
    model = GaussianNB().fit(X + y[:, np.newaxis], y)
    balanced = GaussianNB(priors=[0.5, 0.5]).fit(X + y[:, np.newaxis], y)
    rebalanced = Rebalanced(model, PriorCorrection(1 / np.array([270.0, 30.0])))
    np.testing.assert_allclose(rebalanced.predict_proba(X), balanced.predict_proba(X))
    np.testing.assert_allclose(scorer_of(rebalanced).score(X), balanced.predict_proba(X))


@pytest.mark.parametrize("weighting", ["sqrt", "inverse"])
def test_files_give_the_weighted_members_of_memory(rows, weighting, tmp_path):
    import pandas as pd

    X, y = rows
    frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    base = DecisionTreeClassifier(max_depth=4)
    table = open_table(tmp_path / "rows.parquet", target="y", batch_rows=500)
    from_file = SelfPacedEnsembleClassifier(base, 4, weighting=weighting, random_state=0).fit_table(table)
    in_memory = SelfPacedEnsembleClassifier(base, 4, weighting=weighting, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(from_file.predict_proba(frame), in_memory.predict_proba(frame))


def test_weighted_files_are_still_read_once_a_round(rows, tmp_path):
    import pandas as pd

    X, y = rows
    pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])]).assign(y=y).to_parquet(
        tmp_path / "t.parquet"
    )
    passes = []

    class Reading:
        def __init__(self, reader):
            self._reader = reader

        def __getattr__(self, name):
            return getattr(self._reader, name)

        def read(self, columns):
            passes.append(columns)
            return self._reader.read(columns)

    table = open_table(tmp_path / "t.parquet", target="y")
    table.labels()
    table.reader = Reading(table.reader)
    tree = DecisionTreeClassifier(max_depth=4)
    SelfPacedEnsembleClassifier(tree, 4, weighting="inverse", random_state=0).fit_table(table)
    assert len(passes) == 1 + 4  # the minority with the first draw, and one pass a round


@pytest.mark.parametrize("weighting", ["sqrt", "inverse"])
def test_calibrated_probabilities_of_weighted_members_add_up_to_the_rare_rows(rows, weighting):
    X, y = make_fraud(n_rows=30_000, n_frauds=600, random_state=0)
    train, test = slice(0, None, 2), slice(1, None, 2)
    base = DecisionTreeClassifier(max_depth=4)
    model = fitted((X[train], y[train]), weighting, base=base, calibration="isotonic")
    assert model.predict_proba(X[test])[:, 1].sum() == pytest.approx(y[test].sum(), rel=0.1)


def test_the_closed_form_knows_what_weights_have_made_up_for(rows):
    plain, weighted = (fitted(rows, name, calibration="prior").calibrator_.factors for name in (None, "inverse"))
    assert plain[0] == pytest.approx(3940 / 60)
    assert weighted.tolist() == [1, 1]


def test_suspects_are_judged_by_copies_with_the_weights_of_their_members(rows):
    X, y = rows
    wrong = y.copy()
    wrong[np.flatnonzero(y == 0)[:5]] = 1
    found = fitted((X, wrong), "sqrt").suspects(X, wrong, n=30)
    assert found.cross_fitted
    assert np.isin(np.flatnonzero(y == 0)[:5], found.rows).sum() >= 4


def test_an_unknown_weighting_is_refused(rows):
    with pytest.raises(ValueError, match="weighting must be None or one of \\['inverse', 'sqrt'\\]; got 'ipw'"):
        fitted(rows, "ipw")


def test_weighting_needs_a_base_model_that_takes_weights(rows):
    with pytest.raises(
        ValueError, match=r"weighting='sqrt' weights the rows.*KNeighborsClassifier does not accept sample_weight"
    ):
        fitted(rows, "sqrt", base=KNeighborsClassifier())
