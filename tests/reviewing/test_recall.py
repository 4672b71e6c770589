"""The estimate of the recall from a sample of the rows that are not alerts."""

import numpy as np
import pytest

from selfpaced.reviewing import Reviewed, estimate_recall


@pytest.mark.parametrize(("n_alerts_judged", "n_sampled"), [(50, 200), (20, 200), (50, 1000)])
def test_the_interval_holds_the_recall_in_nine_of_ten_samples_and_the_estimate_has_no_bias(n_alerts_judged, n_sampled):
    rng, n_alerts, n_found, n_others, n_missed = np.random.default_rng(0), 50, 40, 2000, 20
    recall, covered, missed = n_found / (n_found + n_missed), [], []
    for _ in range(400):
        found = rng.hypergeometric(n_found, n_alerts - n_found, n_alerts_judged)
        others = Reviewed(n_others, n_sampled, rng.hypergeometric(n_missed, n_others - n_missed, n_sampled))
        low, high = estimate_recall(Reviewed(n_alerts, n_alerts_judged, found), others).interval
        covered.append(low <= recall <= high)
        missed.append(others.estimate)
    assert np.mean(covered) >= 0.9
    assert np.mean(missed) == pytest.approx(n_missed, abs=3 * np.std(missed) / 20)


def test_when_every_row_has_a_verdict_the_recall_is_known():
    found = estimate_recall(Reviewed(50, 50, 40), Reviewed(100, 100, 10))
    assert (found.recall, *found.interval) == (0.8, 0.8, 0.8)


def test_a_sample_without_rare_rows_does_not_say_that_nothing_is_missed():
    found = estimate_recall(Reviewed(50, 50, 50), Reviewed(142_354, 20, 0))
    assert found.recall is None
    assert "too little to estimate the recall: it has a 90% interval from 0.252% to 100%. Draw more rows" in str(found)


def test_the_interval_holds_the_recall_if_reviewers_are_unsure_about_rare_rows_only():
    rng, n_others, n_missed, n_sampled, covered = np.random.default_rng(0), 2000, 200, 300, []
    for _ in range(400):
        rare = rng.hypergeometric(n_missed, n_others - n_missed, n_sampled)
        unsure = rare // 2
        others = Reviewed(n_others, n_sampled - unsure, rare - unsure, unsure)
        low, high = estimate_recall(Reviewed(50, 50, 40), others).interval
        covered.append(low <= 40 / (40 + n_missed) <= high)
    assert np.mean(covered) >= 0.9
