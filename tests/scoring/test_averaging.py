import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from selfpaced.scoring import Scorer, mean_probabilities, scorer_of, staged_probabilities
from selfpaced.tables import InMemoryTable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
Y = (X[:, 0] + RNG.normal(size=1000) > 0).astype(int)
MODELS = [DecisionTreeClassifier(max_depth=3, random_state=i).fit(X[i::4], Y[i::4]) for i in range(4)]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_mean_is_the_mean_of_the_models_own_probabilities(n_threads):
    means = mean_probabilities([scorer_of(model) for model in MODELS], InMemoryTable(X), 2, n_threads)
    np.testing.assert_allclose(means, np.mean([model.predict_proba(X) for model in MODELS], axis=0))


def test_models_of_different_kinds_can_be_averaged():
    mixed = [MODELS[0], LogisticRegression().fit(X, Y)]
    means = mean_probabilities([scorer_of(model) for model in mixed], InMemoryTable(X), 2, 1)
    np.testing.assert_allclose(means, np.mean([model.predict_proba(X) for model in mixed], axis=0))


def test_stages_are_the_means_of_ever_more_models():
    scorers = [scorer_of(model) for model in MODELS]
    stages = list(staged_probabilities(scorers, InMemoryTable(X), 2, 1))
    assert len(stages) == 4
    for n, stage in enumerate(stages, start=1):
        np.testing.assert_allclose(stage, mean_probabilities(scorers[:n], InMemoryTable(X), 2, 1))


WEIGHTS = np.array([4.0, 0.5, 1.0, 2.5])


def test_a_weighted_mean_counts_each_model_by_its_weight():
    scorers = [scorer_of(model) for model in MODELS]
    means = mean_probabilities(scorers, InMemoryTable(X), 2, 1, WEIGHTS)
    expected = np.average([model.predict_proba(X) for model in MODELS], axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(means, expected)


def test_weighted_stages_are_the_weighted_means_of_ever_more_models():
    scorers = [scorer_of(model) for model in MODELS]
    for n, stage in enumerate(staged_probabilities(scorers, InMemoryTable(X), 2, 1, WEIGHTS), start=1):
        np.testing.assert_allclose(stage, mean_probabilities(scorers[:n], InMemoryTable(X), 2, 1, WEIGHTS[:n]))


def test_a_weight_does_not_round_the_probabilities_of_a_model_in_float32():
    scorer = Scorer(lambda rows: rows, lambda rows: np.full((len(rows), 2), 0.5, np.float32), 2**22, threads=1)
    assert mean_probabilities([scorer], InMemoryTable(X), 2, 1, np.array([1e-60]))[0].tolist() == [0.5, 0.5]


def test_a_chunk_is_laid_out_once_for_all_models_that_share_a_view():
    laid_out = []

    def view(features):
        laid_out.append(len(features))
        return features

    scorers = [Scorer(view, model.predict_proba, bytes_at_once=24 * 300, threads=1) for model in MODELS]
    mean_probabilities(scorers, InMemoryTable(X), 2, 1)
    assert laid_out == [300, 300, 300, 100]


@pytest.mark.parametrize(("bytes_per_row", "rows"), [(8, 2**16), (2**12, 2**10), (2**40, 256)])
def test_rows_at_once_follow_the_width_of_a_row_within_limits(bytes_per_row, rows):
    assert Scorer(None, None, bytes_at_once=2**22, threads=None).rows_at_once(bytes_per_row) == rows
