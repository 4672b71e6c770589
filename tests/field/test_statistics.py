"""Ranks, regrets and wins of made-up results, against values computed by hand."""

from math import sqrt

import pytest
from scipy.stats import t

from contest.statistics import (
    corrected_p,
    difference,
    duel,
    failures,
    frame_of,
    have_run,
    lead_without_luck,
    means,
    ranks,
    regrets,
    standings,
)

METHODS = ["auto-self-paced", "lightgbm", "catboost"]


def results(figures, orders=None, errors=()):
    """A results file with the given AUCPRC of each table, method and split."""
    rows = [
        {"table": table, "method": method, "split": split, "aucprc": value}
        for table, by_method in figures.items()
        for method, values in by_method.items()
        for split, value in enumerate(values)
    ]
    failed = [{"table": table, "method": method, "split": 0, "error": reason} for table, method, reason in errors]
    tables = {table: {"rows": 1000, "rare": 50, "order": (orders or {}).get(table, "random")} for table in figures}
    return {"results": rows + failed, "tables": tables}


def figures_of(whole):
    return means(frame_of(whole, METHODS))[
        [name for name in METHODS if name in {r["method"] for r in whole["results"]}]
    ]


THREE = results(
    {
        "a": {"auto-self-paced": [0.5, 0.7], "lightgbm": [0.4, 0.6], "catboost": [0.3, 0.5]},
        "b": {"auto-self-paced": [0.8, 0.8], "lightgbm": [0.9, 0.9], "catboost": [0.8, 0.8]},
    }
)


def test_a_figure_is_the_mean_over_the_splits():
    assert figures_of(THREE).loc["a"].tolist() == [0.6, 0.5, 0.4]


def test_a_method_that_lacks_a_split_has_no_figure():
    whole = results({"a": {"auto-self-paced": [0.5, 0.7], "lightgbm": [0.9]}})
    assert figures_of(whole).loc["a"].isna().tolist() == [False, True]


def test_equal_figures_share_their_mean_rank():
    assert ranks(figures_of(THREE)).loc["b"].tolist() == [2.5, 1.0, 2.5]


def test_the_mean_rank_is_over_the_tables():
    assert ranks(figures_of(THREE)).mean().tolist() == [1.75, 1.5, 2.75]


def test_figures_that_differ_after_the_fourth_digit_share_their_rank():
    whole = results({"a": {"auto-self-paced": [0.50001], "lightgbm": [0.50002], "catboost": [0.4]}})
    assert ranks(figures_of(whole)).loc["a"].tolist() == [1.5, 1.5, 3.0]


def test_a_method_that_failed_has_the_last_rank():
    whole = results({"a": {"auto-self-paced": [0.1], "lightgbm": [0.2]}, "b": {"catboost": [0.3]}})
    assert ranks(figures_of(whole)).loc["a"].tolist() == [2.0, 1.0, 3.0]


def test_the_regret_is_the_distance_to_the_best_of_the_table():
    behind = regrets(figures_of(THREE))
    assert behind.loc["a"].tolist() == [0.0, 0.1, 0.2]
    assert behind.mean().tolist() == pytest.approx([0.05, 0.05, 0.15])


def with_a_failure_and_one_that_did_not_run():
    whole = results(
        {"a": {"auto-self-paced": [0.5], "lightgbm": [0.4], "catboost": [0.3]}, "b": {"auto-self-paced": [0.5]}},
        errors=[("b", "lightgbm", "out of memory")],
    )
    return figures_of(whole), failures(whole, METHODS)


def test_a_method_has_run_if_it_has_a_figure_or_a_reason():
    assert have_run(*with_a_failure_and_one_that_did_not_run()).loc["b"].tolist() == [True, True, False]


def test_a_method_that_has_not_run_has_no_rank():
    figures, failed = with_a_failure_and_one_that_did_not_run()
    found = ranks(figures, have_run(figures, failed))
    assert found.loc["b", ["auto-self-paced", "lightgbm"]].tolist() == [1.0, 2.0]
    assert found["catboost"].isna().tolist() == [False, True]


def test_the_corrected_test_widens_the_error_by_the_rows_that_splits_share():
    # Mean 0.02, variance 0.0002 / 4; with 3 test rows for 7 training rows the variance of the mean is s² (1/5 + 3/7).
    statistic = 0.02 / sqrt(0.00005 * (1 / 5 + 3 / 7))
    assert corrected_p([0.01, 0.02, 0.03, 0.02, 0.02]) == pytest.approx(2 * t.sf(statistic, 4))


@pytest.mark.parametrize(("differences", "p"), [([0.0, 0.0, 0.0], 1.0), ([0.5, 0.5, 0.5], 0.0)])
def test_equal_differences_need_no_distribution(differences, p):
    assert corrected_p(differences) == p


WINS = {
    "win": {"auto-self-paced": [0.60, 0.61, 0.62], "lightgbm": [0.40, 0.41, 0.43]},
    "tie": {"auto-self-paced": [0.50, 0.80, 0.20], "lightgbm": [0.60, 0.40, 0.40]},
    "loss": {"auto-self-paced": [0.10, 0.11, 0.12], "lightgbm": [0.50, 0.51, 0.53]},
    "equal": {"auto-self-paced": [1.0, 1.0, 1.0], "lightgbm": [1.0, 1.0, 1.0]},
}


def test_wins_ties_and_losses_are_counted_by_the_test_over_the_splits():
    found = duel(frame_of(results(WINS), METHODS), "auto-self-paced", "lightgbm")
    assert (found.wins, found.ties, found.losses) == (1, 2, 1)


def test_ahead_and_behind_are_counted_by_the_figures_alone():
    found = duel(frame_of(results(WINS), METHODS), "auto-self-paced", "lightgbm")
    assert (found.ahead, found.equal, found.behind) == (2, 1, 1)


def test_in_the_order_of_time_no_difference_is_a_win():
    found = duel(frame_of(results(WINS, orders={"win": "time"}), METHODS), "auto-self-paced", "lightgbm")
    assert (found.wins, found.ahead) == (0, 2)


def test_a_single_split_is_no_win():
    whole = results({"a": {"auto-self-paced": [0.9], "lightgbm": [0.1]}})
    assert duel(frame_of(whole, METHODS), "auto-self-paced", "lightgbm").ties == 1


LUCK = {
    "auto-self-paced": [0.50, 0.50, 0.50],
    "lightgbm": [0.70, 0.40, 0.40],
    "catboost": [0.45, 0.47, 0.46],
}


def test_the_best_on_other_splits_is_not_the_one_with_a_lucky_split():
    # Without the first split CatBoost is best (0.465); without the second or the third, LightGBM is (0.55).
    lead = lead_without_luck(frame_of(results({"a": LUCK}), METHODS), "auto-self-paced")
    assert lead == pytest.approx(((0.50 - 0.45) + (0.50 - 0.40) + (0.50 - 0.40)) / 3)


def test_in_the_order_of_time_there_are_no_other_splits():
    assert lead_without_luck(frame_of(results({"a": LUCK}, {"a": "time"}), METHODS), "auto-self-paced") is None


def test_a_difference_over_random_splits_has_the_corrected_error():
    found = difference(frame_of(results({"a": LUCK}), METHODS), "auto-self-paced", "catboost")
    # Differences 0.05, 0.03 and 0.04; with 3 test rows for 7 training rows.
    assert (found.mean, found.noise_from) == (0.04, "splits")
    assert found.error == pytest.approx(0.01 * sqrt(1 / 3 + 3 / 7))
    assert found.is_above_the_noise


@pytest.mark.parametrize(("orders", "n_splits"), [({"a": "time"}, 3), ({}, 1)])
def test_without_random_splits_the_error_is_that_of_test_rows_drawn_again(orders, n_splits):
    some = {name: values[:n_splits] for name, values in LUCK.items()}
    whole = results({"a": some}, orders)
    for row in whole["results"]:
        row["redrawn"] = [0.5, 0.6, 0.7] if row["method"] == "catboost" else [0.5, 0.5, 0.5]
    found = difference(frame_of(whole, METHODS), "auto-self-paced", "catboost")
    assert (found.error, found.noise_from) == (pytest.approx(0.1), "test rows")
    assert not found.is_above_the_noise


def test_a_difference_of_one_split_without_redrawn_rows_has_no_error():
    found = difference(frame_of(results({"a": {"auto-self-paced": [0.9], "lightgbm": [0.1]}}), METHODS), *METHODS[:2])
    assert (found.mean, found.noise_from, found.is_above_the_noise) == (0.8, None, False)


def test_a_difference_is_that_of_the_splits_that_both_have():
    whole = results({"a": {"auto-self-paced": [0.5, 0.9], "lightgbm": [0.4]}})
    assert difference(frame_of(whole, METHODS), *METHODS[:2]).mean == 0.1
    assert duel(frame_of(whole, METHODS), *METHODS[:2]).mean_difference == 0.1


def test_a_method_on_few_tables_stands_beside_ours_on_the_same_tables():
    whole = results(
        {
            "a": {"auto-self-paced": [0.5], "lightgbm": [0.6], "catboost": [0.9]},
            "b": {"auto-self-paced": [0.5], "lightgbm": [0.4]},
            "c": {"auto-self-paced": [0.5], "lightgbm": [0.4]},
        }
    )
    figures = figures_of(whole)
    found = standings(figures, have_run(figures, {}), "auto-self-paced")
    assert list(found.index) == ["auto-self-paced", "lightgbm", "catboost"]
    assert found["rank"].tolist() == pytest.approx([5 / 3, 2, 1])
    assert found["rank of ours"].tolist() == pytest.approx([5 / 3, 5 / 3, 3])
    assert found["regret of ours"].tolist() == pytest.approx([0.4 / 3, 0.4 / 3, 0.4])
    assert found["is on most"].tolist() == [True, True, False]
