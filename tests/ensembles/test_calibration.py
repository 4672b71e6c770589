"""Ensembles whose probabilities are true."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import average_precision_score, brier_score_loss
from sklearn.tree import DecisionTreeClassifier

from selfpaced.calibration import FITTED_MAPS, METHODS, expected_calibration_error
from selfpaced.callbacks import Callback, EarlyStopping, Stop
from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table
from tests.ensembles_by_name import ENSEMBLES

TREE = DecisionTreeClassifier(max_depth=6)
MODELS = {"trees": TREE, "LightGBM": LGBMClassifier(n_estimators=20, verbose=-1)}
BASES = pytest.mark.parametrize("base", MODELS)
BY_ROWS = pytest.mark.parametrize("method", sorted(FITTED_MAPS))


def spe(base=TREE, n_estimators=5, **options):
    return SelfPacedEnsembleClassifier(base, n_estimators, random_state=0, **options)


@pytest.fixture(scope="module")
def train():
    return make_checkerboard(n_minority=300, n_majority=9000, random_state=0)


@pytest.fixture(scope="module")
def test():
    return make_checkerboard(n_minority=300, n_majority=9000, random_state=1)


@pytest.fixture(scope="module")
def three_classes():
    X, y = make_classification(
        9000, n_features=8, n_informative=6, n_classes=3, weights=[0.85, 0.1, 0.05], class_sep=0.7, random_state=0
    )
    return X, np.array(["calm", "odd", "rare"])[y]


@pytest.fixture(scope="module")
def fitted(train):
    """Ensembles of a base model with a calibration or without, each trained once."""
    return cache(lambda base, method: spe(MODELS[base], calibration=method).fit(*train))


@pytest.fixture(scope="module")
def fitted_to_three_classes(three_classes):
    """The same of three classes, trained on every second row."""
    X, y = three_classes
    return cache(lambda method: spe(calibration=method).fit(X[::2], y[::2]))


@pytest.fixture(scope="module")
def scores(fitted, test):
    """The scores of new rows by these ensembles."""
    return cache(lambda base, method: fitted(base, method).predict_proba(test[0])[:, 1])


@BASES
@BY_ROWS
def test_the_mean_probability_of_new_rows_is_near_the_base_rate(base, method, scores, test):
    _, y = test
    raw, calibrated = scores(base, None), scores(base, method)
    assert raw.mean() > 5 * y.mean()
    assert calibrated.mean() == pytest.approx(y.mean(), rel=0.1)


@BASES
@BY_ROWS
def test_probabilities_of_new_rows_are_closer_to_the_truth(base, method, scores, test):
    _, y = test
    raw, calibrated = scores(base, None), scores(base, method)
    assert brier_score_loss(y, calibrated) < 0.5 * brier_score_loss(y, raw)
    assert expected_calibration_error(y, calibrated) < 0.1 * expected_calibration_error(y, raw)


@pytest.mark.parametrize("method", METHODS)
def test_no_rank_is_lost(method, scores, test):
    _, y = test
    raw, calibrated = scores("trees", None), scores("trees", method)
    assert average_precision_score(y, calibrated) == pytest.approx(average_precision_score(y, raw), abs=1e-9)


def test_the_members_are_those_of_an_ensemble_without_calibration(fitted, test):
    plain, calibrated = fitted("trees", None), fitted("trees", "isotonic")
    for one, other in zip(plain.estimators_, calibrated.estimators_, strict=True):
        np.testing.assert_array_equal(one.predict_proba(test[0]), other.predict_proba(test[0]))


def test_the_prior_is_corrected_in_closed_form(scores):
    raw, corrected = scores("trees", None), scores("trees", "prior")
    np.testing.assert_allclose(corrected, raw / (raw + 30 * (1 - raw)))  # 9,000 common rows, 300 drawn


def test_scores_of_training_rows_would_have_misled(train, test):
    """Trees that go to the bottom know their training rows by heart; calibrated by them they are far too sure."""
    X, y = test
    deep = spe(DecisionTreeClassifier())
    honest = deep.set_params(calibration="sigmoid").fit(*train).predict_proba(X)[:, 1]
    misled = deep.fit(*train).recalibrated(*train, "sigmoid").predict_proba(X)[:, 1]
    assert expected_calibration_error(y, honest) < 0.5 * expected_calibration_error(y, misled)


def test_rows_that_stand_for_others_are_sampled(monkeypatch, fitted, train, test):
    """Of a bin with more rows than are taken, some stand for all."""
    from selfpaced.ensembles import cross_fitting as calibrating

    whole = fitted("trees", "sigmoid")
    monkeypatch.setattr(calibrating, "MOST_ROWS_OF_A_BIN", 200)
    sampled = spe(calibration="sigmoid").fit(*train)
    assert whole.calibrator_ != sampled.calibrator_
    one, other = (model.predict_proba(test[0])[:, 1].mean() for model in (whole, sampled))
    assert other == pytest.approx(one, rel=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_several_classes_come_near_their_shares(method, fitted_to_three_classes, three_classes):
    X, y = (each[1::2] for each in three_classes)
    probabilities = fitted_to_three_classes(method).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    if method in FITTED_MAPS:
        shares = [np.mean(y == label) for label in ("calm", "odd", "rare")]
        np.testing.assert_allclose(probabilities.mean(axis=0), shares, rtol=0.12)


def test_stages_end_with_the_probabilities(fitted, test):
    model = fitted("trees", "isotonic")
    *_, last = model.staged_predict_proba(test[0])
    np.testing.assert_allclose(last, model.predict_proba(test[0]))


def test_the_spread_is_on_the_scale_of_the_probabilities(fitted, test):
    model = fitted("trees", "sigmoid")
    low, high = model.predict_proba_spread(test[0], share=1.0)
    probabilities = model.predict_proba(test[0])
    assert (low[:, 1] <= probabilities[:, 1] + 1e-12).all()
    assert (probabilities[:, 1] <= high[:, 1] + 1e-12).all()


def test_an_ensemble_that_is_stopped_is_calibrated_by_the_members_it_keeps(train, test):
    class KeepTwo(Callback):
        def on_round_end(self, round):
            return Stop(keep=2) if round.number == 3 else None

    model = spe(calibration="sigmoid", callbacks=[KeepTwo()]).fit(*train)
    assert len(model.estimators_) == 2
    assert model.predict_proba(test[0])[:, 1].mean() == pytest.approx(test[1].mean(), rel=0.1)
    stopped = spe(calibration="sigmoid", callbacks=[EarlyStopping(2)], n_estimators=12).fit(*train, eval_set=test)
    assert stopped.predict_proba(test[0])[:, 1].mean() == pytest.approx(test[1].mean(), rel=0.1)


def test_weights_of_rows_are_weights_of_the_calibration(train, test):
    X, y = train
    model = spe(calibration="sigmoid").fit(X, y, sample_weight=np.where(y == 1, 1.0, 3.0))
    share = 300 / (300 + 3 * 9000)
    assert model.predict_proba(test[0])[:, 1].mean() == pytest.approx(share, rel=0.2)


@pytest.mark.parametrize("hardness", ["squared", "cross_entropy"])
def test_it_does_not_depend_on_the_hardness(hardness, train, test):
    model = spe(calibration="isotonic", hardness=hardness).fit(*train)
    assert model.predict_proba(test[0])[:, 1].mean() == pytest.approx(test[1].mean(), rel=0.12)


@BY_ROWS
def test_a_file_gives_the_map_of_memory(method, tmp_path):
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    expected = spe(calibration=method).fit(frame[list("abcd")], y)
    model = spe(calibration=method).fit_table(open_table(tmp_path / "rows.parquet", target="label"))
    np.testing.assert_array_equal(model.predict_proba(frame[list("abcd")]), expected.predict_proba(frame[list("abcd")]))
    scores = model.predict_proba_table(tmp_path / "rows.parquet")
    np.testing.assert_allclose(scores, expected.predict_proba(frame[list("abcd")])[:, 1], rtol=1e-6)


def test_a_file_is_read_twice_more(tmp_path, passes):
    """Once for the last member's scores and once for the sample; the copies read nothing."""
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=4, random_state=0)
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_parquet(tmp_path / "rows.parquet")
    counts = []
    for calibration in (None, "prior", "isotonic"):
        spe(calibration=calibration).fit_table(open_table(tmp_path / "rows.parquet", target="label"))
        counts.append(len(passes))
        passes.clear()
    assert counts == [counts[0], counts[0], counts[0] + 2]


def test_three_classes_in_a_file_give_the_map_of_memory(three_classes, tmp_path):
    X, y = three_classes
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=2000)
    expected = spe(calibration="isotonic").fit(frame, y)
    model = spe(calibration="isotonic").fit_table(open_table(tmp_path / "rows.parquet", target="label"))
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame))


def test_a_fit_that_was_stopped_goes_on_to_the_same_map(tmp_path):
    class Accident(Callback):
        def on_round_end(self, round):
            if round.number == 3:
                raise KeyboardInterrupt

    X, y = make_fraud(n_rows=2000, n_frauds=50, n_features=4, random_state=0)
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    table, kept = open_table(tmp_path / "rows.parquet", target="label"), tmp_path / "kept"
    whole = spe(calibration="sigmoid").fit_table(table)
    with pytest.raises(KeyboardInterrupt):
        spe(calibration="sigmoid", callbacks=[Accident()]).fit_table(table, checkpoint=kept)
    assert spe(calibration="sigmoid").fit_table(table, checkpoint=kept).calibrator_ == whole.calibrator_
    again = spe(calibration="sigmoid").fit_table(table, checkpoint=kept)  # all rounds are there
    assert again.calibrator_ == whole.calibrator_


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_saved_model_is_calibrated(
    method, n_classes, train, three_classes, fitted, fitted_to_three_classes, tmp_path
):
    X, _ = train if n_classes == 2 else three_classes
    model = fitted("trees", method) if n_classes == 2 else fitted_to_three_classes(method)
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ENSEMBLES)
def test_every_ensemble_can_be_calibrated_on_rows_set_aside(name, train, test):
    X, y = make_checkerboard(n_minority=300, n_majority=9000, random_state=2)
    model = ENSEMBLES[name](random_state=0).fit(*train).recalibrated(*test)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)


def test_a_calibration_can_follow_a_new_base_rate(fitted):
    model = fitted("trees", "isotonic")
    later = make_checkerboard(n_minority=900, n_majority=9000, random_state=3)
    assert model.predict_proba(later[0])[:, 1].mean() < 0.9 * later[1].mean()
    assert model.recalibrated(*later).predict_proba(later[0])[:, 1].mean() == pytest.approx(later[1].mean(), rel=0.05)


def test_a_fit_forgets_the_calibration_of_an_earlier_one(train, test):
    model = UnderBaggingClassifier(random_state=0).fit(*train).recalibrated(*test)
    assert model.calibrator_ is not None
    assert model.fit(*train).calibrator_ is None


def test_another_calibration_leaves_the_model_as_it_is(fitted, test):
    model = fitted("trees", None)
    before = model.predict_proba(test[0])
    calibrated = model.recalibrated(*test)
    assert calibrated.estimators_ == model.estimators_
    assert not np.array_equal(calibrated.predict_proba(test[0]), before)
    np.testing.assert_array_equal(model.predict_proba(test[0]), before)


def test_scikit_learn_calibrates_a_frozen_ensemble(fitted, test):
    X, y = make_checkerboard(n_minority=300, n_majority=9000, random_state=2)
    theirs = CalibratedClassifierCV(FrozenEstimator(fitted("trees", None)), method="isotonic").fit(*test)
    assert theirs.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)


def test_an_unknown_method_is_refused_before_a_row_is_read():
    with pytest.raises(ValueError, match=r"calibration must be None or one of .*'isotonic'.*; got 'platt'"):
        spe(calibration="platt").fit(None, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, np.zeros_like(y)), "y has no row of the class 1, so nothing can be calibrated by it"),
        (lambda X, y: (X, np.ones_like(y)), "y has no row of the class 0"),
        (lambda X, y: (X, y + 1), r"y has labels that the training rows do not have: \[2\]"),
        (lambda X, y: (X[:10], y), "inconsistent numbers of samples"),
        (lambda X, y: (np.zeros_like(X), y), "All rows get the same score"),
    ],
    ids=["no rare row", "no common row", "unknown label", "lengths", "one score"],
)
def test_rows_that_cannot_calibrate_are_refused(change, message, train, test):
    model = spe().fit(*train)
    with pytest.raises(ValueError, match=message):
        model.recalibrated(*change(*test))
    assert model.calibrator_ is None


def test_a_handful_of_rare_rows_is_warned_of(train):
    X, y = train
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]])
    with pytest.warns(UserWarning, match="The calibration uses only 5 rows of the class 1. With fewer than 20"):
        spe(calibration="sigmoid").fit(X[few], y[few])
    with pytest.warns(UserWarning, match="The calibration uses only 5 rows of the class 1"):
        spe().fit(X, y).recalibrated(X[few], y[few])


def test_weights_that_leave_nothing_of_a_class_are_refused(train):
    X, y = train
    model = spe().fit(X, y)
    refused = {
        f"sample_weight has {y.size:,} negative weight": np.full(y.size, -1.0),
        "All rows of the class 1 have a sample_weight of 0": np.where(y == 1, 0.0, 1.0),
    }
    for message, weights in refused.items():
        with pytest.raises(ValueError, match=message):
            model.recalibrated(X, y, sample_weight=weights)


def test_a_method_that_looks_at_no_rows_is_no_method_for_rows(train, test):
    with pytest.raises(ValueError, match=r"method must be one of .*; got 'prior'"):
        spe().fit(*train).recalibrated(*test, "prior")
