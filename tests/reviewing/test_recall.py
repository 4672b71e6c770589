"""The estimate of the recall from a sample of the rows that are not alerts."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from selfpaced.reviewing import Item, Queue, Reviewed, estimate_recall


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


N_ALERTS, N_OTHERS, N_MISSED = 8, 200, 20


def reviewed(verdicts, rng, drawn, n_verdicts, n_alerts=N_ALERTS):
    """What a review says after some more verdicts. The first rows of the table are alerts, and the next ones missed."""
    file = SimpleNamespace(verdicts=verdicts, append=verdicts.append)
    places = dict.fromkeys(range(n_alerts), 0) | {number: place for place, number in enumerate(drawn, 1)}
    order = rng.permutation(list(places)) if len(drawn) else list(places)
    queue = Queue([Item(str(one), places[one], None, (), ()) for one in order], file, {}, N_OTHERS)
    for _ in range(n_verdicts):
        number = queue.next_for("Ann")
        queue.record(number, "Ann", "rare" if order[number] < N_ALERTS + N_MISSED else "common", "")
    return queue.findings()


@pytest.mark.parametrize("n_before", [0, 10])
def test_an_audit_after_all_alerts_or_a_smaller_audit_can_stop_early_and_has_no_bias(n_before):
    rng, estimates = np.random.default_rng(0), []
    for _ in range(400):
        verdicts, drawn = [], N_ALERTS + rng.permutation(N_OTHERS)
        reviewed(verdicts, rng, drawn[:n_before], N_ALERTS + n_before)
        said = reviewed(verdicts, rng, drawn[:60], 20)
        n_rare, n_judged = map(int, re.search(r"and (\d+) of (\d+) rows that were drawn", said).groups())
        assert n_judged == n_before + 20
        estimates.append(N_OTHERS * n_rare / n_judged)
    assert np.mean(estimates) == pytest.approx(N_MISSED, abs=3 * np.std(estimates) / 20)


def test_an_audit_after_a_review_of_more_alerts_has_no_estimate_before_it_ends():
    rng = np.random.default_rng(0)
    for _ in range(200):
        verdicts, drawn = [], N_ALERTS + rng.permutation(N_OTHERS)
        reviewed(verdicts, rng, [], N_ALERTS + 3, n_alerts=N_ALERTS + 3)  # three missed rows were alerts then
        assert reviewed(verdicts, rng, drawn[:60], 20).startswith("There is no estimate of the recall yet")
    n_left = 60 - 20 - len({"8", "9", "10"} & set(map(str, drawn[:60])))
    assert "of 60 rows that were drawn at random" in reviewed(verdicts, rng, drawn[:60], n_left)
